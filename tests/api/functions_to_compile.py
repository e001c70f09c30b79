"""Functions of a module, compiled and plain: what test_function_like.py asks about, and pickles."""

import functools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import stator
import torch


def tagged(x: torch.Tensor, by: "int" = 2, *, shift: float = 0.5) -> torch.Tensor:
    """Scale and shift.

    >>> tagged(torch.ones(1))
    tensor([2.5000])
    """
    return x * by + shift


tagged.tag = ["set before"]  # type: ignore[attr-defined]


def closing(by: int) -> Any:
    def closure(x: torch.Tensor) -> torch.Tensor:
        return x * by

    return closure


def generated(x: torch.Tensor) -> Iterator[torch.Tensor]:
    yield x + 1
    yield x + 2


async def awaited(x: torch.Tensor) -> torch.Tensor:
    return x + 1


async def streamed(x: torch.Tensor) -> AsyncIterator[torch.Tensor]:
    yield x + 1
    yield x + 2


@functools.wraps(tagged)
def wrapping(*args: Any, **kwargs: Any) -> Any:
    return tagged(*args, **kwargs)


class Holder:
    """Methods of all kinds, and calls."""

    def __init__(self, by: float) -> None:
        self.by = by
        self.seen: list[float] = []

    def method(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.by

    @classmethod
    def of_class(cls, x: torch.Tensor) -> tuple[str, torch.Tensor]:
        return cls.__name__, x + 1

    @staticmethod
    def of_none(x: torch.Tensor) -> torch.Tensor:
        return x + 2

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.by + 1


holder = Holder(3.0)

# Compiled by a decorator: pickled by name, as functions are.


@stator.compile(backend="native")
def decorated(x: torch.Tensor) -> torch.Tensor:
    """Double."""
    return x * 2


@stator.disable
def disabled(x: torch.Tensor) -> torch.Tensor:
    return x * 3


class Decorated:
    by = 4.0

    @stator.compile(backend="native")
    def method(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.by


# Compiled forms beside the plain functions: pickled as the function and the options.
compiled = stator.compile(tagged, backend="native", fullgraph=True, dynamic=False)
