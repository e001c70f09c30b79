"""Special methods that are no functions: C code calls them, and nobody sees what they read or write.

Each is bound to a method of a list or a dictionary, to a partial, to an object that is called and to a
descriptor that gives a method. An operation on an instance must then do what plain code does, also after what
lies behind the method has changed.
"""

from __future__ import annotations

import copy
import functools
import importlib
import math
import operator
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

capture = importlib.import_module("stator._capture")

OPERATIONS: dict[str, str] = {
    "__neg__": "-a", "__pos__": "+a", "__invert__": "~a", "__abs__": "abs(a)", "__round__": "round(a)",
    "__trunc__": "math.trunc(a)", "__floor__": "math.floor(a)", "__ceil__": "math.ceil(a)",
    "__bool__": "1 if a else 2", "__len__": "len(a)", "__int__": "int(a)", "__float__": "float(a)",
    "__index__": "operator.index(a)", "__complex__": "complex(a)", "__hash__": "hash(a)",
    "__repr__": "repr(a)", "__str__": "str(a)", "__bytes__": "bytes(a)", "__iter__": "list(a)",
    "__next__": "next(a)", "__reversed__": "list(reversed(a))",
    "__length_hint__": "operator.length_hint(a)", "__call__": "a(0)", "__enter__": "entered(a)",
    "__exit__": "entered(a)", "__dir__": "dir(a)", "__copy__": "copy.copy(a)", "__add__": "a + 0",
    "__sub__": "a - 0", "__mul__": "a * 0", "__truediv__": "a / 0", "__floordiv__": "a // 0",
    "__mod__": "a % 0", "__divmod__": "divmod(a, 0)", "__pow__": "a ** 0", "__matmul__": "a @ 0",
    "__lshift__": "a << 0", "__rshift__": "a >> 0", "__and__": "a & 0", "__or__": "a | 0",
    "__xor__": "a ^ 0", "__radd__": "0 + a", "__rsub__": "0 - a", "__rmul__": "0 * a",
    "__rtruediv__": "0 / a", "__rpow__": "0 ** a", "__rmatmul__": "0 @ a", "__rand__": "0 & a",
    "__rmod__": "0 % a", "__rlshift__": "0 << a", "__iadd__": "in_place(a)", "__eq__": "a == 0",
    "__ne__": "a != 0", "__lt__": "a < 0", "__le__": "a <= 0", "__gt__": "a > 0", "__ge__": "a >= 0",
    "__contains__": "0 in a", "__getitem__": "a[0]", "__getattr__": "a.zz", "__getattribute__": "a.zz",
    "__format__": "format(a, '')", "__delitem__": "removed(a)", "__get__": "Holder().q",
    "__set_name__": "named(a)", "__class_getitem__": "A[0]", "__init__": "A(0) and 1", "__new__": "A(0)",
}  # fmt: skip
ON_SUBCLASSES = {
    "__missing__": ("dict", "a['zz']"), "__contains__": ("list", "3 in a"),
    "__len__": ("tuple", "len(a)"), "__and__": ("set", "a & 3"), "__neg__": ("int", "-a"),
    "__mul__": ("float", "a * 2"), "__mod__": ("str", "a % 2"),
}  # fmt: skip
METHODS: dict[str, tuple[str, str]] = {
    "get of a dictionary": ("TABLE.get", "TABLE[0] = 9; TABLE['zz'] = 8"),
    "append of a list": ("ITEMS.append", "ITEMS.append(7)"),
    "pop of a list": ("ITEMS.pop", "ITEMS[-4:] = [0, 0, 0, 0]"),
    "partial": ("functools.partial(first, ITEMS)", "ITEMS[0] = 2"),
    "object that is called": ("Called()", "Called.k = 2"),
    "descriptor": ("Giver()", "TABLE[0] = 7; TABLE['zz'] = 6"),
}
HEAD = """
ITEMS = [1, 1, 2, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1]
TABLE = {'zz': 5, 0: 3, '': 's'}
def first(items, *rest): return items[0]
class Called:
    k = 1
    def __call__(self, *rest): ITEMS.append(1); return self.k
class Giver:
    def __get__(self, instance, owner): return TABLE.get
def entered(a):
    with a as given: return given
def in_place(a): a += 0; return a
def removed(a):
    del a[0]
    return 1
def named(a):
    class Inner: held = a
    return 1
"""


def world(name: str, base: str, operation: str, method: str) -> dict[str, Any]:
    space: dict[str, Any] = {"copy": copy, "functools": functools, "math": math, "operator": operator}
    exec(HEAD, space)
    exec(f"class A({base}): pass\nclass Holder: pass", space)
    if name not in ("__init__", "__new__"):
        exec("a = A(); Holder.q = a", space)
    exec(f"A.{name} = {method}", space)
    if name == "__enter__":
        exec("A.__exit__ = lambda *details: None", space)
    if name == "__exit__":
        exec("A.__enter__ = lambda self: 5", space)
    exec(f"def run(): return {operation}", space)
    return space


def answer(function: Callable[[], Any]) -> str:
    try:
        return repr(function())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


CASES = [(name, "", operation) for name, operation in OPERATIONS.items()]
CASES += [(name, base, operation) for name, (base, operation) in ON_SUBCLASSES.items()]


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize(("name", "base", "operation"), CASES, ids=[f"{n} {b}" for n, b, _ in CASES])
def test_a_method_that_is_no_function(name: str, base: str, operation: str, kind: str) -> None:
    method, change = METHODS[kind]
    plain, ours = (world(name, base, operation, method) for _ in range(2))
    function = capture.Compiled(ours["run"])
    for step in range(5):
        if step == 2:
            exec(change, plain)
            exec(change, ours)
        ours_says, plain_says = answer(function), answer(plain["run"])
        if " at 0x" not in plain_says:
            assert ours_says == plain_says, step
        assert len(ours["ITEMS"]) == len(plain["ITEMS"]), step


def test_names_that_only_describe() -> None:
    """Classes, and objects that are no methods, may have such names."""

    class Config:
        depth = 2

    class Model:
        __config_class__ = Config
        __table__: ClassVar = {"a": 1}
        __class_getitem__ = classmethod(type(list[int]))

        def __neg__(self) -> int:
            return 3

    model = Model()
    function = capture.Compiled(
        lambda: (-model, Model.__config_class__.depth, Model.__table__["a"], Model[int])
    )
    for _ in range(3):
        assert function()[:3] == (3, 2, 1)
    assert function.breaks == []
    assert sum(row["hits"] for row in function.entries) == 2


def test_a_class_that_gets_one_later() -> None:
    class Late:
        def __neg__(self) -> int:
            return 1

    late, items = Late(), [3, 4]
    function = capture.Compiled(lambda: -late)
    assert function() == function() == 1
    assert sum(row["hits"] for row in function.entries) == 1
    Late.__neg__ = items.pop  # type: ignore[method-assign]
    assert function() == 4
    assert function() == 3
