"""Generators that C code asks for and resumes: what they read is guarded as anything else."""

import functools
import importlib
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

capture = importlib.import_module("stator._capture")

STEP = 1


class Steps:
    """`__iter__` is a generator function: C code that wants an iterator calls it."""

    def __iter__(self) -> Iterator[int]:
        yield STEP
        yield STEP * 3
        yield STEP * 2


class View(Sequence[Any]):
    """Its iterator is that of collections.abc: a generator which waits in a `try`."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: Any) -> Any:
        if index >= 4:
            raise IndexError
        return Item(index * STEP)


class Item:
    def __init__(self, value: int) -> None:
        self.value = value


CONSUMERS: dict[str, Callable[[], Any]] = {
    "zip": lambda: [a * b for a, b in zip([1, 2], Steps(), strict=False)],
    "enumerate": lambda: [a * b for a, b in enumerate(Steps())],
    "map": lambda: list(map(lambda x: x + 1, Steps())),  # noqa: C417
    "filter": lambda: list(filter(None, Steps())),
    "sum": lambda: sum(Steps()),
    "max": lambda: max(Steps()),
    "sorted": lambda: sorted(Steps()),
    "any": lambda: any(x == 5 for x in Steps()),
    "list": lambda: list(Steps()),
    "tuple": lambda: (*Steps(),),
    "set": lambda: len(set(Steps())),
    "extend": lambda: extended([0]),
    "deque": lambda: list(deque(Steps(), maxlen=2)),
    "fromkeys": lambda: dict.fromkeys(Steps(), 0),
    "reduce": lambda: functools.reduce(lambda a, b: a * 7 + b, Steps()),
    "chain": lambda: list(itertools.chain(Steps(), Steps())),
    "islice": lambda: list(itertools.islice(Steps(), 2)),
    "accumulate": lambda: list(itertools.accumulate(Steps())),
    "next": lambda: next(iter(Steps())),
    "in": lambda: 15 in Steps(),
    "unpacked": lambda: unpacked(),
    "view": lambda: [item.value * n for n, item in zip((1, 2), View(), strict=False)],
    "view map": lambda: [item.value for item in map(lambda item: item, View())],  # noqa: C417
    "view first": lambda: next(iter(View())).value + STEP,
    "view sorted": lambda: [item.value for item in sorted(View(), key=lambda item: -item.value)],
}


def extended(items: list[int]) -> list[int]:
    items.extend(Steps())
    return items


def unpacked() -> int:
    a, *rest = Steps()
    return a + rest[0]


@pytest.mark.parametrize("name", CONSUMERS)
def test_what_a_generator_reads_is_guarded(name: str) -> None:
    global STEP
    function = CONSUMERS[name]
    compiled = capture.Compiled(function)
    try:
        for step in (1, 1, 5, 5):
            STEP = step
            assert compiled() == function()
    finally:
        STEP = 1
    assert len(compiled.entries) == 2, compiled.breaks
    assert sum(entry["hits"] for entry in compiled.entries) == 2


def waits_in(kind: str, log: list[str]) -> Iterator[int]:
    if kind == "other":
        try:
            yield 1
        except (IndexError, KeyError):
            log.append("never")
    elif kind == "finally":
        try:
            yield 1
        finally:
            log.append("closed")
    elif kind == "all":
        try:
            yield 1
        except BaseException:
            log.append("closed")
            raise
    elif kind == "nested":
        try:
            try:
                yield 1
            except ValueError:
                log.append("never")
        except GeneratorExit:
            log.append("closed")


@pytest.mark.parametrize("kind", ["other", "finally", "all", "nested"])
def test_a_generator_that_is_dropped_while_it_waits(kind: str) -> None:
    """Its handlers hear of it as in a plain run, on every call."""
    log: list[str] = []

    def first() -> int:
        return next(waits_in(kind, log)) + STEP

    compiled = capture.Compiled(first)
    for call in range(1, 4):
        assert compiled() == 2
        assert log == ([] if kind == "other" else ["closed"] * call)
    assert bool(compiled.entries) == (kind == "other")
