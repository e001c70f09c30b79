"""Operators that write several results into tensors of the program's own (`out=` with a tuple)."""

from collections.abc import Iterator
from typing import Any

import opinfo
import pytest

import stator
import torch


def operators_of_tuples() -> Iterator[tuple[str, Any, Any]]:
    """From torch's OpInfo list: those that take a tuple as `out`, each with a sample."""
    for info in opinfo.chosen([]):
        if not info.supports_out or torch.float32 not in info.dtypes:
            continue
        sample = next(iter(info.sample_inputs("cpu", torch.float32)), None)
        if sample is None:
            continue
        result = info.op(sample.input, *sample.args, **sample.kwargs)
        if isinstance(result, tuple) and all(isinstance(item, torch.Tensor) for item in result):
            yield opinfo.name_of(info), info.op, sample


# In torch 2.11 a boxed call of such an operator returns references to arguments that it has dropped.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("made", ["empty", "of the right size", "read from the results"])
def test_tensors_made_in_the_function(made: str) -> None:
    served = set()
    failed = {}
    for name, operator, sample in operators_of_tuples():
        like = [
            (tuple(item.shape), item.dtype) for item in operator(sample.input, *sample.args, **sample.kwargs)
        ]

        def program(tensor: Any, operator=operator, sample=sample, like=like) -> list[torch.Tensor]:
            out = tuple(torch.empty(0 if made == "empty" else shape, dtype=dtype) for shape, dtype in like)
            results = operator(tensor, *sample.args, out=out, **sample.kwargs)
            if made == "read from the results":
                return [item.clone() for item in results]
            others = [torch.full((4,), 7.0) for _ in range(4)]  # readers of freed memory would find these
            return [item.clone() for item in out] + others

        compiled = stator.compile(program, backend="native")
        with torch.no_grad():
            try:
                expected = program(sample.input)
            except (RuntimeError, TypeError):
                continue  # it takes the tensors one by one, or returns nothing
            for _ in range(3):
                try:
                    torch.testing.assert_close(compiled(sample.input), expected, equal_nan=True)
                except AssertionError as error:
                    failed[name] = str(error)
        if [entry.hits for entry in stator.cache_entries(compiled)] == [2]:
            served.add(name)
    assert not failed
    assert {"sort", "topk", "mode", "frexp", "aminmax", "linalg.svd", "max.reduction_with_dim"} <= served
