"""Warnings in captured code: one that a filter ignores is captured, any other one is shown as always."""

import importlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

capture = importlib.import_module("stator._capture")


def warn(n: int) -> int:
    warnings.warn("old", DeprecationWarning)  # noqa: B028
    return n + 1


def blames_caller(n: int) -> int:
    warnings.warn("deep", stacklevel=2, category=FutureWarning)
    return n * 2


def calls(n: int) -> int:
    return blames_caller(n) + 1


def ignore(**about: Any) -> Callable[[], None]:
    return lambda: warnings.filterwarnings("ignore", **about)


@pytest.fixture(autouse=True)
def shown() -> Iterator[list[Any]]:
    with warnings.catch_warnings(record=True) as all_shown:
        warnings.simplefilter("always")
        yield all_shown


@pytest.mark.parametrize(
    ("program", "filters"),
    [
        (warn, ignore()),
        (warn, ignore(message="o.*")),
        (warn, ignore(module=__name__, category=DeprecationWarning)),
        (calls, ignore(category=FutureWarning)),
        (calls, ignore(category=FutureWarning, module=__name__)),
    ],
)
def test_an_ignored_warning_is_captured(
    program: Callable[[int], int], filters: Callable[[], None], shown: list[Any]
) -> None:
    filters()
    compiled = capture.Compiled(program)
    assert {compiled(1) for _ in range(3)} == {program(1)}
    assert [entry["hits"] for entry in compiled.entries] == [2]
    assert not shown
    warnings.simplefilter("always")
    compiled(1)
    assert len(shown) == 1
    warnings.simplefilter("error")
    with pytest.raises((DeprecationWarning, FutureWarning)):
        compiled(1)


@pytest.mark.parametrize(
    "filters", [lambda: None, ignore(message="new"), ignore(module="other"), ignore(category=UserWarning)]
)
def test_any_other_warning_is_shown(filters: Callable[[], None], shown: list[Any]) -> None:
    filters()
    compiled = capture.Compiled(warn)
    assert [compiled(1), compiled(1), compiled(1)] == [2, 2, 2]
    own = [each for each in shown if not str(each.message).startswith("stator:")]
    assert len(own) == 3
    assert all(each.filename == __file__ and each.lineno == 14 for each in own)
    assert not compiled.entries


def test_the_caller_of_the_compiled_function_is_not_known() -> None:
    warnings.simplefilter("ignore")
    compiled = capture.Compiled(blames_caller)
    assert [compiled(1), compiled(1)] == [2, 2]
    assert not compiled.entries
