"""The interpreter as a user sees it: run a callable under it, and ask what it did."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from stator import _capture

P = ParamSpec("P")
R = TypeVar("R")


def interpret(fn: Callable[P, R]) -> "_capture.Interpreted[P, R]":
    """A callable that runs `fn` with every Python frame below it interpreted by Stator.

    Results, exceptions, tracebacks and side effects are those of `fn` itself. It binds as a method, so it
    serves as a decorator anywhere. A frame that Stator cannot go on with is handed over to CPython in the
    middle; `statistics` counts those.

    >>> interpret(lambda n: sum(i * i for i in range(n)))(4)
    14
    """
    return _capture.interpret(fn)


def interpret_everything(on: bool) -> None:
    """Interpret every Python frame of every thread from the next call on, or stop doing so."""
    _capture.interpret_everything(on)


@dataclass(frozen=True, slots=True)
class Statistics:
    """What became of the Python frames that reached Stator since the last `reset_statistics`."""

    frames: int
    """Frames that Stator took up."""
    finished: int
    """Of those: run by Stator until they returned, raised or yielded."""
    passed: int
    """Frames left to CPython without a look, because a tool was active or nobody asked for them."""
    handed_over: int
    """Frames begun by Stator and handed over to CPython in the middle."""
    handover_reasons: Mapping[str, int]
    """How often a frame was handed over, by reason."""


def statistics() -> Statistics:
    """The counts since the last `reset_statistics`."""
    return Statistics(**_capture.statistics())


def reset_statistics() -> None:
    """Set every count to zero."""
    _capture.reset_statistics()
