"""A tuple that existed before is given out as that very object, a new one as one object of its call."""

import importlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

capture = importlib.import_module("stator._capture")

WORLD = """
import collections, functools, itertools, operator
G = (0, ("a", "b", ("c", 1)), ("z", 2))
F = frozenset([("f", 1)])
KEYED = {("key", 1): ("value", 1)}
LIST = [("in list", 1)]
class Base: pass
class C(Base):
    t = ("of class", 1)
c = C()
c.u = ("of instance", ("deep", 1))
def default(a=("default", 1), *, b=("keyword", 2)): return a, b
def cell():
    v = ("in cell", ("deep", 1))
    return lambda: v
cell = cell()
"""
OLDER = {  # expressions that give an older tuple: eager gives one object on every call
    "G": "G[1]",
    "G, deep": "G[1][2]",
    "G, whole": "G",
    "G, slice": "G[:]",
    "G, unpacked": "[*G][1]",
    "G, sorted": "sorted([G[1], G[1]], key=tuple.__hash__)[1]",
    "G, chained": "list(itertools.chain(G))[1]",
    "G, filtered": "list(filter(tuple.__len__, G[1:]))[0]",
    "G, greatest": "max([G[1], G[2]])",
    "G, reduced": "functools.reduce(lambda a, b: b, G)",
    "F": "next(iter(F))",
    "F, whole": "frozenset(F)",
    "key": "next(iter(KEYED))",
    "key of a pair": "list(KEYED.items())[0][0]",
    "value": "KEYED[('key', 1)]",
    "list": "LIST[0]",
    "copied list": "LIST[:][0]",
    "class": "C.t",
    "instance": "c.u",
    "instance, deep": "vars(c)['u'][1]",
    "default": "default()[0]",
    "keyword default": "default()[1]",
    "cell": "cell()[1]",
    "constant": "('in code', ('deep', 1))",
    "order of classes": "C.__mro__",
    "bases": "C.__bases__",
    "constants of code": "default.__code__.co_varnames",
    "defaults": "default.__defaults__",
}
MADE = {  # expressions that make a new one
    "display": "(n, G[1])",
    "concatenation": "G[1] + (n,)",
    "rest": "(lambda *a: a)(*G)",
    "zip": "next(zip(G, G))",
    "enumeration": "[p for p in enumerate(G)][1]",
    "item of a dictionary": "next(iter(KEYED.items()))",
    "product": "list(itertools.product(G, G))[1]",
    "list": "tuple(LIST)",
    "comprehension": "tuple(i for i in G)",
    "number in it": "(n, (n, 1))[1]",
    "deque of pairs": "collections.deque(zip(LIST, LIST))[0]",
    "set of pairs": "next(iter(set(zip(LIST, LIST))))",
    "arguments of an exception": "ValueError('e', (n, 1)).args",
    "chain begun": "(w := itertools.chain([n], [2]), next(w))[0].__reduce__()[1]",
}
USES = ["v", "[v, (v, [v])]", "{v: v}", "OUT.append(v)", "TABLE.__setitem__(v, v)", "SET.add(v)", "lambda: v"]
CHANGES = {
    "G": [
        "G = (0, ('a', 'b', ('c', 1)), ('z', 2))",
        "G = (1, G[1], G[1])",
        "G = (0, ('a', 'b', ('c', 2)), ('z', 2))",
    ],
    "F": ["F = frozenset([tuple(['f', 1])])", "F = frozenset([('f', 2)])"],
    "KEYED": ["KEYED = {tuple(['key', 1]): ('value', 1)}", "KEYED[('key', 1)] = tuple(['value', 1])"],
    "LIST": ["LIST[0] = tuple(['in list', 1])", "LIST[:] = [('in list', 2)]"],
    "C": ["C.t = tuple(['of class', 1])", "C.t = ('of class', 2)", "C.__bases__ = (type('B', (), {}),)"],
    "c": ["c.u = ('of instance', tuple(['deep', 1]))", "c.u = (1, (2, 3))"],
    "default": ["default.__defaults__ = (tuple(['default', 1]),)", "default.__kwdefaults__ = {'b': (1, 2)}"],
    "cell": ["cell.__closure__[0].cell_contents = ('in cell', tuple(['deep', 1]))"],
}


