"""Functions that torch.jit compiled: a capture goes into the Python code that they were made of."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)

    @torch.jit.script
    def scaled_root(x: torch.Tensor, factor: int) -> torch.Tensor:
        return torch.sqrt(
            torch.tensor(x.size(-1), dtype=torch.float) * torch.tensor(factor, dtype=torch.float)
        )

    @torch.jit.script
    def bent(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        y = x + bias
        if y.dim() > 1:
            y = torch.tanh(y) * 0.5
        return y * torch.sigmoid(y)

    @torch.jit.script
    def filled(x: torch.Tensor, value: float) -> torch.Tensor:
        return torch.full([2], value) + x.sum()


def uses_root(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x @ w / scaled_root(x, 3)


def uses_bent(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return bent(x @ w, w[0])


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("function", [uses_root, uses_bent])
@pytest.mark.parametrize("backend", ["native", "eager"])
def test_scripted_functions_are_captured(backend: str, function: Callable[..., Any], grad: bool) -> None:
    compiled = stator.compile(function, backend=backend, fullgraph=True)
    x = torch.randn(3, 4)
    with torch.set_grad_enabled(grad):
        for _ in range(3):
            ours, theirs = (torch.eye(4).requires_grad_() for _ in range(2))
            got, expected = compiled(x, ours), function(x, theirs)
            torch.testing.assert_close(got, expected, rtol=0, atol=0)
            assert got.requires_grad == grad
            if grad:
                got.sum().backward()
                expected.sum().backward()
                torch.testing.assert_close(ours.grad, theirs.grad)
    assert [entry.hits for entry in stator.cache_entries(compiled)] == [2]


def test_another_scripted_function_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = stator.compile(uses_root, backend="native")
    x, w = torch.randn(3, 4), torch.eye(4)
    assert torch.equal(compiled(x, w), uses_root(x, w))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        other = torch.jit.script(twice)
    monkeypatch.setitem(globals(), "scaled_root", other)
    assert torch.equal(compiled(x, w), x / 2)


def twice(x: torch.Tensor, factor: int) -> torch.Tensor:
    return torch.ones([]) * 2


def test_numbers_are_converted_as_torch_jit_does() -> None:
    """An int that is given for a float is one there, and would not be in Python."""

    def program(x: torch.Tensor) -> torch.Tensor:
        return filled(x, 3)

    x = torch.zeros(2, dtype=torch.int64)
    assert program(x).dtype == torch.float32
    assert torch.equal(stator.compile(program, backend="native")(x), program(x))
    assert stator.compile(program, backend="native")(x).dtype == torch.float32
