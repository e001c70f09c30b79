"""The source of a program with what was captured of each line."""

import ast
import linecache
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from stator.api.cache import CacheEntry
from stator.api.explain import ExplainOutput
from stator.runtime.user_lines import Frame, own_position, owner_of

Place = tuple[str, int]
"""(file, line)"""


@dataclass
class Mark:
    """What is known of one line."""

    operators: int = 0
    """That this line, or library code that it called, put into one graph; the most of all captures."""
    reached: bool = False
    """Captured code passed through it, on the way to a line with operators or to read something."""
    guards: dict[str, None] = field(default_factory=dict)
    """Each once, in order."""
    breaks: list[int] = field(default_factory=list)
    """Numbers of break reasons, from 1."""

    @property
    def kind(self) -> str:
        """How the page shows the line."""
        if self.breaks:
            return "break"
        return "captured" if self.operators else "reached" if self.reached else ""


@dataclass
class Line:
    """One line of source."""

    number: int
    text: str
    mark: Mark


@dataclass
class Excerpt:
    """The source of one function."""

    file: str
    title: str
    lines: list[Line]
    is_own: bool
    """Of the program; otherwise of a package that it uses."""

    @property
    def operators(self) -> int:
        """In its lines."""
        return sum(line.mark.operators for line in self.lines)

    @property
    def has_work(self) -> bool:
        """Whether operators or breaks are in it; otherwise captured code only passed through, or read."""
        return any(line.mark.operators or line.mark.breaks for line in self.lines)


def excerpts(output: ExplainOutput) -> list[Excerpt]:
    """The functions that captured code or breaks are in, those of the program first, none of torch's.

    Those of packages come by the number of operators.
    """
    marks = marks_of(output)
    files = sorted({file for file, _ in marks if owner_of(file) < 2})
    found = [excerpt for file in files for excerpt in _of_file(file, marks)]
    return sorted(found, key=lambda each: (not each.is_own, 0 if each.is_own else -each.operators))


def marks_of(output: ExplainOutput) -> dict[Place, Mark]:
    """What is known of each line."""
    marks: dict[Place, Mark] = {}

    def at(frame: Frame) -> Mark:
        return marks.setdefault(frame[:2], Mark())

    for entry in output.entries:
        operators: dict[Place, int] = {}
        for stack in entry.node_stacks:
            for frame in stack:
                at(frame).reached = True
            if stack:
                own = stack[own_position(stack)][:2]
                operators[own] = operators.get(own, 0) + 1
        for place, count in operators.items():
            marks[place].operators = max(marks[place].operators, count)
        for frame, text in _guards(entry):
            mark = at(frame)
            mark.reached = True
            mark.guards[text] = None
    for i, reason in enumerate(output.break_reasons):
        if reason.own_frame is not None:
            at(reason.own_frame).breaks.append(i + 1)
    return marks


def _guards(entry: CacheEntry) -> Iterator[tuple[Frame, str]]:
    for guard in entry.guards:
        found = re.fullmatch(r"(.*):(\d+) in (.*)", guard.user_line)
        if found is not None and found[1]:
            yield (found[1], int(found[2]), found[3]), str(guard)


def _of_file(file: str, marks: dict[Place, Mark]) -> Iterator[Excerpt]:
    source = linecache.getlines(file)
    wanted = {line for name, line in marks if name == file and 0 < line <= len(source)}
    for title, first, last in _functions(source, wanted):
        lines = [
            Line(number, source[number - 1].rstrip("\n"), marks.get((file, number), Mark()))
            for number in range(first, last + 1)
        ]
        if any(line.mark.kind for line in lines):
            yield Excerpt(file, title, lines, owner_of(file) == 0)


def _functions(source: Sequence[str], wanted: set[int]) -> list[tuple[str, int, int]]:
    """(name, first line, last line) of the innermost functions with these lines, or else of statements."""
    try:
        tree = ast.parse("".join(source))
    except SyntaxError:  # a cell of a notebook with commands of its own
        return [("", min(wanted), max(wanted))] if wanted else []
    found = {_around(tree.body, line, "") for line in wanted}
    ranges = sorted(each for each in found if each is not None)
    return [
        (name, first, last)
        for first, last, name in ranges
        # One that is defined inside of another one that is shown is shown there.
        if not any(a <= first and last <= b and (a, b) != (first, last) for a, b, _ in ranges)
    ]


def _around(statements: Sequence[ast.stmt], line: int, prefix: str) -> tuple[int, int, str] | None:
    """(first line, last line, name) of the innermost function, or else of the statement, with the line."""
    for statement in statements:
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        for decorator in getattr(statement, "decorator_list", ()):
            first = min(first, decorator.lineno)
        if not first <= line <= last:
            continue
        is_function = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(statement, ast.ClassDef) or is_function:
            name = f"{prefix}{statement.name}"  # type: ignore[attr-defined]
            inner = _around(_inside(statement), line, f"{name}.")
            return inner or ((first, last, name) if is_function else None)
        inner = _around(_inside(statement), line, prefix)
        return inner or (None if prefix else (first, last, "(module)"))
    return None


def _inside(statement: ast.stmt) -> list[ast.stmt]:
    """The statements directly in its blocks."""
    blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    blocks += [handler.body for handler in getattr(statement, "handlers", [])]
    blocks += [case.body for case in getattr(statement, "cases", [])]
    return [each for block in blocks for each in block if isinstance(each, ast.stmt)]
