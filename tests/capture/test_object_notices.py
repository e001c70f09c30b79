"""An object that is given another class or another dictionary is noticed, though no call looks at it."""

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

import pytest

capture = importlib.import_module("stator._capture")


class Part:
    def __init__(self, value: int) -> None:
        self.value = value

    def give(self) -> Any:
        return self.value


class Other(Part):
    def give(self) -> Any:
        return -self.value


class Slotted:
    __slots__ = ("__dict__",)
    give = Part.give

    def __init__(self, value: int) -> None:
        self.value = value


class OtherSlotted(Slotted):
    __slots__ = ()
    give = Other.give


class Fault(Exception):
    """Its dictionary has a setter of its own."""

    give = Part.give

    def __init__(self, value: int) -> None:
        self.value = value


class OtherFault(Fault):
    give = Other.give


class Hidden(Part):
    """Sets its dictionary in a way of its own."""

    def replace(self, contents: dict[str, Any]) -> None:
        Part.__dict__["__dict__"].__set__(self, contents)

    __dict__ = property(lambda self: {}, replace)  # type: ignore[assignment]


class OtherHidden(Hidden):
    give = Other.give


class Whole:
    def __init__(self, kind: type, count: int = 3) -> None:
        self.parts = {str(i): kind(i + 1) for i in range(count)}

    def give(self) -> list[Any]:
        return [part.give() for part in self.parts.values()]


KINDS = {Part: Other, Slotted: OtherSlotted, Fault: OtherFault, Hidden: OtherHidden}
CHANGES: dict[str, Callable[[Any, type], object]] = {
    "assign the class": lambda part, other: setattr(part, "__class__", other),
    "assign it through object": lambda part, other: object.__setattr__(part, "__class__", other),
    "assign it by its setter": lambda part, other: object.__dict__["__class__"].__set__(part, other),
    "assign the dictionary": lambda part, _: setattr(part, "__dict__", {"value": 100}),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("change", CHANGES)
def test_every_way_is_noticed(kind: type, change: str) -> None:
    whole = Whole(kind)
    functions = [capture.Compiled(lambda: whole.give()) for _ in range(2)]
    for function in functions:
        assert function() == function() == [1, 2, 3]
    CHANGES[change](whole.parts["1"], KINDS[kind])
    expected = whole.give()
    assert expected[1] in (-2, 100)
    for function in functions:
        assert function() == function() == expected


def test_deleted_dictionary() -> None:
    whole = Whole(Part)
    function = capture.Compiled(lambda: whole.give())
    assert function() == function() == [1, 2, 3]
    del whole.parts["1"].__dict__
    with pytest.raises(AttributeError):
        function()


def test_objects_with_a_dictionary_of_c_code() -> None:
    part = functools.partial(int)
    part.value = 1  # type: ignore[attr-defined]
    holder = {"part": part}
    function = capture.Compiled(lambda: holder["part"].value)
    assert function() == function() == 1
    part.__dict__ = {"value": 2}  # type: ignore[attr-defined]
    assert function() == 2


def made_at(address: int, kind: type, value: int) -> Any:
    """An object where another one died; None where memory is not used again (under a sanitizer)."""
    kept = []
    for _ in range(10_000):
        kept.append(kind(value))
        if id(kept[-1]) == address:
            return kept[-1]
    return None


@pytest.mark.parametrize("times", [1, 12])
def test_another_object_at_the_same_address(times: int) -> None:
    """What a changed dictionary holds is looked at, also when its changes are no longer told of."""
    whole = Whole(Part)
    function = capture.Compiled(lambda: whole.give(), limit=100)
    assert function() == function() == [1, 2, 3]
    for i in range(times):
        whole.parts["2"] = whole.parts.pop("2")  # a change before
        address = id(whole.parts["1"])
        whole.parts["1"] = None  # type: ignore[assignment]
        other = made_at(address, Other if i % 2 == 0 else Part, 2)
        if other is None:
            pytest.skip("no address was used again: a sanitizer keeps what was freed")
        whole.parts["1"] = other
        del other
        assert function() == whole.give() == [1, -2 if i % 2 == 0 else 2, 3]


def test_another_object_in_a_list() -> None:
    parts = [Part(1)]
    function = capture.Compiled(lambda: parts[0].give())
    assert function() == function() == 1
    address = id(parts.pop())
    other = made_at(address, Other, 1)
    if other is None:
        pytest.skip("no address was used again: a sanitizer keeps what was freed")
    parts.append(other)
    assert function() == -1


def words(count: int, kind: type) -> int:
    whole = Whole(kind, count)
    function = capture.Compiled(lambda: whole.give())
    assert function() == function() == list(range(1, count + 1))
    (entry,) = function.entries
    assert entry["hits"] == 1
    return int(entry["words"])


@pytest.mark.parametrize("kind", [Part, Slotted])
def test_what_a_call_compares(kind: type) -> None:
    """Nothing for an object from 3.12 on; before that its dictionary's version."""
    each = 0 if sys.version_info >= (3, 12) else 1
    assert words(50, kind) - words(5, kind) == 45 * each
