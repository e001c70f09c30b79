"""torch.device as a context manager and torch.set_default_device: factories and guards follow them."""

from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch
from torch import Tensor, nn

BACKENDS = ["native", "eager"]


def around(x: Tensor) -> tuple[Tensor, ...]:
    y = torch.nn.functional.relu(x)
    with torch.device("meta"):
        a = torch.zeros(2)
        b = torch.ones(3, device="cpu") + 1
        with torch.device("cpu"):
            c = torch.arange(4) * 2
        d = torch.nn.functional.gelu(torch.full((2, 2), 1.0))
        e = torch.linspace(0, 1, 3)
        f = y.split(1)[0] + torch.zeros_like(x)[0]
    g = torch.rand(2)
    return a, b, c, d, e, f, g


def described(results: Any) -> list[Any]:
    return [
        (t.device, t.dtype, tuple(t.shape), t.stride(), None if t.is_meta else t.tolist()) for t in results
    ]


@pytest.mark.parametrize("backend", BACKENDS)
def test_inside_of_a_captured_function(backend: str) -> None:
    compiled = stator.compile(around, backend=backend)
    for _ in range(3):
        x = torch.randn(3)
        torch.manual_seed(1)
        wanted = described(around(x))
        torch.manual_seed(1)
        assert described(compiled(x)) == wanted
        assert torch.overrides._len_torch_function_stack() == 0
    assert compiled.breaks == []
    assert compiled.entries[0]["hits"] == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_around_the_call(backend: str) -> None:
    def program(x: Tensor) -> tuple[Tensor, ...]:
        made = torch.zeros(3), torch.ones(2, device="cpu"), torch.empty(2, 3).mul(2)
        return *made, torch.nn.functional.relu(x) * 2

    compiled = stator.compile(program, backend=backend)
    x = torch.randn(2)
    for _ in range(2):
        for device in (None, "cpu", "meta"):
            if device is None:
                found, wanted = compiled(x), program(x)
            else:
                with torch.device(device):
                    found, wanted = compiled(x), program(x)
            assert [t.device for t in found] == [t.device for t in wanted]
            assert torch.equal(found[3], wanted[3])
    assert compiled.breaks == []
    assert [entry["hits"] for entry in compiled.entries] == [1, 1, 1]


def test_the_default_device_is_noticed() -> None:
    compiled = stator.compile(lambda x: x + torch.ones(2).to(x.device), backend="native")
    made = stator.compile(lambda: torch.zeros(2), backend="native")
    assert made().device.type == "cpu"
    for _ in range(2):
        torch.set_default_device("meta")
        try:
            assert made().is_meta
        finally:
            torch.set_default_device(None)
        assert made().device.type == "cpu"
        assert compiled(torch.ones(2)).device.type == "cpu"
    assert made.breaks == []


def test_a_model_is_served_under_it() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2))
    compiled, x = stator.compile(lambda x: model(x), backend="native"), torch.randn(3, 4)
    with torch.device("cpu"):
        for _ in range(3):
            found = compiled(x)
            assert torch.equal(found, model(x))
        found.sum().backward()
    assert compiled.breaks == []


def test_a_break_inside_puts_it_back() -> None:
    def program(x: Tensor) -> Tensor:
        with torch.device("meta"):
            made = torch.zeros(2)
            if x.sum().item() > 0:
                return made
        return torch.zeros(3)

    compiled = stator.compile(program, backend="native")
    for x in (torch.ones(2), -torch.ones(2), torch.ones(2)):
        assert compiled(x).device == program(x).device
        assert torch.zeros(1).device.type == "cpu"


def test_python_code_of_the_graph_runs_under_the_callers_device() -> None:
    class Made(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return torch.zeros(3)

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Any:
            return grad

    def apply(function: Any, x: Tensor) -> Tensor:
        return function.apply(x)  # type: ignore[no-any-return]

    def inside(x: Tensor) -> Tensor:
        with torch.device("meta"):
            return apply(Made, x)

    def outside(x: Tensor) -> Tensor:
        return apply(Made, x)

    x = torch.randn(3, requires_grad=True)
    first = stator.compile(inside, backend="native")
    for _ in range(2):
        assert first(x).is_meta
    assert "default device" in first.breaks[0]
    second = stator.compile(outside, backend="native")
    for _ in range(2):
        with torch.device("meta"):
            assert second(x).is_meta
        assert not second(x).is_meta
    assert second.breaks == []


def test_other_modes_are_not_captured() -> None:
    class Counts(torch.overrides.TorchFunctionMode):
        count = 0

        def __torch_function__(
            self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            self.count += 1
            return func(*args, **(kwargs or {}))

    compiled, x = stator.compile(lambda x: x * 2 + 1, backend="native"), torch.randn(2)
    compiled(x)
    with Counts() as mode:
        assert torch.equal(compiled(x), x * 2 + 1)
    assert mode.count >= 2
