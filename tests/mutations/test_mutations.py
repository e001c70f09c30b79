"""No stale reuse: the programs of `make mutations`, with fewer changes each."""

import pytest

pytest.importorskip("torch")

from mutation_programs import run


@pytest.mark.parametrize("first", range(0, 420, 20))
def test_a_change_after_compiling_is_seen(first: int) -> None:
    served = 0
    for seed in range(first, first + 20):
        _, hits, wrong = run(seed, mutations=8)
        assert not wrong, wrong[0]
        served += hits
    assert served > 0
