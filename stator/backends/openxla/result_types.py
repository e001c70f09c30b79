"""Results in the element types and strides that eager code gives them.

AOT autograd traces decompositions, some of which promote or lay out their results otherwise than torch's
kernels do; the capture knows those.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from torch.fx import GraphModule, Node

import torch
from stator.fx.values import memory_of


class Wanted(NamedTuple):
    dtype: torch.dtype
    strides: tuple[int, ...] | None  # None: they depend on sizes that change

    def fits(self, result: torch.Tensor) -> bool:
        if result.dtype is not self.dtype:
            return False
        if self.strides is None or not result.numel():
            return True
        pairs = zip(result.shape, result.stride(), self.strides, strict=True)
        return all(size == 1 or own == wanted for size, own, wanted in pairs)

    def given_to(self, result: torch.Tensor) -> torch.Tensor:
        if self.strides is None:
            return result.to(self.dtype)
        made = torch.empty_strided(result.shape, self.strides, dtype=self.dtype, device=result.device)
        return made.copy_(result)


class TypedResults:
    """A compiled graph whose results are put right. Which ones is seen at the first call."""

    def __init__(self, gm: GraphModule, compiled: Callable[..., Any]) -> None:
        self.compiled = compiled
        given = {_memory(node) for node in gm.graph.nodes if node.op in ("placeholder", "get_attr")}
        results: Any = gm.graph.output_node().args[0]
        # What shares memory with an argument is a view that AOT autograd makes of it.
        self.wanted = [None if _memory(node) in given else _wanted(node) for node in results]
        self.misfits: list[int] | None = None

    def __call__(self, *inputs: Any) -> Any:
        results = self.compiled(*inputs)
        if self.misfits is None:
            pairs = enumerate(zip(results, self.wanted, strict=True))
            self.misfits = [i for i, (result, wanted) in pairs if wanted and not wanted.fits(result)]
        if not self.misfits:
            return results
        changed = list(results)
        for i in self.misfits:
            wanted = self.wanted[i]
            assert wanted is not None
            changed[i] = wanted.given_to(results[i])
        return tuple(changed)


def _memory(node: Any) -> int | None:
    return memory_of(node.meta.get("val")) if isinstance(node, Node) else None


def _wanted(node: Any) -> Wanted | None:
    value = node.meta.get("val") if isinstance(node, Node) else None
    if (
        not isinstance(value, torch.Tensor)
        or value.layout is not torch.strided
        or value.is_conj()
        or value.is_neg()
    ):
        return None
    strides = value.stride()
    # One that overlaps itself is a view of something smaller.
    overlaps = any(step == 0 and size != 1 for step, size in zip(strides, value.shape, strict=True))
    if overlaps:
        return None
    concrete = all(type(number) is int for number in (*strides, *value.shape))
    return Wanted(value.dtype, strides if concrete else None)
