"""Nested tensors (jagged layout) as arguments, results and in between: as eager code computes them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch.nn.functional as F
from torch.nested._internal.nested_tensor import NestedTensor, jagged_from_list

import stator
import torch
from torch import Tensor

BACKENDS = ["native", "eager", "aot_eager"]


def nested(lengths: tuple[int, ...] = (2, 3, 4), offsets: Tensor | None = None, width: int = 5) -> Any:
    leaves = [torch.randn(n, width, dtype=torch.float64, requires_grad=True) for n in lengths]
    return jagged_from_list(leaves, offsets)[0]


def attention(x: Any) -> Any:
    weights = torch.softmax(F.linear(F.layer_norm(x, (5,)), torch.ones(5, 5, dtype=torch.float64)), -1)
    return (x * weights).transpose(1, 2).transpose(1, 2)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "pointwise": lambda x: x.sin() + 1,
    "size": lambda x: x.clone() * x.size(0),
    "cat": lambda x: torch.cat([x.clone(), x.cos()], dim=-1),
    "values": lambda x: x.values().sin(),
    "sum": lambda x: x.sum(),
    "view": lambda x: x.view(x.size(0), -1, 5) * 2,
    "padded": lambda x: x.to_padded_tensor(0.0),
    "attention": attention,
    "is_nested": lambda x: x + 2 if x.is_nested else x + 1,
    "same_shape": lambda x: x + x.sin() if x.shape == x.sin().shape else x * 100,
    "made": lambda x: torch.nested.nested_tensor_from_jagged(x.values() * 2, x.offsets()),
}


def values_of(x: Any) -> Tensor:
    found: Tensor = x.values() if is_nested(x) else x
    return found


def is_nested(x: Any) -> bool:
    return isinstance(x, NestedTensor)


def assert_alike(result: Any, wanted: Any, x: Any) -> None:
    assert type(result) is type(wanted)
    assert torch.equal(values_of(result), values_of(wanted))
    assert result.requires_grad == wanted.requires_grad
    if is_nested(wanted):
        assert torch.equal(result.offsets(), wanted.offsets())
        assert (result.size(1) == x.size(1)) == (wanted.size(1) == x.size(1))
    gradients = [torch.autograd.grad(values_of(each).sum(), x)[0] for each in (result, wanted)]
    assert torch.equal(values_of(gradients[0]), values_of(gradients[1]))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, backend: str) -> None:
    program = PROGRAMS[name]
    compiled = stator.compile(program, backend=backend, fullgraph=True)
    for _ in range(3):
        x = nested()
        assert_alike(compiled(x), program(x), x)
    assert [entry.hits for entry in stator.cache_entries(compiled)] == [2]
    x = nested((1, 5, 2, 3))
    assert_alike(compiled(x), program(x), x)


def both(x: Any, y: Any) -> Any:
    return x + y if x.shape == y.shape else x.sin()


@pytest.mark.parametrize("backend", BACKENDS)
def test_which_arguments_have_one_ragged_size(backend: str) -> None:
    compiled = stator.compile(both, backend=backend, fullgraph=True)
    for share in (True, False, True, False):
        x = nested()
        y = nested(offsets=x.offsets() if share else None)
        assert (x.shape == y.shape) is share
        assert_alike(compiled(x, y), both(x, y), x)
    assert [entry.hits for entry in stator.cache_entries(compiled)] == [1, 1]


def made_of(values: Tensor, first: Tensor, second: Tensor) -> Any:
    x = torch.nested.nested_tensor_from_jagged(values, first)
    y = torch.nested.nested_tensor_from_jagged(values * 2, second)
    return x + y if x.shape == y.shape else x * 3


@pytest.mark.parametrize("backend", BACKENDS)
def test_offsets_among_the_arguments(backend: str) -> None:
    """Which offsets are the same ones is part of what was captured; so is a size that they already have."""
    compiled = stator.compile(made_of, backend=backend)
    for share in (True, False, False, True):
        for used in (False, True):
            values = torch.randn(9, 5, dtype=torch.float64, requires_grad=True)
            first = torch.tensor([0, 2, 5, 9])
            second = first if share else first.clone()
            if used:
                torch.nested.nested_tensor_from_jagged(values, first)
            result, wanted = compiled(values, first, second), made_of(values, first, second)
            assert torch.equal(values_of(result), values_of(wanted))


SAME_OFFSETS: dict[str, Callable[[Tensor], Tensor]] = {
    "itself": lambda offsets: offsets,
    "contiguous": lambda offsets: offsets.contiguous(),
    "to": lambda offsets: offsets.to(torch.int64),
    "written": lambda offsets: offsets.add_(0),
    "detach": lambda offsets: offsets.detach(),
    "clone": lambda offsets: offsets.clone(),
    "view": lambda offsets: offsets.view(-1),
    "slice": lambda offsets: offsets[:],
}
"""Some of these give the same tensor, some another one."""


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("made", [False, True])
@pytest.mark.parametrize("name", SAME_OFFSETS)
def test_which_offsets_are_the_same_tensor(name: str, made: bool, backend: str) -> None:
    def program(values: Tensor, offsets: Tensor) -> Any:
        if made:
            offsets = offsets * 1
        x = torch.nested.nested_tensor_from_jagged(values, offsets)
        y = torch.nested.nested_tensor_from_jagged(values * 2, SAME_OFFSETS[name](offsets))
        return (x + y, 1) if x.shape == y.shape else (x, 2)

    compiled = stator.compile(program, backend=backend)
    for _ in range(3):
        values, offsets = torch.randn(9, 5), torch.tensor([0, 2, 5, 9])
        result, wanted = compiled(values, offsets.clone()), program(values, offsets.clone())
        assert result[1] == wanted[1]
        assert torch.equal(values_of(result[0]), values_of(wanted[0]))


def with_offsets(x: Any, values: Tensor, offsets: Tensor) -> Any:
    y = torch.nested.nested_tensor_from_jagged(values, offsets)
    return x * y if x.shape == y.shape else x.cos()


@pytest.mark.parametrize("backend", BACKENDS)
def test_offsets_of_another_argument(backend: str) -> None:
    compiled = stator.compile(with_offsets, backend=backend)
    for share in (True, False, True, False):
        x, values = nested(), torch.randn(9, 5, dtype=torch.float64)
        offsets = x.offsets() if share else x.offsets().clone()
        result, wanted = compiled(x, values, offsets), with_offsets(x, values, offsets)
        assert torch.equal(values_of(result), values_of(wanted))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_ragged_size_that_existed_before_is_not_baked_in(backend: str) -> None:
    """Whether a later argument has the same one is not guarded."""
    known = nested()
    size = known.shape[1]

    def program(x: Any) -> Any:
        return x * 2 if x.shape[1] == size else x * 3

    compiled = stator.compile(program, backend=backend)
    for x in (nested(), known, nested(offsets=known.offsets()), nested()):
        assert_alike(compiled(x), program(x), x)


@pytest.mark.parametrize("backend", BACKENDS)
def test_sizes_as_results(backend: str) -> None:
    """Every call gives those of its own tensors."""

    def program(x: Any) -> Any:
        return x.sin(), x.shape

    compiled = stator.compile(program, backend=backend)
    for _ in range(3):
        x = nested()
        result, shape = compiled(x)
        assert shape == x.shape == result.shape


@pytest.mark.parametrize("backend", BACKENDS)
def test_writes_to_values(backend: str) -> None:
    def program(x: Any, weight: Tensor) -> Any:
        values = x.values()
        values.mul_(weight)
        return x.sin(), values.requires_grad, x.requires_grad

    weight = torch.randn(5, dtype=torch.float64, requires_grad=True)
    compiled = stator.compile(program, backend=backend)
    for _ in range(3):
        leaves = nested().detach()
        x, y = leaves.clone(), leaves.clone()
        result, wanted = compiled(x, weight), program(y, weight)
        assert torch.equal(values_of(result[0]), values_of(wanted[0]))
        assert result[1:] == wanted[1:]
        assert torch.equal(x.values(), y.values())


def test_what_backends_get() -> None:
    """Fake tensors with ragged sizes as symbols; the others are numbers, also of what the graph views."""
    found: list[Any] = []

    def backend(module: Any, examples: list[Any]) -> Any:
        mode: Any = torch._guards.TracingContext.get().fake_mode
        for node, example in zip(module.graph.find_nodes(op="placeholder"), examples, strict=True):
            fake = mode.from_tensor(example)
            assert fake is node.meta["val"]
            found.append([type(size) for part in (fake, fake._values, fake._offsets) for size in part.size()])
        return module.forward

    compiled = stator.compile(PROGRAMS["made"], backend=backend, fullgraph=True)
    x = nested()
    assert_alike(compiled(x), PROGRAMS["made"](x), x)
    assert len(found) == 2
    for kinds in found:
        assert kinds == [int, torch.SymInt, int, int, int, int]
