"""`print` and clocks as nodes of a graph, called by every run; see torch/replacements/run_calls.h."""

import sys
from collections.abc import Callable
from typing import Any

import torch
from stator import _capture
from stator.runtime.allowed_call import OpaqueCall

OUTPUT, ERRORS = 1, 2

# torch's own code that makes texts of tensors is no part of the program.
_print = _capture.Marked(print, "disabled")

_PLAIN = (type(None), bool, int, float, complex, str, torch.dtype, torch.device)
_SYMBOLS = (torch.SymInt, torch.SymFloat)


class Printing:
    """One call of print, with what it was given."""

    __name__ = "print"

    def __init__(self, stream: int, settings: dict[str, Any]) -> None:
        self.stream = stream
        self.settings = settings

    def __call__(self, *values: Any) -> tuple[()]:
        """Print; called by every run."""
        file = sys.stderr if self.stream == ERRORS else sys.stdout
        _print(*values, file=file, **self.settings)
        return ()


def recorded(values: tuple[Any, ...], settings: dict[str, Any]) -> OpaqueCall:
    """The node for a call of print. TypeError: printing these would run code of the program's."""
    rest = dict(settings)
    file = rest.pop("file", None)
    if file is not None and file is not sys.stdout and file is not sys.stderr:
        raise TypeError("to a file")
    for value in rest.values():
        if type(value) not in (type(None), str, bool, int):
            raise TypeError(f"a {type(value).__name__} among its settings")
    shown = tuple(map(_shown, values))
    stream = ERRORS if file is not None and file is sys.stderr else OUTPUT
    return OpaqueCall(Printing(stream, rest), shown, {}, symbols=True)


def _shown(value: Any) -> Any:
    """What is printed in its place."""
    if type(value) is torch.Size and all(type(size) is int for size in value):
        return str(value)
    _check(value)
    return value


def _check(value: Any) -> None:
    """A text is made of it by Python's own code or torch's."""
    kind = type(value)
    if kind in (list, tuple):
        for item in value:
            _check(item)
    elif kind is dict:
        for key, item in value.items():
            if type(key) not in _PLAIN:
                raise TypeError(f"a key that is a {type(key).__name__}")
            _check(item)
    elif kind not in (*_PLAIN, torch.Tensor, torch.nn.Parameter) and not isinstance(value, _SYMBOLS):
        raise TypeError(f"a {kind.__name__}")


class NumberOfRun:
    """A function whose result is a number of each run: a clock, a random number."""

    def __init__(self, function: Callable[[], float]) -> None:
        self.function = function
        self.name = getattr(function, "__qualname__", "number")

    def __call__(self, tensors: list[torch.Tensor]) -> list[float]:
        """Ask for it; called by every run."""
        return [self.function()]
