"""A sample of the random schedules of training_schedules.py, which has thousands."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from training_schedules import SETTINGS, difference

import stator
import torch
from stator import _torch
from torch import nn


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("seed", range(3))
def test_random_schedules(seed: int, name: str) -> None:
    assert not (text := difference(seed, name)), text


class TwoResults(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        middle = torch.sigmoid(self.first(x))
        return middle * 2, torch.tanh(self.second(middle))


@pytest.mark.parametrize("name", ["fused", "graphs"])
def test_what_no_gradient_needs_may_be_written(name: str) -> None:
    """The gradient of the first result does not come by way of the second layer's weight."""
    stator.reset()
    model = TwoResults()
    mine = copy.deepcopy(model)
    _torch.emulate_cuda_graphs(name == "graphs")
    try:
        compiled: Any = stator.compile(mine, backend="fused", **SETTINGS[name])
        for _ in range(5):
            x = torch.randn(4, 8)
            found = []
            for call, owner in ((model, model), (compiled, mine)):
                first, second = call(x)
                with torch.no_grad():
                    owner.second.weight.mul_(0.9)
                gradient = torch.autograd.grad(first.sum(), owner.first.weight, retain_graph=True)
                with pytest.raises(RuntimeError, match="inplace"):
                    second.sum().backward()
                found.append(gradient[0])
            torch.testing.assert_close(found[1], found[0])
    finally:
        _torch.emulate_cuda_graphs(False)
