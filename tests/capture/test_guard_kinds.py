"""Each kind of guard is used and known by kind and address; no object is mistaken for a dead one."""

from __future__ import annotations

import collections
import enum
import importlib
import re
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

capture = importlib.import_module("stator._capture")

SOURCES = Path(__file__).parents[2] / "src"
KINDS = dict(re.findall(r"^GUARD\((\w+), (\w+)\)", (SOURCES / "capture/guards/guards.def").read_text(), re.M))


def test_every_kind_has_a_file_and_is_made_somewhere() -> None:
    assert {path.stem for path in (SOURCES / "capture/guards/kinds").glob("*.h")} == set(KINDS.values())
    text = "\n".join(
        path.read_text()
        for path in (SOURCES / "capture").rglob("*.cpp")
        if "guards/kinds" not in path.as_posix()
    )
    unused = [kind for kind in KINDS if not re.search(rf"\b{kind}\s*(\w+\s*)?[({{]", text)]
    assert unused == []


def test_no_guard_is_identified_by_an_address_and_a_number() -> None:
    for path in (SOURCES / "capture").rglob("*.cpp"):
        assert not re.search(r"reinterpret_cast<const char\*>\(\w+\) \+ \d", path.read_text()), path


class Holder:
    pass


def serves(function: Callable[[], Any]) -> Any:
    compiled = capture.Compiled(function)
    for _ in range(3):
        assert repr(compiled()) == repr(function())
    assert len(compiled.entries) == 1
    assert compiled.breaks == []
    return compiled


def test_order_of_a_dictionary_that_is_a_class_attribute() -> None:
    class Owner:
        table: ClassVar[collections.OrderedDict[str, int]] = collections.OrderedDict(a=1, b=2, c=3)

    def function() -> Any:
        return list(Owner.table), Owner.table["a"]

    compiled = serves(function)
    Owner.table.move_to_end("a")
    assert compiled() == function() == (["b", "c", "a"], 1)
    Owner.table.move_to_end("a", last=False)
    assert compiled() == function() == (["a", "b", "c"], 1)


def test_one_object_with_guards_of_many_kinds() -> None:
    class Table(collections.OrderedDict[str, int]):
        pass

    class Other(Table):
        def __len__(self) -> int:
            return 9

    class Owner:
        table = Table(a=1, b=2)

    Owner.table.mark = 1  # type: ignore[attr-defined]

    def function() -> Any:
        return list(Owner.table.items()), Owner.table.mark, len(Owner.table), type(Owner.table).__name__  # type: ignore[attr-defined]

    compiled = serves(function)
    for change in (
        lambda: Owner.table.move_to_end("a"),
        lambda: setattr(Owner.table, "mark", 2),
        lambda: Owner.table.__setitem__("c", 3),
        lambda: setattr(Owner.table, "__class__", Other),
        lambda: setattr(Owner.table, "__dict__", {"mark": 5}),
        lambda: setattr(Other, "__name__", "Third"),
    ):
        change()
        assert compiled() == function()


class Float(float): ...


class Int(int): ...


class Str(str): ...


class Bytes(bytes): ...


class Complex(complex): ...


class Frozen(frozenset[int]): ...


class Tuple(tuple[int, ...]): ...


class Number(enum.IntEnum):
    one = 1


# How to make one of a number, and what a program reads of it.
MAKERS: dict[str, tuple[Callable[[int], Any], Callable[[Any], Any]]] = {
    "float subclass": (lambda n: Float(n + 0.5), lambda v: v + 1.0),
    "int subclass": (lambda n: Int(n + 1000), lambda v: v + 1),
    "str subclass": (lambda n: Str(f"text {n}"), lambda v: v + "!"),
    "bytes subclass": (lambda n: Bytes(b"bytes %d" % n), lambda v: v + b"!"),
    "complex subclass": (lambda n: Complex(n, 1), lambda v: v + 1),
    "frozenset subclass": (lambda n: Frozen([n, n + 1]), lambda v: sorted(v)),
    "tuple subclass": (lambda n: Tuple((n, n + 1)), lambda v: v[0] + v[1]),
    "tuple": (lambda n: (n, n + 1), lambda v: v[0] + v[1]),
    "frozenset": (lambda n: frozenset([n]), lambda v: sorted(v)),
    "nested tuple": (lambda n: ((n, [n]), n), lambda v: v[0][0] + v[1]),
    "range": (lambda n: range(n, n + 3), lambda v: list(v)),
    "slice": (lambda n: slice(n, n + 1), lambda v: [1, 2, 3, 4, 5, 6, 7, 8][v]),
    "match": (lambda n: re.match(r"(\w+)", f"word{n} rest"), lambda v: v.group(1)),
    "mapping proxy": (lambda n: types.MappingProxyType({"a": n}), lambda v: v["a"]),
    "bound method": (lambda n: Int(n + 1000).__add__, lambda v: v(1)),
    "dictionary": (lambda n: {"a": n}, lambda v: v["a"]),
    "list": (lambda n: [n], lambda v: v[0]),
    "complex zeros": (lambda n: complex(-0.0 if n % 2 else 0.0, -0.0), lambda v: repr(v)),
    "float zeros": (lambda n: -0.0 if n % 2 else 0.0, lambda v: repr(v)),
    "kinds of one": (lambda n: (1, True, 1.0, 1 + 0j)[n % 4], lambda v: repr(v)),
    "text and its subclass": (lambda n: Str("same") if n % 2 else "same", lambda v: type(v).__name__),
}


