"""Operators that a library defines anew under a known name: a cell of a notebook that runs twice."""

from collections.abc import Callable

import pytest
from comparison import same

import stator
import torch


def define(schema: str, kernel: Callable[..., object], fake: Callable[..., object]) -> torch.library.Library:
    library = torch.library.Library("stator_redefined", "FRAGMENT")
    library.define(schema)
    library.impl("op", kernel, "CPU")
    torch.library.register_fake("stator_redefined::op", fake, lib=library)
    return library


def program(x: torch.Tensor) -> object:
    y, z = x * 2, x * 2
    result = torch.ops.stator_redefined.op(y)
    return result.dtype, result.shape, result + 1, y, z


DEFINITIONS: list[tuple[str, Callable[..., object], Callable[..., object]]] = [
    ("op(Tensor x) -> Tensor", lambda x: x + 1, torch.empty_like),
    (
        "op(Tensor x) -> Tensor",
        lambda x: x[:2].double(),
        lambda x: torch.empty(2, dtype=torch.float64),
    ),
    ("op(Tensor(a!) x) -> Tensor", lambda x: x.add_(5).clone(), torch.empty_like),
    ("op(Tensor x) -> Tensor", lambda x: x * 3, torch.empty_like),
]


@pytest.mark.parametrize("backend", ["native", "eager"])
def test_each_definition_is_as_it_says(backend: str) -> None:
    x = torch.arange(4.0)
    first = stator.compile(program, backend=backend)
    for schema, kernel, fake in DEFINITIONS:
        library = define(schema, kernel, fake)
        wanted = program(x)
        compiled = stator.compile(program, backend=backend)
        for function in (compiled, first, compiled):
            found = function(x)
            assert isinstance(found, tuple)
            assert isinstance(wanted, tuple)
            assert found[:2] == wanted[:2]
            assert all(same(a, b) for a, b in zip(found[2:], wanted[2:], strict=True))
        library._destroy()
        torch._dynamo.reset()
        stator.reset()
