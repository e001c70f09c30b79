"""benchmarks/model_backends.py: how benchmarks/models.py compiles and compares, by backend.

`native` runs eager's kernels: every bit counts. `fused` computes in another order: looks of tensors count,
integers and NaNs, and floats up to a part of the largest value of their tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from comparison import TENSOR_FACTS, same, tensors_of

import torch

TOLERANCE = 1e-4
"""Of float32 sums in another order through a whole model; rounding of a wrong operator is far above it."""
NEGLIGIBLE = 1e-3
"""A tensor that is smaller than this part of the largest one is rounding of larger numbers."""


def compiled(model: Any, backend: str) -> Any:
    if backend == "native":
        from stator._capture import Compiled

        return Compiled(model)
    import stator

    return stator.compile(lambda **inputs: model(**inputs), backend=backend)


class Comparison:
    """Of results with eager code's; `worst` is the largest difference so far."""

    def __init__(self, backend: str) -> None:
        self.is_exact = backend == "native"
        self.worst = 0.0

    def results(self, wanted: Any, got: Any) -> bool:
        a, b = list(tensors_of(wanted)), list(tensors_of(got))
        return type(wanted) is type(got) and len(a) == len(b) and self.tensors(a, b)

    def tensors(self, wanted: Iterable[Any], got: Iterable[Any]) -> bool:
        pairs = list(zip(wanted, got, strict=True))
        if self.is_exact:
            return all(same(a, b) for a, b in pairs)
        scales = [
            float(values[0].abs().max()) for a, _ in pairs if a is not None and (values := finite(a, a))
        ]
        least = NEGLIGIBLE * max(scales, default=0.0)
        equal = [self.tensor(a, b, least) for a, b in pairs]  # all of them, for the worst
        return all(equal)

    def tensor(self, wanted: Any, got: Any, least: float) -> bool:
        if wanted is None or got is None:
            return wanted is got
        if any(look(wanted) != look(got) for name, look in TENSOR_FACTS.items() if name != "grad_fn"):
            return False
        if not wanted.is_floating_point():
            return same(wanted.detach(), got.detach())
        if not torch.equal(wanted.isfinite(), got.isfinite()) or not torch.equal(wanted.isnan(), got.isnan()):
            return False
        values = finite(wanted, got)
        if not values:
            return True
        scale = max(float(values[0].abs().max()), least, 1e-30)
        difference = float((values[0] - values[1]).abs().max()) / scale
        self.worst = max(self.worst, difference)
        return difference <= TOLERANCE


def finite(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor] | None:
    """The values of both where the first is finite, if there are any."""
    if not a.is_floating_point():
        return None
    where = a.detach().isfinite()
    return (a.detach()[where].double(), b.detach()[where].double()) if bool(where.any()) else None


def is_compiled_for_training(results: Callable[[], Any]) -> bool:
    """Whether one node of the backend's is the history of each result that has one."""
    nodes = [t.grad_fn for t in tensors_of(results()) if t.requires_grad]
    names = {name for node in nodes if node is not None for name in _names(node)}
    return "StatorBackward" in names


def _names(node: Any) -> list[str]:
    """Its own, and of what it is a view of."""
    return [node.name(), *(base.name() for base, _ in node.next_functions if base is not None)]
