"""Every way to change a dictionary that a capture read is noticed, also the tenth time, by every capture."""

import functools
import gc
import importlib
from collections.abc import Callable
from typing import Any

import pytest

capture = importlib.import_module("stator._capture")


class Holder:
    def __init__(self) -> None:
        self.options: dict[str, int] = {"a": 1, "b": 2}
        self.number = 5


def read(holder: Holder) -> Any:
    return holder.options.get("a"), "c" in holder.options, getattr(holder, "number", None)


CHANGES: dict[str, Callable[[Holder], object]] = {
    "set an item": lambda h: h.options.__setitem__("a", h.options.get("a", 0) + 1),
    "delete an item": lambda h: h.options.pop("a", None),
    "update": lambda h: h.options.update(a=len(h.options) + 10),
    "merge": lambda h: h.options.__ior__({"c": 1}),
    "clear": lambda h: h.options.clear(),
    "set a default": lambda h: h.options.setdefault("c", 4),
    "pop the last item": lambda h: h.options and h.options.popitem(),
    "replace the dictionary": lambda h: setattr(h, "options", {"a": id(h)}),
    "set an attribute": lambda h: setattr(h, "number", h.__dict__.get("number", 0) + 1),
    "delete an attribute": lambda h: h.__dict__.pop("number", None),
    "write to __dict__": lambda h: h.__dict__.__setitem__("number", len(h.__dict__)),
    "replace __dict__": lambda h: setattr(h, "__dict__", {"options": {"a": 3}, "number": 1}),
    "update __dict__": lambda h: vars(h).update(number=7, options={}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_change(name: str) -> None:
    holder = Holder()
    functions = [capture.Compiled(lambda: read(holder), limit=100) for _ in range(2)]
    for _ in range(12):
        for function in functions:
            assert function() == read(holder)
            assert function() == read(holder)
        CHANGES[name](holder)
        assert functions[0]() == read(holder)
    functions[0].reset()  # the other one hears of changes all the same
    for change in CHANGES.values():
        change(holder)
        assert functions[1]() == read(holder)


def test_keys_that_were_not_read_may_change() -> None:
    holder = Holder()
    function = capture.Compiled(lambda: read(holder))
    for i in range(20):
        holder.options["z"] = i
        vars(holder)[f"name{i}"] = i
        assert function() == read(holder)
    assert [entry["hits"] for entry in function.entries] == [19]


def test_a_dictionary_that_dies_takes_its_captures_with_it() -> None:
    holders = [Holder() for _ in range(50)]
    functions = [capture.Compiled(lambda holder=holder: read(holder)) for holder in holders]
    assert [function() for function in functions] == [(1, False, 5)] * 50
    for holder in holders[::2]:
        del holder.__dict__
    assert [function() for function in functions[1::2]] == [(1, False, 5)] * 25
    del functions[1::2], holders, holder
    gc.collect()
    assert [Holder().options for _ in range(100)] == [{"a": 1, "b": 2}] * 100
    for function in functions:
        with pytest.raises(AttributeError):
            function()


UPDATES: dict[str, Callable[[dict[str, Any]], object]] = {
    "keyword": lambda d: d.update(a={"b": 1}),
    "mapping and keyword": lambda d: d.update({"z": 1}, a={"b": 1}),
    "number": lambda d: d.update(a=1),
    "star": lambda d: d.update(**{"a": {"b": 1}}),
    "mapping": lambda d: d.update({"a": {"b": 1}}),
    "pairs": lambda d: d.update([("a", {"b": 1})]),
    "partial": lambda d: functools.partial(d.update, a={"b": 1})(),
    "function of the class": lambda d: dict.update(d, a={"q": 1}),
    "init": lambda d: d.__init__(a={"q": 1}),  # type: ignore[misc]
}


@pytest.mark.parametrize("name", UPDATES)
def test_every_way_to_update_is_made_again(name: str) -> None:
    plain: dict[str, Any] = {}
    ours: dict[str, Any] = {}
    compiled = capture.Compiled(lambda: UPDATES[name](ours), fullgraph=True)
    for _ in range(3):
        assert compiled() == UPDATES[name](plain)
        assert ours == plain
        plain.clear()
        ours.clear()
    assert [entry["hits"] for entry in compiled.entries] == [2]
