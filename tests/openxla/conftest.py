"""What all tests of the OpenXLA backend need: torch and jaxlib."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("jaxlib", reason="jaxlib is not installed: pip install 'stator[openxla]'")
