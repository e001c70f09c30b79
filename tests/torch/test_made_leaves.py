"""Tensors that a captured function makes and asks gradients of."""

from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch

Program = Callable[[torch.Tensor, torch.Tensor], tuple[Any, ...]]


def view_asks(x: torch.Tensor, w: torch.Tensor) -> tuple[Any, ...]:
    h = x[:, None]
    h.requires_grad = True
    return (h * w).sum(), h, h.is_leaf, x.requires_grad


def view_of_changed_base(x: torch.Tensor, w: torch.Tensor) -> tuple[Any, ...]:
    h = x.view(-1)
    h.requires_grad_()
    x.add_(1)
    return (h * w).sum(), h, h.requires_grad, h.is_leaf


def view_of_view(x: torch.Tensor, w: torch.Tensor) -> tuple[Any, ...]:
    h = x.view(-1)
    h.requires_grad_()
    z = h[1:]
    with torch.no_grad():
        z.mul_(2)
    return (h * w).sum(), h, z.requires_grad


def taken_back(x: torch.Tensor, w: torch.Tensor) -> tuple[Any, ...]:
    h = x[0]
    h.requires_grad_()
    h.requires_grad_(False)
    h.mul_(w)
    return h.sum(), x.requires_grad


def zeros_like(x: torch.Tensor, w: torch.Tensor) -> tuple[Any, ...]:
    z = torch.zeros_like(x, requires_grad=True)
    return ((z + x) * w).sum(), z


def random(x: torch.Tensor, w: torch.Tensor) -> tuple[Any, ...]:
    z = torch.randn(3, requires_grad=True)
    return (z * w).sum() + x.sum(), z


def from_numbers(x: torch.Tensor, w: torch.Tensor) -> tuple[Any, ...]:
    z = torch.tensor([1.0, 2.0], requires_grad=True)
    return (z * w).sum(), z


def unused(x: torch.Tensor, w: torch.Tensor) -> tuple[Any, ...]:
    return (x * w).sum(), torch.ones(3, requires_grad=True)


PROGRAMS: list[Program] = [
    view_asks,
    view_of_changed_base,
    view_of_view,
    taken_back,
    zeros_like,
    random,
    from_numbers,
    unused,
]


def outcome(function: Program, grad: bool) -> str:
    torch.manual_seed(3)
    x, w = torch.arange(12.0).view(4, 3), torch.tensor(2.0, requires_grad=True)
    with torch.set_grad_enabled(grad):
        results = function(x, w)
        if results[0].requires_grad:
            results[0].backward()
    seen = [
        (r.detach(), r.requires_grad, r.is_leaf, r.grad if r.is_leaf else None)
        if isinstance(r, torch.Tensor)
        else r
        for r in results
    ]
    return repr((seen, w.grad, x.detach(), torch.rand(1)))


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_leaves_that_are_made(program: Program, backend: str, grad: bool) -> None:
    compiled = stator.compile(program, backend=backend, fullgraph=True)
    for _ in range(3):
        assert outcome(compiled, grad) == outcome(program, grad)
    assert [entry.hits for entry in stator.cache_entries(compiled)] == [2]
