"""backward() inside of a compiled function is one node under `native`: gradients and states bit for bit."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch.nn.functional as F
from comparison import difference

import stator
import torch
from torch import nn

# torch 2.11's backward() makes an annotation of types, which ends a capture.
WHOLE = torch.__version__ >= "2.13"

OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.01),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.01, foreach=False),
    "rmsprop": lambda parameters: torch.optim.RMSprop(parameters, lr=0.01),
}


def model(kind: str) -> nn.Module:
    torch.manual_seed(0)
    if kind == "linear":
        return nn.Sequential(nn.Linear(4, 8), nn.ReLU(inplace=True), nn.LayerNorm(8), nn.Linear(8, 3))
    if kind == "convolution":
        return nn.Sequential(
            nn.Unflatten(1, (1, 2, 2)),
            nn.Conv2d(1, 4, 1),
            nn.BatchNorm2d(4),
            nn.GELU(),
            nn.Flatten(),
            nn.Linear(16, 3),
        )
    return nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Tanh(), nn.Linear(8, 3))


def train(kind: str, optimizer: str, compiled: bool, clip: bool) -> tuple[Any, Any]:
    network = model(kind)
    updates = OPTIMIZERS[optimizer](network.parameters())

    def step(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        updates.zero_grad()
        loss = F.cross_entropy(network(x), target)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(network.parameters(), 0.5)
        updates.step()
        return loss

    function = stator.compile(step, backend="native", fullgraph=WHOLE) if compiled else step
    seen = []
    torch.manual_seed(1)
    for call in range(5):
        x = torch.randn(6, 4)
        loss = function(x, torch.arange(6) % 3)
        gradients = [p.grad.clone() for p in network.parameters() if p.grad is not None]
        seen.append((loss.detach().clone(), loss.requires_grad, type(loss.grad_fn).__name__, gradients))
        assert call == 0 or gradients
    entries = stator.cache_entries(function) if compiled else []
    return (seen, network.state_dict(), updates.state_dict(), torch.get_rng_state()), entries


@pytest.mark.parametrize("clip", [False, True], ids=["plain", "clipped"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("kind", ["linear", "convolution", "dropout"])
def test_training_steps_in_one_graph(kind: str, optimizer: str, clip: bool) -> None:
    ours, entries = train(kind, optimizer, True, clip)
    theirs, _ = train(kind, optimizer, False, clip)
    assert difference(ours, theirs) is None
    assert sum(entry.hits for entry in entries) >= 1
    assert not WHOLE or all("backward" in entry.graph for entry in entries)


def steps(program: Callable[..., Any], make: Callable[[], list[torch.Tensor]], calls: int = 4) -> Any:
    tensors = make()
    seen = []
    for _ in range(calls):
        result = program(*tensors)
        gradients = [None if tensor.grad is None else tensor.grad.clone() for tensor in tensors]
        seen.append((result, gradients, [tensor.detach().clone() for tensor in tensors]))
    return seen


def leaves() -> list[torch.Tensor]:
    torch.manual_seed(2)
    return [torch.randn(3, 3, requires_grad=True) for _ in range(3)]


def unused_leaf(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Any:
    a.grad = b.grad = None
    (a * b).sum().backward()
    return a.grad * 2, c.grad is None


def adds_up(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Any:
    (a * b + c).sum().backward()
    return a.grad + 1


def twice(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Any:
    a.grad = b.grad = c.grad = None
    loss = (a * b * c).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    return a.grad.clone()


def detached_part(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Any:
    a.grad = b.grad = c.grad = None
    with torch.no_grad():
        scale = c * 2
    ((a @ b).detach() * a + scale).sum().backward()
    return a.grad, b.grad is None, c.grad is None


def view_written(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Any:
    a.grad = b.grad = c.grad = None
    y = a * 1
    row = y[0]
    y.mul_(b)
    (row * 2).sum().backward()
    return a.grad.clone(), None if b.grad is None else b.grad.clone()


def transposed_leaf(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Any:
    a.grad = b.grad = None
    torch.matmul(a.t(), b).sum().backward()
    return a.grad.stride(), a.grad


def given_gradient(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Any:
    a.grad = b.grad = None
    (a * b).backward(torch.ones(3, 3) * 2)
    return a.grad, b.grad


def cleared_at_the_end(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Any:
    (a * b).sum().backward()
    norm = a.grad.norm()
    a.grad = b.grad = None
    return norm


def written_before_and_after(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Any:
    a.grad = None
    b.grad = None
    (a * b).sum().backward()
    with torch.no_grad():
        a.sub_(a.grad * 0.1)
        a.grad.zero_()
    return a.grad.sum(), b.grad


def freed_history(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Any:
    shared = (a * b).sin()
    seen: list[str] = []
    for _ in range(2):
        try:
            seen.append("before")
            (shared * c).sum().backward()
        except RuntimeError:
            seen.append("caught")
    return seen, shared


def history_of_one_leaf(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Any:
    for factor in (1, 2, 3):
        (a * factor + b).sum().backward()
    return a.grad.sum()


def named_leaves(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> Any:
    a.grad = b.grad = None
    y = (a * b).exp()
    y.sum().backward(inputs=[b], retain_graph=True)
    seen = a.grad is None, b.grad.clone()
    y.mean().backward(inputs=(a, c))
    return seen, a.grad, c.grad is None


PROGRAMS = [
    freed_history,
    named_leaves,
    history_of_one_leaf,
    unused_leaf,
    adds_up,
    twice,
    detached_part,
    view_written,
    transposed_leaf,
    given_gradient,
    cleared_at_the_end,
    written_before_and_after,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs(program: Callable[..., Any]) -> None:
    compiled = stator.compile(program, backend="native")
    assert difference(steps(compiled, leaves), steps(program, leaves)) is None
    assert stator.cache_entries(compiled)


def test_leaves_that_are_named_cost_no_break() -> None:
    compiled = stator.compile(named_leaves, backend="native", fullgraph=WHOLE)
    steps(compiled, leaves)
    assert sum(entry.hits for entry in stator.cache_entries(compiled)) >= 1


def test_a_hook_runs_its_code() -> None:
    seen: list[float] = []
    weight = torch.ones(3, requires_grad=True)
    weight.register_hook(lambda gradient: seen.append(gradient.sum().item()))

    def program(x: torch.Tensor) -> Any:
        weight.grad = None
        (x * weight).sum().backward()
        return weight.grad + len(seen)

    compiled = stator.compile(program, backend="native")
    for function in (program, compiled, compiled):
        seen.clear()
        assert function(torch.ones(3)).tolist() == [2.0, 2.0, 2.0]


def test_compiling_backends_break() -> None:
    def program(x: torch.Tensor, weight: torch.Tensor) -> Any:
        weight.grad = None
        (x * weight).sum().backward()
        return weight.grad * 2

    compiled = stator.compile(program, backend="aot_eager")
    for _ in range(3):
        weight = torch.ones(3, requires_grad=True)
        assert compiled(torch.ones(3), weight).tolist() == [2.0, 2.0, 2.0]


def accumulated(compiled: bool, clear: bool) -> Any:
    """Gradients of four small batches are added up before each step of the optimizer."""
    network = model("linear")
    updates = torch.optim.SGD(network.parameters(), lr=0.1)

    def part(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        loss = F.cross_entropy(network(x), target) / 4
        loss.backward()
        return loss.detach()

    function = stator.compile(part, backend="native", fullgraph=WHOLE) if compiled else part
    seen = []
    torch.manual_seed(1)
    for _ in range(3):
        for _ in range(4):
            seen.append(function(torch.randn(6, 4), torch.arange(6) % 3))
            seen.append([p.grad.clone() for p in network.parameters()])
        updates.step()
        updates.zero_grad(set_to_none=clear)
    return seen, network.state_dict(), len(stator.cache_entries(function)) if compiled else 0


@pytest.mark.parametrize("clear", [True, False], ids=["to none", "to zero"])
def test_gradients_of_several_batches_are_added_up(clear: bool) -> None:
    *ours, captures = accumulated(True, clear)
    *eagers, _ = accumulated(False, clear)
    assert difference(ours, eagers) is None
    assert captures <= 3 or not WHOLE  # without, with, and with another one each time


def test_an_older_gradient_stays_the_same_object() -> None:
    def program(weight: torch.Tensor) -> torch.Tensor:
        (weight * 3).sum().backward()
        return weight.grad

    compiled = stator.compile(program, backend="native", fullgraph=WHOLE)
    for function in (program, compiled, compiled):
        weight = torch.ones(3, requires_grad=True)
        function(weight)
        gradient = weight.grad
        kept = gradient.view(3)
        for _ in range(3):
            assert function(weight) is gradient
        assert kept.tolist() == [12.0, 12.0, 12.0]


def scaled(backend: str | None) -> tuple[Any, Any]:
    """Mixed precision with a GradScaler, which decides by the gradients whether to step."""
    network = model("linear")
    updates = torch.optim.SGD(network.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)

    def step(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        updates.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            loss = F.cross_entropy(network(x), target)
        scaler.scale(loss).backward()
        scaler.step(updates)
        scaler.update()
        return loss.detach()

    function = stator.compile(step, backend=backend) if backend is not None else step
    seen = []
    torch.manual_seed(1)
    for call in range(6):
        x = torch.randn(6, 4)
        loss = function(x * float("inf") if call == 3 else x, torch.arange(6) % 3)
        seen.append((loss, scaler.get_scale(), [p.detach().clone() for p in network.parameters()]))
    return seen, function


@pytest.mark.parametrize("backend", ["native", "eager", "aot_eager"])
def test_a_gradient_scaler(backend: str) -> None:
    ours, compiled = scaled(backend)
    assert difference(ours, scaled(None)[0]) is None
    scales = [scale for _, scale, _ in ours]
    assert {later / scale for scale, later in itertools.pairwise(scales)} == {0.5, 1.0, 2.0}
    assert sum(entry.hits for entry in stator.cache_entries(compiled)) > 0
