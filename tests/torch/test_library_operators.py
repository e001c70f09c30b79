"""Operators of other libraries before one that may refuse its values inside of a handler: what computes its
result may be run once more, what is run for its effect may not."""

from collections.abc import Callable
from typing import Any

import pytest
from comparison import difference

import stator
import torch

CALLS: list[str] = []


@torch.library.custom_op("stator_refusals::doubled", mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@doubled.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


@torch.library.custom_op("stator_refusals::noted", mutates_args=())
def noted(x: torch.Tensor) -> None:
    CALLS.append("noted")


@noted.register_fake
def _(x: torch.Tensor) -> None:
    return None


@torch.library.custom_op("stator_refusals::grown", mutates_args=("x",))
def grown(x: torch.Tensor) -> None:
    x.add_(1)


class Scope:
    def __init__(self, log: list[str]) -> None:
        self.log = log

    def __enter__(self) -> None:
        self.log.append("in")

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> bool:
        self.log.append(str(kind and kind.__name__))
        return kind is not None


def computes(x: torch.Tensor, index: torch.Tensor, kept: torch.Tensor, log: list[str]) -> Any:
    y = doubled(x)
    with Scope(log):
        z = torch.zeros_like(x)
        z[index] = torch.ones(2)
        y = y[index] + z
    return y


def notes(x: torch.Tensor, index: torch.Tensor, kept: torch.Tensor, log: list[str]) -> Any:
    noted(x)
    with Scope(log):
        x = x[index] * 2
    return x + 1


def writes(x: torch.Tensor, index: torch.Tensor, kept: torch.Tensor, log: list[str]) -> Any:
    grown(kept)
    with Scope(log):
        x = x[index] * 2
    return x + kept


PROGRAMS: dict[str, Callable[..., Any]] = {"computes": computes, "notes": notes, "writes": writes}


def outcome(function: Callable[..., Any], index: list[int]) -> Any:
    CALLS.clear()
    kept, log = torch.zeros(2), list[str]()
    try:
        result = function(torch.arange(2.0), torch.tensor(index), kept, log)
    except IndexError as error:
        result = str(error)
    return [result, kept, log, list(CALLS)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_errors_behind_it_are_seen_by_the_program(name: str) -> None:
    compiled = stator.compile(PROGRAMS[name], backend="native")
    for index in ([0, 1], [1, 0], [0, 5], [1, 1], [7, 0]):
        assert difference(outcome(PROGRAMS[name], index), outcome(compiled, index)) is None
    assert any(entry.hits for entry in stator.cache_entries(compiled))


def test_one_that_computes_does_not_end_the_capture() -> None:
    compiled = stator.compile(computes, backend="native", fullgraph=False)
    outcome(compiled, [0, 1])
    outcome(compiled, [1, 0])
    assert compiled.breaks == []
    assert [entry.hits for entry in stator.cache_entries(compiled)] == [1]
