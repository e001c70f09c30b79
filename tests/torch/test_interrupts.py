"""KeyboardInterrupt anywhere in functions with breaks: it is raised in the program, which stays whole."""

from __future__ import annotations

import itertools
import logging
import random
import signal
from collections.abc import Iterator
from typing import Any

import pytest

import stator
import torch
from torch import Tensor

break_here = stator.disable(lambda: None)


class World:
    """What the program writes to."""

    def __init__(self) -> None:
        self.begun = 0
        self.written = torch.zeros(4)
        self.kept: dict[int, Tensor] = {}
        self.entered: list[str] = []

    def __enter__(self) -> None:
        self.entered.append("in")

    def __exit__(self, *error: object) -> None:
        self.entered.append("out")

    def is_whole(self) -> bool:
        """As it may stand between two lines of the program."""
        numbers = set(self.written.tolist())
        left, come = self.entered.count("out"), self.entered.count("in")
        return (
            len(numbers) == 1
            and numbers <= {self.begun - 1, self.begun}
            and come - 1 <= left <= come <= self.begun
            and len(self.kept) <= left
        )


def parts(y: Tensor) -> Iterator[Tensor]:
    for i in range(3):
        y = y + i
        break_here()
        yield y


def callee(y: Tensor, i: int) -> Tensor:
    y = y * 2
    break_here()
    try:
        y = y + i
        break_here()
        return y - 1
    finally:
        break_here()


def program(x: Tensor, world: World) -> Tensor:
    y = x
    for i in range(4):
        world.begun += 1
        world.written.add_(1)
        with world:
            y = y + 1
            break_here()
            y = callee(y, i)
        world.kept[i] = y
        if y.sum() > 100:
            y = y * 2
        for v in parts(y):
            y = y + v
    return y


class Interrupter:
    """Raises KeyboardInterrupt after some time; counts how often it did."""

    def __init__(self) -> None:
        self.raised = 0

    def __call__(self, *_: Any) -> None:
        self.raised += 1
        raise KeyboardInterrupt

    def call(self, function: Any, after: float, *arguments: Any) -> Any:
        """The result; None: it was interrupted."""
        result = None
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, after)
                result = function(*arguments)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            return None
        return result


@pytest.fixture
def interrupter() -> Iterator[Interrupter]:
    found = Interrupter()
    before = signal.signal(signal.SIGALRM, found)
    yield found
    signal.signal(signal.SIGALRM, before)


def test_the_program_stays_whole(interrupter: Interrupter) -> None:
    choose = random.Random(1)
    x = torch.ones(4)
    expected = program(x, World())
    compiled = stator.compile(program, backend="native")
    for number in range(400):
        if number % 10 == 0:
            stator.reset()
        world = World()
        longest = 2e-2 if number % 10 == 0 else 1e-3
        result = interrupter.call(compiled, choose.uniform(1e-6, longest), x, world)
        assert world.is_whole()
        assert result is None or torch.equal(result, expected)
        if number % 20 == 0:
            assert torch.equal(compiled(x, World()), expected)
    assert interrupter.raised > 50


def test_what_arrives_while_a_segment_is_compiled_is_raised(interrupter: Interrupter) -> None:
    x = torch.ones(4)
    expected = program(x, World())
    for stop_at in range(8):
        compilations = itertools.count()

        def compiles(module: Any, _: Any, numbers: Iterator[int] = compilations, at: int = stop_at) -> Any:
            if next(numbers) == at:
                signal.raise_signal(signal.SIGALRM)
            return module.forward

        compiled = stator.compile(program, backend=compiles)
        with pytest.raises(KeyboardInterrupt):
            compiled(x, World())
        assert interrupter.raised == stop_at + 1
        for _ in range(2):
            assert torch.equal(compiled(x, World()), expected)
        assert next(compilations) > 8


def test_what_arrives_while_a_segment_runs_is_raised(interrupter: Interrupter) -> None:
    """In a backend's function, which has written nothing yet: no warning tells of it as of a fault."""
    runs = itertools.count()

    def compiles(module: Any, _: Any) -> Any:
        def run(*inputs: Any) -> Any:
            if next(runs) == 20:
                signal.raise_signal(signal.SIGALRM)
            return module.forward(*inputs)

        return run

    def pure(x: Tensor) -> Tensor:
        for _ in range(4):
            x = callee(x + 1, 2)
        return x

    x = torch.ones(4)
    compiled = stator.compile(pure, backend=compiles)
    results = [interrupter.call(compiled, 100, x) for _ in range(8)]
    assert interrupter.raised == sum(result is None for result in results) == 1
    assert torch.equal(compiled(x), pure(x))


class Interrupts(logging.Handler):
    """What tells of a capture is interrupted."""

    def emit(self, _: logging.LogRecord) -> None:
        signal.raise_signal(signal.SIGALRM)


def test_what_arrives_in_a_log_record_is_raised(interrupter: Interrupter) -> None:
    log, handler = logging.getLogger("stator"), Interrupts()

    def callee_of(x: Tensor, n: int) -> Tensor:
        return x * n

    def outer(x: Tensor, n: int) -> Tensor:
        x = x + 1
        break_here()
        return callee_of(x, n) * 2

    compiled = stator.compile(outer, backend="native", dynamic=False)
    level = log.level
    log.setLevel(logging.INFO)
    try:
        compiled(torch.ones(3), 2)
        log.addHandler(handler)
        with pytest.raises(KeyboardInterrupt):
            compiled(torch.ones(3), 3)
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
    assert interrupter.raised > 0
    assert torch.equal(compiled(torch.ones(3), 3), outer(torch.ones(3), 3))
