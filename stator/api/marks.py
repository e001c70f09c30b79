"""Marks on tensors: which sizes are symbols. They have the form of TorchDynamo's, which are honoured too."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Dims = int | Sequence[int]


@dataclass(frozen=True, slots=True)
class DimRange:
    """What a size may be, as torch._dynamo keeps it."""

    dim: int
    min: int | None
    max: int | None


def mark_dynamic(tensor: Any, dim: Dims, *, min: int | None = None, max: int | None = None) -> None:
    """Make this size a symbol from the first capture on; `min` and `max` are what the caller promises.

    >>> import stator, torch
    >>> double = stator.compile(lambda x: x * 2, backend="native")
    >>> for size in (3, 4, 5):
    ...     x = torch.ones(size)
    ...     mark_dynamic(x, 0)
    ...     _ = double(x)
    >>> len(stator.cache_entries(double))
    1
    """
    for each in _dims(tensor, dim):
        if "_dynamo_dynamic_indices" not in vars(tensor):
            tensor._dynamo_dynamic_indices, tensor._dynamo_dynamic_range = set(), set()
            tensor._dynamo_hint_overrides = {}
        tensor._dynamo_dynamic_indices.add(each)
        tensor._dynamo_dynamic_range.add(_range(each, min, max))
        vars(tensor).setdefault("_specialize_on", {})[each] = []
    tensor._has_dynamo_dim_marking = True


def maybe_mark_dynamic(tensor: Any, dim: Dims) -> None:
    """Make this size a symbol where that is possible."""
    _add(tensor, "_dynamo_weak_dynamic_indices", dim)


def mark_static(tensor: Any, dim: Dims | None = None) -> None:
    """Never make this size (None: any size) of the tensor a symbol."""
    _add(tensor, "_dynamo_static_indices", range(tensor.dim()) if dim is None else dim)


def _add(tensor: Any, name: str, dim: Dims) -> None:
    vars(tensor).setdefault(name, set()).update(_dims(tensor, dim))
    tensor._has_dynamo_dim_marking = True


def _range(dim: int, low: int | None, high: int | None) -> Any:
    """torch's own record where that was loaded: it asks for its class."""
    decorators = sys.modules.get("torch._dynamo.decorators")
    return getattr(decorators, "_DimRange", DimRange)(dim, low, high)


def _dims(tensor: Any, dim: Dims) -> list[int]:
    if not hasattr(tensor, "dim"):
        raise TypeError(f"a tensor is marked, not {type(tensor).__name__}")
    found = [dim] if isinstance(dim, int) else list(dim)
    for each in found:
        if not 0 <= each < tensor.dim():
            raise IndexError(f"a tensor of {tensor.dim()} dimensions has no dimension {each}")
    return found
