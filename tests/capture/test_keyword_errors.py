"""Errors of `**mapping` in calls: of keywords that are given twice, and of what the mapping raises itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import stator


class Mapping:
    def __init__(self, error: Callable[[Any], BaseException] | None, where: str = "item") -> None:
        self.error, self.where = error, where

    def keys(self) -> Iterator[Any]:
        if self.error is not None and self.where == "keys":
            raise self.error("keys")
        return iter(["a", "c"])

    def __getitem__(self, key: str) -> Any:
        if self.error is not None and self.where == "item":
            raise self.error(key)
        return {"a": 1, "c": 2}[key]


def take(**keywords: Any) -> dict[str, Any]:
    return keywords


MAPPINGS: dict[str, Callable[[], Any]] = {
    "key": lambda: Mapping(KeyError),
    "key in keys": lambda: Mapping(KeyError, "keys"),
    "two arguments": lambda: Mapping(lambda key: KeyError(key, 1)),
    "no argument": lambda: Mapping(lambda key: KeyError()),
    "tuple": lambda: Mapping(lambda key: KeyError((key,))),
    "attribute": lambda: Mapping(AttributeError),
    "twice": lambda: {"b": 3},
    "twice, of a mapping": lambda: type("Own", (Mapping,), {"keys": lambda self: ["b"]})(None),
    "no mapping": lambda: 5,
    "no name": lambda: {8: 1},
    "none": lambda: Mapping(None),
}


def merged(mapping: Any) -> Any:
    try:
        return take(b=1, **mapping)
    except Exception as error:
        return type(error), error.args, type(error.__context__)


def merged_in_handler(mapping: Any) -> Any:
    try:
        raise ValueError
    except ValueError:
        try:
            return take(b=1, **mapping)
        except Exception as error:
            return type(error), error.args, type(error.__context__)


@pytest.mark.parametrize("function", [merged, merged_in_handler])
@pytest.mark.parametrize("name", MAPPINGS)
def test_as_cpython(name: str, function: Callable[[Any], Any]) -> None:
    make = MAPPINGS[name]
    assert stator.interpret(function)(make()) == function(make())
