"""`torch._check` in captured code of what only a run knows: numbers that are read off tensors.

A comparison of such numbers is an object (src/torch/symbols/sym_python.cpp): a branch on it ends the capture,
and a check of it is a node of the graph. What was checked holds for the rest of the capture.
"""

from collections.abc import Callable
from typing import Any

import torch
from stator import _capture
from stator.dropin.after_import import after_import


def _outside(*_: object) -> Any:
    raise RuntimeError("numbers of a run are compared by captures only")


# The extension puts its own in their place (src/torch/replacements/checks.cpp).
check: Callable[[str, Any, Any], bool] = _outside
decide: Callable[[str, Any, Any], bool] = _outside


class OpenComparison(torch.SymBool):
    """Of `left` and `right`, by the method `name`; made by the extension, without __init__."""

    name: str
    left: Any
    right: Any

    def __bool__(self) -> bool:
        return decide(self.name, self.left, self.right)

    def __hash__(self) -> int:
        return hash(bool(self))

    @property
    def node(self) -> Any:
        """What torch asks of its own symbols, where the object has outlived the capture."""
        return _Answer(bool(self))

    def __sym_not__(self) -> Any:
        other = object.__new__(OpenComparison)
        other.name, other.left, other.right = _OPPOSITE[self.name], self.left, self.right
        return other


class _Answer:
    def __init__(self, answer: bool) -> None:
        self._answer = answer

    def bool_(self) -> bool:
        return self._answer

    def guard_bool(self, file: str, line: int) -> bool:
        return self._answer

    expect_true = guard_or_false = guard_or_true = statically_known_true = guard_bool


_OPPOSITE = {"lt": "ge", "le": "gt", "eq": "ne", "ne": "eq", "gt": "le", "ge": "lt"}


def expect_true(a: Any, skip: int = 0) -> bool:
    """Torch's function of this name, which `torch._check` and its kin ask."""
    if isinstance(a, OpenComparison):
        return check(a.name, a.left, a.right)
    return bool(a)


def _check(condition: Any) -> None:
    torch._check(condition)  # type: ignore[no-untyped-call]
    torch.ops.aten._assert_scalar.default(condition, f"Runtime assertion failed for expression {condition}")


def check_lt(left: Any, right: Any) -> None:
    """In the graph: `torch._check(left < right)`, which compilers keep; so do those below."""
    _check(left < right)


def check_le(left: Any, right: Any) -> None:
    _check(left <= right)


def check_eq(left: Any, right: Any) -> None:
    _check(left == right)


def check_ne(left: Any, right: Any) -> None:
    _check(left != right)


def check_gt(left: Any, right: Any) -> None:
    _check(left > right)


def check_ge(left: Any, right: Any) -> None:
    _check(left >= right)


def _know_symbols(module: Any) -> None:
    _capture.substitute(module.expect_true, expect_true)


after_import("torch.fx.experimental.symbolic_shapes", _know_symbols)
