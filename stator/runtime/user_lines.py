"""Stacks of the user's frames as text: rows of (file, line, function), outermost first."""

import linecache
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_OWN_FUNCTIONS = str(Path(__file__).parent)


def stack_lines(frames: Iterable[tuple[str, int, str]]) -> tuple[str, ...]:
    """`file:line: source` for each frame."""
    return tuple(f"{file}:{line}{_after(': ', file, line)}" for file, line, _ in frames)


def traceback_text(frames: Iterable[tuple[str, int, str]]) -> str:
    """The frames as a traceback shows them, which is how torch has `stack_trace`."""
    return "".join(
        f'  File "{file}", line {line}, in {function}{_after(chr(10) + "    ", file, line)}\n'
        for file, line, function in frames
    )


def program_frames(frames: list[tuple[str, int, str]]) -> list[tuple[str, int, str]]:
    """Without the innermost ones that are functions of Stator's in the place of torch's."""
    count = len(frames)
    while count > 1 and frames[count - 1][0].startswith(_OWN_FUNCTIONS):
        count -= 1
    return frames[:count]


def place_of(fn: Any) -> str:
    """`name (file:line)` of a callable."""
    function = getattr(fn, "__func__", fn)
    name = getattr(function, "__qualname__", type(function).__qualname__)
    code = getattr(function, "__code__", None)
    if code is None:  # a module, a callable object
        called: list[Any] = [getattr(type(fn), method, None) for method in ("forward", "__call__")]
        code = next((each.__code__ for each in called if hasattr(each, "__code__")), None)
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code else str(name)


def _after(separator: str, file: str, line: int) -> str:
    source = linecache.getline(file, line).strip()
    return separator + source if source else ""
