"""Arguments that are torch's zero tensors, which have no memory (forward-mode derivatives make them)."""

from __future__ import annotations

import pytest

import stator
import torch
from torch import Tensor


@pytest.mark.parametrize("backend", ["native", "eager", "aot_eager", "fused", "openxla_eval"])
def test_an_argument_without_memory(backend: str) -> None:
    def function(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return torch.sin(x) * 2 + y, torch.exp(y) + x

    if backend == "openxla_eval":
        pytest.importorskip("jaxlib", reason="the extra openxla is not installed")
    if backend == "fused":
        pytest.importorskip("llvmlite", reason="the extra fused is not installed")
    compiled = stator.compile(function, backend=backend)
    zero, x = torch._efficientzerotensor((3, 4)), torch.randn(3, 4)
    with torch.no_grad():
        for arguments in ((x, x), (x, zero), (zero, x), (x, zero), (x, x)):
            torch.testing.assert_close(compiled(*arguments), function(*arguments))
    assert sum(entry.hits for entry in stator.cache_entries(compiled)) > 0
