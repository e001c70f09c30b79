"""Tensors that are replaced between calls (hidden states, caches of keys, running means).

They are read from their place: one capture serves every step.
"""

from collections.abc import Callable
from typing import Any

import stator
import torch


class Cell(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.hidden = torch.zeros(2, 4)
        self.history = [torch.zeros(2, 4), torch.ones(2, 4)]
        self.register_buffer("mean", torch.zeros(4))
        self.mean: torch.Tensor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.hidden = torch.tanh(self.linear(x) + self.hidden)
        self.history[0] = self.history[0] * 0.5 + self.hidden
        self.mean = self.mean * 0.9 + self.hidden.mean(0) * 0.1
        return self.hidden + self.history[0] + self.history[1]


class Cache:
    def __init__(self, layers: int) -> None:
        self.keys: list[torch.Tensor | None] = [None] * layers
        self.steps = 0

    def update(self, layer: int, key: torch.Tensor) -> torch.Tensor:
        known = self.keys[layer]
        joined = key if known is None else torch.cat([known, key], dim=1)
        self.keys[layer] = joined
        return joined


def attend(cache: Cache, x: torch.Tensor) -> torch.Tensor:
    cache.steps += 1
    for layer in range(len(cache.keys)):
        keys = cache.update(layer, x * (layer + 1))
        x = torch.softmax(x @ keys.transpose(1, 2), dim=-1) @ keys
    return x


def hits(compiled: Callable[..., Any]) -> list[int]:
    return [entry.hits for entry in stator.cache_entries(compiled)]


def test_module_with_state() -> None:
    torch.manual_seed(0)
    ours, plain = Cell(), Cell()
    plain.load_state_dict(ours.state_dict())
    compiled = stator.compile(ours, backend="native", fullgraph=True)
    with torch.no_grad():
        for _ in range(8):
            x = torch.randn(2, 4)
            assert torch.equal(compiled(x), plain(x))
            assert torch.equal(ours.hidden, plain.hidden)
            assert torch.equal(ours.mean, plain.mean)
            assert all(map(torch.equal, ours.history, plain.history))
    assert hits(compiled) == [0, 6]


def test_state_that_is_one_tensor_in_two_places() -> None:
    ours, plain = Cell(), Cell()
    plain.load_state_dict(ours.state_dict())
    compiled = stator.compile(ours, backend="native")
    with torch.no_grad():
        for step in range(8):
            x = torch.randn(2, 4)
            for cell in (ours, plain):
                if step % 3 == 2:  # the next write to one of them is seen in the other
                    cell.history[0] = cell.hidden
                    cell.hidden.add_(1)
            assert torch.equal(compiled(x), plain(x))
            assert all(map(torch.equal, ours.history, plain.history))


def test_cache_that_grows() -> None:
    torch.manual_seed(0)
    compiled = stator.compile(attend, backend="native", fullgraph=True)
    for _ in range(3):
        ours, plain = Cache(2), Cache(2)
        for _ in range(8):
            x = torch.randn(1, 1, 4)
            assert torch.allclose(compiled(ours, x), attend(plain, x), rtol=0, atol=0)
            assert ours.steps == plain.steps
            assert [k.shape for k in ours.keys if k is not None] == [
                k.shape for k in plain.keys if k is not None
            ]
    assert len(hits(compiled)) <= 8
    assert sum(hits(compiled)) >= 16


def test_another_kind_of_tensor_in_the_place() -> None:
    class Box:
        value: Any = torch.zeros(3)

    box = Box()
    box.value = torch.zeros(3)
    compiled = stator.compile(lambda x: x + box.value, backend="native")
    x = torch.ones(3)
    for value in (
        torch.ones(3),
        torch.ones(3),
        torch.ones(3).double(),
        torch.ones(1),
        4,
        torch.ones(3),
        x,
        x,
    ):
        box.value = value
        result, wanted = compiled(x), x + value
        assert result.dtype == wanted.dtype
        assert torch.equal(result, wanted)


def test_keyword_default_that_changes_in_place() -> None:
    def shift(x: torch.Tensor, *, plus: float = 1.0) -> torch.Tensor:
        return x + plus

    compiled = stator.compile(lambda x: shift(x), backend="native")
    defaults = shift.__kwdefaults__
    assert defaults is not None
    for plus in (1.0, 2.0, 3.0, 4.0, 4.0):
        defaults["plus"] = plus
        assert torch.equal(compiled(torch.ones(2)), torch.ones(2) + plus)
