"""One comparison for the tests of the OpenXLA backend: what eager code gives, to rounding."""

import copy
from collections.abc import Callable, Iterable
from typing import Any

from comparison import tensors_of

import stator
import torch
from stator.backends.openxla.executables import counts

TOLERANCE = {torch.float16: 1e-2, torch.bfloat16: 2e-2, torch.float64: 1e-10, torch.complex128: 1e-10}


def memory_of(tensors: Iterable[torch.Tensor]) -> list[int]:
    """Which of them share memory: the same number for the same storage."""
    seen: dict[int, int] = {}
    return [seen.setdefault(t.untyped_storage()._cdata, len(seen)) if t.numel() else -1 for t in tensors]


def assert_agree(got: Any, wanted: Any) -> None:
    """Values to rounding; types, shapes, strides, conjugate bits and aliasing exactly."""
    mine, theirs = list(tensors_of(got)), list(tensors_of(wanted))
    assert len(mine) == len(theirs)
    for a, b in zip(mine, theirs, strict=True):
        tolerance = TOLERANCE.get(a.dtype, 2e-5)
        torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
        assert a.numel() < 2 or a.stride() == b.stride()
        assert (a.is_conj(), a.is_neg()) == (b.is_conj(), b.is_neg())
    assert memory_of(mine) == memory_of(theirs)


def check(function: Callable[..., Any], *inputs: Any, outside: int | None = None, used: bool = True) -> None:
    """Two calls in inference as eager's, arguments included.

    `outside`: so many operators are left to torch. `used`: XLA has a part in it.
    """
    compiled = stator.compile(function, backend="openxla_eval")
    before = dict(counts)
    with torch.no_grad():
        for _ in range(2):
            mine, theirs = copy.deepcopy(inputs), copy.deepcopy(inputs)
            torch.manual_seed(3)
            wanted = function(*theirs)
            torch.manual_seed(3)
            got = compiled(*mine)
            assert_agree((got, mine), (wanted, theirs))
    if used:
        assert counts["uses"] > before["uses"], "nothing was compiled by XLA"
    if outside is not None:
        assert counts["outside"] - before["outside"] == outside
