"""Programs through the backend `fused` against eager code and against float64."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import torch.utils._pytree as pytree

import stator
import torch
from stator.backends.fused.compiler import counts

EPSILON = {torch.float64: 2.3e-16, torch.float32: 1.2e-7, torch.float16: 9.8e-4, torch.bfloat16: 7.9e-3}


def tensors(value: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def doubled(value: Any) -> Any:
    """The same with float64 in the place of every other float."""
    return pytree.tree_map_only(torch.Tensor, lambda t: t.double() if t.is_floating_point() else t, value)


def shared(values: list[torch.Tensor]) -> set[tuple[int, int]]:
    """Which of them lie in one storage."""
    storages = [t.untyped_storage()._cdata for t in values]
    return {(a, b) for a, b in itertools.combinations(range(len(values)), 2) if storages[a] == storages[b]}


def value_difference(
    got: torch.Tensor, wanted: torch.Tensor, exact: torch.Tensor | None, ulps: float, coarsest: torch.dtype
) -> str | None:
    """Floats may differ by rounding: as far from float64 as eager is, and a few units of the type more.

    `coarsest`: of the types that the program computes in, whatever its results are.
    """
    if not wanted.is_floating_point():
        return None if torch.equal(got, wanted) else f"{got} is not {wanted}"
    a, b = got.double(), wanted.double()
    if not torch.equal(a.isnan(), b.isnan()) or not torch.equal(a.isinf(), b.isinf()):
        return f"{got} is not {wanted}"
    finite = b.isfinite()
    if not finite.any():
        return None
    a, b = a[finite], b[finite]
    unit = max(EPSILON[wanted.dtype], EPSILON[coarsest]) * max(1.0, b.abs().max().item())
    allowed = ulps * unit
    reference = b
    if exact is not None and exact.shape == wanted.shape:
        reference = exact.double()[finite]
        reference = torch.where(reference.isfinite(), reference, b)
        allowed += 2 * (b - reference).abs().max().item()
    error = (a - reference).abs().max().item()
    return None if error <= allowed else f"an error of {error}, allowed {allowed}: {got} is not {wanted}"


def difference(
    function: Callable[..., Any],
    inputs: tuple[Any, ...],
    ulps: float = 8,
    coarsest: torch.dtype = torch.float64,
) -> str | None:
    """How two calls of the compiled function differ from eager's, in results and in what they write."""
    compiled = stator.compile(function, backend="fused")
    with torch.no_grad():
        try:
            torch.manual_seed(3)
            exact = tensors(function(*doubled(copy.deepcopy(inputs))))
        except RuntimeError:
            exact = []  # not a program of float64
        for _ in range(2):
            mine, theirs = copy.deepcopy(inputs), copy.deepcopy(inputs)
            torch.manual_seed(3)
            wanted = tensors((function(*theirs), theirs))
            torch.manual_seed(3)
            got = tensors((compiled(*mine), mine))
            if len(got) != len(wanted) or shared(got) != shared(wanted):
                return f"{len(got)} tensors share {shared(got)}, not {len(wanted)} {shared(wanted)}"
            for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
                facts = [(t.dtype, tuple(t.shape), t.stride(), t.requires_grad) for t in (a, b)]
                if facts[0] != facts[1]:
                    return f"result {i}: {facts[0]} is not {facts[1]}"
                reference = exact[i] if i < len(exact) else None
                if text := value_difference(a, b, reference, ulps, coarsest):
                    return f"result {i}: {text}"
    return None


def check(
    function: Callable[..., Any],
    *inputs: Any,
    kernels: int | None = 1,
    ulps: float = 8,
    exactly: bool = False,
) -> None:
    """As eager, `exactly` to the bit; the graph uses `kernels` kernels (None: any number of them)."""
    stator.reset()
    before = counts["uses"]
    text = difference(function, inputs, ulps)
    assert not text, text
    if exactly:
        with torch.no_grad():
            mine = tensors(stator.compile(function, backend="fused")(*copy.deepcopy(inputs)))
        kernels = None if kernels is None else 2 * kernels
        assert all(torch.equal(a, b) for a, b in zip(mine, tensors(function(*inputs)), strict=True))
    if kernels is not None:
        assert counts["uses"] - before == kernels
