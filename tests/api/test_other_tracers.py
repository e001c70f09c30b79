"""Other tracers of torch's look through compiled functions, and run uncaptured inside of them."""

from typing import Any

import pytest

import stator
import torch
from torch import nn

X = torch.randn(2, 3)


def f(x: torch.Tensor) -> torch.Tensor:
    return x.sin() + 1


def test_symbolic_tracing_of_what_is_compiled() -> None:
    compiled = stator.compile(f, backend="native")
    compiled(X)
    traced = torch.fx.symbolic_trace(compiled)
    assert next(node.target for node in traced.graph.nodes if node.op.startswith("call")) == "sin"
    assert torch.equal(traced(X), f(X))
    layer = nn.Linear(3, 3)
    assert torch.equal(torch.fx.symbolic_trace(stator.compile(layer, backend="native"))(X), layer(X))


def test_jit_tracing_of_what_is_compiled() -> None:
    compiled = stator.compile(f, backend="native")
    compiled(X)
    traced = torch.jit.trace(compiled, (X,))
    assert "aten::sin" in str(traced.graph)
    assert torch.equal(traced(X), f(X))


@pytest.mark.parametrize("backend", ["native", "eager"])
def test_tracers_inside(backend: str) -> None:
    layer = nn.Linear(3, 3)

    def program(x: torch.Tensor) -> torch.Tensor:
        by_fx, by_jit = torch.fx.symbolic_trace(layer), torch.jit.trace(layer, (x,))
        return by_fx(x) + by_jit(x)

    compiled = stator.compile(program, backend=backend)
    for _ in range(3):
        assert torch.equal(compiled(X), program(X))


def stepped(compile: bool, kind: str) -> torch.Tensor:
    """The weights after a step of an optimizer that is not captured."""
    torch.manual_seed(0)
    model = nn.Embedding(5, 3, sparse=kind == "SparseAdam")
    optimizer: Any = getattr(torch.optim, kind)(list(model.parameters()))

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        value = (model(torch.tensor([1, 2])) ** 2).sum()
        value.backward()
        return value

    step = stator.compile(optimizer.step, backend="native") if compile else optimizer.step
    for _ in range(2):
        if kind == "LBFGS":
            step(loss)
        else:
            loss()
            step()
    return model.weight.detach()


@pytest.mark.parametrize("kind", ["SparseAdam", "LBFGS"])
def test_optimizers_that_are_not_captured(kind: str) -> None:
    assert torch.equal(stepped(True, kind), stepped(False, kind))
