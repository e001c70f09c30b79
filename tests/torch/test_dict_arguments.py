"""tests/torch/test_dict_arguments.py: dictionaries with attributes as arguments, made anew for each call."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch


class Output(OrderedDict):  # type: ignore[type-arg]
    """Holds what it has as items and as attributes."""

    def __init__(self, **values: Any) -> None:
        super().__init__()
        for name, value in values.items():
            self[name] = value

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        super().__setattr__(name, value)

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(key) if isinstance(key, str) else list(self.values())[key]


class Record(dict):  # type: ignore[type-arg]
    scale: torch.Tensor


def output(i: int) -> Output:
    x = torch.randn(2, 3 + i)
    return Output(state=x, layers=(x, x + 1), count=3)


def record(i: int) -> Record:
    made = Record(state=torch.randn(2, 3 + i), count=3)
    made.scale = torch.randn(1)
    return made


def reads(given: Any) -> Any:
    return given["state"].sum() * given["count"] + len(given)


def writes(given: Any) -> Any:
    given["new"] = given["state"] * len(given)
    given.label = "written"
    return given["new"]


def removes(given: Any) -> Any:
    del given.__dict__[next(iter(given.__dict__))]
    return given["state"] * len(given.__dict__)


def tells_apart(given: Any) -> Any:
    values = [value for value in given.values() if isinstance(value, torch.Tensor)]
    return [value is other for value in values for other in given.__dict__.values()]


def keeps(given: Any) -> Any:
    return {"given": given, "names": list(given)}


def flat(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.shape, value.tolist()
    if isinstance(value, dict):
        attributes = getattr(value, "__dict__", {})
        return type(value), [[(key, flat(item)) for key, item in of.items()] for of in (value, attributes)]
    return [flat(item) for item in value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("function", [reads, writes, removes, tells_apart, keeps])
@pytest.mark.parametrize("make", [output, record])
def test_dictionaries_with_attributes(make: Callable[[int], Any], function: Callable[[Any], Any]) -> None:
    """Known by what they hold: results and effects are eager's, and few captures serve them all."""
    compiled = stator.compile(function, backend="native")
    for i in range(9):
        torch.manual_seed(i)
        eagers = make(i % 3)
        torch.manual_seed(i)
        ours = make(i % 3)
        expected, found = function(eagers), compiled(ours)
        assert flat(found) == flat(expected)
        assert flat(ours) == flat(eagers)
        if function is keeps:
            assert found["given"] is ours
    assert len(stator.cache_entries(compiled)) <= 3


@pytest.mark.parametrize(
    "change",
    [
        lambda given: given.update(more=1),
        lambda given: setattr(given, "more", 1),
        lambda given: given.__dict__.pop("scale"),
        lambda given: given.__setitem__("state", torch.ones(4, dtype=torch.int64)),
        lambda given: setattr(given, "scale", torch.ones(2, 2)),
    ],
)
def test_what_differs_is_seen(change: Callable[[Record], object]) -> None:
    def function(given: Record) -> Any:
        return given["state"].sum() * getattr(given, "scale", 2) + len(given) + len(given.__dict__)

    compiled = stator.compile(function, backend="native")
    for i in range(4):
        compiled(record(i))
    changed = record(1)
    change(changed)
    expected, found = function(changed), compiled(changed)
    assert found.dtype == expected.dtype
    assert torch.equal(found, expected)
