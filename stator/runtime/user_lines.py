"""Stacks of the user's frames as text: rows of (file, line, function), outermost first."""

import linecache
from collections.abc import Iterable


def stack_lines(frames: Iterable[tuple[str, int, str]]) -> tuple[str, ...]:
    """`file:line: source` for each frame."""
    return tuple(f"{file}:{line}{_after(': ', file, line)}" for file, line, _ in frames)


def traceback_text(frames: Iterable[tuple[str, int, str]]) -> str:
    """The frames as a traceback shows them, which is how torch has `stack_trace`."""
    return "".join(
        f'  File "{file}", line {line}, in {function}{_after(chr(10) + "    ", file, line)}\n'
        for file, line, function in frames
    )


def _after(separator: str, file: str, line: int) -> str:
    source = linecache.getline(file, line).strip()
    return separator + source if source else ""
