"""Gradients of tensors that a compiled function makes leaves itself: attacks, saliency, inner models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch.nn.functional as F
from comparison import difference, tensors_of

import stator
import torch
from torch import Tensor, nn

torch.manual_seed(0)
NETWORK = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
for parameter in NETWORK.parameters():
    parameter.requires_grad_(False)
KEPT: list[Tensor] = []
Program = Callable[[Tensor], Any]
PROGRAMS: list[Program] = []
BREAK_FREE: list[Program] = []


def whole(program: Program) -> Program:
    """One graph under `native`."""
    PROGRAMS.append(program)
    BREAK_FREE.append(program)
    return program


def with_breaks(program: Program) -> Program:
    PROGRAMS.append(program)
    return program


@whole
def attack(x: Tensor) -> Tensor:
    change = torch.zeros_like(x, requires_grad=True)
    NETWORK(x + change).square().sum().backward()
    assert change.grad is not None
    return x + 0.1 * change.grad.sign()


@whole
def saliency(x: Tensor) -> Tensor | None:
    image = x.detach().clone().requires_grad_(True)
    NETWORK(image).logsumexp(1).sum().backward()
    return image.grad


@whole
def leaf_as_result(x: Tensor) -> tuple[Tensor, Tensor | None, bool]:
    leaf = x.clone().requires_grad_()
    (leaf * leaf).sum().backward()
    return leaf, leaf.grad, leaf.grad is leaf.grad


@whole
def gradient_of_a_result_alone(x: Tensor) -> list[Tensor]:
    leaf = (x * 2).requires_grad_()
    leaf.exp().sum().backward()
    return [leaf]


@whole
def leaf_without_gradient(x: Tensor) -> tuple[Tensor, Tensor | None]:
    leaf = torch.ones(x.shape, requires_grad=True)
    before = leaf.grad
    return leaf, before


@whole
def added_gradients(x: Tensor) -> Tensor:
    leaf = x.clone().requires_grad_()
    for factor in (1.0, 2.0, 3.0):
        (leaf * factor).sin().sum().backward()
    return leaf


@whole
def dropped_gradient(x: Tensor) -> tuple[Tensor, Tensor]:
    leaf = x.clone().requires_grad_()
    leaf.sin().sum().backward()
    first = leaf.grad
    assert first is not None
    leaf.grad = None
    leaf.cos().sum().backward()
    return first, leaf


@whole
def assigned_gradient(x: Tensor) -> Tensor:
    leaf = x.clone().requires_grad_()
    leaf.grad = x * 3
    leaf.sin().sum().backward()
    del leaf.grad
    leaf.grad = torch.ones_like(leaf)
    return leaf


@whole
def emptied_gradient(x: Tensor) -> Tensor:
    leaf = x.clone().requires_grad_()
    for _ in range(2):
        leaf.sin().sum().backward()
        assert leaf.grad is not None
        with torch.no_grad():
            leaf += 0.1 * leaf.grad
        leaf.grad.zero_()
    return leaf


@whole
def parameter_and_optimizer(x: Tensor) -> tuple[Tensor, Tensor]:
    weight = nn.Parameter(x.clone())
    optimizer = torch.optim.SGD([weight], lr=0.1, momentum=0.9)
    for _ in range(2):
        optimizer.zero_grad()
        loss = F.mse_loss(weight.tanh(), x)
        loss.backward()
        optimizer.step()
    return weight, loss.detach()


@whole
def leaf_that_is_gone(x: Tensor) -> Tensor:
    kept = x.clone().requires_grad_()
    loss = (kept * x.clone().requires_grad_()).sum()
    loss.backward()
    return kept


@whole
def leaf_that_is_kept(x: Tensor) -> Tensor:
    leaf = x.clone().requires_grad_()
    leaf.square().sum().backward()
    KEPT[:] = [leaf]
    return leaf * 2


@whole
def not_asked_any_more(x: Tensor) -> Tensor:
    leaf = x.clone().requires_grad_()
    leaf.square().sum().backward()
    leaf.requires_grad_(False)
    return leaf + x


@whole
def asked_twice(x: Tensor) -> Tensor:
    leaf = x.clone().requires_grad_()
    first = leaf.sin()
    leaf.requires_grad_(False)
    leaf.requires_grad_(True)
    first.sum().backward()
    (leaf.cos() + x).sum().backward()
    return leaf


@whole
def asked_twice_for_one_backward(x: Tensor) -> Tensor:
    leaf = x.clone().requires_grad_()
    leaf.sum().backward()
    first = leaf.sin()
    leaf.requires_grad_(False)
    leaf.requires_grad_(True)
    (first + leaf.cos()).sum().backward()
    return leaf


@whole
def three_steps(x: Tensor) -> tuple[Tensor, Tensor]:
    weight = nn.Parameter(x.clone())
    for _ in range(3):
        loss = (weight.tanh() - x).square().sum()
        loss.backward()
        with torch.no_grad():
            assert weight.grad is not None
            weight -= 0.1 * weight.grad
        weight.grad = None
    return weight, loss


@whole
def backward_without_gradients(x: Tensor) -> tuple[Tensor, Tensor]:
    first, second = x.clone().requires_grad_(), x.sin().requires_grad_()
    sum_ = first * 2
    sum_.add_(second)
    squares, ones = sum_.square(), torch.ones_like(x)
    with torch.no_grad():
        squares.backward(ones)  # no operator runs in here
    return first, second


@whole
def attack_in_steps(x: Tensor) -> Tensor:
    change = torch.zeros_like(x, requires_grad=True)
    for _ in range(3):
        NETWORK(x + change).square().sum().backward()
        assert change.grad is not None
        with torch.no_grad():
            change += 0.1 * change.grad.sign()
            change.clamp_(-0.2, 0.2)
        change.grad.zero_()
    return (x + change).detach()


@with_breaks
def broken_behind_backward(x: Tensor) -> tuple[Tensor, float]:
    leaf = x.clone().requires_grad_()
    leaf.square().sum().backward()
    assert leaf.grad is not None
    if leaf.grad.sum() > 0:
        leaf.sin().sum().backward()
    return leaf, leaf.grad.sum().item()


@with_breaks
def watched_leaf(x: Tensor) -> tuple[Tensor, list[float]]:
    seen: list[float] = []
    leaf = x.clone().requires_grad_()
    leaf.register_hook(lambda gradient: seen.append(gradient.sum().item()))
    leaf.square().sum().backward()
    return leaf, seen


@with_breaks
def gradient_of_another_shape(x: Tensor) -> str:
    leaf = x.clone().requires_grad_()
    try:
        leaf.grad = x[:1]
    except RuntimeError as error:
        return str(error)
    return ""


def observed(program: Program, x: Tensor) -> Any:
    result = program(x)
    leaves = [*tensors_of(result), *KEPT]
    return result, list(KEPT), [each.grad for each in leaves if each.is_leaf]


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_eager(program: Program, backend: str) -> None:
    compiled = stator.compile(program, backend=backend)
    for sizes in ((2, 4), (2, 4), (3, 4), (3, 4), (5, 4)):
        KEPT.clear()
        x = torch.randn(sizes)
        expected = observed(program, x.clone())
        KEPT.clear()
        assert difference(observed(compiled, x.clone()), expected) is None
    assert sum(entry.hits for entry in stator.cache_entries(compiled)) > 0


@pytest.mark.parametrize("program", BREAK_FREE, ids=lambda program: program.__name__)
@pytest.mark.skipif(torch.__version__ < "2.13", reason="torch 2.11's backward() makes an annotation of types")
def test_one_graph(program: Program) -> None:
    KEPT.clear()
    stator.compile(program, backend="native", fullgraph=True)(torch.randn(2, 4))
