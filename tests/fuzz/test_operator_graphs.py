"""A sample of the random graphs of operator_fuzzer.py, which has thousands."""

import warnings

import pytest
from operator_fuzzer import difference
from operator_graphs import draw


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("start", range(0, 40, 10))
def test_random_graphs(start: int, training: bool) -> None:
    pytest.importorskip("jaxlib", reason="the openxla backends need jaxlib: pip install 'stator[openxla]'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(start, start + 10):
            program = draw(seed, training)
            text = difference(program, "openxla" if training else "openxla_eval", training)
            assert not text, f"seed {seed}: {text}\n{program.source()}"
