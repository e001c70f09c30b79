"""Backward passes that torch's compiled autograd captures and hands to Stator."""

from typing import Any

import pytest
from torch._dynamo import compiled_autograd

import stator
import torch
from torch import nn


@pytest.mark.parametrize("backend", ["native", "eager", "aot_eager"])
def test_gradients_and_hooks(backend: str) -> None:
    compiled_autograd.reset()
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    model[0].weight.register_hook(lambda gradient: gradient * 2)
    compiled: list[Any] = []

    def compiler(graph: Any) -> Any:
        compiled.append(stator.compile(graph, backend=backend, fullgraph=True))
        return compiled[-1]

    def gradients(x: torch.Tensor) -> list[torch.Tensor]:
        model.zero_grad(set_to_none=True)
        model(x).sum().backward()
        return [parameter.grad for parameter in model.parameters() if parameter.grad is not None]

    for _ in range(3):
        x = torch.randn(3, 4)
        wanted = gradients(x)
        with compiled_autograd._enable(compiler):
            found = gradients(x)
        assert len(found) == len(wanted) == 4
        torch.testing.assert_close(found, wanted)
    assert len(compiled) == 1
    (entry,) = stator.cache_entries(compiled[0])
    assert entry.hits == 2
