"""`guard_filter_fn`: the user says which guards of a capture count.

Its entries have the fields of torch's, so that the filters of `torch.compiler`
(`skip_guard_on_globals_unsafe`, ...) and of libraries work.
"""

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

GuardRow = tuple[str, str, Any, bool, Any, Any]
"""(kind, source, key, has_value, value, subject), as src/capture/session/filtered_guards.cpp makes it."""


@dataclass(frozen=True)
class OriginalGuard:
    """What torch's guards tell of themselves, as far as filters ask."""

    name: str
    source: Any
    """A member of `torch._guards.GuardSource`."""
    guard_type: str

    def create_fn_name(self) -> str:
        return self.guard_type


@dataclass(frozen=True)
class GuardEntry:
    """One guard, or one item of a dictionary that a guard looks at."""

    name: str
    has_value: bool
    value: object
    guard_type: str
    derived_guard_types: tuple[str, ...]
    is_global: bool
    orig_guard: OriginalGuard


def guard_filter(
    guard_filter_fn: Callable[[list[GuardEntry]], Sequence[bool]],
) -> Callable[[list[GuardRow]], list[bool]]:
    """The user's filter as the engine calls it."""

    def answers(rows: list[GuardRow]) -> list[bool]:
        modules = _Modules(rows)
        kept = [bool(answer) for answer in guard_filter_fn([_entry(row, modules) for row in rows])]
        if len(kept) != len(rows):
            raise RuntimeError(
                f"guard_filter_fn gave {len(kept)} answers for {len(rows)} guards; it gives one for each"
            )
        return kept

    return answers


class _Modules:
    """The sources under which a capture reached modules, by their dictionaries."""

    def __init__(self, rows: Iterable[GuardRow]) -> None:
        torch = sys.modules.get("torch")
        self._builtin: dict[str, bool] = {}
        if torch is None:
            return
        for kind, source, _, _, _, subject in rows:
            if kind == "object" and isinstance(subject, torch.nn.Module):
                self._builtin[source] = type(subject).__module__.startswith(("torch.nn.", "torch.ao."))

    def innermost(self, source: str) -> bool | None:
        """Whether what is looked at belongs to a module of torch's own; None: to no module.

        A global variable is no part of the module whose method reads it.
        """
        path = re.sub(r"^(?:type\()+", "", source)
        while path and _is_global(path) == _is_global(source):
            if path in self._builtin:
                return self._builtin[path]
            path = path[:-1]
        return None


def _is_global(source: str) -> bool:
    return "__globals__" in source


def _entry(row: GuardRow, modules: _Modules) -> GuardEntry:
    kind, source, key, has_value, value, subject = row
    from torch._guards import GuardSource

    is_global = _is_global(source)
    builtin = modules.innermost(source)
    owner = "GLOBAL" if is_global else "LOCAL"
    if builtin is not None:
        owner += "_UNSPECIALIZED_BUILTIN_NN_MODULE" if builtin else "_UNSPECIALIZED_NN_MODULE"
    name = _name(source, key)
    guard_type = _type_of(kind, key is not None, value if has_value else subject)
    return GuardEntry(
        name, has_value, value, guard_type, (), is_global, OriginalGuard(name, GuardSource[owner], guard_type)
    )


def _name(source: str, key: Any) -> str:
    """As torch writes it: an argument by its name, a global variable as `G['name']`."""
    if key is None:
        return re.sub(r"""^L\[(['"])(\w+)\1\]""", r"\2", source)
    if source.endswith(".__globals__"):
        return f"G[{key!r}]"
    if source.endswith(".__dict__") and isinstance(key, str):
        return f"{source.removesuffix('.__dict__')}.{key}"
    return f"{source}[{key!r}]"


_TYPES = {
    "list": "SEQUENCE_LENGTH",
    "tuple": "SEQUENCE_LENGTH",
    "type": "TYPE_MATCH",
    "object": "TYPE_MATCH",
    "function": "CLOSURE_MATCH",
    "answer": "GLOBAL_STATE",
    "pinned_tensor": "TENSOR_MATCH",
}


def _type_of(kind: str, is_item: bool, value: object) -> str:
    """The kind of guard that TorchDynamo makes of such a thing."""
    if kind in _TYPES:
        return _TYPES[kind]
    if kind == "dict" and not is_item:
        return "DICT_KEYS_MATCH"
    if value is None or isinstance(value, bool):
        return "ID_MATCH"
    if isinstance(value, int | float | complex | str | bytes | tuple | frozenset):
        return "EQUALS_MATCH"
    return "CLOSURE_MATCH" if isinstance(value, FunctionType) else "ID_MATCH"
