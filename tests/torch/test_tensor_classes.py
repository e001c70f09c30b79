"""Classes of tensors and of autograd's nodes may be others in the next call."""

from __future__ import annotations

from typing import Any

import pytest

import stator
import torch

READS = [
    "type(t).__name__", "f'{type(t)}'", "t.scale if hasattr(t, 'scale') else 0", "isinstance(t, T)",
    "t.total()", "list(map(type, [t]))[0].__name__", "type(t) is T", "t.__class__.__name__",
]  # fmt: skip
CHANGES = [
    "t.__class__ = torch.Tensor", "t.__class__ = U", "T.scale = 9", "T.total = lambda self: 8",
    "t.__class__ = torch.nn.Parameter",
]  # fmt: skip


def world(read: str) -> dict[str, Any]:
    space: dict[str, Any] = {"torch": torch}
    text = """
class T(torch.Tensor):
    scale = 3
    def total(self): return 5
class U(torch.Tensor):
    scale = 4
    def total(self): return 6
t = torch.arange(3.).as_subclass(T)
"""
    exec(text, space)
    exec(f"def run(x): return {read}, x + 1", space)
    return space


def answer(space: dict[str, Any], function: Any) -> Any:
    try:
        return function(torch.ones(2))[0]
    except AttributeError as error:
        return str(error)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("read", READS)
def test_a_global_tensor_gets_another_class(read: str, change: str) -> None:
    plain, ours = world(read), world(read)
    function = stator.compile(ours["run"])
    for step in range(4):
        if step == 2:
            exec(change, plain)
            exec(change, ours)
        assert answer(ours, function) == answer(plain, plain["run"])
    assert sum(row["hits"] for row in function.entries) > 0


@pytest.mark.parametrize(
    "ask",
    [
        "type(y.grad_fn).__name__",
        "isinstance(y.grad_fn, type(u.grad_fn))",
        "y.grad_fn is None",
        "callable(y.grad_fn)",
        "y.grad_fn.__class__.__name__",
        "y.grad_fn.name()",
        "bool(y.grad_fn)",
    ],
)
@pytest.mark.parametrize("is_leaf", [False, True])
def test_the_node_of_a_result(ask: str, is_leaf: bool) -> None:
    space: dict[str, Any] = {"torch": torch, "w": torch.ones(3, requires_grad=True)}
    exec("u = w if LEAF else w * 2".replace("LEAF", str(is_leaf)), space)
    exec(f"def run(x):\n    y = x * u\n    return {ask}, y", space)
    function = stator.compile(space["run"])
    if is_leaf and "type(u" in ask:
        return
    for _ in range(3):
        assert function(torch.ones(3))[0] == space["run"](torch.ones(3))[0]
