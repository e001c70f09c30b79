"""`torch._dynamo.config.ignore_logging_functions`: functions and methods that captured code does not call."""

from collections.abc import Callable, Iterable
from types import FunctionType, MethodType
from typing import Any

from stator import _capture

NAMES = ("ignore_logging_functions", "ignore_logger_methods")

_ignored: set[Any] = set()


def follow(functions: Iterable[Any]) -> None:
    """From now on captures leave out calls of these, which then give None, and of no others."""
    for each in _ignored:
        if isinstance(each, FunctionType):
            _capture.substitute(each, each)
    _ignored.clear()
    by_method: dict[FunctionType, list[Any]] = {}
    for function in functions:
        if isinstance(function, MethodType) and isinstance(function.__func__, FunctionType):
            by_method.setdefault(function.__func__, []).append(function.__self__)
        elif callable(function):
            _ignore(function, _nothing)
    for method, owners in by_method.items():
        if method not in _ignored:
            _ignore(method, _for_others(method, owners))


def unfollow() -> None:
    """Nothing is left out."""
    follow(())


def _ignore(function: Any, instead: Callable[..., Any]) -> None:
    _capture.substitute(function, instead)
    _ignored.add(function)


def _nothing(*args: Any, **kwargs: Any) -> None:
    """What is called in their place."""


def _for_others(method: FunctionType, owners: list[Any]) -> Callable[..., Any]:
    """The method, which does nothing for these objects."""
    # A function of its own: captures would call ours again in the place of the method.
    alike = FunctionType(
        method.__code__, method.__globals__, method.__name__, method.__defaults__, method.__closure__
    )
    alike.__kwdefaults__ = method.__kwdefaults__

    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        for owner in owners:
            if self is owner:
                return None
        return alike(self, *args, **kwargs)

    return called