@pytest.mark.parametrize("place", ["dict", "attribute", "list", "cell", "global"])
@pytest.mark.parametrize("name", MAKERS)
def test_another_object_in_the_place_of_a_dead_one(name: str, place: str) -> None:
    make, read = MAKERS[name]
    table: dict[str, Any] = {"k": make(0)}
    holder = Holder()
    holder.k = make(0)  # type: ignore[attr-defined]
    items = [make(0)]
    cell = make(0)
    world: dict[str, Any] = {"read": read, "k": make(0)}
    exec("def function(): return read(k)", world)
    functions: dict[str, Callable[[], Any]] = {
        "dict": lambda: read(table["k"]),
        "attribute": lambda: read(holder.k),  # type: ignore[attr-defined]
        "list": lambda: read(items[0]),
        "cell": lambda: read(cell),
        "global": world["function"],
    }
    compiled = capture.Compiled(functions[place])
    assert repr(compiled()) == repr(compiled()) == repr(functions[place]())
    for n in range(1, 6):
        # The old one dies first: the new one likes to have its address.
        if place == "dict":
            del table["k"]
            table["k"] = make(n)
        elif place == "attribute":
            del holder.k  # type: ignore[attr-defined]
            holder.k = make(n)  # type: ignore[attr-defined]
        elif place == "list":
            items[0] = None
            items[0] = make(n)
        elif place == "cell":
            cell = None
            cell = make(n)
        else:
            del world["k"]
            world["k"] = make(n)
        assert repr(compiled()) == repr(functions[place]()), n


CLASSES = """
import types
class Meta(type): pass
class Meta2(Meta):
    def __instancecheck__(cls, o): return True
    def __call__(cls, *a): return 'made by Meta2'
    def __getattribute__(cls, name): return 'found by Meta2'
class Base:
    '''words'''
class Thing(Base, metaclass=Meta):
    held = 1
    def get(self):
        '''says'''
        return 1
    get.extra = [1]
t = Thing(); t.x = 1
m = t.get
M = types.ModuleType('M'); M.a = 1
items = [Base(), Base()]
"""
# What is read, and what changes it.
READS: dict[str, tuple[str, list[str]]] = {
    "names of a class": (
        "type(t).__name__, Thing.__qualname__, t.__class__.__module__, Base.__doc__",
        [
            "Thing.__name__ = 'Renamed'",
            "Thing.__qualname__ = 'a.b'",
            "Thing.__module__ = 'else'",
            "Base.__doc__ = 'new'",
        ],
    ),
    "a bound method": (
        "m.__self__.x, m.__func__.__name__, m.__name__, m.__doc__, m.extra[0], m.__qualname__, m.__module__",
        [
            "t.x = 2",
            "Thing.get.__name__ = 'got'",
            "Thing.get.__doc__ = 'other'",
            "Thing.get.extra[0] = 2",
            "Thing.get.extra = [3]",
            "Thing.get.__qualname__ = 'q'",
            "Thing.get.__module__ = 'e'",
            "m = Thing().get; m.__self__.x = 5",
        ],
    ),
    "a method made here": (
        "t.get.__name__, t.get.__doc__, t.get.extra",
        ["Thing.get.__name__ = 'got'", "Thing.get.extra = 1"],
    ),
    "what a module lacks": (
        "getattr(M, 'b', 0), hasattr(M, 'c'), M.a",
        ["M.__getattr__ = lambda n: n", "M.b = 5", "M.c = 1", "M.a = 2"],
    ),
    "isinstance": (
        "isinstance(1, Thing), isinstance('a', (str, Thing)), isinstance(t, Thing), isinstance(1, (Thing,))",
        ["Meta.__instancecheck__ = lambda c, o: True", "Thing.__class__ = Meta2", "t.__class__ = Base"],
    ),
    "a class is called": (
        "repr(type(Thing()))",
        ["Meta.__call__ = lambda c: 5", "Thing.__class__ = Meta2", "Thing.__new__ = lambda c: 7"],
    ),
    "an attribute of a class": (
        "Thing.held",
        [
            "Meta.__getattribute__ = lambda c, n: 7",
            "Thing.__class__ = Meta2",
            "Meta.held = property(lambda c: 9)",
            "Base.held = 1; del Thing.held",
        ],
    ),
    "items of plain classes": (
        "5 in items, any(items), all(items), items == [1], items.count(1), [i for i in items if i]",
        ["Base.__eq__ = lambda s, o: True", "Base.__bool__ = lambda s: False", "Base.__len__ = lambda s: 0"],
    ),
}


@pytest.mark.parametrize(
    ("name", "change"), [(name, change) for name, (_, all) in READS.items() for change in all]
)
def test_classes_methods_and_modules(name: str, change: str) -> None:
    def world() -> dict[str, Any]:
        names: dict[str, Any] = {"__name__": "world"}
        exec(f"{CLASSES}\ndef function(): return {READS[name][0]}", names)
        return names

    def outcome(function: Callable[[], Any]) -> str:
        try:
            return re.sub("0x[0-9a-f]+", "?", repr(function()))
        except Exception as error:
            return repr(error)

    eager, captured = world(), world()
    compiled = capture.Compiled(captured["function"])
    for _ in range(2):
        assert outcome(compiled) == outcome(eager["function"])
    assert len(compiled.entries) == 1
    for names in (eager, captured):
        exec(change, names)
    for _ in range(2):
        assert outcome(compiled) == outcome(eager["function"])
