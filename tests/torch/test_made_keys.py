"""Keys that are made in captured code and stored in dictionaries and sets that existed before."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import pytest
from comparison import difference

import stator
import torch


class Key:
    """Hashed and compared by its address."""


def tensor(x: torch.Tensor, store: Any) -> None:
    store[x + 1] = 1


def rows(x: torch.Tensor, store: Any) -> None:
    for row in x:
        store[row] = store.get(row, 0) - 1


def in_a_tuple(x: torch.Tensor, store: Any) -> None:
    store[(x.sum(), 3)] = x * 2


def instance(x: torch.Tensor, store: Any) -> None:
    store[Key()] = x * 2


def function(x: torch.Tensor, store: Any) -> None:
    store[lambda: 1] = x * 2


def argument(x: torch.Tensor, store: Any) -> None:
    store[x] = x * 2


def set_default(x: torch.Tensor, store: Any) -> None:
    store.setdefault(x + 1, []).append(x)


def update(x: torch.Tensor, store: Any) -> None:
    store.update({x + 1: x})


def removed_again(x: torch.Tensor, store: Any) -> None:
    key = x + 1
    store[key] = 1
    store["last"] = 2
    store.pop(key)


PROGRAMS = [tensor, rows, in_a_tuple, instance, function, argument, set_default, update, removed_again]


def added(x: torch.Tensor, store: Any) -> None:
    store.add(x + 1)


def counted(x: torch.Tensor, store: Any) -> None:
    store[x + 1] += 1
    store.subtract(x)


def check(write: Callable[..., None], make: Callable[[], Any], backend: str) -> int:
    """How often captures served."""

    def program(x: torch.Tensor) -> torch.Tensor:
        write(x, store)
        return x + 1

    found = []
    for compiles in (False, True):
        store = make()
        run = stator.compile(program, backend=backend) if compiles else program
        for i in range(4):
            run(torch.arange(6.0).reshape(2, 3) + i)
        items = store.items() if isinstance(store, dict) else store
        # Tensors that a capture left behind cannot be looked at.
        found.append(sorted(items, key=str) if type(store) is set else list(items))
    assert difference(*found) is None
    return sum(entry.hits for entry in stator.cache_entries(run))


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("make", [dict, collections.OrderedDict])
@pytest.mark.parametrize("write", PROGRAMS)
def test_keys(write: Callable[..., None], make: Callable[[], Any], backend: str) -> None:
    assert check(write, make, backend) >= 2


@pytest.mark.parametrize("backend", ["native", "eager"])
def test_keys_that_are_counted(backend: str) -> None:
    check(counted, lambda: collections.Counter("ab"), backend)
    check(added, set, backend)
