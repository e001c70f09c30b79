"""tests/torch/test_checkpointing.py: `torch.utils.checkpoint` in captured code."""

from __future__ import annotations

import copy
import functools
import gc
from collections.abc import Callable
from typing import Any

import pytest
from comparison import alike
from torch.utils import checkpoint as library

import stator
import torch
from torch import nn

checkpoint: Any = library.checkpoint
checkpoint_sequential: Any = library.checkpoint_sequential


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        with torch.no_grad():
            shift = x.mean()
        return nn.functional.dropout(self.norm(self.inner(x)).tanh() * scale, 0.5) + shift


class Model(nn.Module):
    """A stack whose blocks are computed once more by backward."""

    def __init__(self, **how: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.how = how

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = x + checkpoint(block, x.relu(), scale=2.0, use_reentrant=False, **self.how)
        return x.sum(-1)


def train(model: Any, run: Callable[..., Any], steps: int = 3, size: int = 6) -> list[torch.Tensor]:
    """All that a few steps leave: losses, gradients, statistics and what the random stream gives then."""
    torch.manual_seed(1)
    left = []
    for step in range(steps):
        x = torch.randn(size + step, 4, requires_grad=True)
        out = run(x)
        out.square().sum().backward()
        left += [out.detach(), x.grad, torch.rand(2)]
    left += [parameter.grad.clone() for parameter in model.parameters()]
    return left + [buffer.clone() for buffer in model.buffers()]


@pytest.mark.parametrize("how", [{}, {"preserve_rng_state": False}, {"early_stop": False}], ids=str)
def test_training(how: dict[str, Any]) -> None:
    plain = Model(**how)
    captured = copy.deepcopy(plain)
    compiled: Any = stator.compile(captured.forward, backend="native", fullgraph=True)
    assert alike(train(plain, plain), train(captured, compiled))
    assert len(compiled.entries) == 2, "the second one serves every size"
    # Backward ran the blocks once more: their statistics were counted twice.
    assert int(captured.blocks[0].norm.num_batches_tracked) == 6  # type: ignore[union-attr, arg-type]


def test_without_gradients() -> None:
    model = Model()
    compiled: Any = stator.compile(model.forward, backend="eager", fullgraph=True)
    x = torch.randn(5, 4)
    for training in (False, True):
        model.train(training)
        with torch.no_grad():
            torch.manual_seed(0)
            wanted = model(x)
            torch.manual_seed(0)
            assert torch.equal(compiled(x), wanted)


def test_sequential() -> None:
    torch.manual_seed(0)
    layers = nn.Sequential(*(nn.Linear(4, 4) for _ in range(4)))
    twin = copy.deepcopy(layers)

    def run(x: torch.Tensor) -> Any:
        return checkpoint_sequential(layers, 2, x, use_reentrant=False)

    compiled: Any = stator.compile(run, backend="native", fullgraph=True)
    assert alike(
        train(twin, lambda x: checkpoint_sequential(twin, 2, x, use_reentrant=False)),
        train(layers, compiled),
    )


def test_partial() -> None:
    """As transformers calls it: what keeps Dynamo away is looked through inside of a partial, too."""
    run_in_region: Any = functools.partial(library.checkpoint, use_reentrant=False)
    torch.manual_seed(0)
    layer = nn.Linear(4, 4)
    twin = copy.deepcopy(layer)

    def run(x: torch.Tensor) -> Any:
        return run_in_region(functools.partial(layer.__call__), x)

    compiled: Any = stator.compile(run, backend="native", fullgraph=True)
    assert alike(train(twin, twin), train(layer, compiled))
    run_in_region = functools.partial(lambda _, x: x * 0)
    assert not compiled(torch.ones(2, 4)).any(), "the partial is another one"


def test_backward_when_the_program_is_gone() -> None:
    plain = Model()
    captured = copy.deepcopy(plain)
    compiled: Any = stator.compile(captured.forward, backend="native", fullgraph=True)
    x = torch.randn(6, 4)
    torch.manual_seed(3)
    out = compiled(x)
    del compiled
    gc.collect()
    out.sum().backward()
    torch.manual_seed(3)
    plain(x).sum().backward()
    assert alike([p.grad for p in plain.parameters()], [p.grad for p in captured.parameters()])  # type: ignore[misc]


def test_weights_that_change_before_backward() -> None:
    """Recomputed with the weights that are there by then, as in eager code."""
    results: list[Any] = []
    for compile_it in (False, True):
        model = Model()
        run: Any = stator.compile(model.forward, backend="native") if compile_it else model
        torch.manual_seed(0)
        x = torch.randn(6, 4, requires_grad=True)
        out = run(x)
        for block in model.blocks:
            block.inner.weight.data.mul_(2)  # type: ignore[operator, union-attr]
        out.sum().backward()
        results.append([x.grad] + [parameter.grad for parameter in model.parameters()])
    assert alike(*results)


def test_given_tensor_that_changes_before_backward() -> None:
    def function(x: torch.Tensor) -> Any:
        y = x * 1
        return checkpoint(torch.exp, y, use_reentrant=False), y

    compiled: Any = stator.compile(function, backend="native", fullgraph=True)
    for run in (function, compiled):
        out, y = run(torch.ones(3, requires_grad=True))
        with torch.no_grad():
            y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            out.sum().backward()


def test_error_inside() -> None:
    def pick(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        return x.exp()[i]

    def function(x: torch.Tensor, i: torch.Tensor) -> Any:
        return checkpoint(pick, x, i, use_reentrant=False)

    compiled: Any = stator.compile(function, backend="native", fullgraph=True)
    x = torch.ones(3, requires_grad=True)
    compiled(x, torch.tensor([1]))
    with pytest.raises(IndexError):
        compiled(x, torch.tensor([7]))
    y: Any = x.exp()  # no hook is left behind
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())  # type: ignore[arg-type]


class Counter:
    calls = 0


def test_what_is_left_to_eager_code() -> None:
    counter = Counter()

    def writes(x: torch.Tensor) -> torch.Tensor:
        counter.calls += 1
        return x.exp()

    def nested(x: torch.Tensor) -> Any:
        return checkpoint(torch.exp, x, use_reentrant=False)

    def casts(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu"):
            return (x.outer(x) @ x.outer(x)).float()

    for inner in (writes, nested, casts):

        def function(x: torch.Tensor, inner: Any = inner) -> Any:
            return checkpoint(inner, x, use_reentrant=False) * 2

        compiled: Any = stator.compile(function, backend="native")
        x, y = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
        compiled(x).sum().backward()
        function(y).sum().backward()
        assert torch.equal(x.grad, y.grad)  # type: ignore[arg-type]
        assert "higher-order-operator" in compiled.breaks[0]
    assert counter.calls == 4, "each of two calls, and each backward"


def test_compiling_backend() -> None:
    plain = Model()
    captured = copy.deepcopy(plain)
    compiled: Any = stator.compile(captured.forward, backend="aot_eager")
    assert alike(train(plain, plain, 1), train(captured, compiled, 1))
    assert "higher-order-operator" in compiled.breaks[0]


def test_exception_that_is_caught_outside() -> None:
    def raises(x: torch.Tensor) -> torch.Tensor:
        raise ValueError("inside")

    def function(x: torch.Tensor) -> Any:
        try:
            return checkpoint(raises, x, use_reentrant=False)
        except ValueError:
            return x * 3

    compiled: Any = stator.compile(function, backend="native")
    x = torch.ones(3, requires_grad=True)
    for _ in range(2):
        assert torch.equal(compiled(x), x * 3)
