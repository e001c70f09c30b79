"""The classes of the errors that backends cause: ours, or such as are torch's as well (stator/dropin)."""

from collections.abc import Callable
from typing import Any

_choose: Callable[[type[Exception]], Any] | None = None


def raised_as(own: type[Exception]) -> Any:
    """The class to raise where `own` is meant: `own` or a subclass of it."""
    return own if _choose is None else _choose(own)


def choose_with(choose: Callable[[type[Exception]], Any] | None) -> None:
    """From now on `choose(own)` gives the class; None: `own` itself."""
    global _choose
    _choose = choose
