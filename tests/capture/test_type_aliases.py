"""`int | None`, `list[int]` and typing's own: read, looked through, and noticed when replaced."""

import copy
import importlib
import types
import typing
from typing import Any

capture = importlib.import_module("stator._capture")


class Own:
    pass


Field = int | None
Items = list[int]
Maybe = typing.Optional[float]  # noqa: UP045
Mine = Own | str


def program(value: Any) -> tuple[Any, ...]:
    fits = [isinstance(value, each) for each in typing.get_args(Field)]
    return (
        fits,
        typing.get_origin(Field) is types.UnionType,
        typing.get_origin(Items) is list,
        typing.get_args(Items)[0] is int,
        typing.get_origin(Maybe) is typing.Union,
        [isinstance(value, each) for each in typing.get_args(Maybe)],
        len(Mine.__args__),
        isinstance(Own(), Mine),
        Items.__origin__([1, 2]),
        (int | None) == Field,
    )


def test_aliases_are_read() -> None:
    compiled = capture.Compiled(program)
    for value in (3, 3):
        assert compiled(value) == program(value)
    assert not compiled.breaks
    assert [entry["hits"] for entry in compiled.entries] == [1]


def test_another_alias_is_noticed() -> None:
    global Field, Mine
    kept = Field, Mine
    compiled = capture.Compiled(program)
    try:
        assert compiled(3)[0] == [True, False]
        Field = str | None
        assert compiled(3)[0] == [False, False]
        Mine = Own | str | int
        assert compiled(3)[6] == 3
    finally:
        Field, Mine = kept


CHOICES = {"b", "a"}


def test_sets_are_copied() -> None:
    def copies() -> tuple[Any, ...]:
        shallow, deep = copy.copy(CHOICES), copy.deepcopy(CHOICES)
        deep.add("c")
        return shallow, deep

    compiled = capture.Compiled(copies)
    for _ in range(2):
        assert compiled() == ({"a", "b"}, {"a", "b", "c"})
    CHOICES.add("d")
    try:
        assert compiled() == ({"a", "b", "d"}, {"a", "b", "c", "d"})
    finally:
        CHOICES.discard("d")
    assert not compiled.breaks
