"""Iterators that a captured function returns inside of other objects are made again on every call."""

import collections
import importlib
import itertools
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

capture = importlib.import_module("stator._capture")


class Holder:
    """An instance that holds an iterator as an attribute."""

    def __init__(self, iterator: Any, rest: Any) -> None:
        self.iterator = iterator
        self.rest = rest


def in_a_tuple(n: int) -> Any:
    return zip([n, n + 1], "ab", strict=True), n


def in_a_list_in_a_tuple(n: int) -> Any:
    return [iter([n, 2, 3])], n


def in_a_dictionary(n: int) -> Any:
    return {"walk": enumerate([n, n]), "n": n}


def as_an_attribute(n: int) -> Any:
    walk = iter([n, 2, 3])
    next(walk)
    return Holder(walk, [walk])


def over_a_list_that_holds_another(n: int) -> Any:
    inner = [reversed([n, 1]), n]
    return iter(inner), inner


def twice(n: int) -> Any:
    walk = itertools.chain([n], [2])
    next(walk)
    return walk, [walk]


def over_mapped_code(n: int) -> Any:
    return map(lambda x: x * 2, [n, 1]), filter(lambda x: x > 1, [n, 1])  # noqa: C417


def a_stop(n: int) -> Any:
    return [StopIteration(n, 2)], n


def of_every_kind(n: int) -> Any:
    table = {n: 1, n + 1: 2}
    sources: list[Any] = [
        table,
        table.keys(),
        table.values(),
        table.items(),
        [n],
        (n,),
        "ab",
        b"ab",
    ]
    sources += [
        range(3),
        range(2**70, 2**70 + 2),
        collections.deque([n]),
        types.MappingProxyType(table),
    ]
    return [iter(source) for source in sources]


def of_every_kind_reversed(n: int) -> Any:
    table = {n: 1, n + 1: 2}
    halfway = reversed(table.items())
    next(halfway)
    sources: list[Any] = [table, table.keys(), table.values(), table.items(), [n, 1], (n, 1), "ab", range(3)]
    sources += [collections.deque([n, 1]), types.MappingProxyType(table)]
    return [reversed(source) for source in sources], halfway


def of_an_ordered_dict(n: int) -> Any:
    table = collections.OrderedDict({n: 1, 3: 2})
    return [iter(table), reversed(table), iter(table.items()), reversed(table.values())]


def at_their_ends(n: int) -> Any:
    table = {n: 1, n + 1: 2}
    walks = [iter([n]), iter((n,)), reversed([n]), iter(table), reversed(table), iter("a"), iter({n})]
    for walk in walks:
        list(walk)
    return walks


def drained(value: Any) -> Any:
    """What a program gets out of a result, each iterator once."""
    if isinstance(value, Iterator):
        return type(value).__name__, [drained(each) for each in value]
    if isinstance(value, tuple | list):
        return type(value).__name__, [drained(each) for each in value]
    if isinstance(value, dict):
        return {key: drained(each) for key, each in value.items()}
    if isinstance(value, Holder):
        return drained(value.iterator), drained(value.rest)
    if isinstance(value, StopIteration):
        return value.args, value.value
    return value


@pytest.mark.parametrize(
    "function",
    [
        in_a_tuple,
        of_every_kind,
        of_every_kind_reversed,
        in_a_list_in_a_tuple,
        in_a_dictionary,
        as_an_attribute,
        over_a_list_that_holds_another,
        twice,
        over_mapped_code,
        a_stop,
    ],
)
def test_iterator_in_result(function: Callable[[int], Any]) -> None:
    compiled = capture.Compiled(function, fullgraph=True)
    for _ in range(3):
        assert drained(compiled(5)) == drained(function(5))
    assert [entry["hits"] for entry in compiled.entries] == [2]


@pytest.mark.parametrize("function", [of_an_ordered_dict, at_their_ends])
def test_no_other_kind(function: Callable[[int], Any]) -> None:
    """What cannot be made again is not replaced by an iterator of another type."""
    compiled = capture.Compiled(function)
    for _ in range(3):
        assert drained(compiled(5)) == drained(function(5))


def walks_over_itself(n: int) -> Any:
    items: list[Any] = [n, 1]
    items.append(iter(items))
    return items, n


def in_a_tuple_that_a_list_of_it_holds(n: int) -> Any:
    items: list[Any] = [n]
    both = (items, iter([n, 2]))
    items.append(both)
    return both


@pytest.mark.parametrize("function", [walks_over_itself, in_a_tuple_that_a_list_of_it_holds])
def test_circle(function: Callable[[int], Any]) -> None:
    """Neither can be made first: such a function runs eagerly."""
    compiled = capture.Compiled(function)
    for _ in range(3):
        result = compiled(5)
        assert len(result) == 2
    with pytest.raises(capture.CaptureError, match="a result of type"):
        capture.Compiled(function, fullgraph=True)(5)


class WithCode(dict):  # type: ignore[type-arg]
    """Has answers of its own for what `dict` is asked."""

    asked = 0

    def __iter__(self) -> Iterator[Any]:
        WithCode.asked += 1
        return dict.__iter__(self)


class ListWithCode(list):  # type: ignore[type-arg]
    def __iter__(self) -> Iterator[Any]:
        WithCode.asked += 1
        return list.__iter__(self)


ORDERED = collections.OrderedDict(a=1, b=2)
SUBCLASSES = [WithCode(a=1), ListWithCode([1, 2])]


def walks_of_the_base_class() -> Any:
    return [dict.__iter__(ORDERED), iter(dict.values(ORDERED)), list(dict.items(ORDERED))]


def walks_around_code() -> Any:
    return dict.__iter__(SUBCLASSES[0]), list.__iter__(SUBCLASSES[1])  # type: ignore[arg-type]


@pytest.mark.parametrize("function", [walks_of_the_base_class, walks_around_code])
def test_walks_are_those_of_the_function_that_made_them(function: Callable[[], Any]) -> None:
    compiled = capture.Compiled(function)
    for _ in range(3):
        assert drained(compiled()) == drained(function())
    assert WithCode.asked == 0
