"""Training on CUDA through the backend `fused`: emulated on the CPU, and on CUDA where there is one."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from typing import Any

import cuda_emulator
import pytest
from graph_fuzzer import training_failure
from test_fused_cuda import PROGRAMS, needs_cuda
from training_checks import check_training, training_difference

import stator
import torch
from torch import nn

F = torch.nn.functional
DEVICES = [
    pytest.param("cpu", marks=pytest.mark.skipif(not cuda_emulator.available(), reason="needs g++")),
    pytest.param("cuda", marks=needs_cuda),
]


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    stator.reset()
    torch.manual_seed(0)
    with cuda_emulator.emulated() if request.param == "cpu" else contextlib.nullcontext():
        yield request.param


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4), nn.ReLU())


def images() -> nn.Module:
    layers = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Conv2d(8, 4, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())


class Block(nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.norm, self.dropout = nn.LayerNorm(32), dropout
        self.query, self.out = nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.query(self.norm(x)).view(2, 8, 3, 4, 8).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout, is_causal=True)
        return x + F.dropout(self.out(seen.transpose(1, 2).reshape(2, 8, 32)), self.dropout)


MODULES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "perceptron": (perceptron, (5, 8)),
    "images": (images, (2, 3, 8, 8)),
    "attention": (lambda: Block(0.0), (2, 8, 32)),
    "dropout": (lambda: Block(0.2), (2, 8, 32)),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str, device: str) -> None:
    make, sizes = MODULES[name]
    check_training(make().to(device), torch.randn(*sizes, device=device), ulps=256)


@pytest.mark.parametrize("name", [name for name in PROGRAMS if PROGRAMS[name][1][0].is_floating_point()])
def test_programs(name: str, device: str) -> None:
    function, arguments = PROGRAMS[name]
    given = [x.to(device, copy=True).requires_grad_(x.is_floating_point()) for x in arguments]
    text = training_difference(function, tuple(given), ulps=256)
    assert not text, text


@pytest.mark.skipif(not cuda_emulator.available(), reason="needs g++")
@pytest.mark.parametrize("start", range(0, 40, 20))
def test_random_programs(start: int) -> None:
    with cuda_emulator.emulated():
        texts = {seed: training_failure(seed) for seed in range(start, start + 20)}
    assert not any(texts.values()), texts


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast(dtype: torch.dtype, device: str) -> None:
    model = perceptron().to(device)
    ours = copy.deepcopy(model)

    def run(model: Any, call: Callable[..., Any], x: torch.Tensor) -> list[torch.Tensor]:
        with torch.autocast(device, dtype):
            result = call(x)
        result.float().square().mean().backward()
        return [result.detach(), *(p.grad for p in model.parameters())]

    compiled = stator.compile(ours, backend="fused")
    for _ in range(3):
        x = torch.randn(5, 8, device=device)
        wanted, got = run(model, model, x), run(ours, compiled, x)
        for a, b in zip(got, wanted, strict=True):
            assert a.dtype == b.dtype
            torch.testing.assert_close(a, b, rtol=2e-2, atol=2e-3)


ODD, ROWS, INNER = 4097, 128, 128  # columns that tensor cores do not read; of the least work that is padded


def head(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return F.linear(x, w)


def loss_of_head(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = F.linear(x.view(8, -1, INNER), w)
    target = torch.arange(ROWS, device=x.device) % ODD
    return F.cross_entropy(y.view(-1, ODD).float(), target), y


def both_sides(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (x @ w.t()).float().softmax(-1).to(x.dtype) @ w


# With the kernels of forward and backward. A copy is made by the kernel before it, where there is one.
HEADS: dict[str, tuple[Callable[..., Any], bool, int]] = {
    "linear": (head, False, 2),
    "weight in columns": (lambda x, w: x @ w, True, 5),
    "loss": (loss_of_head, False, 4),
    "inner dimension": (both_sides, False, 4),
}


@pytest.mark.parametrize("name", HEADS)
def test_products_with_an_odd_number_of_columns(name: str, device: str) -> None:
    function, is_transposed, kernels = HEADS[name]
    x, w = torch.randn(ROWS, INNER, device=device), torch.randn(ODD, INNER, device=device) / 8
    w = w.t().contiguous() if is_transposed else w

    def step(call: Callable[..., Any], dtype: torch.dtype) -> list[torch.Tensor]:
        given = [t.bfloat16().to(dtype).requires_grad_() for t in (x, w)]
        result = call(*given)
        results = list(result) if isinstance(result, tuple) else [result]
        assert all(t.is_contiguous() for t in results)
        sum((t.float() if dtype == torch.bfloat16 else t).square().mean() for t in results).backward()
        return [*(t.detach() for t in results), *(t.grad for t in given if t.grad is not None)]

    before = cuda_emulator.compiled
    got = step(stator.compile(function, backend="fused"), torch.bfloat16)
    if device == "cpu":
        assert cuda_emulator.compiled - before == kernels
    for a, b, exact in zip(got, step(function, torch.bfloat16), step(function, torch.float64), strict=True):
        assert (a.shape, a.dtype, a.stride()) == (b.shape, b.dtype, b.stride())
        scale = exact.abs().max()
        error, eager_error = ((t.double() - exact).abs().max() / scale for t in (a, b))
        assert error <= 1.1 * eager_error + 1e-3


def test_short_sums_are_not_made_in_parts(device: str) -> None:
    """A part that is rounded before the other is added would show where they cancel."""
    x = torch.randn(512, 515, device=device).bfloat16()
    w = torch.randn(515, 256, device=device).bfloat16()
    before = cuda_emulator.compiled
    got = stator.compile(lambda x, w: x @ w, backend="fused")(x.requires_grad_(), w).detach().double()
    if device == "cpu":
        assert cuda_emulator.compiled - before == 1  # of the gradient, whose rows are odd as well
    exact = x.detach().double() @ w.double()
    error = (got - exact).abs() / exact.abs()
    assert error[exact.abs() < 0.1].max() < 2e-2


@needs_cuda
def test_steps_on_streams() -> None:
    """The backward runs on the stream of the forward, as torch's own does."""
    model = perceptron().cuda()
    compiled = stator.compile(model, backend="fused")
    x = torch.randn(64, 8, device="cuda")
    wanted = torch.autograd.grad(model(x).sum(), list(model.parameters()))
    for _ in range(5):
        with torch.cuda.stream(torch.cuda.Stream()):
            got = torch.autograd.grad(compiled(x).sum(), list(model.parameters()))
            torch.cuda.current_stream().synchronize()
        for a, b in zip(got, wanted, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


@needs_cuda
def test_losses_as_in_eager_code() -> None:
    losses = []
    for backend in (None, "fused"):
        torch.manual_seed(0)
        model = nn.Sequential(Block(0.1), Block(0.1)).cuda()
        call: Any = stator.compile(model, backend=backend) if backend else model
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        own = []
        for step in range(20):
            torch.manual_seed(step)
            optimizer.zero_grad()
            loss = (call(torch.randn(2, 8, 32, device="cuda")) - 1).square().mean()
            loss.backward()
            optimizer.step()
            own.append(loss.item())
        losses.append(own)
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)
