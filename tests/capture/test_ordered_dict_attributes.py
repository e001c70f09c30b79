"""An OrderedDict may have attributes beside its items: as an argument, and behind other arguments."""

import collections
import gc
import importlib
import sys
from collections.abc import Callable
from typing import Any

import pytest

capture = importlib.import_module("stator._capture")


class Holder:
    def __init__(self, held: Any) -> None:
        self.held = held

    def give(self) -> Any:
        return self.held


def ordered(**attributes: Any) -> Any:
    made: Any = collections.OrderedDict(a=1)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


WAYS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "itself": (lambda d: d, lambda given: given),
    "in a list": (lambda d: [d], lambda given: given[0]),
    "bound builtin": (lambda d: collections.OrderedDict.get.__get__(d), lambda given: given.__self__),
    "bound method": (lambda d: Holder(d).give, lambda given: given.__self__.held),
    "attribute": (Holder, lambda given: given.held),
}
READERS: dict[str, Callable[[Any], Any]] = {
    "__dict__": lambda d: d.__dict__,
    "vars": lambda d: vars(d),
    "attribute": lambda d: getattr(d, "tag", "absent"),
    "hasattr": lambda d: hasattr(d, "tag"),
    "shadowed method": lambda d: d.get("a"),
    "items and attribute": lambda d: (list(d.items()), getattr(d, "tag", "absent")),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("way", WAYS)
def test_attributes_of_an_ordered_dict(way: str, reader: str) -> None:
    wrap, unwrap = WAYS[way]
    read = READERS[reader]

    def program(given: Any) -> Any:
        return read(unwrap(given))

    compiled = capture.Compiled(program)
    kept = [
        ordered(),
        ordered(tag=1),
        ordered(),
        ordered(tag=[2]),
        ordered(tag=1),
        ordered(get=lambda key: "own"),
    ]
    for made in kept:
        given = wrap(made)
        for _ in range(2):
            expected, found = program(given), compiled(given)
            assert found == expected
            if reader in ("__dict__", "vars"):
                assert found is expected
                del expected
                holders = sys.getrefcount(found)
                assert holders >= 3, "the object holds it too"


def test_an_attribute_is_written_to_the_callers_own() -> None:
    def program(d: Any) -> Any:
        d.count = getattr(d, "count", 0) + 1
        d["b"] = d.count
        return d.__dict__

    compiled = capture.Compiled(program)
    first, second = ordered(), ordered()
    for i in range(1, 4):
        for made in (first, second):
            assert compiled(made) is made.__dict__
            assert made.count == made["b"] == i
    gc.collect()
    assert first.__dict__ == second.__dict__ == {"count": 3}


def test_instances_that_hold_one_share_a_capture() -> None:
    """`typing.OrderedDict[str, int]()`, as torch_geometric's modules hold, leaves an attribute on it."""

    def program(holder: Any) -> Any:
        return [*holder.held.items(), getattr(holder.held, "tag", None)]

    compiled = capture.Compiled(program)
    holders = [Holder(ordered(tag=1)) for _ in range(8)]
    for _ in range(3):
        for holder in holders:
            assert compiled(holder) == program(holder)
    assert len(compiled.entries) <= 3
    assert sum(row["hits"] for row in compiled.entries) >= 20
    for other in (ordered(), ordered(tag=2), ordered(tag=1, more=3)):
        assert compiled(Holder(other)) == program(Holder(other))
