"""A fixed selection of Hugging Face architectures; `make models` runs them all. Needs transformers."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("transformers")
sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "benchmarks")]

from models import examine, is_whole  # noqa: E402

from stator.support import load_torch_extension  # noqa: E402

load_torch_extension()


@pytest.mark.parametrize(
    "name", ["bert", "llama_cache", "t5", "vit", "mixtral", "resnet", "clip", "patchtst"]
)
def test_architecture(name: str) -> None:
    row = examine(name)
    assert row["equal"]
    assert is_whole(row), row["breaks"]
    if "training" in row:
        assert row["training"]["equal"]
        assert row["training"]["breaks"] == []
