"""Instances of frozen dataclasses as arguments of functions that are allowed in the graph."""

import dataclasses
from typing import Any

import pytest

import stator
import torch


@dataclasses.dataclass(frozen=True)
class Pair:
    first: torch.Tensor
    second: torch.Tensor
    factor: int = 5
    rest: Any = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Changing:
    first: torch.Tensor


@stator.allow_in_graph
def combined(pair: Pair) -> torch.Tensor:
    return pair.first * pair.factor + pair.second + sum(pair.rest)


@stator.allow_in_graph
def of_changing(value: Changing) -> torch.Tensor:
    return value.first + 1


@stator.allow_in_graph
def sized(x: torch.Tensor) -> Any:
    return x + 1, x.size(0)


@pytest.mark.parametrize("backend", ["native", "eager", "aot_eager"])
def test_frozen(backend: str) -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return combined(Pair(x, y)) - combined(Pair(y, x, 2, [x, y]))

    compiled = stator.compile(f, backend=backend, fullgraph=True)
    for _ in range(3):
        x, y = torch.randn(3), torch.randn(3)
        assert torch.equal(compiled(x, y), f(x, y))
    assert len(stator.cache_entries(compiled)) == 1


def test_that_may_change() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return of_changing(Changing(x))

    with pytest.raises(stator.CaptureError, match="an argument is a Changing"):
        stator.compile(f, fullgraph=True)(torch.ones(2))


def test_size_as_a_result() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        made, count = sized(x)
        return made * count

    compiled = stator.compile(f, backend="eager", dynamic=True)
    for count in (3, 4, 5, 3):
        assert torch.equal(compiled(torch.ones(count)), f(torch.ones(count)))
