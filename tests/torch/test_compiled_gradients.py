"""torch.autograd.Function under backends that compile: a node where its code reads nothing from outside."""

from typing import Any

import pytest
from torch.autograd.function import once_differentiable

import stator
import torch

SCALE = 2.0


class Contained(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, n: int) -> torch.Tensor:
        ctx.save_for_backward(x)
        ctx.n = n
        return x * x * n

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return gradient * torch.cos(x) * 7 * ctx.n, None  # not the derivative: eager's must be found


class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return gradient * 5


class ReadsGlobal(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return gradient * SCALE


class KeepsGlobal(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.settings = SETTINGS
        return x * 2

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        return gradient * ctx.settings["scale"]


SETTINGS = {"scale": 2.0}


def enclosed(scale: list[float]) -> Any:
    class Enclosed(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> Any:
            return gradient * scale[0]

    return Enclosed


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("number", range(2))
def test_in_the_graph(number: int, backend: str) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        return (Contained.apply(y, 3) if number == 0 else Once.apply(y)).sum()

    compiled = stator.compile(function, backend=backend, fullgraph=True)
    for _ in range(3):
        x = torch.randn(4, requires_grad=True)
        y = x.detach().clone().requires_grad_()
        ours, plain = compiled(x), function(y)
        ours.backward()
        plain.backward()
        torch.testing.assert_close(ours, plain)
        torch.testing.assert_close(x.grad, y.grad)
    assert sum(entry.hits for entry in stator.cache_entries(compiled)) == 2


@pytest.mark.parametrize("name", ["global", "kept", "enclosed"])
def test_what_changes_is_not_baked_in(name: str) -> None:
    """A compiler would run the backward once, with what it reads then."""
    global SCALE
    held = [2.0]
    kind: Any = {"global": ReadsGlobal, "kept": KeepsGlobal, "enclosed": enclosed(held)}[name]

    def function(x: torch.Tensor) -> torch.Tensor:
        return kind.apply(x.sin()).sum()

    compiled = stator.compile(function, backend="aot_eager")
    for scale in (2.0, 2.0, 5.0):
        SCALE = SETTINGS["scale"] = held[0] = scale
        x = torch.arange(3.0, requires_grad=True)
        y = torch.arange(3.0, requires_grad=True)
        compiled(x).backward()
        function(y).backward()
        torch.testing.assert_close(x.grad, y.grad)