def objects_in(value: Any, found: list[int]) -> list[int]:
    """The tuples and frozen sets in it, in order, each by which one it is."""
    if isinstance(value, tuple | frozenset):
        found.append(id(value))
    if isinstance(value, tuple | list | set | frozenset):
        for item in value:
            objects_in(item, found)
    elif isinstance(value, dict):
        for key, item in value.items():
            objects_in([key, item], found)
    elif callable(value) and getattr(value, "__name__", "") == "<lambda>":
        objects_in([each.cell_contents for each in value.__closure__ or ()], found)
    return found


def shape_of(value: Any) -> list[int]:
    """The same, numbered in the order of their first occurrence."""
    numbers: dict[int, int] = {}
    return [numbers.setdefault(each, len(numbers)) for each in objects_in(value, [])]


class World:
    def __init__(self, text: str, compile: Callable[[Any], Any]) -> None:
        self.space: dict[str, Any] = {"__name__": "world", "OUT": [], "TABLE": {}, "SET": set()}
        exec(text, self.space)
        self.call = compile(self.space["f"])
        self.results: list[Any] = []

    def run(self, n: float) -> None:
        self.results.append(self.call(n))

    def seen(self) -> list[int]:
        names = ("G", "F", "KEYED", "LIST", "OUT", "TABLE", "SET")
        own = [self.space["C"].__mro__, self.space["C"].__bases__, self.space["C"].t, self.space["c"].u]
        default = self.space["default"]
        own += [
            default.__defaults__,
            default.__kwdefaults__,
            default.__code__.co_varnames,
            self.space["cell"],
        ]
        return shape_of([*(self.space[name] for name in names), *own, *self.results])


def check(expression: str, use: str, numbers: tuple[float, ...]) -> None:
    text = f"{WORLD}\ndef f(n):\n    v = {expression}\n    r = {use}\n    return [r, v]\n"
    named = [
        name
        for name in CHANGES
        if name in text.partition("def f")[2].replace(".", " ").replace("[", " ").split()
    ]
    changes = [None, None] + [change for name in named or ["G"] for change in CHANGES[name] for _ in range(2)]
    eager, ours = World(text, lambda f: f), World(text, capture.Compiled)
    for i, change in enumerate(changes):
        for world in (eager, ours):
            if change is not None and (i % 2 == 0 or "LIST" in change):
                exec(change, world.space)
            world.run(numbers[i % len(numbers)])
        assert ours.seen() == eager.seen(), (change, i)


# A set of tuples of classes is in the order of their addresses, which no two worlds share.
OLDER_IN_USE = [
    (name, use)
    for name in OLDER
    for use in USES
    if use != "SET.add(v)" or name not in ("order of classes", "bases")
]


@pytest.mark.parametrize(("name", "use"), OLDER_IN_USE)
def test_an_older_tuple_stays_that_object(name: str, use: str) -> None:
    check(OLDER[name], use, (1,))


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", MADE)
def test_a_new_tuple_is_one_object_of_each_call(name: str, use: str) -> None:
    check(MADE[name], use, (1,))
    check(MADE[name], use, (3, 4, 5, 6, 7))  # a symbol in it, where it is a key too


@pytest.mark.parametrize(
    "name",
    [
        "G",
        "G, deep",
        "key",
        "class",
        "order of classes",
        "display",
        "zip",
        "rest",
        "defaults",
        "deque of pairs",
        "set of pairs",
        "arguments of an exception",
    ],
)
def test_such_programs_are_captured(name: str) -> None:
    space: dict[str, Any] = {"__name__": "world"}
    exec(f"{WORLD}\ndef f(n): return [{(OLDER | MADE)[name]}, n]\n", space)
    compiled = capture.Compiled(space["f"])
    for _ in range(3):
        compiled(1)
    assert sum(entry["hits"] for entry in compiled.entries) >= 1, compiled.breaks


def test_a_tuple_of_unknown_origin_is_not_copied() -> None:
    """C code that nobody described may hand out one that it keeps: such a capture ends."""
    kept = SimpleNamespace(pair=("kept", 1))
    getter = type("Holder", (), {"__slots__": ("pair",)})
    holder = getter()
    holder.pair = kept.pair
    compiled = capture.Compiled(lambda: getter.pair.__get__(holder))
    assert compiled() is compiled() is kept.pair
