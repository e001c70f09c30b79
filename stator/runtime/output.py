"""Calls that every run of a graph makes for real: `print`, writes to the standard streams.

See torch/replacements/run_calls.h.
"""

import sys
import weakref
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


class OutputCall(OpaqueCall):
    """A call that returns nothing of the run's. TypeError: making it would run code of the program's."""

    streams = 0
    """Those that must be Python's own."""
    result: Any = None
    """What the program is given for it."""

    def __init__(self, function: Callable[..., None], values: tuple[Any, ...]) -> None:
        for value in values:
            check_plain(value)
        super().__init__(function, values, {}, symbols=True)
        self._constants = values if not self.tensors and not self.numbers else None
        self._is_flat = all(type(value) not in (list, tuple, dict) for value in values)
        self.returns(())

    def __call__(self, tensors: list[torch.Tensor], *numbers: float) -> list[torch.Tensor]:
        """Make the call; called by every run."""
        values = self._constants
        if values is None:
            values = (
                tuple(self.leaves(tensors, numbers)) if self._is_flat else self.arguments(tensors, numbers)[0]
            )
        self.function(*values)
        return []


def printed(*values: Any, **settings: Any) -> OutputCall:
    """The node for a call of print."""
    file = settings.pop("file", None)
    # A stream that is given is the program's, whatever sys.stdout is by then.
    found: Callable[[], Any] = _standard(file) if file is not None else lambda: sys.stdout
    for value in settings.values():
        if type(value) not in (type(None), str, bool, int):
            raise TypeError(f"a {type(value).__name__} among its settings")
    to_errors = file is not None and file is sys.stderr

    def show(*shown: Any) -> None:
        _print(*shown, file=found(), **settings)

    call = OutputCall(show, values)
    call.streams = ERRORS if to_errors else OUTPUT
    return call


def written(stream: Any, text: Any) -> OutputCall:
    """The node for `stream.write(text)` of a standard stream."""
    if type(text) is not str:
        raise TypeError(f"a {type(text).__name__} is written")
    found = _standard(stream)

    def write(text: str) -> None:
        found().write(text)

    call = OutputCall(write, (text,))
    call.result = len(text)
    return call


def flushed(stream: Any) -> OutputCall:
    """The node for `stream.flush()` of a standard stream."""
    found = _standard(stream)
    return OutputCall(lambda: found().flush(), ())


def _standard(stream: Any) -> Callable[[], Any]:
    """Gives the stream that the program means; it is not kept alive. A guard proves that it lives."""
    if stream is not sys.stdout and stream is not sys.stderr:
        raise TypeError("to a file")
    kept = weakref.ref(stream)

    def found() -> Any:
        stream = kept()
        if stream is None:
            raise RuntimeError("the stream that a captured function writes to is gone")
        return stream

    return found


def check_plain(value: Any) -> None:
    """A text is made of it by Python's own code or torch's; TypeError otherwise."""
    kind = type(value)
    if kind is torch.Size:
        if any(type(size) is not int for size in value):
            raise TypeError("sizes that differ from call to call")
    elif kind in (list, tuple):
        for item in value:
            check_plain(item)
    elif kind is dict:
        for key, item in value.items():
            if type(key) not in _PLAIN:
                raise TypeError(f"a key that is a {type(key).__name__}")
            check_plain(item)
    elif kind not in (*_PLAIN, torch.Tensor, torch.nn.Parameter) and not isinstance(value, _SYMBOLS):
        raise TypeError(f"a {kind.__name__}")
