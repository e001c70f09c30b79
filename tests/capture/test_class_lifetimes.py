"""Classes that are made for each call die with it, though captures made instances of them."""

import dataclasses
import gc
import importlib
import weakref
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import pytest

capture = importlib.import_module("stator._capture")

KEPT: list[Any] = []


def plain() -> Any:
    class Plain:
        def __init__(self) -> None:
            self.value = 3

    return Plain


def error() -> Any:
    class Error(ValueError):
        pass

    return Error


def record() -> Any:
    @dataclasses.dataclass
    class Record:
        value: int = 3

    return Record


def pair() -> Any:
    return namedtuple("Pair", "value", defaults=[3])


def items() -> Any:
    class Items(list[Any]):
        pass

    return Items


def table() -> Any:
    class Table(dict[str, Any]):
        pass

    return Table


def slots() -> Any:
    class Slots:
        __slots__ = ("__hidden", "value")

        def __init__(self) -> None:
            self.value, self.__hidden = 3, [4]

        def shown(self) -> Any:
            return self.__hidden

    return Slots


def returned(cls: Any, n: int) -> Any:
    return [cls(), n + 1]


def written(cls: Any, n: int) -> Any:
    KEPT.append({"made": cls()})
    return n + 1


def shared(cls: Any, n: int) -> Any:
    made = cls()
    return {"one": made, "other": (made, n)}


@pytest.mark.filterwarnings("ignore:stator")
@pytest.mark.parametrize("program", [returned, written, shared])
@pytest.mark.parametrize("make", [plain, error, record, pair, items, table, slots])
def test_a_class_dies_with_its_call(make: Callable[[], Any], program: Callable[..., Any]) -> None:
    compiled = capture.Compiled(program)
    alive = []
    for n in range(6):
        cls = make()
        for _ in range(2):
            found, wanted = compiled(cls, n), program(cls, n)
            assert str(found).partition(" at 0x")[0] == str(wanted).partition(" at 0x")[0]
            if program is returned:
                assert type(found[0]) is cls
                assert getattr(found[0], "value", 3) == getattr(wanted[0], "value", 3)
                if make is slots:
                    assert found[0].shown() == [4]
        alive.append(weakref.ref(cls))
        del cls, found, wanted
        KEPT.clear()
    gc.collect()
    assert sum(row["hits"] for row in compiled.entries) >= 6
    assert [each() for each in alive] == [None] * 6
