"""What was captured: entries by function, and how to drop them."""

import logging
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from stator import _capture
from stator.backends.invoke import BACKEND_SECONDS
from stator.runtime.user_lines import Frame, place_of

# In the order they were made. Without callbacks, as Python's weak collections have them: what interrupts the
# program while one of those runs is lost.
_made: "list[weakref.ref[_capture.Compiled[..., Any]]]" = []
_clear_at = 64  # references; those of what has died are dropped then
_skipped: set[CodeType] = set()
_kept: "list[_capture.Compiled[..., Any]] | None" = None
_before_drop: "Callable[[_capture.Compiled[..., Any]], object] | None" = None
_lock = threading.RLock()


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition that every later call must meet."""

    source: str
    """What is looked at, as an expression."""
    expected: str
    """What it must be."""
    user_line: str = ""
    """`file:line in function`: where the program first relied on it."""

    def __str__(self) -> str:
        return f"{self.source} {self.expected}"


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """One capture of a function."""

    guards: tuple[Guard, ...]
    graph: str
    """The captured graph as text."""
    graph_module: Any
    """The torch.fx.GraphModule that a Python backend was given, or None."""
    nodes: int
    words: int
    """Machine words that every call compares, beside its arguments and the tensors it reaches."""
    hits: int
    """Calls served since the capture."""
    seconds: float
    """What the capture took, with the backend's work."""
    told_compiling: bool | None = None
    """What it was told that asked `torch.compiler.is_compiling()`; None: it did not ask."""
    begins: Frame | None = None
    """(file, line, function) where it begins: where the function is defined, or behind a break."""
    ends: Frame | None = None
    """(file, line, function) of the break that it ends before; None: it goes to the end of the function."""
    node_stacks: tuple[tuple[Frame, ...], ...] = field(default=(), repr=False)
    """For each node the user's stack, outermost frame first."""
    backend_seconds: float = 0.0
    """What a backend in Python took of `seconds`."""


def remember(compiled: "_capture.Compiled[..., Any]") -> None:
    """Take part in `reset` and `cache_entries`; dies with the compiled function."""
    global _clear_at
    with _lock:
        if len(_made) >= _clear_at:
            _made[:] = [reference for reference in _made if reference() is not None]
            _clear_at = 64 + 2 * len(_made)
        _made.append(weakref.ref(compiled))
        if _kept is not None:
            _kept.append(compiled)
    if getattr(_function_of(compiled.wrapped_function), "__code__", None) in _skipped:
        compiled.skip()


def keep_all(before_drop: "Callable[[_capture.Compiled[..., Any]], object]") -> None:
    """Keep every function that is compiled from now on, for a report at the end of the program.

    `before_drop` is called with a function whose captures are about to be dropped.
    """
    global _kept, _before_drop
    with _lock:
        _kept = [] if _kept is None else _kept
        _before_drop = before_drop


def _drop(compiled: "_capture.Compiled[..., Any]") -> None:
    if _before_drop is not None:
        _before_drop(compiled)
    compiled.reset()


def all_in_order() -> "list[_capture.Compiled[..., Any]]":
    """Every compiled function that is alive, in the order they were made."""
    with _lock:
        return [compiled for reference in _made if (compiled := reference()) is not None]


def compiled_forms(fn: Any) -> "list[_capture.Compiled[..., Any]]":
    """What `compile` made of `fn` and is still alive, in the order it was made; of a compiled one, itself."""
    if isinstance(fn, _capture.Compiled):
        return [fn]
    module_form = getattr(type(fn), "_compiled", None)  # of an OptimizedModule
    if isinstance(module_form, _capture.Compiled):
        return [module_form]
    return [compiled for compiled in all_in_order() if _is_same(compiled.wrapped_function, fn)]


def _is_same(one: Any, other: Any) -> bool:
    """Bound methods are made anew by each access."""
    return one is other or (
        hasattr(one, "__func__")
        and getattr(other, "__func__", None) is one.__func__
        and other.__self__ is one.__self__
    )


def cache_entries(fn: Any) -> list[CacheEntry]:
    """The captures of a function: guards, graphs, hit counts.

    >>> import stator, torch
    >>> double = stator.compile(lambda x: x * 2, backend="native")
    >>> _ = double(torch.ones(3)), double(torch.ones(3))
    >>> [(entry.nodes, entry.hits) for entry in cache_entries(double)]
    [(1, 1)]
    """
    return [entry_of(row) for compiled in compiled_forms(fn) for row in rows_of(compiled)]


def rows_of(compiled: "_capture.Compiled[..., Any]") -> list[Any]:
    """What was captured of a function and, after a break, of the functions that it calls."""
    return [*compiled.entries, *(row for callee in compiled.callees for row in callee["entries"])]


def entry_of(row: Any) -> CacheEntry:
    """An entry as the engine reports it, typed."""
    guards = tuple(
        guard_of(text, f"{file}:{line} in {function}")
        for text, (file, line, function) in zip(row["guards"], row["guard_places"], strict=True)
    )
    module = row["graph_module"]
    return CacheEntry(
        guards=guards,
        graph=row["graph"],
        graph_module=module,
        nodes=row["nodes"],
        words=row["words"],
        hits=row["hits"],
        seconds=row["seconds"],
        told_compiling=row["told_captured"],
        begins=row["begins"],
        ends=row["ends"],
        node_stacks=tuple(map(tuple, row["node_stacks"])),
        backend_seconds=0.0 if module is None else module.meta.get(BACKEND_SECONDS, 0.0),
    )


def guard_of(text: str, user_line: str = "") -> Guard:
    """A guard in words, split after its source expression: no space outside of quotes and brackets."""
    depth, quote = 0, ""
    for i, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif letter == " " and depth == 0:
            return Guard(text[:i], text[i + 1 :], user_line)
    return Guard(text, "", user_line)


def reset() -> None:
    """Drop every capture, and the state of backends that have `reset()`."""
    alive = all_in_order()
    for compiled in alive:
        _drop(compiled)
    _skipped.clear()
    done: list[Any] = []
    for compiled in alive:
        backend: Any = getattr(compiled.context, "backend", None)
        if hasattr(backend, "reset") and not any(backend is other for other in done):
            done.append(backend)
            backend.reset()


def set_guard_error_hook(hook: Callable[[Any, BaseException], object] | None) -> None:
    """Call `hook(fn, exception)` when a guard of `fn` raises; the call is then captured anew."""
    _capture.configure(guard_error_hook=hook)


def remove_from_cache(fn: Any) -> None:
    """Drop the captures of one function."""
    for compiled in compiled_forms(fn):
        _drop(compiled)


def reset_code(code: CodeType) -> None:
    """Drop the captures of every function with this code, and the wish to skip it."""
    _skipped.discard(code)
    for compiled in _with_code(code):
        _drop(compiled)


def skip_code(code: CodeType) -> None:
    """Never capture functions with this code again, until `reset_code` or `reset`."""
    _skipped.add(code)
    for compiled in _with_code(code):
        compiled.skip()


def _with_code(code: CodeType) -> "Sequence[_capture.Compiled[..., Any]]":
    return [c for c in all_in_order() if getattr(_function_of(c.wrapped_function), "__code__", None) is code]


def _function_of(fn: Callable[..., Any]) -> Any:
    return getattr(fn, "__func__", fn)


def _log_miss(fn: Any, guard: str) -> None:
    log.info("%s is captured again: this no longer holds: %s", place_of(fn), guard)


log = logging.getLogger("stator.recompiles")
_capture.configure(miss_hook=_log_miss)
