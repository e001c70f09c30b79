"""XLA on a CUDA device, where there is one and its plugin: pytest tests/openxla/test_openxla_cuda.py."""

from collections.abc import Callable
from typing import Any

import pytest
import torch.nn.functional as F
from agreement import check

import stator
import torch
from stator.backends.openxla import runtime
from stator.backends.openxla.executables import counts

DEVICE = "cuda"

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
    pytest.mark.skipif(
        runtime._cuda_plugin((torch.version.cuda or "13").partition(".")[0]) is None,
        reason="there is no PJRT plugin for CUDA: pip install 'jax-cuda13-plugin[with-cuda]'",
    ),
]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    stator.reset()
    torch.manual_seed(0)


def at_work(x: torch.Tensor) -> torch.Tensor:
    return x.to(DEVICE)


X, Y = torch.randn(6, 8), torch.randn(8, 6)
WHOLE = torch.arange(12).reshape(3, 4)
AGREEING: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "a product": (lambda x, y: (x @ y).tanh(), (X, Y)),
    "sums": (lambda x, y: (x.sum(0), y.mean(), x.softmax(1), y.var(1), x.cumsum(1)), (X, Y)),
    "layouts": (lambda x, y: (x.t() * y, x[:, ::2] + 1, y.view(-1), x.t().contiguous()), (X, Y)),
    "integers": (lambda x: (x // 5, x % -3, x << 2, x.sum(), x.argmax(1), x > 4), (WHOLE,)),
    "indices": (
        lambda x, i: (x[i], x.gather(0, i[None].expand(1, 3) % 6), x.index_add(0, i, x[:3])),
        (X, WHOLE[0, :3]),
    ),
    "a convolution": (lambda x: F.conv2d(x, x[:1, :, :3, :3], padding=1), (torch.randn(2, 3, 8, 8),)),
    "half": (lambda x: (x.softmax(-1), F.gelu(x), x @ x.t()), (X.bfloat16(),)),
    "writes": (lambda x, y: (x.add_(1), y.t()[0].mul_(2), x + y.t()), (X, Y)),
    "numbers that are drawn": (lambda x: (F.dropout(x, 0.5), torch.rand_like(x) + x), (X,)),
    "results that share memory": (lambda x: (lambda y: (y, y[1], y.t()))(x * 2), (X,)),
    "nothing": (lambda x: (x[:0] * 2, x[:0].sum(), x.sum()), (X,)),
}


@pytest.mark.parametrize("name", AGREEING)
def test_programs(name: str) -> None:
    function, inputs = AGREEING[name]
    check(function, *map(at_work, inputs))


@pytest.mark.parametrize("repeats", [1, 3])
def test_training(repeats: int) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16)).to(DEVICE)
    compiled = stator.compile(model, backend="openxla")
    x = at_work(X)
    before = counts["uses"]
    for _ in range(repeats):
        gradients = []
        for run in (model, compiled):
            model.zero_grad()
            (run(x) ** 2).mean().backward()
            gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
        torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)
    assert counts["uses"] > before


def test_parameters_change_between_calls() -> None:
    """What is written on torch's stream is there when XLA reads it, and the other way round."""
    weight = torch.ones(256, 256, device=DEVICE)
    compiled = stator.compile(lambda x: x @ weight, backend="openxla_eval")
    with torch.no_grad():
        for step in range(1, 30):
            weight.fill_(step)
            result = compiled(torch.ones(4, 256, device=DEVICE))
            assert (result + 0).eq(256.0 * step).all()


REFUSED: dict[str, tuple[Callable[..., Any], torch.Tensor]] = {
    "variance of integers": (lambda x: x.var(), WHOLE),
    "a product of unequal types": (lambda x: x @ x.t().double(), X),
    "softmax of integers": (lambda x: x.softmax(0), WHOLE),
}


@pytest.mark.parametrize("name", REFUSED)
def test_calls_that_kernels_refuse(name: str) -> None:
    function, values = REFUSED[name]
    x = at_work(values)
    for run in (function, stator.compile(function, backend="openxla_eval")):
        with torch.no_grad(), pytest.raises(RuntimeError):
            run(x)
    assert (x + 1).sum().isfinite()  # the device still works


def test_out_of_memory() -> None:
    compiled = stator.compile(lambda x: x.expand(2**20, 2**20).cos(), backend="openxla_eval")
    with torch.no_grad(), pytest.raises(MemoryError, match="XLA_CLIENT_MEM_FRACTION"):
        compiled(torch.ones(1, 1, device=DEVICE))
    assert stator.compile(lambda x: x + 1, backend="openxla_eval")(torch.ones(3, device=DEVICE)).sum() == 6
