"""The list of operators without a rule in docs/openxla-operators.md is what the code has."""

import pytest
from operators_without_rules import PAGE, page

import torch


def test_the_page_is_up_to_date() -> None:
    version = torch.__version__.partition("+")[0]
    if f"for torch {version};" not in PAGE.read_text():
        pytest.skip(f"the page is for another torch than {version}")
    assert PAGE.read_text() == page(), "python tests/openxla/operators_without_rules.py --write"
