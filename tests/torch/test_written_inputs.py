"""Gradients where a compiled function writes to arguments that the caller computed, and sizes change."""

from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch
from torch import Tensor

SIZES = (4, 4, 6, 6, 5)


def sine_behind(y: Tensor) -> Tensor:
    y.mul_(3)
    return y.sin()


def part(y: Tensor) -> Tensor:
    y[:, 1:].mul_(2)
    return y + 1


def rows(y: Tensor) -> Tensor:
    y[0] = y[1] * 2
    return y.clone()


def without_history(y: Tensor) -> Tensor:
    with torch.no_grad():
        y.add_(1)
    return y * y


def of_itself(y: Tensor) -> Tensor:
    return y.add_(y.detach() * y.shape[0])


WRITES: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu_,
    "product": lambda y: y.mul_(3),
    "sine behind": sine_behind,
    "part": part,
    "rows": rows,
    "zeros": lambda y: y.zero_() + 1,
    "copy": lambda y: y.copy_(torch.ones_like(y)) * 2,
    "without history": without_history,
    "of itself": of_itself,
    "not written": lambda y: y.cos(),
}
GIVEN: dict[str, Callable[[Tensor], Tensor]] = {
    "computed": lambda leaf: leaf * 2,
    "view of computed": lambda leaf: (leaf * 2)[:, 1:],
    "turned": lambda leaf: (leaf * 2).t().contiguous().t(),
    "computed twice": lambda leaf: (leaf * 2).cos(),
}


def gradients(function: Callable[[Tensor], Tensor], given: Callable[[Tensor], Tensor], n: int) -> Any:
    leaf = torch.linspace(-1, 2, n * 4).reshape(n, 4).requires_grad_()
    y = given(leaf)
    result = function(y)
    (result.square().sum() + (y * 3).sum()).backward()
    return leaf.grad, result.detach(), y.detach()


@pytest.mark.parametrize("backend", ["native", "eager", "aot_eager"])
@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("write", WRITES)
def test_as_eager(write: str, given: str, backend: str) -> None:
    compiled = stator.compile(WRITES[write], backend=backend)
    for n in SIZES:
        wanted = gradients(WRITES[write], GIVEN[given], n)
        found = gradients(compiled, GIVEN[given], n)
        for one, other in zip(wanted, found, strict=True):
            torch.testing.assert_close(other, one)
    assert sum(entry.hits for entry in stator.cache_entries(compiled)) >= len(SIZES) - 2


@pytest.mark.parametrize("dynamic", [None, True])
def test_a_leaf_that_is_written_without_history(dynamic: bool | None) -> None:
    def program(x: Tensor) -> Tensor:
        with torch.no_grad():
            x.mul_(2)
        return x * x

    compiled = stator.compile(program, backend="aot_eager", dynamic=dynamic)
    for n in SIZES:
        found, wanted = (torch.arange(1.0, n + 1).requires_grad_() for _ in range(2))
        compiled(found).sum().backward()
        program(wanted).sum().backward()
        assert torch.equal(found, wanted)
        assert torch.equal(found.grad, wanted.grad)  # type: ignore[arg-type]
