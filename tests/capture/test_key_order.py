"""The order of keys where a served call deletes some, puts others in, or finds more than the capture did."""

import importlib
import itertools
import types
from collections import Counter, OrderedDict, defaultdict
from types import SimpleNamespace
from typing import Any

import pytest

capture = importlib.import_module("stator._capture")

SPACE = {
    "OrderedDict": OrderedDict,
    "Counter": Counter,
    "defaultdict": defaultdict,
    "SimpleNamespace": SimpleNamespace,
    "ModuleType": types.ModuleType,
}
ITEMS = {"a": 1, "b": 2, "c": 3}
DICTS = ("dict(ITEMS)", "OrderedDict(ITEMS)", "defaultdict(int, ITEMS)", "Counter(ITEMS)", "Own(ITEMS)")
OBJECTS = ("Plain(ITEMS)", "SimpleNamespace(**ITEMS)", "Function(ITEMS)", "Slots(ITEMS)")
CLASSES = """
class Own(dict): pass
class Plain:
    def __init__(self, items): self.__dict__.update(items)
class Slots(Plain): __slots__ = ('s',)
def Function(items):
    def function(): pass
    function.__dict__.update(items)
    return function
"""
DELETES = ("del D['a']", "D.pop('a')", "D.popitem()", "del D['c'], D['a']; D['c'] = 4", "D.clear()")
PUTS = ("D['a'] = 5", "D.setdefault('a', 5)", "D.update(a=5)", "D['a'] = 1", "D.update({'n': 0, 'a': 5})")
ATTRIBUTE_DELETES = (
    "del o.a",
    "delattr(o, 'a')",
    "object.__delattr__(o, 'a')",
    "del o.c, o.a; o.c = 4",
    "del D['a']",
)
ATTRIBUTE_PUTS = ("o.a = 5", "setattr(o, 'a', 5)", "o.a = 1", "D['a'] = 5", "D.update(a=5, n=0)")
BETWEEN = ("pass", "D['z'] = 3", "D['z'] = 3; del D['z']; D['z'] = 4", "LOG.append(list(D))", "D['b'] = 0")
# What other code does to it between two calls: the served call finds a key that the capture had put in.
CHANGES = ("pass", "D['b'] = 7; D['n'] = 1", "D['n'] = D.pop('z', 3)", "D['b'] = D.pop('b', 2)")


def outcome(make: str, lines: tuple[str, ...], compiles: bool) -> tuple[list[Any], int]:
    space: dict[str, Any] = {**SPACE, "ITEMS": ITEMS, "LOG": []}
    exec(CLASSES, space)
    exec(f"o = {make}\nD = o if isinstance(o, dict) else vars(o)", space)
    body = "\n    ".join(lines)
    exec(f"def f():\n    {body}", space)
    call = capture.Compiled(space["f"]) if compiles else space["f"]
    seen: list[Any] = []
    for change in itertools.chain(*([change, "pass"] for change in CHANGES)):
        exec(change, space)
        try:
            call()
        except (KeyError, AttributeError) as error:
            seen.append(str(error))
        seen.append((list(space["D"].items()), list(space["LOG"])))
    return seen, sum(row["hits"] for row in call.entries) if compiles else 0


def check(make: str, deletes: tuple[str, ...], puts: tuple[str, ...]) -> int:
    served = 0
    for lines in itertools.product(deletes, BETWEEN, puts):
        eager, _ = outcome(make, lines, False)
        ours, hits = outcome(make, lines, True)
        assert ours == eager, lines
        served += hits > 0
    return served


@pytest.mark.filterwarnings("ignore:stator")
@pytest.mark.parametrize("make", DICTS)
def test_items(make: str) -> None:
    served = check(make, DELETES, PUTS)
    assert served >= (60 if make in ("dict(ITEMS)", "defaultdict(int, ITEMS)", "Counter(ITEMS)") else 0)


@pytest.mark.filterwarnings("ignore:stator")
@pytest.mark.parametrize("make", OBJECTS)
def test_attributes(make: str) -> None:
    assert check(make, ATTRIBUTE_DELETES, ATTRIBUTE_PUTS) >= 60


@pytest.mark.parametrize("write", ["dict.__setitem__(D, 'n', 1)", "dict.update(D, n=1)", "dict.clear(D)"])
def test_what_a_base_class_does_to_an_ordered_dict(write: str) -> None:
    """It leaves the order alone, which is then another one than that of the items."""

    def shown(compiles: bool) -> list[Any]:
        space: dict[str, Any] = {"D": OrderedDict(ITEMS), "dict": dict}
        exec(f"def f():\n    {write}\n    return len(D)", space)
        call = capture.Compiled(space["f"]) if compiles else space["f"]
        found = space["D"]
        return [(call(), len(found), list(reversed(list(found))), dict(dict.items(found))) for _ in range(3)]

    assert shown(True) == shown(False)
