"""Values that a segment leaves in variables and on the stack: the code before the break is captured."""

from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch
from torch import Tensor


class Kind:
    pass


def slice_on_the_stack(x: Tensor, index: Tensor, of: Any) -> Any:
    y = x * 2
    return torch.maximum(y[index, :2], x[0, :2]) + 1


def slice_of_sizes(x: Tensor, index: Tensor, of: Any) -> Any:
    y = x * 2
    part = slice(None, x.shape[0] - 1, None)
    torch._dynamo.graph_break()
    return y[part] + 1, part


def slice_of_a_tensor(x: Tensor, index: Tensor, of: Any) -> Any:
    y = x * 2
    bounds = [slice(y, None), slice([1], {2: y})]
    torch._dynamo.graph_break()
    return y + 1, bounds[0].start is y, bounds[1].stop[2] is y, bounds[1].start


def class_of_an_argument(x: Tensor, index: Tensor, of: Any) -> Any:
    y = x * 2
    kind = type(of)
    torch._dynamo.graph_break()
    return y + 1, kind, kind is Kind


PROGRAMS = [value for value in list(globals().values()) if getattr(value, "__code__", None)]


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_the_code_before_is_captured(program: Callable[..., Any], backend: str) -> None:
    compiled = stator.compile(program, backend=backend)
    for call in range(6):
        x = torch.randn(4 + call // 2, 4)
        given = (x, torch.tensor(call % 3), 3 if call % 3 == 2 else Kind())
        wanted, found = program(*given), compiled(*given)
        wanted, found = (each if isinstance(each, tuple) else (each,) for each in (wanted, found))
        assert torch.equal(wanted[0], found[0])
        assert wanted[1:] == found[1:]
    graphs = [entry.graph for entry in stator.cache_entries(compiled) if entry.hits]
    assert any("aten::mul" in graph for graph in graphs)


def test_a_class_of_each_call_dies() -> None:
    import gc
    import weakref

    def program(x: Tensor, of: Any) -> Tensor:
        y = x * 2
        kind = type(of)  # noqa: F841
        torch._dynamo.graph_break()
        return y + 1

    compiled = stator.compile(program, backend="native")

    def call() -> "weakref.ref[type]":
        class Own:
            pass

        compiled(torch.ones(2), Own())
        return weakref.ref(Own)

    kinds = [call() for _ in range(4)]
    gc.collect()
    assert [kind() for kind in kinds] == [None] * 4
