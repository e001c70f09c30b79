"""torch.autograd.grad inside of a compiled function is one node under `native`, and for Python functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch.nn.functional as F
from comparison import difference

import stator
import torch
from torch import nn

Program = Callable[[torch.Tensor, torch.Tensor], Any]
grad = torch.autograd.grad


def of_leaf(x: torch.Tensor, w: torch.Tensor) -> Any:
    (g,) = grad((x @ w).sin().sum(), w)
    return g * 2, g.stride(), g.requires_grad, g.is_leaf


def of_several(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = (x * w).exp()
    a, b = grad(y.mean(), (x, w))
    return a - b, a.stride(), b.stride()


def of_value_in_the_middle(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = x @ w
    z = y.tanh()
    (g,) = grad(z.sum(), y)
    return g, z


def expanded(x: torch.Tensor, w: torch.Tensor) -> Any:
    (g,) = grad(x.sum(), x)
    return g + w, g.stride()


def transposed(x: torch.Tensor, w: torch.Tensor) -> Any:
    (g,) = grad((x.t() @ w).cos().sum(), x)
    return g, g.stride(), g.is_contiguous()


def penalty(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = (x @ w).tanh().pow(2).sum()
    (g,) = grad(y, x, create_graph=True)
    loss = y + (g.norm(dim=1) - 1).pow(2).mean()
    w.grad = x.grad = None
    loss.backward()
    return loss, w.grad, x.grad, g.requires_grad


def second_order(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = (x * w).sin().sum()
    (g,) = grad(y, x, create_graph=True)
    (h,) = grad(g.sum(), x, create_graph=True)
    (k,) = grad(h.sum(), (w,))
    return g, h, k


def linear_in_leaf(x: torch.Tensor, w: torch.Tensor) -> Any:
    """The gradient does not depend on `w.bias`-like terms: no gradient comes there."""
    bias = w[0]
    (g,) = grad((x.pow(3) + bias).sum(), x, create_graph=True)
    x.grad = w.grad = None
    g.pow(2).sum().backward()
    return g, x.grad, w.grad is None


def unused(x: torch.Tensor, w: torch.Tensor) -> Any:
    return grad(x.pow(2).sum(), (x, w), allow_unused=True)


def unused_as_zeros(x: torch.Tensor, w: torch.Tensor) -> Any:
    return grad(x.pow(2).sum(), (x, w), materialize_grads=True)


def refused(x: torch.Tensor, w: torch.Tensor) -> Any:
    try:
        return grad(x.pow(2).sum(), (x, w))
    except RuntimeError as error:
        return str(error)[:40]


def given(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = x * w
    (g,) = grad(y, x, torch.ones_like(y) * 3)
    return g


def given_itself(x: torch.Tensor, w: torch.Tensor) -> Any:
    """What comes is what was given."""
    v = torch.ones_like(x)
    (g,) = grad(x + w, x, v)
    g.add_(1)
    return v, g


def kept(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = (x * w).sum()
    (a,) = grad(y, x, retain_graph=True)
    (b,) = grad(y, w)
    return a, b


def freed(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = (x * w).sin().sum()
    grad(y, x)
    try:
        return grad(y, w)
    except RuntimeError as error:
        return str(error)[:30]


def under_no_grad(x: torch.Tensor, w: torch.Tensor) -> Any:
    with torch.no_grad():
        scale = (x * 2).sum()
    with torch.enable_grad():
        (g,) = grad((x * w * scale).sum(), w)
    return g


def descent(x: torch.Tensor, w: torch.Tensor) -> Any:
    fast = w
    for _ in range(3):
        loss = (x @ fast).pow(2).mean()
        (g,) = grad(loss, fast, create_graph=True)
        fast = fast - 0.1 * g
    w.grad = None
    (x @ fast).pow(2).mean().backward()
    return fast, w.grad


def branch_behind(x: torch.Tensor, w: torch.Tensor) -> Any:
    (g,) = grad((x @ w).sum(), x)
    if g.sum() > 0:
        return g * 2
    return g * 3


def written(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = x * 2
    row = y[0]
    y.mul_(w)
    return grad(row.sum() + y.sum(), (x, w))


def dropped(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = F.dropout(x @ w, 0.5)
    (g,) = grad(y.sum(), w)
    return g, y


PROGRAMS: list[Program] = [
    of_leaf,
    of_several,
    of_value_in_the_middle,
    expanded,
    transposed,
    penalty,
    second_order,
    linear_in_leaf,
    unused,
    unused_as_zeros,
    refused,
    given,
    given_itself,
    kept,
    freed,
    under_no_grad,
    descent,
    branch_behind,
    written,
    dropped,
]
# Where a node alone serves; the others may break.
WHOLE = [
    of_leaf,
    of_several,
    of_value_in_the_middle,
    expanded,
    transposed,
    penalty,
    second_order,
    linear_in_leaf,
    unused,
    unused_as_zeros,
    given,
    kept,
    under_no_grad,
    descent,
    written,
    dropped,
]


def outcomes(program: Program, sizes: list[int]) -> list[Any]:
    seen = []
    for call, size in enumerate(sizes):
        torch.manual_seed(call)
        x, w = (torch.randn(size, size, requires_grad=True) for _ in range(2))
        seen.append((program(x, w), x, w, x.grad, w.grad))
    return seen


SIZES = [3, 3, 4, 5, 4]


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_eager(program: Program, backend: str) -> None:
    compiled = stator.compile(program, backend=backend)
    assert difference(outcomes(compiled, SIZES), outcomes(program, SIZES)) is None


# AOT autograd refuses gradients of gradients, and knows no history between two results of one graph.
NOT_FOR_AOT = [of_value_in_the_middle, penalty, second_order, linear_in_leaf, descent]
OF_TENSORS = [program for program in PROGRAMS if program not in (refused, freed)]
EACH = [(program, "fused") for program in OF_TENSORS]
EACH += [(program, "aot_eager") for program in OF_TENSORS if program not in NOT_FOR_AOT]


@pytest.mark.parametrize(("program", "backend"), EACH)
def test_backends_that_compile(program: Program, backend: str) -> None:
    compiled = stator.compile(program, backend=backend)
    torch.testing.assert_close(outcomes(compiled, SIZES), outcomes(program, SIZES))


def same_tensors(program: Program) -> list[Any]:
    """Called four times with the same leaves, whose gradients may add up."""
    torch.manual_seed(0)
    x, w = (torch.randn(3, 3, requires_grad=True) for _ in range(2))
    seen = []
    for call in range(4):
        torch.manual_seed(call)
        result = program(x, w)
        seen.append((result, *(each if each is None else each.clone() for each in (x.grad, w.grad))))
    return seen


@pytest.mark.parametrize("program", WHOLE, ids=lambda program: program.__name__)
def test_one_graph(program: Program) -> None:
    compiled = stator.compile(program, backend="native", fullgraph=True)
    assert difference(same_tensors(compiled), same_tensors(program)) is None
    entries = stator.cache_entries(compiled)
    assert sum(entry.hits for entry in entries) >= 2
    assert all("grad" in entry.graph for entry in entries)


def test_physics_informed_training() -> None:
    """The residual of a differential equation, by derivatives of a network, is trained on."""

    def train(compiled: bool) -> Any:
        torch.manual_seed(0)
        network = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        updates = torch.optim.Adam(network.parameters(), lr=0.01)

        def step(t: torch.Tensor) -> torch.Tensor:
            u = network(t)
            (du,) = grad(u, t, torch.ones_like(u), create_graph=True)
            (ddu,) = grad(du, t, torch.ones_like(du), create_graph=True)
            loss = (ddu + u).pow(2).mean()
            updates.zero_grad()
            loss.backward()
            updates.step()
            return loss.detach()

        function = stator.compile(step, backend="native") if compiled else step
        points = torch.linspace(0, 1, 6)[:, None].requires_grad_()
        losses = [function(points) for _ in range(5)]
        entries = stator.cache_entries(function) if compiled else []
        return (losses, network.state_dict(), updates.state_dict()), entries

    ours, entries = train(True)
    assert difference(ours, train(False)[0]) is None
    assert max(entry.hits for entry in entries) >= 2


def test_hooks_and_outside_histories_run_natively() -> None:
    seen: list[float] = []

    def program(h: torch.Tensor, x: torch.Tensor) -> Any:
        return grad((h * x).sum(), (x, h))

    compiled = stator.compile(program, backend="native")
    for function in (program, compiled, compiled, compiled):
        x = torch.ones(3, requires_grad=True)
        x.register_hook(lambda gradient: seen.append(gradient.sum().item()))
        seen.clear()
        got = function(x * 2, x)
        assert [each.tolist() for each in got] == [[4.0] * 3, [1.0] * 3]
        assert seen
