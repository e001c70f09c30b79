"""Sizes that `mark_dynamic` has marked, and that a captured program fixes: an error, as in torch.compile."""

import math
import re
import sys
from typing import Any

import torch


def check(tensors: list[tuple[str, torch.Tensor]], checks: list[str]) -> None:
    """Raise torch's error unless the guards on sizes leave open what these arguments have marked.

    `tensors`: arguments by their names; `checks`: the guards on sizes, as texts.
    """
    for name, tensor in tensors:
        promised = {each.dim: each for each in getattr(tensor, "_dynamo_dynamic_range", ())}
        for dim in sorted(tensor._dynamo_dynamic_indices):  # type: ignore[attr-defined]
            size, source = tensor.shape[dim], f"{name}.size({dim})"
            if _is_fixed(source, checks):
                _refuse(source, f"the program fixes it to {size}")
            least, most = (getattr(promised.get(dim), bound, None) for bound in ("min", "max"))
            if (least is not None and size < least) or (most is not None and size > most):
                _refuse(source, f"it is {size}, and was promised to be between {least} and {most}")


def _is_fixed(source: str, checks: list[str]) -> bool:
    """Whether the guards on this size alone leave one number: `n <= size`, `size <= n`, `size == n`."""
    pattern = re.compile(rf"(?:(\d+) <= )?{re.escape(source)}(?: (<=|==) (\d+))?")
    low, high = 0.0, math.inf
    for below, relation, above in (match.groups() for match in map(pattern.fullmatch, checks) if match):
        low = max(low, int(above) if relation == "==" else int(below or 0))
        high = min(high, int(above or sys.maxsize))
    return low == high


def _refuse(source: str, why: str) -> Any:
    from torch.fx.experimental.symbolic_shapes import ConstraintViolationError

    raise ConstraintViolationError(
        f"Constraints violated ({source})! The size was marked as dynamic by mark_dynamic, but {why}. "
        "Remove what fixes it, or the mark; maybe_mark_dynamic leaves it open only where that is possible."
    )
