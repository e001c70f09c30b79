"""Numbers that every run asks for anew: clocks, and what the generators of `random` and `numpy.random` draw.

See torch/replacements/run_calls.h.
"""

import random
import sys
from collections.abc import Callable
from typing import Any

_CONSTANTS = (type(None), bool, int, float, str)
_MOST = 2**62
"""Of the ints that a call is given: what it draws is an int of 64 bits then."""


class NumberOfRun:
    """A call whose result is a float of each run, or an int of it."""

    def __init__(
        self,
        function: Callable[..., float],
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
        is_integer: bool = False,
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.keywords = keywords
        self.is_integer = is_integer
        self.name = getattr(function, "__qualname__", "number")

    def __call__(self, tensors: list[Any]) -> list[float]:
        """Ask for it; called by every run."""
        return [self.function(*self.arguments, **self.keywords)]


def number_of_run(
    function: Callable[..., float], arguments: tuple[Any, ...], keywords: dict[str, Any] | None
) -> NumberOfRun | None:
    """The call, if its result is a number whatever is drawn; None otherwise, and where it raises."""
    named = keywords or {}
    given = (*arguments, *named.values())
    if any(type(value) not in _CONSTANTS for value in given):
        return None
    drawn_by = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "")
    try:
        if isinstance(drawn_by, random.Random):
            drawn = getattr(_like_python, name)(*arguments, **named)
        elif type(drawn_by).__name__ == "RandomState":
            drawn = getattr(_like_numpy(), name)(*arguments, **named)
        else:  # a clock, which is asked what it may be asked
            return NumberOfRun(function, arguments, named) if not arguments and not named else None
    except Exception:
        return None
    if type(drawn) is float:
        return NumberOfRun(function, arguments, named)
    if type(drawn) is not int or name not in _INTEGERS:
        return None
    if any(type(value) is not int or abs(value) > _MOST for value in given):
        return None
    return NumberOfRun(function, arguments, named, is_integer=True)


# Those that give an int of the size of what they are given.
_INTEGERS = {"randint", "randrange"}


# What they draw, nobody sees: a call is tried on them, so that the program's generator does not move.
_like_python = random.Random(0)
_numpy: list[Any] = []


def _like_numpy() -> Any:
    if not _numpy:
        _numpy.append(sys.modules["numpy.random"].RandomState(0))
    return _numpy[0]
