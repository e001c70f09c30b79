"""Torch-function modes that a captured function enters: their code is captured where operators lead to it."""

import os
from collections.abc import Callable
from typing import Any

import pytest
import torch.nn.functional as F
from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex
from torch.func import grad, vmap
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

import stator
import torch
from torch import Tensor

WEIGHT = torch.randn(3, requires_grad=True)


class Scaled(TorchFunctionMode):
    """Scales what is added, and counts what it sees."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale
        self.seen = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen += 1
        result = func(*args, **(kwargs or {}))
        return result * self.scale if func in (torch.add, Tensor.add) else result


OLDER = Scaled(2)


def everyday(x: Tensor) -> Any:
    mode = Scaled(3)
    with mode:
        y = torch.add(x, WEIGHT).relu() + x.shape[0]
        z = F.layer_norm(F.gelu(y) * torch.ones(3), (3,)).sum() + x.ndim
        y = y.clone()
        y[0] = 2
        if x.requires_grad and y.dtype is torch.float32:
            z = z * 2 - (y == 2).sum()
    return z, y, mode.seen


def older(x: Tensor) -> Tensor:
    with OLDER:
        return x.add(WEIGHT)


def nested(x: Tensor) -> Any:
    with Scaled(2), Scaled(5):
        return x.add(WEIGHT)


def disabled(x: Tensor) -> Any:
    with Scaled(2), torch._C.DisableTorchFunction():
        return x.add(WEIGHT)


def with_device(x: Tensor) -> Any:
    with Scaled(2), torch.device("cpu"):
        return torch.ones(3).add(WEIGHT) + x


def transformed(x: Tensor) -> Any:
    with Scaled(2):
        return vmap(lambda a: a.add(WEIGHT).sum())(x), grad(lambda a: a.add(WEIGHT).pow(2).sum())(x)


def indexed(x: Tensor) -> Any:
    kinds = (x > 0).long()
    with TransformGetItemToIndex():
        pairs = vmap(vmap(lambda i, k: kinds[i] == kinds[k], in_dims=(None, 0)), in_dims=(0, None))
        return pairs(torch.arange(3), torch.arange(3)) | (x > 1)


PROGRAMS: list[Callable[[Tensor], Any]] = [
    everyday,
    older,
    nested,
    disabled,
    with_device,
    transformed,
    indexed,
]


def observed(program: Callable[[Tensor], Any], values: Tensor, needs: bool) -> Any:
    x = values.clone().requires_grad_(needs)
    WEIGHT.grad = None
    OLDER.seen = 0
    leaves = tree_leaves(program(x))
    total = torch.stack([leaf.sum() for leaf in leaves if isinstance(leaf, Tensor)]).sum()
    if total.requires_grad:
        total.backward()
    return [leaf.detach() if isinstance(leaf, Tensor) else leaf for leaf in leaves], x.grad, WEIGHT.grad


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("needs", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_inside(program: Callable[[Tensor], Any], needs: bool, backend: str) -> None:
    compiled = stator.compile(program, backend=backend)
    for _ in range(3):
        values = torch.randn(3)
        wanted, seen = observed(program, values, needs), OLDER.seen
        torch.testing.assert_close(observed(compiled, values, needs), wanted, rtol=0, atol=0)
        assert OLDER.seen == seen
        assert torch.overrides._len_torch_function_stack() == 0
    assert compiled.breaks == []
    assert [entry["hits"] for entry in compiled.entries] == [2]


def test_what_a_mode_reads_is_noticed() -> None:
    compiled = stator.compile(older, backend="native")
    x = torch.randn(3)
    try:
        for scale in (2.0, 3.0, 2.0):
            OLDER.scale = scale
            assert torch.equal(compiled(x), older(x))
    finally:
        OLDER.scale = 2


def test_a_capture_that_is_given_up_leaves_no_mode() -> None:
    def program(x: Tensor) -> Tensor:
        with Scaled(2):
            y = x.add(WEIGHT)
            os.getloadavg()
        return y

    compiled = stator.compile(program, backend="native")
    x = torch.randn(3)
    assert torch.equal(compiled(x), program(x))
    assert torch.overrides._len_torch_function_stack() == 0
    assert len(compiled.breaks) == 1


def test_a_mode_that_is_left_active_is_a_break() -> None:
    def program(x: Tensor) -> Tensor:
        OLDER.__enter__()
        return x * 2

    compiled = stator.compile(program, backend="native")
    for _ in range(2):
        compiled(torch.ones(3))
        assert torch.overrides._len_torch_function_stack() == 1
        OLDER.__exit__(None, None, None)
    assert compiled.breaks[0].startswith("unsupported-mode")
