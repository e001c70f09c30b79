"""What all tests of the fused backend need: torch and llvmlite."""

import pytest

pytest.importorskip("torch")
pytest.importorskip("llvmlite", reason="llvmlite is not installed: pip install 'stator[fused]'")
