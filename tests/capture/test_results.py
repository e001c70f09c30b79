"""Objects that a captured function makes and returns are made again on every call, as they were."""

import collections
import importlib
import types
from collections.abc import Callable
from typing import Any

import pytest

capture = importlib.import_module("stator._capture")


class Plain:
    pass


class Slotted:
    __slots__ = ("__dict__", "slot")

    @property
    def shadowed(self) -> str:
        return "the property"


class Pair(collections.namedtuple("Pair", "first second")):
    extra: Any


def reordered(n: int) -> Any:
    items = collections.OrderedDict(a=n, b=n + 1, c=n + 2)
    items.move_to_end("a")
    items.move_to_end("c", last=False)
    return items, list(items)


def instance_then_its_dictionary(n: int) -> Any:
    made = Plain()
    made.value = n  # type: ignore[attr-defined]
    attributes = vars(made)
    made.later = [n]  # type: ignore[attr-defined]
    return made, attributes


def dictionary_then_its_instance(n: int) -> Any:
    made, attributes = instance_then_its_dictionary(n)
    return attributes, made


def slots_and_a_shadowed_name(n: int) -> Any:
    made = Slotted()
    made.slot = n
    made.other = (n, [n])  # type: ignore[attr-defined]
    vars(made)["shadowed"] = n
    return made


def tuple_with_attributes(n: int) -> Any:
    made = Pair(n, [n])
    made.extra = {"n": n, "fixed": 1}
    return made


def mixed_dictionary(n: int) -> Any:
    return {"fixed": 1, "n": n, "list": [n, {"deep": n}], "none": None, "same": 2}


def namespaces(n: int) -> Any:
    made = types.SimpleNamespace(n=n, items=[n])
    made.itself = made
    return made, vars(made)


def default_dictionaries(n: int) -> Any:
    made: Any = collections.defaultdict(list, a=[n])
    made["b"].append(made["a"])
    plain: Any = collections.defaultdict(None, {n: made})
    return made, plain, made.default_factory is list, plain.default_factory


class Record:
    """Its instances share the names of their attributes, in the order of the first one."""

    first: Any
    second: Any

    def __init__(self) -> None:
        self.first, self.second, self.third = 1, 2, 3


class RecordOfItems(dict[str, int]):
    pass


def attributes_in_another_order(n: int) -> Any:
    Record()
    made = Record.__new__(Record)
    made.third, made.first = [n], n
    other = Record()
    del other.first
    other.first, other.fourth = n, made  # type: ignore[attr-defined]
    return made, other


def more_attributes_than_are_shared(n: int) -> Any:
    made = Plain()
    for i in range(40):
        setattr(made, f"attribute_{i}", [n, i])
    return made


def attributes_of_a_dictionary(n: int) -> Any:
    made = RecordOfItems(n=n)
    made.first = [n]  # type: ignore[attr-defined]
    return made


def cycle(n: int) -> Any:
    made = Plain()
    made.itself, made.items = made, {"owner": made, "n": n}  # type: ignore[attr-defined]
    return made


def shown(value: Any, seen: dict[int, int] | None = None) -> Any:
    """All that a program can see of a result, with identities."""
    seen = {} if seen is None else seen
    if isinstance(value, (int, str, type(None))):
        return value
    if id(value) in seen:
        return f"<{seen[id(value)]}>"
    seen[id(value)] = len(seen)
    parts: list[Any] = [type(value).__name__]
    if isinstance(value, dict):
        parts += [(key, shown(item, seen)) for key, item in value.items()]
    elif isinstance(value, (list, tuple)):
        parts += [shown(item, seen) for item in value]
    if isinstance(value, collections.defaultdict):
        parts.append(repr(value.default_factory))
    if isinstance(value, Slotted):
        parts += [value.slot, value.shadowed]
    if hasattr(value, "__dict__"):
        parts.append(shown(vars(value), seen))
    return parts


@pytest.mark.parametrize(
    "function",
    [
        reordered,
        instance_then_its_dictionary,
        dictionary_then_its_instance,
        slots_and_a_shadowed_name,
        tuple_with_attributes,
        mixed_dictionary,
        namespaces,
        default_dictionaries,
        attributes_in_another_order,
        more_attributes_than_are_shared,
        attributes_of_a_dictionary,
        cycle,
    ],
)
def test_result(function: Callable[[int], Any]) -> None:
    compiled = capture.Compiled(function, fullgraph=True)
    results = [compiled(5) for _ in range(3)]
    assert [shown(result) for result in results] == [shown(function(5))] * 3
    assert len({id(result) for result in results}) == 3
    assert [entry["hits"] for entry in compiled.entries] == [2]
