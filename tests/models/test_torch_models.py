"""Models written with torch.nn alone: one graph; results, gradients and statistics as eager's, by the bit."""

import copy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import torch
from stator.support import load_torch_extension
from torch import nn

load_torch_extension()
sys.path.insert(0, str(Path(__file__).parent))
from comparison import all_same, same, tensors_of  # noqa: E402

from stator._capture import Compiled  # noqa: E402

Builder = Callable[[], tuple[nn.Module, tuple[Any, ...]]]
MODELS: dict[str, Builder] = {}


def model(build: Builder) -> Builder:
    MODELS[build.__name__] = build
    return build


class Residual(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inner, outer, 3, stride, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(outer)
        self.second = nn.Conv2d(outer, outer, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(outer)
        changes = stride != 1 or inner != outer
        self.shortcut = (
            nn.Sequential(nn.Conv2d(inner, outer, 1, stride), nn.BatchNorm2d(outer)) if changes else None
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = x if self.shortcut is None else self.shortcut(x)
        x = torch.relu(self.first_norm(self.first(x)))
        x = self.second_norm(self.second(x))
        x += kept
        return torch.relu(x)


@model
def resnet() -> tuple[nn.Module, tuple[Any, ...]]:
    blocks = [Residual(8, 8, 1), Residual(8, 16, 2), Residual(16, 16, 1)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5)]
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), *blocks, *head), (torch.randn(2, 3, 16, 16),)


@model
def convolutions() -> tuple[nn.Module, tuple[Any, ...]]:
    layers = [
        nn.Conv2d(3, 8, 5, stride=2),
        nn.GroupNorm(2, 8),
        nn.GELU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, groups=8, padding="same"),
        nn.SiLU(),
        nn.ConvTranspose2d(8, 4, 2, stride=2),
        nn.Upsample(scale_factor=2, mode="nearest"),
        nn.Dropout2d(0.2),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.LazyLinear(3),
    ]
    made = nn.Sequential(*layers)
    x = torch.randn(2, 3, 24, 24)
    made(x)  # fills the lazy layer
    return made, (x,)


@model
def encoder() -> tuple[nn.Module, tuple[Any, ...]]:
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), (torch.randn(2, 6, 16),)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell, self.gated = nn.LSTMCell(6, 8), nn.GRUCell(8, 8)
        self.out = nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
        hidden = x.new_zeros(x.size(0), 8)
        state = hidden, hidden
        outputs = []
        for step in x.unbind(1):
            state = self.cell(step, state)
            hidden = self.gated(state[0], hidden)
            outputs.append(self.out(hidden))
        return torch.stack(outputs, 1), outputs


@model
def recurrent_cells() -> tuple[nn.Module, tuple[Any, ...]]:
    return Recurrent(), (torch.randn(3, 5, 6),)


class Layers(nn.Module):
    """The recurrent layers of torch.nn, which hold their weights by weak references as well."""

    def __init__(self) -> None:
        super().__init__()
        self.long = nn.LSTM(6, 8, 2, dropout=0.1, batch_first=True, bidirectional=True)
        self.gated = nn.GRU(16, 8, batch_first=True)
        self.plain = nn.RNN(8, 4, nonlinearity="relu")

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x, (hidden, cell) = self.long(x)
        x, last = self.gated(x)
        x, _ = self.plain(x.transpose(0, 1))
        return x, hidden, cell, last


@model
def recurrent_layers() -> tuple[nn.Module, tuple[Any, ...]]:
    return Layers(), (torch.randn(3, 5, 6),)


class Experts(nn.Module):
    """Every expert sees every token; what it says is weighted."""

    def __init__(self, count: int = 4, width: int = 8, chosen: int = 2) -> None:
        super().__init__()
        self.gate = nn.Linear(width, count)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
            for _ in range(count)
        )
        self.chosen = chosen

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        weights, indices = self.gate(x).softmax(-1).topk(self.chosen)
        weights = weights / weights.sum(-1, keepdim=True)
        total = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            share = (weights * (indices == i)).sum(-1, keepdim=True)
            total = total + share * expert(x)
        return {"out": total, "indices": indices}


