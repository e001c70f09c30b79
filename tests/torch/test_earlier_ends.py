"""Breaks behind what cannot lie across the end of a segment: what stands before it is captured."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import pytest
from comparison import difference, tensors_of

import stator
import torch
from torch import Tensor, nn

torch.manual_seed(0)
LINEAR = nn.Linear(4, 4)
LOCK = threading.Lock()
VARIABLE: contextvars.ContextVar[int] = contextvars.ContextVar("VARIABLE", default=1)


class Steps:
    def __iter__(self) -> Any:
        return (i for i in (1, 2, 3))


def before(x: Tensor) -> Tensor:
    return LINEAR(x).sin() * 2


def inference(x: Tensor) -> tuple[Tensor, bool]:
    y = before(x)
    with torch.inference_mode():
        z = LINEAR(y).tanh()
        if z.sum() > 100:
            z = z * 2
        z = z + 1
    return LINEAR(x) + z.sum(), z.is_inference()


def inference_twice(x: Tensor) -> tuple[Tensor, float]:
    with torch.inference_mode():
        first = LINEAR(x)
    y = before(x)
    with torch.inference_mode(), torch.no_grad():
        total = (y + first).sum().item()
    return y, total


def device(x: Tensor) -> Tensor:
    y = before(x)
    with torch.device("cpu"):
        z = torch.ones(4)
        if y.sum() > 100:
            z = z * 2
        z = z + torch.zeros(4)
    return y + z


def lock(x: Tensor) -> Tensor:
    y = before(x)
    with LOCK:
        z = LINEAR(y).tanh()
    return y + z


def variable(x: Tensor) -> Tensor:
    y = before(x)
    token = VARIABLE.set(3)
    z = y * VARIABLE.get()
    if z.sum() > 100:
        z = z * 2
    VARIABLE.reset(token)
    return z * VARIABLE.get()


def generator(x: Tensor) -> tuple[Tensor, list[int]]:
    y = before(x)
    steps = iter(Steps())
    y = y * next(steps)
    if y.sum() > 100:
        y = y * 2
    return y * next(steps), list(steps)


def raised_inside(x: Tensor) -> tuple[Tensor, str]:
    y = before(x)
    try:
        with torch.inference_mode(), LOCK:
            if y.sum() < 1000:
                raise ValueError("inside")
    except ValueError as error:
        return y.cos(), str(error)
    return y, ""


@pytest.mark.parametrize("backend", ["native", "eager", "aot_eager"])
@pytest.mark.parametrize(
    "function", [inference, inference_twice, device, lock, variable, generator, raised_inside]
)
def test_what_comes_before_is_captured(function: Callable[[Tensor], Any], backend: str) -> None:
    compiled = stator.compile(function, backend=backend)
    for _ in range(4):
        x = torch.randn(3, 4)
        result, expected = compiled(x), function(x)
        if backend == "aot_eager":  # its results have another history
            torch.testing.assert_close(list(tensors_of(result)), list(tensors_of(expected)))
        else:
            assert difference(result, expected) is None
        assert not torch.is_inference_mode_enabled()
        assert torch.is_grad_enabled()
        assert not LOCK.locked()
        assert VARIABLE.get() == 1
    graphs = [entry.graph for entry in stator.cache_entries(compiled) if entry.hits == 3]
    assert any("linear" in graph and "sin" in graph for graph in graphs)
