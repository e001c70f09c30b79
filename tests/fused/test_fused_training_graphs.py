"""Training recorded in CUDA graphs: what the forward keeps stays in the recording's memory.

On the CPU by the emulation of cuda_graphs, whose recordings are overwritten by their next replay.
"""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from comparison import near
from test_fused_cuda import needs_cuda

import stator
import torch
from stator import _torch
from torch import nn

F = torch.nn.functional


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=needs_cuda)])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every test with a device replays something."""
    stator.reset()
    _torch.emulate_cuda_graphs(request.param == "cpu")
    before = _torch.cuda_graph_replays()
    yield request.param
    _torch.emulate_cuda_graphs(False)
    assert _torch.cuda_graph_replays() > before


class Model(nn.Module):
    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(8, 16), nn.BatchNorm1d(16), nn.Linear(16, 8)
        self.dropout = dropout

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = F.gelu(self.norm(self.first(x)))
        return torch.tanh(self.last(F.dropout(hidden, self.dropout, self.training)))


def batches(device: str, count: int = 8) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(5)
    return [torch.randn(6, 8, generator=generator).to(device) for _ in range(count)]


def pair(device: str, dropout: float = 0.0) -> tuple[Model, Model, Any]:
    torch.manual_seed(0)
    theirs = Model(dropout).to(device)
    mine = copy.deepcopy(theirs)
    return theirs, mine, stator.compile(mine, backend="fused", mode="reduce-overhead")


def same(mine: Model, theirs: Model) -> None:
    gradients = [[each.grad for each in model.parameters()] for model in (mine, theirs)]
    assert near(*gradients, rtol=1e-4, atol=1e-5)
    assert near(list(mine.buffers()), list(theirs.buffers()), rtol=1.3e-6, atol=1e-5)


def run(device: str, step: Callable[[Any, int, torch.Tensor], Any], dropout: float = 0.0) -> None:
    """`step(call, number, batch)` with eager code and compiled, compared after each."""
    theirs, mine, compiled = pair(device, dropout)
    for number, x in enumerate(batches(device)):
        results = []
        for call in (theirs, compiled):
            torch.manual_seed(number)
            results.append(step(call, number, x.clone()))
        torch.testing.assert_close(results[1], results[0], rtol=1e-4, atol=1e-5)
        same(mine, theirs)


def test_steps(device: str) -> None:
    def step(call: Any, number: int, x: torch.Tensor) -> torch.Tensor:
        result = call(x)
        result.square().mean().backward()
        return result

    before = _torch.cuda_graph_replays()
    run(device, step)
    # Of eight steps the first runs, the second records the forward, the third the backward.
    assert _torch.cuda_graph_replays() - before >= 9
    run(device, step, dropout=0.3)


def test_results_of_earlier_steps_are_kept(device: str) -> None:
    _, _, compiled = pair(device)
    results = []
    for x in batches(device):
        result = compiled(x)
        result.sum().backward()
        results.append((result, result.detach().clone()))
    assert all(torch.equal(result, copied) for result, copied in results)


def test_gradients_are_the_callers(device: str) -> None:
    _, mine, compiled = pair(device)
    kept = []
    for x in batches(device):
        for parameter in mine.parameters():
            parameter.grad = None
        compiled(x).sum().backward()
        kept += [(p.grad, p.grad.clone()) for p in mine.parameters() if p.grad is not None]
    assert all(torch.equal(gradient, copied) for gradient, copied in kept)


def test_two_forwards_before_a_backward(device: str) -> None:
    """The second one must not overwrite what the first one keeps."""

    def step(call: Any, number: int, x: torch.Tensor) -> torch.Tensor:
        if number < 4:
            loss = call(x).square().sum()
        else:
            loss = call(x).square().sum() + (call(x * 2) * call(x + 1)).sum()
        loss.backward()
        return loss

    run(device, step)


def test_backwards_in_the_other_order(device: str) -> None:
    def step(call: Any, number: int, x: torch.Tensor) -> torch.Tensor:
        first, second = call(x).square().sum(), call(x + 1).sum()
        second.backward()
        first.backward()
        call(x).sum().backward()
        return first

    run(device, step)


def test_forwards_without_a_backward(device: str) -> None:
    def step(call: Any, number: int, x: torch.Tensor) -> torch.Tensor:
        unused = call(x - 1)
        if number % 2:
            del unused
        result = call(x)
        result.sum().backward()
        return result

    run(device, step)


def test_a_graph_that_is_retained(device: str) -> None:
    def step(call: Any, number: int, x: torch.Tensor) -> torch.Tensor:
        loss = call(x).square().mean()
        loss.backward(retain_graph=True)
        if number % 2:
            call(x * 3).sum().backward()
        loss.backward()
        return loss

    run(device, step)


def test_a_result_that_is_written(device: str) -> None:
    def step(call: Any, number: int, x: torch.Tensor) -> str:
        result = call(x)
        if number > 4:
            result.mul_(2)  # the backward of tanh reads it
        try:
            result.sum().backward()
        except RuntimeError as error:
            assert number > 4
            return str(error)[:60]
        return ""

    theirs, mine, compiled = pair(device)
    for number, x in enumerate(batches(device)):
        assert bool(step(theirs, number, x)) == bool(step(compiled, number, x)) == (number > 4)
    same(mine, theirs)


def test_gradients_of_gradients(device: str) -> None:
    def step(call: Any, number: int, x: torch.Tensor) -> torch.Tensor:
        x.requires_grad_()
        loss = call(x).square().sum()
        if number % 3 == 2:
            (inner,) = torch.autograd.grad(loss, x, create_graph=True)
            loss = inner.square().sum()
        loss.backward()
        assert x.grad is not None
        return x.grad

    run(device, step)


def test_parameters_that_move(device: str) -> None:
    theirs, mine, compiled = pair(device)
    for number, x in enumerate(batches(device, 10)):
        if number == 5:
            for parameter in (*theirs.parameters(), *mine.parameters()):
                parameter.data = parameter.data * 0.5
        for call in (theirs, compiled):
            call(x).square().sum().backward()
        same(mine, theirs)


def test_sizes_that_change(device: str) -> None:
    theirs, mine, compiled = pair(device)
    for x in batches(device, 4):
        for rows in (6, 3, 4, 6):
            for call in (theirs, compiled):
                call(x[:rows]).square().sum().backward()
            same(mine, theirs)


def test_losses_as_in_eager_code(device: str) -> None:
    losses = []
    for is_compiled in (False, True):
        model, _, _ = pair(device, dropout=0.2)
        call: Any = stator.compile(model, backend="fused", mode="reduce-overhead") if is_compiled else model
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        own = []
        for number, x in enumerate(batches(device, 20)):
            torch.manual_seed(number)
            optimizer.zero_grad()
            loss = (call(x) - x).square().mean()
            loss.backward()
            optimizer.step()
            own.append(loss.item())
        losses.append(own)
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)


def test_threads(device: str) -> None:
    _, mine, compiled = pair(device)
    mine.norm.eval()
    expected = []
    for x in batches(device):
        gradients = torch.autograd.grad(mine(x).sum(), list(mine.parameters()))
        expected.append((x, gradients))
    for x, _ in expected[:4]:
        torch.autograd.grad(compiled(x).sum(), list(mine.parameters()))
    wrong: list[int] = []

    def work() -> None:
        for _ in range(5):
            for number, (x, wanted) in enumerate(expected):
                got = torch.autograd.grad(compiled(x).sum(), list(mine.parameters()))
                if not all(torch.allclose(a, b, atol=1e-4) for a, b in zip(got, wanted, strict=True)):
                    wrong.append(number)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


class LargeResult(nn.Module):
    """Its last product is made outside of recordings, and reads what the backward reads as well."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = (
            nn.Linear(8, 16),
            nn.LayerNorm(16),
            nn.Linear(16, 2**19, bias=False),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast(x.device.type, torch.bfloat16):
            return self.last(self.norm(self.first(x)))