@model
def experts() -> tuple[nn.Module, tuple[Any, ...]]:
    return Experts(), (torch.randn(2, 5, 8),)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(50, 16)
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True, dropout=0.1)
        self.norm = nn.LayerNorm(16)
        self.register_buffer("mask", torch.ones(8, 8, dtype=torch.bool).triu(1))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tokens(ids)
        length = ids.size(1)
        attended, _ = self.attention(x, x, x, attn_mask=self.mask[:length, :length], need_weights=False)
        return nn.functional.linear(self.norm(x + attended), self.tokens.weight)


@model
def language_model() -> tuple[nn.Module, tuple[Any, ...]]:
    return Attention(), (torch.randint(0, 50, (2, 6)),)


def seeded(call: Callable[[], Any]) -> Any:
    torch.manual_seed(1)
    return call()


@pytest.mark.parametrize("name", MODELS)
def test_eval(name: str) -> None:
    torch.manual_seed(0)
    made, args = MODELS[name]()
    made.eval()
    compiled = Compiled(made)
    with torch.no_grad():
        wanted = made(*args)
        for _ in range(3):
            assert all_same(compiled(*args), wanted)
    assert compiled.breaks == []
    assert [entry["hits"] for entry in compiled.entries] == [2]


@pytest.mark.parametrize("name", MODELS)
def test_training(name: str) -> None:
    torch.manual_seed(0)
    made, args = MODELS[name]()
    made.train()
    twin = copy.deepcopy(made)
    compiled = Compiled(made)

    def step(run: Callable[..., Any], module: nn.Module) -> torch.Tensor:
        module.zero_grad()
        result = run(*args)
        loss: torch.Tensor = sum(t.square().sum() for t in tensors_of(result) if t.requires_grad)  # type: ignore[assignment]
        loss.backward()
        return loss.detach()

    for _ in range(3):
        assert same(seeded(lambda: step(compiled, made)), seeded(lambda: step(twin, twin)))
        for ours, eagers in zip(made.parameters(), twin.parameters(), strict=True):
            assert same(ours.grad, eagers.grad)
        assert all(map(same, made.buffers(), twin.buffers()))
    assert compiled.breaks == []
    assert [entry["hits"] for entry in compiled.entries] == [2]


def test_hooks_on_modules_are_part_of_the_program() -> None:
    torch.manual_seed(0)
    made = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)).eval()
    scale = {"k": 2.0}
    made[0].register_forward_pre_hook(lambda module, args: (args[0] * scale["k"],))
    made[2].register_forward_hook(lambda module, args, out: out + args[0].sum())
    made[2].register_forward_hook(lambda module, args, kwargs, out: out * 3, with_kwargs=True)
    compiled, x = Compiled(made), torch.randn(2, 4)
    for _ in range(2):
        assert torch.equal(compiled(x), made(x))
    assert compiled.breaks == []
    assert compiled.entries[0]["hits"] == 1
    scale["k"] = 3.0
    assert torch.equal(compiled(x), made(x))
    made[1].register_forward_hook(lambda module, args, out: -out)
    assert torch.equal(compiled(x), made(x))


def test_custom_function_without_gradients() -> None:
    class Scale(torch.autograd.Function):
        factor = 2.0

        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x * Scale.factor

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad * Scale.factor

    def program(x: torch.Tensor) -> torch.Tensor:
        return Scale.apply(x) + 1  # type: ignore[no-any-return]

    compiled, x = Compiled(program), torch.randn(3)
    with torch.no_grad():
        for _ in range(2):
            assert torch.equal(compiled(x), program(x))
        assert compiled.breaks == []
        Scale.factor = 3.0
        assert torch.equal(compiled(x), program(x))
    needed = Compiled(program)
    y = torch.randn(3, requires_grad=True)
    needed(y).sum().backward()
    assert torch.equal(y.grad, torch.full((3,), 3.0))
    assert needed.breaks == []
