"""What a program sees of an exception that its caller handles."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import pytest

capture = importlib.import_module("stator._capture")


def context_of_one_that_is_caught() -> Any:
    try:
        raise KeyError(1)
    except KeyError as error:
        return repr(error.__context__), error.__context__ is None


def context_of_two() -> Any:
    try:
        try:
            raise KeyError(1)
        except KeyError:
            raise IndexError(2) from None
    except IndexError as error:
        inner = error.__context__
        return repr(inner), repr(inner.__context__), error.__suppress_context__  # type: ignore[union-attr]


def context_of_one_that_was_not_raised() -> Any:
    return KeyError(1).__context__ is None


def raised_again() -> Any:
    try:
        raise
    except RuntimeError:
        return "nothing is handled"
    except ValueError as error:
        return repr(error)


def asked_of_the_thread() -> Any:
    return repr(sys.exc_info()[1])


FUNCTIONS = [
    context_of_one_that_is_caught,
    context_of_two,
    context_of_one_that_was_not_raised,
    raised_again,
    asked_of_the_thread,
]


@pytest.mark.parametrize("first", ["without", "within"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_callers_with_and_without_a_handler(function: Callable[[], Any], first: str) -> None:
    compiled = capture.Compiled(function)
    for number in range(6):
        if (number % 4 < 2) == (first == "without"):
            assert compiled() == function()
            continue
        try:
            raise ValueError(2)
        except ValueError:
            assert compiled() == function()
    if first == "without":
        assert sum(row["hits"] for row in compiled.entries) > 0
