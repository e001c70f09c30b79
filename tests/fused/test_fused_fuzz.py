"""A sample of the random programs of graph_fuzzer.py, which has thousands."""

import pytest
from graph_fuzzer import failure

import stator

CHUNK = 50


@pytest.mark.parametrize("start", range(0, 300, CHUNK))
def test_random_programs(start: int) -> None:
    for seed in range(start, start + CHUNK):
        stator.reset()
        assert not (text := failure(seed)), f"seed {seed}: {text}"
