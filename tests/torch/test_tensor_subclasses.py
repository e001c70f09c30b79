"""Instances of classes over torch.Tensor: arguments, results, globals. __torch_function__ is captured."""

from collections.abc import Callable
from typing import Any

import pytest
from comparison import assert_alike

import stator
import torch

BACKENDS = ["native", "eager", "aot_eager"]


class Plain(torch.Tensor):
    pass


class Swaps(torch.Tensor):
    """Multiplies where it is to add."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.add, torch.Tensor.add, torch.Tensor.__add__):
            func = torch.mul
        return super().__torch_function__(func, types, args, kwargs or {})


class Unwraps(torch.Tensor):
    """Its operators give plain tensors."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


class Measured(torch.Tensor):
    """Has a method and an attribute of its own."""

    unit: str

    def doubled(self) -> torch.Tensor:
        return self * 2


def arithmetic(x: torch.Tensor, y: torch.Tensor) -> Any:
    z = x.sin() + y
    return z, torch.add(x, y), z.view(-1), [z.size(0), type(z) is type(x), isinstance(z, torch.Tensor)]


def writes(x: torch.Tensor, y: torch.Tensor) -> Any:
    x.mul_(2)
    y.sub_(x)
    return x, y


def mixes(x: torch.Tensor, y: torch.Tensor) -> Any:
    plain = x.as_subclass(torch.Tensor)
    return plain + 1, torch.cat([x, y]), torch.nn.functional.relu(x)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [arithmetic, writes, mixes])
@pytest.mark.parametrize("kind", [Plain, Swaps, Unwraps])
def test_as_eager(kind: type[torch.Tensor], function: Callable[..., Any], backend: str) -> None:
    compiled = stator.compile(function, backend=backend, fullgraph=True)
    for size in (3, 3, 4, 5):
        x, y = torch.randn(size), torch.randn(size)
        ours = [x.clone().as_subclass(kind), y.clone()]
        plain = [x.clone().as_subclass(kind), y.clone()]
        assert_alike(compiled(*ours), function(*plain))
        assert_alike(ours, plain)
    assert sum(entry.hits for entry in stator.cache_entries(compiled)) >= 2
    # A plain tensor needs a capture of its own.
    assert_alike(compiled(x.clone(), y.clone()), function(x.clone(), y.clone()))


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients(backend: str) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return (x * x + x).sum()

    compiled = stator.compile(function, backend=backend, fullgraph=True)
    for _ in range(2):
        x = torch.arange(3.0).as_subclass(Swaps).requires_grad_()
        y = torch.arange(3.0).as_subclass(Swaps).requires_grad_()
        compiled(x).backward()
        function(y).backward()
        assert_alike(x.grad, y.grad)


def test_methods_and_attributes() -> None:
    def function(x: Measured) -> Any:
        return x.doubled() if x.unit == "m" else x

    compiled = stator.compile(function, backend="native", fullgraph=True)
    for unit in ("m", "s", "m"):
        x = torch.arange(3.0).as_subclass(Measured)
        x.unit = unit
        assert_alike(compiled(x), function(x))


def test_a_class_that_changes() -> None:
    class Changing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return super().__torch_function__(func, types, args, kwargs or {})

    def other(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return 7

    def function(x: torch.Tensor) -> Any:
        return x + 1

    compiled = stator.compile(function, backend="native")
    x = torch.ones(2).as_subclass(Changing)
    for _ in range(2):
        assert_alike(compiled(x), function(x))
    Changing.__torch_function__ = classmethod(other)  # type: ignore[method-assign,assignment]
    assert compiled(x) == function(x) == 7


GLOBAL = torch.arange(3.0).as_subclass(Swaps)


def test_reached_by_name() -> None:
    def function(x: torch.Tensor) -> Any:
        return GLOBAL + x

    compiled = stator.compile(function, backend="eager", fullgraph=True)
    for _ in range(2):
        assert_alike(compiled(torch.ones(3)), function(torch.ones(3)))


def test_a_break_inside_leaves_nothing_switched_off() -> None:
    class Breaks(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            with torch._C.DisableTorchFunctionSubclass():
                stator_breaks()
                return func(*args, **(kwargs or {}))

    @stator.disable
    def stator_breaks() -> None: ...

    compiled = stator.compile(lambda x: x + 1, backend="native")
    x = torch.ones(2).as_subclass(Breaks)
    compiled(x)
    assert torch._C._is_torch_function_enabled()


def test_code_of_dispatch_is_left_alone() -> None:
    from torch.testing._internal.two_tensor import TwoTensor

    compiled = stator.compile(lambda x: x + 1, backend="eager")
    x = TwoTensor(torch.ones(2), torch.zeros(2))
    result = compiled(x)
    assert type(result) is TwoTensor
    assert torch.equal(result.a, torch.full((2,), 2.0))
    assert torch.equal(result.b, torch.ones(2))
