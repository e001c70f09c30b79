"""A sample of `make fuzz`: generated programs of tensor work and breaks against eager."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import stator

sys.path.insert(0, str(Path(__file__).parent))

from fuzz_runner import difference

CHUNK = 100


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("start", range(0, 3000, CHUNK))
def test_programs(start: int) -> None:
    captures = 0
    for seed in range(start, start + CHUNK):
        text, made = difference(seed, "native")
        assert not text, text
        captures += made
        stator.reset()
    assert captures > 5 * CHUNK


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("start", range(5000, 5200, CHUNK))
def test_programs_through_torch_fx(start: int) -> None:
    for seed in range(start, start + CHUNK):
        text, _ = difference(seed, "eager")
        assert not text, text
        stator.reset()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("one_in", [4, 12])
@pytest.mark.parametrize("start", range(6000, 6200, CHUNK))
def test_programs_broken_at_drawn_instructions(start: int, one_in: int) -> None:
    for seed in range(start, start + CHUNK):
        text, _ = difference(seed, "native", one_in)
        assert not text, text
        stator.reset()
