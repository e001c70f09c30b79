"""Generators whose consumer breaks: what lies between two of their yields is captured."""

from __future__ import annotations

import gc
import traceback
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from comparison import difference
from test_last_reads import Recording

import stator
import torch


def work(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x * 2 + 1)


def rows(x: torch.Tensor) -> Iterator[torch.Tensor]:
    for row in x.unbind():
        yield work(row)


def consumes(x: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(3)
    for part in rows(x):
        total = total + part
        torch._dynamo.graph_break()
    return work(total)


def sends(x: torch.Tensor) -> list[torch.Tensor]:
    def running(total: torch.Tensor) -> Iterator[Any]:
        while True:
            factor = yield work(total)
            if factor is None:
                return
            total = total * factor + 1

    generator: Any = running(x)
    found = [next(generator)]
    for factor in (2, 3, 4):
        torch._dynamo.graph_break()
        found.append(generator.send(factor))
    return found


def delegates(x: torch.Tensor) -> list[torch.Tensor]:
    def outer(x: torch.Tensor) -> Iterator[torch.Tensor]:
        y = work(x)
        yield from rows(y)
        yield y.sum()

    found = []
    for part in outer(x):
        torch._dynamo.graph_break()
        found.append(part)
    return found


def raises_inside(x: torch.Tensor) -> list[Any]:
    def fails(x: torch.Tensor) -> Iterator[torch.Tensor]:
        y = work(x)
        try:
            yield y
            raise KeyError(int(y.sum() > 100))
        except KeyError as error:
            yield work(y) + len(error.args)
        finally:
            x.add_(1)
        raise ValueError("at the end")

    found: list[Any] = []
    try:
        for part in fails(x):
            torch._dynamo.graph_break()
            found.append(part)
    except ValueError as error:
        found.append([frame.name for frame in traceback.extract_tb(error.__traceback__)])
        found.append(str(error))
    return found


def closes(x: torch.Tensor) -> list[Any]:
    seen: list[Any] = []

    def watched(x: torch.Tensor) -> Iterator[torch.Tensor]:
        try:
            y = work(x)
            yield y
            yield work(y)
        except GeneratorExit:
            seen.append("closed")
            raise

    generator: Any = watched(x)
    seen.append(next(generator))
    torch._dynamo.graph_break()
    generator.close()
    return seen


def handles_around(x: torch.Tensor) -> list[torch.Tensor]:
    found = []
    try:
        raise KeyError("outside")
    except KeyError:
        for part in rows(x):
            torch._dynamo.graph_break()
            found.append(part)
    return found


PROGRAMS = [consumes, sends, delegates, raises_inside, closes, handles_around]


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_as_eager(program: Callable[..., Any], backend: str) -> None:
    compiled = stator.compile(program, backend=backend)
    torch.manual_seed(0)
    for size in (2, 2, 2, 4, 4, 4, 2, 3, 3, 3):
        x = torch.randn(size, 3)
        ours, eagers = x.clone(), x.clone()
        assert difference((compiled(ours), ours), (program(eagers), eagers)) is None


def test_the_body_is_captured() -> None:
    backend = Recording()
    compiled = stator.compile(consumes, backend=backend)
    x = torch.randn(4, 3)
    for _ in range(4):
        compiled(x)
    assert "unbind" in backend.operators()
    assert backend.operators().count("unbind") == 1


def test_a_generator_lets_its_tensors_die() -> None:
    alive: list[Any] = []

    def keeps(x: torch.Tensor) -> Iterator[torch.Tensor]:
        y = work(x)
        alive.append(weakref.ref(y))
        yield y.sum()
        del y
        yield work(x)

    def program(x: torch.Tensor) -> list[bool]:
        dead = []
        for _ in keeps(x):
            torch._dynamo.graph_break()
            dead.append(alive[-1]() is None)
        return dead

    compiled = stator.compile(program, backend="native")
    for _ in range(4):
        assert compiled(torch.ones(3)) == [False, True]
    gc.collect()
    assert all(each() is None for each in alive)
