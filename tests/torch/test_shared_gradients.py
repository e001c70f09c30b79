"""Gradients that a compiled backward gives as views of one memory, to which torch adds in place."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import stator
import torch
from torch import Tensor, nn

WEIGHT = torch.full((4,), 2.0)
Loss = Callable[[Tensor, Tensor], Tensor]


class Tokens(nn.Module):
    """As a vision transformer begins: with one sample, the token's gradient is a part of the positions'."""

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.ones(1, 1, 4))
        self.position = nn.Parameter(torch.ones(1, 3, 4))

    def forward(self, x: Tensor) -> Tensor:
        tokens = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1)
        return ((tokens + self.position) * WEIGHT).sum()


LOSSES: dict[str, Loss] = {
    "view": lambda a, b: ((a + b.view(4)) * WEIGHT).sum(),
    "view first": lambda a, b: ((b.view(4) + a) * WEIGHT).sum(),
    "part": lambda a, b: (torch.cat([b.view(4)[:2], a[2:]]) * WEIGHT + a).sum(),
    "transposed": lambda a, b: ((a.view(2, 2) + b.t()) * WEIGHT.view(2, 2)).sum(),
    "apart": lambda a, b: (torch.cat([a, b.view(4)]) * 3).sum(),
}


@pytest.mark.parametrize("backend", ["aot_eager", "fused", "openxla", "native"])
@pytest.mark.parametrize("loss", LOSSES)
def test_gradients_are_added_once(loss: str, backend: str) -> None:
    if backend == "openxla":
        pytest.importorskip("jaxlib", reason="the extra openxla is not installed")
    found = []
    for function in (LOSSES[loss], stator.compile(LOSSES[loss], backend=backend)):
        a, b = torch.ones(4, requires_grad=True), torch.ones(2, 2, requires_grad=True)
        for _ in range(3):
            function(a, b).backward()
        found.append((a.grad, b.grad))
    torch.testing.assert_close(found[1], found[0])


@pytest.mark.parametrize("backend", ["aot_eager", "fused", "native"])
def test_tokens_and_positions(backend: str) -> None:
    found = []
    for compiles in (False, True):
        module = Tokens()
        function = stator.compile(module, backend=backend) if compiles else module
        for _ in range(3):
            function(torch.ones(1, 2, 4)).backward()
        found.append([each.grad for each in module.parameters()])
    torch.testing.assert_close(found[1], found[0])
