"""A value that is replaced by another one at the same address is noticed.

CPython gives the memory of a small object to the next one of its size, so an address alone proves nothing.
"""

import collections
import functools
import importlib
import operator
import types
from collections.abc import Callable
from typing import Any

import pytest

capture = importlib.import_module("stator._capture")


class Holder:
    value: Any = None


class Number:
    def __init__(self, n: int) -> None:
        self.n = n

    def get(self) -> int:
        return self.n


class Slotted:
    __slots__ = ("n",)

    def __init__(self, n: int) -> None:
        self.n = n


Pair = collections.namedtuple("Pair", "a b")
HOLDER = Holder()


def closure(n: int) -> Callable[[], int]:
    return lambda: n


def make_setter() -> tuple[Callable[[Any], None], Callable[[], Any]]:
    content: Any = None

    def set_content(value: Any) -> None:
        nonlocal content
        content = value

    return set_content, lambda: content


setter, get_content = make_setter()
Make = Callable[[int], Any]
Read = Callable[[], Any]
CASES: dict[str, tuple[Make, Read]] = {
    "tuple": (lambda n: (n, 3), lambda: HOLDER.value[0]),
    "tuple of a list": (lambda n: (n, []), lambda: HOLDER.value[0]),
    "nested tuple": (lambda n: ((n,), []), lambda: HOLDER.value[0][0]),
    "named tuple": (lambda n: Pair(n, []), lambda: HOLDER.value.a),
    "closure": (closure, lambda: HOLDER.value()),
    "default": (lambda n: lambda x=n: x, lambda: HOLDER.value()),
    "keyword default": (lambda n: eval("lambda *, x=n: x", {"n": n}), lambda: HOLDER.value()),
    "code": (lambda n: eval(f"lambda: {n}"), lambda: HOLDER.value()),
    "partial": (lambda n: functools.partial(max, n), lambda: HOLDER.value(3)),
    "item getter": (lambda n: operator.itemgetter(n % 3), lambda: HOLDER.value("abc")),
    "method": (lambda n: Number(n).get, lambda: HOLDER.value()),
    "method of C": (lambda n: [n].copy, lambda: HOLDER.value()),
    "instance": (Number, lambda: HOLDER.value.get()),
    "slots": (Slotted, lambda: HOLDER.value.n),
    "namespace": (lambda n: types.SimpleNamespace(n=n), lambda: HOLDER.value.n),
    "frozenset": (lambda n: frozenset([n]), lambda: sorted(HOLDER.value)),
    "set": (lambda n: {n}, lambda: sorted(HOLDER.value)),
    "range": (range, lambda: len(HOLDER.value)),
    "slice": (slice, lambda: HOLDER.value.stop),
    "list": (lambda n: [n], lambda: HOLDER.value[0]),
    "dictionary": (lambda n: {n: n}, lambda: list(HOLDER.value.items())),
    "class": (lambda n: type("Made", (), {"n": n}), lambda: HOLDER.value.n),
    "float": (lambda n: n + 0.5, lambda: HOLDER.value),
}


@pytest.mark.parametrize("place", ["attribute", "cell", "item"])
@pytest.mark.parametrize("name", CASES)
def test_value(name: str, place: str) -> None:
    make, read = CASES[name]
    items: list[Any] = [None]

    def put(n: int) -> None:
        if place == "attribute":
            HOLDER.value = make(n)
        elif place == "cell":
            setter(make(n))
        else:
            items[0] = make(n)

    def function() -> Any:
        if place == "attribute":
            return read()
        HOLDER.value = get_content() if place == "cell" else items[0]
        return read()

    put(0)
    compiled = capture.Compiled(function, limit=1000)
    compiled()
    for n in range(1, 40):
        for i in range(n % 4):
            put(1000 + i)
        put(n)
        assert compiled() == function(), n
