"""A sample of generated programs that write to their arguments, with gradients (argument_programs.py)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import stator

sys.path.insert(0, str(Path(__file__).parent))

from argument_programs import difference


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("backend", "start", "count"), [("native", 0, 200), ("eager", 0, 100), ("aot_eager", 0, 60)]
)
def test_as_eager(backend: str, start: int, count: int) -> None:
    for seed in range(start, start + count):
        found = difference(seed, backend)
        assert found is None, found
        stator.reset()
