"""Tensors whose class has a `__torch_dispatch__` and says what they are made of."""

from typing import Any

import pytest
from comparison import alike
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import return_and_correct_aliasing

import stator
import torch

BACKENDS = ["native", "eager", "aot_eager"]


class Scaled(torch.Tensor):
    """A tensor and a factor that is part of its context; products with numbers change the factor alone."""

    data_: torch.Tensor
    factor: float

    @staticmethod
    def __new__(cls, data_: torch.Tensor, factor: float = 1.0, requires_grad: bool = False) -> Any:
        return torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            data_.size(),
            strides=data_.stride(),
            storage_offset=data_.storage_offset(),
            dtype=data_.dtype,
            device=data_.device,
            requires_grad=requires_grad,
        )

    def __init__(self, data_: torch.Tensor, factor: float = 1.0, requires_grad: bool = False) -> None:
        self.data_ = data_
        self.factor = factor

    def __repr__(self) -> str:  # type: ignore[override]
        return f"Scaled({self.data_!r}, {self.factor})"

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        return ["data_"], self.factor

    @staticmethod
    def __tensor_unflatten__(parts: dict[str, torch.Tensor], factor: Any, size: Any, stride: Any) -> Any:
        return Scaled(parts["data_"], factor)

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.ops.aten.mul.Tensor and isinstance(args[1], (int, float)):
            return Scaled(args[0].data_.clone(), args[0].factor * args[1])
        if func is torch.ops.aten.sum.default:
            return args[0].data_.sum() * args[0].factor
        plain = pytree.tree_map_only(Scaled, lambda x: x.data_, (args, kwargs))
        factors = {x.factor for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, Scaled)}
        out = func(*plain[0], **plain[1])
        factor = factors.pop()
        wrapped = pytree.tree_map_only(torch.Tensor, lambda x: Scaled(x, factor), out)
        return return_and_correct_aliasing(func, args, kwargs, wrapped)


def scaled(seed: int, *size: int, factor: float = 2.0, grad: bool = False) -> Scaled:
    torch.manual_seed(seed)
    made: Scaled = Scaled(torch.randn(*size), factor)
    return made.requires_grad_() if grad else made


def products(x: Any, y: torch.Tensor) -> Any:
    z = (x * 3).sin() + y
    return z, z.t() @ z, z.sum()


def views(x: Any, y: torch.Tensor) -> Any:
    a, b = x.view(2, 8).chunk(2, dim=1)
    return a + b, x.t().relu(), x.detach(), y * 2


def reads(x: Any, y: torch.Tensor) -> Any:
    return x.factor * y, x.shape, x.data_ + 1, (x + y).data_ * 2, isinstance(x, Scaled)


