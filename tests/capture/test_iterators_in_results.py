"""Iterators that a captured function returns inside of other objects are made again on every call."""

import importlib
import itertools
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
