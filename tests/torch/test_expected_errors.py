# ruff: noqa: PT027 (unittest is what is tested)
"""Errors that captured code expects in a with-block: unittest's assertRaises, which clears the frames."""

import traceback
import unittest
from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch

CASE = unittest.TestCase()
X = torch.arange(4.0)


def of_a_list(x: torch.Tensor) -> torch.Tensor:
    with CASE.assertRaises(IndexError):
        [1, 2][3]
    return x + 1


def of_a_dictionary(x: torch.Tensor) -> tuple[torch.Tensor, str]:
    with CASE.assertRaises(KeyError) as caught:
        {}["key"]
    return x.sin(), type(caught.exception).__name__


def raises(x: torch.Tensor) -> None:
    held = x * 2
    raise ValueError(f"of {held.dim()} dimensions")


def of_a_callee(x: torch.Tensor) -> torch.Tensor:
    CASE.assertRaises(ValueError, raises, x)
    return x.cos()


class Clears:
    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        traceback.clear_frames(trace)
        return True


def cleared_by_hand(x: torch.Tensor) -> torch.Tensor:
    with Clears():
        raises(x)
    return x * 3


@pytest.mark.parametrize("function", [of_a_list, of_a_dictionary, of_a_callee, cleared_by_hand])
def test_captured_whole(function: Callable[[torch.Tensor], Any]) -> None:
    compiled = stator.compile(function, backend="native", fullgraph=True)
    for _ in range(3):
        found, wanted = compiled(X), function(X)
        found, wanted = (each if isinstance(each, tuple) else (each,) for each in (found, wanted))
        assert torch.equal(found[0], wanted[0])
        assert found[1:] == wanted[1:]
    assert sum(entry.hits for entry in stator.cache_entries(compiled)) == 2


def test_an_unexpected_error_leaves() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        with CASE.assertRaises(KeyError):
            raises(x)
        return x

    compiled = stator.compile(function, backend="native")
    for _ in range(2):
        with pytest.raises(ValueError, match="of 1 dimensions"):
            compiled(X)


def test_an_older_traceback_is_cleared_for_real() -> None:
    def fails(held: list[int]) -> None:
        raise KeyError

    class Holder(list[int]): ...

    error: Exception | None = None
    try:
        fails(Holder())
    except KeyError as caught:
        error = caught
    assert error is not None
    assert error.__traceback__ is not None
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]

    def function(x: torch.Tensor, trace: Any) -> torch.Tensor:
        traceback.clear_frames(trace)
        return x + 1

    compiled = stator.compile(function, backend="native")
    assert torch.equal(compiled(X, error.__traceback__), X + 1)
    assert not frames[-1].f_locals


def test_iterators_called_by_name() -> None:
    def function(x: torch.Tensor, items: list[int]) -> torch.Tensor:
        numbers = iter(items)
        first = numbers.__iter__().__next__()
        pairs = zip(items, "ab", strict=False).__iter__()
        return x * first + pairs.__next__()[0] + next(numbers)

    compiled = stator.compile(function, backend="native", fullgraph=True)
    for items in ([1, 2], [3, 4], [1, 2]):
        assert torch.equal(compiled(X, items), function(X, items))