class ViewLeaves(nn.Module):
    """What the backward reads is a result as well, by a view that is made outside of recordings."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = self.norm(self.first(x))
        shown = hidden.t()
        return torch.linalg.matrix_exp(self.last(hidden)[:, :6]), shown


@pytest.mark.parametrize("model", [LargeResult, ViewLeaves])
def test_recording_ends(device: str, model: type[nn.Module], caplog: pytest.LogCaptureFixture) -> None:
    torch.manual_seed(0)
    theirs = model().to(device)
    mine = copy.deepcopy(theirs)
    compiled = stator.compile(mine, backend="fused", mode="reduce-overhead")
    held = []
    caplog.set_level(logging.DEBUG, "stator.cuda_graphs")
    for x in batches(device, 24):
        for model_, call in ((theirs, theirs), (mine, compiled)):
            model_.zero_grad()
            results = call(x)
            results = results if isinstance(results, tuple) else (results,)
            torch.stack([each.float().square().mean() for each in results]).sum().backward()
        for a, b in zip(mine.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(a.grad, b.grad, rtol=1e-2, atol=1e-4)
        # So that the next call does not find the same places free.
        held.append([torch.empty(6, 16, device=device, dtype=d) for d in (torch.float32, torch.bfloat16) * 9])
    # Once or twice for what comes from outside, where it happens to lie elsewhere.
    assert caplog.text.count("recorded anew") <= 6
