"""Loops that empty large containers: what a capture looks at stays in proportion to what the program does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from stator._capture import Compiled

COUNT = 60_000


def pop(items: list[Any]) -> int:
    count = 0
    while items:
        items.pop()
        count += 1
    return count


def delete(items: dict[int, Any]) -> int:
    count = 0
    for key in list(items):
        del items[key]
        count += 1
    return count


def pop_item(items: dict[int, Any]) -> int:
    count = 0
    while items:
        items.popitem()
        count += 1
    return count


@pytest.mark.timeout(60)  # minutes and gigabytes, where each write looks at all that is left
@pytest.mark.parametrize(
    ("function", "make"),
    [
        (pop, lambda: [object() for _ in range(COUNT)]),
        (delete, lambda: dict.fromkeys(range(COUNT), "")),
        (pop_item, lambda: {i: object() for i in range(COUNT)}),
    ],
)
def test_emptied(function: Callable[[Any], int], make: Callable[[], Any]) -> None:
    compiled = Compiled(function)
    for _ in range(2):
        items = make()
        assert compiled(items) == COUNT
        assert not items
