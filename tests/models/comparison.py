"""Results of models compared bit by bit."""

from collections.abc import Iterator
from typing import Any

import torch


def tensors_of(value: Any) -> Iterator[Any]:
    """Every tensor in a result, in order: containers, output classes and caches are looked through."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_of(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_of(item)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        yield from tensors_of(vars(value))


def same(a: Any, b: Any) -> bool:
    """Bit for bit: a NaN equals the same NaN."""
    if a is None or b is None:
        return a is b
    if (
        a.shape != b.shape
        or a.dtype != b.dtype
        or a.stride() != b.stride()
        or a.requires_grad != b.requires_grad
    ):
        return False
    if a.is_floating_point():
        return torch.equal(a.detach().nan_to_num(1.25), b.detach().nan_to_num(1.25)) and torch.equal(
            a.isnan(), b.isnan()
        )
    return torch.equal(a, b)


def all_same(first: Any, second: Any) -> bool:
    a, b = list(tensors_of(first)), list(tensors_of(second))
    return type(first) is type(second) and len(a) == len(b) and all(map(same, a, b))
