"""Which object an argument is, where captures compare arguments by what they contain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch


class Bound:
    def method(self) -> None: ...


MADE: dict[str, Callable[[], Any]] = {
    "method": lambda: Bound().method,
    "device": lambda: torch.device("cpu"),
    "size": lambda: torch.Size([1, 2]),
    "dtype": lambda: torch.float32,
    "layout": lambda: torch.strided,
    "tensor": lambda: torch.ones(2),
    "tuple": lambda: (1, [2]),
    "dictionary": lambda: {"a": 1},
    "namespace": lambda: torch.finfo(torch.float32),
}


def which(x: torch.Tensor, first: Any, second: Any) -> tuple[torch.Tensor, bool]:
    if first is second:
        return x + 1, True
    return x - 1, first is not second and first is None


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("order", ["SSSDDSDD", "DDSSDS"])
@pytest.mark.parametrize("kind", MADE)
def test_identity_of_two_arguments(kind: str, order: str, backend: str) -> None:
    compiled = stator.compile(which, backend=backend)
    x = torch.zeros(3)
    make = MADE[kind]
    for same in order:
        first = make()
        second = first if same == "S" else make()
        expected = which(x, first, second)
        found = compiled(x, first, second)
        assert torch.equal(found[0], expected[0]), order
        assert found[1] == expected[1]
    assert stator.cache_entries(compiled)


def test_a_dtype_needs_one_capture() -> None:
    def function(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return x + 1 if dtype is torch.float32 else x

    compiled = stator.compile(function, backend="native")
    for _ in range(4):
        compiled(torch.ones(2), torch.float32)
    assert [entry.hits for entry in stator.cache_entries(compiled)] == [3]
