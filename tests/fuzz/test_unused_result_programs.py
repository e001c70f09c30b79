"""A sample of generated programs with results that nobody differentiates (unused_result_programs.py)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import stator

sys.path.insert(0, str(Path(__file__).parent))

from unused_result_programs import difference


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("backend", "start", "count"), [("native", 0, 40), ("fused", 40, 30), ("aot_eager", 70, 60)]
)
def test_as_eager(backend: str, start: int, count: int) -> None:
    for seed in range(start, start + count):
        found = difference(seed, backend)
        assert found is None, found
        stator.reset()
