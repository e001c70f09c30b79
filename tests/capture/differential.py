"""tests/capture/differential.py: runs a program plainly and interpreted, compares all that a user can see.

STATOR_IDENTITY=1 replaces the interpreter by the identity, which checks the programs themselves.
"""

from __future__ import annotations

import contextlib
import gc
import io
import linecache
import os
import re
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

IDENTITY = os.environ.get("STATOR_IDENTITY") == "1"
SHOWN = 700
PROGRAMS = Path(__file__).parent / "programs"
ROOT = Path(__file__).resolve().parents[2]

if not IDENTITY:
    if str(ROOT) not in sys.path:
        sys.path.append(str(ROOT))
    from stator import _capture


def interpret(fn: Callable[..., Any], instructions: int = -1) -> Callable[..., Any]:
    """The interpreter under test, or the identity."""
    if IDENTITY:
        return fn
    wrapped: Callable[..., Any] = _capture.interpret(fn, instructions=instructions)
    return wrapped


def statistics() -> dict[str, Any]:
    """What the interpreter has counted since the last reset."""
    if IDENTITY:
        return {"frames": 0, "finished": 0, "passed": 0, "handed_over": 0, "handover_reasons": {}}
    return dict(_capture.statistics())


def reset_statistics() -> None:
    if not IDENTITY:
        _capture.reset_statistics()


ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


def text(value: object) -> str:
    """The repr with addresses removed, for two runs cannot share them."""
    try:
        return ADDRESS.sub("0x", repr(value))
    except Exception as error:
        return f"<repr raised {type(error).__name__}: {error}>"


# By identity: code objects of different columns can be equal. The code is kept, so that its id is not reused.
_positions: dict[int, tuple[types.CodeType, list[Any]]] = {}


def position(code: types.CodeType, offset: int) -> Any:
    """Line and columns of the instruction at a byte offset."""
    if id(code) not in _positions:
        if len(_positions) > 2000:
            _positions.clear()
        _positions[id(code)] = code, list(code.co_positions())
    known = _positions[id(code)][1]
    return known[offset // 2] if 0 <= offset // 2 < len(known) else offset


def entries(trace: types.TracebackType | None) -> list[Any]:
    """The traceback as data: file, function, line, columns; this file's own frames are left out."""
    found = []
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename != __file__:
            where = position(code, trace.tb_lasti)
            found.append((Path(code.co_filename).name, code.co_name, trace.tb_lineno, where))
        trace = trace.tb_next
    return found


def describe(error: BaseException | None, seen: tuple[int, ...] = ()) -> Any:
    """An exception and everything that hangs on it, as comparable data."""
    if error is None:
        return None
    if id(error) in seen:
        return "seen"
    seen = (*seen, id(error))
    members = getattr(error, "exceptions", None) if isinstance(error, BaseExceptionGroup) else None
    return {
        "type": type(error).__qualname__,
        "args": text(error.args),
        "str": ADDRESS.sub("0x", str(error)),
        "notes": text(getattr(error, "__notes__", None)),
        "suppress": error.__suppress_context__,
        "trace": entries(error.__traceback__),
        "cause": describe(error.__cause__, seen),
        "context": describe(error.__context__, seen),
        "members": [describe(member, seen) for member in members] if members is not None else None,
    }


@dataclass(frozen=True)
class Outcome:
    """What one run showed."""

    kind: str
    result: str
    exception: Any
    formatted: str
    log: str
    stdout: str
    stderr: str
    handled: str


def observe(function: Callable[..., Any], log: list[Any], *, formatted: bool = True) -> Outcome:
    """Call function(log) with the output streams captured.

    The garbage collector is off meanwhile: when it runs depends on what was allocated before, and shows.
    """
    gc.disable()
    try:
        return observed(function, log, formatted)
    finally:
        gc.enable()


def observed(function: Callable[..., Any], log: list[Any], formatted: bool) -> Outcome:
    """The call itself."""
    stdout, stderr = io.StringIO(), io.StringIO()
    kind, result, exception, shown = "", "", None, ""
    with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
        try:
            value = function(log)
        except BaseException as error:
            exception = describe(error)
            if formatted:
                below = error.__traceback__.tb_next if error.__traceback__ else None
                shown = "".join(traceback.format_exception(type(error), error, below))
                del below  # the frames die with the exception, formatted or not: their finalizers speak
            error.__traceback__ = None
            del error
        else:
            kind, result = type(value).__qualname__, text(value)
            del value
        handled = text(sys.exc_info()[0])
    return Outcome(
        kind,
        result,
        exception,
        ADDRESS.sub("0x", shown),
        text(log),
        ADDRESS.sub("0x", stdout.getvalue()),
        ADDRESS.sub("0x", stderr.getvalue()),
        handled,
    )


def shared(one: str, other: str) -> int:
    """The length of the common beginning."""
    for index, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return index
    return min(len(one), len(other))


def differences(plain: Outcome, ours: Outcome) -> str:
    """One paragraph per field that differs, shown around the first differing place; empty if none does."""
    lines = []
    for field in Outcome.__dataclass_fields__:
        expected, found = str(getattr(plain, field)), str(getattr(ours, field))
        if expected != found:
            start = max(0, shared(expected, found) - SHOWN // 3)
            for who, what in (("CPython", expected), ("Stator ", found)):
                head = "..." if start else ""
                lines.append(f"{field} {who}: {head}{what[start : start + SHOWN]}")
    return "\n".join(lines)


@dataclass(frozen=True)
class Program:
    """One case of one file under programs/."""

    path: Path
    case: str

    @property
    def name(self) -> str:
        return f"{self.path.stem}:{self.case}"

    @contextlib.contextmanager
    def fresh(self) -> Iterator[Callable[..., Any]]:
        """The case's function in a newly executed module, so that no state is shared between two runs."""
        name = f"stator_program_{self.path.stem}"
        module = types.ModuleType(name)
        module.__file__ = str(self.path)
        sys.modules[name] = module
        try:
            exec(compiled(self.path), module.__dict__)
            yield getattr(module, self.case)
        finally:
            sys.modules.pop(name, None)

    def run(self, instructions: int | None, *, formatted: bool = True) -> Outcome:
        """None runs it under CPython; otherwise see interpret()."""
        with self.fresh() as function:
            subject = function if instructions is None else interpret(function, instructions)
            return observe(subject, [], formatted=formatted)

    def setting(self, name: str, default: Any) -> Any:
        """An attribute that the program file put on the case's function."""
        with self.fresh() as function:
            return getattr(function, name, default)


_compiled: dict[Path, types.CodeType] = {}


def compiled(path: Path) -> types.CodeType:
    """The file's code; a file that sets RECOMPILE leaves marks in its code objects: it gets new ones."""
    if path not in _compiled or "RECOMPILE" in _compiled[path].co_names:
        _compiled[path] = compile(path.read_text(), str(path), "exec")
        linecache.getlines(str(path))
    return _compiled[path]


def supported(path: Path) -> bool:
    """A file name ending in _312 or _313 says the first Python that can compile it."""
    suffix = re.search(r"_3(\d\d)$", path.stem)
    return suffix is None or sys.version_info >= (3, int(suffix.group(1)))


def programs() -> list[Program]:
    """Every case of every program file that this Python can compile."""
    found = []
    for path in sorted(PROGRAMS.glob("*.py")):
        if supported(path):
            names = compiled(path).co_names
            found += [Program(path, name) for name in dict.fromkeys(names) if name.startswith("case_")]
    return found
