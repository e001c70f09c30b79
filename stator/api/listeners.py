"""Who is told of captures and breaks: several may listen at the same time."""

from collections.abc import Callable
from typing import Any

from stator import _capture

Listener = Callable[[Callable[..., Any], Any], object]
"""`(function, row of the capture or of the reason)`"""

_listeners: dict[str, list[Listener]] = {"capture_hook": [], "break_hook": []}


def listen(event: str, listener: Listener) -> None:
    """Call `listener` at each "capture_hook" or "break_hook" from now on; a second time it is not added."""
    if listener not in _listeners[event]:
        _listeners[event].append(listener)
        _tell_engine(event)


def unlisten(event: str, listener: Listener) -> None:
    """Call it no longer."""
    if listener in _listeners[event]:
        _listeners[event].remove(listener)
        _tell_engine(event)


def _tell_engine(event: str) -> None:
    listeners = _listeners[event]

    def all_of_them(fn: Callable[..., Any], row: Any) -> None:
        for listener in listeners:
            listener(fn, row)

    hooks: Any = {event: all_of_them if listeners else None}
    _capture.configure(**hooks)
