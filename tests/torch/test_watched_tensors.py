"""tests/torch/test_watched_tensors.py: tensors that become others where no dictionary tells of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import stator
import torch
from torch import nn


class Scaled(nn.Module):
    offset: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.full((3,), 2.0))
        self.register_buffer("offset", torch.ones(3))
        self.held = [torch.ones(3)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight + self.offset + self.held[0]


def compiled() -> tuple[Scaled, Callable[..., Any]]:
    model = Scaled()
    function = stator.compile(model, backend="native")
    x = torch.ones(3)
    for _ in range(2):
        assert torch.equal(function(x), model(x))
    return model, function


def made_at(address: int, make: Callable[[], torch.Tensor]) -> torch.Tensor | None:
    kept = []
    for _ in range(10_000):
        kept.append(make())
        if id(kept[-1]) == address:
            return kept[-1]
    return None


def test_another_tensor_at_the_same_address() -> None:
    """The list holds the same address, but a tensor of another size and type."""
    model, function = compiled()
    x = torch.ones(3)
    for make in (lambda: torch.full((1,), 5.0), lambda: torch.full((3,), 7), lambda: torch.zeros(2, 3)):
        address = id(model.held[0])
        model.held[0] = None  # type: ignore[call-overload]
        other = made_at(address, make)
        if other is None:
            pytest.skip("no address was used again")
        model.held[0] = other
        del other
        expected = model(x)
        found = function(x)
        assert found.dtype == expected.dtype
        assert torch.equal(found, expected)


def replace_offset(model: Scaled) -> list[torch.Tensor]:
    """Another tensor under the same name and at the same address, in a dictionary that gives notice.

    It was made before, without a Python object; what the old one leaves behind becomes a tensor like it.
    """
    weights = [torch.zeros(2, 3, requires_grad=True) for _ in range(200)]
    torch.stack(weights).sum().backward()
    address = id(model.offset)
    del model._buffers["offset"]
    gradient = next((weight.grad for weight in weights if id(weight.grad) == address), None)
    if gradient is None:
        pytest.skip("no address was used again")
    model.register_buffer("offset", gradient)
    return [torch.ones(3) for _ in range(1000)]


def test_another_buffer_at_the_same_address() -> None:
    model, function = compiled()
    x = torch.ones(3)
    alike = replace_offset(model)
    for _ in range(2):
        assert torch.equal(function(x), model(x))
    assert len(stator.cache_entries(function)) == 2
    del alike


def test_another_buffer_seen_by_a_call_that_missed() -> None:
    """The call that hears of the buffer misses for another reason; the next one must look once more."""
    model, function = compiled()
    x = torch.ones(3)
    held = model.held[0]
    alike = replace_offset(model)
    model.held[0] = torch.ones(2, 3, dtype=torch.float64)
    assert torch.equal(function(x), model(x))
    model.held[0] = held
    for _ in range(2):
        assert torch.equal(function(x), model(x))
    assert len(stator.cache_entries(function)) == 3
    del alike


def test_swapped_tensors() -> None:
    """`swap_tensors` exchanges what two Python objects are; one of the two may die then."""
    model, function = compiled()
    x = torch.ones(3)
    torch.utils.swap_tensors(model.offset, torch.full((1,), 4.0))
    assert torch.equal(function(x), model(x))
    other = torch.full((2, 3), 3.0, dtype=torch.float64)
    torch.utils.swap_tensors(model.offset, other)
    del other
    assert function(x).dtype == torch.float64
    assert torch.equal(function(x), model(x))


def test_swapped_without_notice() -> None:
    """What `swap_tensors` is made of, without the class that it sets on its way."""
    model, function = compiled()
    x = torch.ones(3)
    torch._C._swap_tensor_impl(model.offset, torch.full((2, 3), 4.0))
    assert torch.equal(function(x), model(x))


def test_another_class() -> None:
    class Doubled(torch.Tensor):
        @classmethod
        def __torch_function__(
            cls, function: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            with torch._C.DisableTorchFunctionSubclass():
                return function(*args, **(kwargs or {})) * 2

    model, function = compiled()
    x = torch.ones(3)
    before = function(x)
    model.offset.__class__ = Doubled
    for _ in range(3):
        expected, found = model(x), function(x)
        assert type(found) is type(expected)
        assert torch.equal(found.as_subclass(torch.Tensor), expected.as_subclass(torch.Tensor))
    model.offset.__class__ = torch.Tensor
    assert torch.equal(function(x), before)


def test_changes_in_place() -> None:
    """Shape, dtype and gradient change within the same tensor."""
    model, function = compiled()
    x = torch.ones(3)
    model.offset.resize_(2, 3).fill_(1.5)
    assert torch.equal(function(x), model(x))
    model.offset.data = torch.ones(1, dtype=torch.float64)
    assert function(x).dtype == torch.float64
    model.offset.requires_grad_()
    model.weight.requires_grad_(False)
    result = function(x)
    result.sum().backward()
    assert model.offset.grad is not None
    assert model.weight.grad is None


class ManyScales(nn.Module):
    """More parameters than one thread looks at."""

    def __init__(self) -> None:
        super().__init__()
        self.scales = nn.ParameterList(torch.full((2,), 0.5) for _ in range(4500))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for scale in self.scales:
            x = x + scale
        return x


def compiled_many() -> tuple[ManyScales, Callable[..., Any]]:
    model = ManyScales()
    function = stator.compile(model, backend="native")
    for _ in range(2):
        function(torch.ones(2))
    return model, function


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def become_double(scale: nn.Parameter) -> None:
    scale.data = torch.full((2,), 0.25, dtype=torch.float64)


def become_longer(scale: nn.Parameter) -> None:
    scale.data = torch.full((2, 2), 0.25)


def become_swapped(scale: nn.Parameter) -> None:
    torch._C._swap_tensor_impl(scale, torch.full((1,), 4.0))


def become_frozen(scale: nn.Parameter) -> None:
    scale.requires_grad_(False)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("place", [0, 2300, 4499])
@pytest.mark.parametrize("change", [become_double, become_longer, become_swapped, become_frozen])
def test_one_of_many(change: Callable[[nn.Parameter], None], place: int) -> None:
    """Whichever thread looks at it, the change of one parameter is seen: the program is not used again."""
    model, function = compiled_many()
    x = torch.ones(2)
    change(model.scales[place])
    expected, found = model(x), function(x)
    assert len(stator.cache_entries(function)) == 2
    assert found.dtype == expected.dtype
    assert torch.equal(found, expected)
    found.sum().backward()
    assert (model.scales[place].grad is None) == (not model.scales[place].requires_grad)


@pytest.mark.usefixtures("two_threads")
def test_many_after_a_fork() -> None:
    """Threads are not forked: the child looks at everything by itself, and does not wait for them."""
    model, function = compiled_many()
    child = os.fork()
    if child == 0:
        become_longer(model.scales[4000])
        seen = function(torch.ones(2)).shape == (2, 2) and len(stator.cache_entries(function)) == 2
        os._exit(0 if seen else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
