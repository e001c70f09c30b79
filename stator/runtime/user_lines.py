"""Stacks of the user's frames as text: rows of (file, line, function), outermost first."""

import functools
import linecache
import os
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

Frame = tuple[str, int, str]
"""(file, line, function)"""

_PACKAGE = str(Path(__file__).resolve().parent.parent) + os.sep


def stack_lines(frames: Iterable[Frame]) -> tuple[str, ...]:
    """`file:line: source` for each frame."""
    return tuple(line_text(frame) for frame in frames)


def line_text(frame: Frame) -> str:
    """`file:line: source`."""
    file, line, _ = frame
    return f"{file}:{line}{_after(': ', file, line)}"


def traceback_text(frames: Iterable[Frame]) -> str:
    """The frames as a traceback shows them, which is how torch has `stack_trace`."""
    return "".join(
        f'  File "{file}", line {line}, in {function}{_after(chr(10) + "    ", file, line)}\n'
        for file, line, function in frames
    )


def place_of(fn: Any) -> str:
    """`name (file:line)` of a callable."""
    function = getattr(fn, "__func__", fn)
    name = getattr(function, "__qualname__", type(function).__qualname__)
    code = _innermost_code(function)
    if code is None:  # a module, a callable object
        called: list[Any] = [getattr(type(fn), method, None) for method in ("forward", "__call__")]
        code = next(filter(None, map(_innermost_code, called)), None)
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code else str(name)


def _innermost_code(function: Any) -> Any:
    """Of a decorated function the function itself: its lines are what the user knows."""
    for _ in range(100):  # a cycle of wrappers has no innermost one
        wrapped = getattr(function, "__wrapped__", None)
        if wrapped is None:
            break
        function = wrapped
    return getattr(function, "__code__", None)


@functools.cache
def owner_of(file: str) -> int:
    """Whose code it is: 0 of the program, 1 of a package that is installed, 2 of Python, torch or Stator."""
    if file.startswith(("<frozen ", _PACKAGE)):
        return 2
    parts = Path(file).parts
    for folder in ("site-packages", "dist-packages"):
        if folder in parts:
            package = parts[parts.index(folder) + 1]
            return 2 if package in ("torch", "torchgen", "functorch", "stator") else 1
    standard = (sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib"))
    return 2 if file.startswith(tuple(standard)) else 0


def own_position(frames: Sequence[Frame]) -> int:
    """The index of the innermost frame of the program; where there is none, of the packages that it uses."""
    if not frames:
        return -1
    owners = [owner_of(file) for file, _, _ in frames]
    return len(owners) - 1 - owners[::-1].index(min(owners))


def _after(separator: str, file: str, line: int) -> str:
    source = linecache.getline(file, line).strip()
    return separator + source if source else ""
