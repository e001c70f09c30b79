"""Keys of dictionaries that are no plain constants: named tuples, sizes, partials made in the function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from comparison import difference

import stator
import torch


class Place(NamedTuple):
    row: int
    column: int


PLACES: dict[Any, int] = {Place(1, 2): 5, Place(0, 0): 1}
SIZES: dict[Any, int] = {torch.Size([2, 3]): 4}


def of_named_tuples(x: torch.Tensor) -> Any:
    return x * PLACES[Place(1, 2)] if Place(1, 2) in PLACES else x - len(PLACES)


def of_sizes(x: torch.Tensor) -> Any:
    return x * SIZES[torch.Size([2, 3])]


def of_partials(x: torch.Tensor) -> Any:
    scaled = functools.partial(torch.mul, other=2)
    chosen: dict[Any, int] = {}
    chosen[scaled] = 3
    chosen[Place(0, 1), scaled] = 4
    return scaled(x) * chosen[scaled] + chosen[Place(0, 1), scaled]


class Sign:
    """Hashed and compared by code of its own."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sign) and other.text == self.text


def of_objects(x: torch.Tensor) -> Any:
    made = {Sign("a"): 2}
    made[Sign("b")] = 3
    return x * made[Sign("b")]


@pytest.mark.parametrize("function", [of_named_tuples, of_sizes, of_partials, of_objects])
def test_captured_whole(function: Callable[..., Any]) -> None:
    compiled = stator.compile(function, backend="native", fullgraph=True)
    x = torch.arange(6.0).view(2, 3)
    for _ in range(3):
        assert difference(compiled(x), function(x)) is None
    assert len(stator.cache_entries(compiled)) == 1


@pytest.mark.parametrize(
    ("function", "table", "key"),
    [(of_named_tuples, PLACES, Place(1, 2)), (of_sizes, SIZES, torch.Size([2, 3]))],
)
def test_what_stands_there_is_guarded(function: Callable[..., Any], table: dict[Any, int], key: Any) -> None:
    compiled = stator.compile(function, backend="native", fullgraph=True)
    x, before = torch.ones(2, 3), dict(table)
    try:
        for value in (5, 6, 5):
            table[key] = value
            assert difference(compiled(x), function(x)) is None
    finally:
        table.update(before)
