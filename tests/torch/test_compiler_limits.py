"""Writes that AOT autograd cannot express: the capture ends there and the values are eager's."""

import pytest

import stator
import torch
from torch import nn

BACKENDS = ["native", "eager", "aot_eager"]


def into(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    torch.add(x, x, out=out)
    return out * 2


def into_two(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    other = torch.empty(0, dtype=torch.long)
    torch.sort(x, out=(out, other))
    return out + other


def into_new(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    made = torch.empty(0)
    torch.mul(x, 3, out=made)
    return made + out.sum()


def resizes(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    out.resize_(3).copy_(x)
    return out + 1


def into_a_view(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    torch.add(x, 1, out=out.detach())
    return x * 2


def into_transposed(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    out = torch.empty(3, 4).t()
    torch.add(x, x, out=out)
    return out, out * 2


def into_a_transposed_argument(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    out = x.t().contiguous()
    torch.mul(x, 2, out=out.t())
    return out, out + 1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [into_transposed, into_a_transposed_argument])
def test_out_keeps_its_layout(backend: str, fn: object) -> None:
    assert callable(fn)
    compiled = stator.compile(fn, backend=backend)
    for n in range(3):
        x = torch.arange(12.0).view(4, 3) + n
        for ours, eagers in zip(compiled(x), fn(x), strict=True):
            assert torch.equal(ours, eagers)
            assert ours.stride() == eagers.stride()


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [into, into_two, into_new, resizes, into_a_view])
@pytest.mark.parametrize("size", [0, 3])
def test_out(backend: str, fn: object, size: int) -> None:
    assert callable(fn)
    if fn is into_a_view and size == 0:
        pytest.skip("a tensor of no size behind a detached one stays so")
    compiled = stator.compile(fn, backend=backend)
    for n in range(3):
        x = torch.tensor([3.0, 1.0, 2.0]) + n
        ours, eagers = torch.zeros(size), torch.zeros(size)
        torch.testing.assert_close(compiled(x, ours), fn(x, eagers))
        torch.testing.assert_close(ours, eagers)


@pytest.mark.parametrize("backend", BACKENDS)
def test_out_of_the_right_size_is_captured(backend: str) -> None:
    compiled = stator.compile(into, backend=backend, fullgraph=True)
    for n in range(3):
        out = torch.zeros(3)
        torch.testing.assert_close(compiled(torch.ones(3) + n, out), torch.full((3,), 4.0 * (n + 1)))
        torch.testing.assert_close(out, torch.full((3,), 2.0 * (n + 1)))
    assert [entry.hits for entry in stator.cache_entries(compiled)] == [2]


OPTIMIZERS = {
    "adam": lambda p: torch.optim.Adam(p, lr=0.1, fused=True),
    "adam amsgrad": lambda p: torch.optim.Adam(p, lr=0.1, fused=True, amsgrad=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.1, fused=True),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1, fused=True),
    "sgd momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, fused=True),
    "adagrad": lambda p: torch.optim.Adagrad(p, lr=0.1, fused=True),
    "foreach": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, foreach=True),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_fused_optimizers(backend: str, name: str) -> None:
    results = []
    for compiles in (False, True):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        optimizer = OPTIMIZERS[name](model.parameters())
        step = stator.compile(optimizer.step, backend=backend) if compiles else optimizer.step
        for n in range(5):
            optimizer.zero_grad()
            model(torch.ones(2, 3) + n).square().sum().backward()
            step()
        results.append([p.detach().clone() for p in model.parameters()])
    torch.testing.assert_close(results[0], results[1])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_mask_that_selects_where_a_tensor_with_gradient_is_written(backend: str) -> None:
    def program(x: torch.Tensor, mask: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        made = x * 2
        made[mask] = y
        return made + 1

    mask = torch.tensor([True, False, True, False])
    gradients = []
    for function in (program, stator.compile(program, backend=backend)):
        x, y = torch.arange(4.0, requires_grad=True), torch.ones(2, requires_grad=True)
        (function(x, mask, y) * torch.arange(4.0)).sum().backward()
        assert x.grad is not None
        assert y.grad is not None
        gradients.append((x.grad.tolist(), y.grad.tolist()))
    assert gradients[0] == gradients[1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_backward_hooks_of_modules(backend: str) -> None:
    seen: list[tuple[str, list[int]]] = []
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2))
    for name, module in model.named_modules():
        module.register_full_backward_hook(
            lambda _, into, __, name=name: seen.append((name, list(into[0].shape)))
        )
    results = []
    for function in (model, stator.compile(model, backend=backend)):
        seen.clear()
        x = torch.ones(2, 3, requires_grad=True)
        function(x).sum().backward()
        assert x.grad is not None
        results.append((x.grad.tolist(), list(seen)))
    assert results[0] == results[1]