def makes(x: Any, y: torch.Tensor) -> Any:
    z = Scaled(y.cos(), 5.0)
    return z.exp(), z.factor, z.data_ + 1, Scaled(y).data_ is y


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [products, views, reads, makes])
def test_operators_are_nodes(program: Any, backend: str) -> None:
    compiled = stator.compile(program, backend=backend, fullgraph=True)
    for seed in range(3):
        y = torch.randn(4, 4, generator=torch.Generator().manual_seed(seed))
        with torch.no_grad():
            assert alike(compiled(scaled(seed, 4, 4), y), program(scaled(seed, 4, 4), y))
    (entry,) = stator.cache_entries(compiled)
    assert entry.hits == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients(backend: str) -> None:
    def loss(x: Any, w: torch.Tensor) -> Any:
        return ((x @ w).relu() + x.t()).sum()

    compiled = stator.compile(loss, backend=backend, fullgraph=True)
    for seed in range(2):
        gradients = []
        for function in (loss, compiled):
            x, w = scaled(seed, 3, 3, grad=True), scaled(seed + 5, 3, 3, grad=True)
            function(x, w).backward()
            gradients.append([x.grad, w.grad])
        for a, b in zip(*gradients, strict=True):
            assert type(a) is type(b)
            assert torch.allclose(*(g.data_ if isinstance(g, Scaled) else g for g in (a, b)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_beside_sizes_that_change(backend: str) -> None:
    def f(x: Any, y: torch.Tensor) -> Any:
        return (x.sin() * 2 * y.shape[0]).sum() + y.cos().sum()

    compiled = stator.compile(f, backend=backend, fullgraph=True, dynamic=True)
    for size in (3, 5, 7):
        gradients = []
        for function in (f, compiled):
            x, y = scaled(0, 2, 2, grad=True), torch.linspace(0, 1, size, requires_grad=True)
            function(x, y).backward()
            gradients.append([x.grad, y.grad])
        assert alike(*gradients)
    assert len(stator.cache_entries(compiled)) == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_parameters(backend: str) -> None:
    module = torch.nn.Linear(4, 3)
    module.weight = torch.nn.Parameter(scaled(1, 3, 4), requires_grad=False)
    module.bias = torch.nn.Parameter(scaled(2, 3), requires_grad=False)
    compiled = stator.compile(module, backend=backend, fullgraph=True)
    for seed in range(2):
        x = scaled(seed, 2, 4)
        assert alike(compiled(x), module(x))
    module.weight.data_.mul_(2)  # another value, no other capture
    assert alike(compiled(scaled(0, 2, 4)), module(scaled(0, 2, 4)))
    assert len(stator.cache_entries(compiled)) == 1


@pytest.mark.parametrize("change", ["factor", "size", "dtype", "class", "requires_grad", "other attribute"])
def test_guards(change: str) -> None:
    def f(x: Any) -> Any:
        return x.sum() if x.factor == 2.0 else x.sum() * 100

    def other() -> Any:
        match change:
            case "factor":
                return scaled(0, 3, factor=4.0)
            case "size":
                return scaled(0, 5)
            case "dtype":
                return Scaled(torch.ones(3, dtype=torch.float64), 2.0)
            case "class":
                made = torch.ones(3)
                made.factor = 2.0  # type: ignore[attr-defined]
                return made
            case "requires_grad":
                return scaled(0, 3, grad=True)
        made = scaled(0, 3)
        made.tag = 1  # type: ignore[attr-defined]
        return made

    compiled = stator.compile(f, backend="native")
    compiled(scaled(0, 3))
    compiled(scaled(1, 3))
    compiled(scaled(2, 3))
    assert [entry.hits for entry in stator.cache_entries(compiled)] == [2]
    assert alike(compiled(other()), f(other()))
    assert stator.cache_entries(compiled)[0].hits == 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_writes(backend: str) -> None:
    def f(x: Any, y: torch.Tensor) -> Any:
        z = x + 1
        z.mul_(z)
        z.view(-1).add_(1)
        x.add_(1)
        return z

    compiled = stator.compile(f, backend=backend)
    for seed in range(2):
        results = []
        for function in (f, compiled):
            x = scaled(seed, 2, 2)
            results.append((function(x, torch.ones(2)), x))
        assert alike(*results)


def test_attributes_of_the_program_are_a_break() -> None:
    def f(x: Any) -> Any:
        x = x + 1
        x.tag = "made"
        return x

    compiled = stator.compile(f)
    for _ in range(2):
        assert compiled(scaled(0, 2)).tag == "made"


@pytest.mark.parametrize("backend", ["fused", "openxla_eval"])
def test_backends_that_take_none_run_natively(backend: str) -> None:
    compiled = stator.compile(lambda x: x + 1, backend=backend)
    for _ in range(2):
        assert alike(compiled(scaled(0, 2)), scaled(0, 2) + 1)


class Undescribed(Scaled):
    """Says nothing of what it is made of."""

    __tensor_flatten__ = None  # type: ignore[assignment]


def test_undescribed_classes_run_natively() -> None:
    made: Any = Undescribed(torch.ones(2), 3.0)
    compiled = stator.compile(lambda x: x.factor * torch.ones(2))
    for _ in range(2):
        assert torch.equal(compiled(made), torch.full((2,), 3.0))
