"""What is captured beside a break: the parts of the function, and functions that native code calls."""

import builtins
import importlib
from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch
from stator import support
from torch import nn

support.load_torch_extension()
capture = importlib.import_module("stator._capture")
# A break on every backend; the builtin is a node under some.
print = stator.disable(builtins.print)


def row(compiled: Any, name: str) -> dict[str, Any]:
    return next(callee for callee in compiled.callees if name in callee["name"])


def inner(x: torch.Tensor, scale: float, *, bias: float = 1.0) -> torch.Tensor:
    return (x * scale + bias).relu()


def several(x: torch.Tensor, *rest: torch.Tensor, **named: torch.Tensor) -> torch.Tensor:
    for other in rest:
        x = x + other
    return x + named["last"]


def breaks(x: torch.Tensor) -> torch.Tensor:
    y = inner(x, 2.0)
    total = y.sum().long().item()  # needs the value
    return inner(y, 3.0, bias=0.5) + several(x, y, y, last=x) + total


def test_callees_are_captured_after_a_break() -> None:
    compiled = capture.Compiled(breaks)
    x = torch.randn(3, 4)
    for _ in range(4):
        assert torch.equal(compiled(x), breaks(x))
    assert [entry["hits"] for entry in compiled.entries] == [3]
    assert "data-dependent-operator" in compiled.breaks[0]
    assert row(compiled, "breaks")["captures"] == 1
    assert row(compiled, "breaks")["hits"] == 3


def test_functions_that_generators_call_are_a_part_of_their_segments() -> None:
    def generate(x: torch.Tensor) -> Any:
        for _ in range(3):
            print(end="")
            yield inner(x, 2.0) + several(x, x, last=x)

    def program(x: torch.Tensor) -> list[torch.Tensor]:
        return list(generate(x))

    compiled = capture.Compiled(program)
    x = torch.randn(3, 4)
    for _ in range(4):
        assert all(map(torch.equal, compiled(x), program(x)))
    # Twelve values were given, the first of them while it was captured.
    assert row(compiled, "generate")["captures"] == 1
    assert row(compiled, "generate")["hits"] == 11


def test_modules_below_a_break() -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.linear(x))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = Block(), Block()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = self.first(x)
            print("between", end="")
            return self.second(y)

    model = Model()
    compiled = capture.Compiled(model)
    x = torch.randn(2, 4)
    for _ in range(3):
        assert torch.equal(compiled(x), model(x))
    assert sum(callee["hits"] for callee in compiled.callees) >= 4
    assert sum(entry["nodes"] for entry in compiled.entries) == 2


def test_functions_made_anew_on_every_call() -> None:
    def outer(x: torch.Tensor, factor: float) -> torch.Tensor:
        def scaled(y: torch.Tensor, shift: float = 0.5) -> torch.Tensor:
            return y * factor + shift

        float(x.sum())
        return scaled(x)

    compiled = capture.Compiled(outer)
    x = torch.randn(3)
    for _ in range(20):
        assert torch.equal(compiled(x, 2.0), outer(x, 2.0))
    assert row(compiled, "scaled")["captures"] == 1
    assert torch.equal(compiled(x, 3.0), outer(x, 3.0))
    assert row(compiled, "scaled")["captures"] == 2


def test_errors_of_callees_are_the_users_own() -> None:
    def fails(x: torch.Tensor) -> torch.Tensor:
        return x @ torch.ones(7)

    def outer(x: torch.Tensor) -> Any:
        float(x.sum())
        try:
            return fails(x)
        except RuntimeError as error:
            return str(error), error.__traceback__.tb_next.tb_lineno  # type: ignore[union-attr]

    compiled = capture.Compiled(outer)
    x = torch.randn(3)
    assert compiled(x) == outer(x) == compiled(x)


@pytest.mark.parametrize("recursive", [True, False])
def test_recursion_below_a_break(recursive: bool) -> None:
    def descend(x: torch.Tensor, n: int) -> torch.Tensor:
        if n == 0:
            return x
        if recursive:
            float(x.sum())
        return descend(x + 1, n - 1)

    def outer(x: torch.Tensor) -> torch.Tensor:
        float(x.sum())
        return descend(x, 30)

    compiled: Callable[..., Any] = capture.Compiled(outer)
    x = torch.zeros(2)
    assert torch.equal(compiled(x), outer(x))
    assert torch.equal(compiled(x), outer(x))


def test_a_way_that_breaks_beside_one_that_is_captured_is_not_tried_without_end() -> None:
    def program(x: torch.Tensor, reads: bool) -> torch.Tensor:
        return x + float(x.sum()) if reads else x + 1

    compiled = capture.Compiled(program, limit=4)
    x = torch.ones(3)
    compiled(x, False)
    for _ in range(50):
        assert torch.equal(compiled(x, True), x + 3)
        assert torch.equal(compiled(x, False), x + 1)
    assert len(compiled.breaks) == 1
    assert len(compiled.misses) == 1
    assert compiled.entries[0]["hits"] == 50
