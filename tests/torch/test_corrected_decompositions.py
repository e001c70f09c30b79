"""Operators that torch decomposes to something else than its kernels compute, for every compiler."""

from __future__ import annotations

import pytest
import torch.nn.functional as F

import stator
import torch
from stator.backends.corrected_decompositions import multilabel_margin_loss_forward
from torch import Tensor


def labels(rows: int, classes: int) -> Tensor:
    """Distinct ones, ended by -1 in places."""
    found = torch.stack([torch.randperm(classes) for _ in range(rows)])
    found[torch.rand(rows, classes) < 0.4] = -1
    return found


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_the_decomposition_is_the_kernel(reduction: int) -> None:
    kernel = torch.ops.aten.multilabel_margin_loss_forward.default
    torch.manual_seed(0)
    for number in range(60):
        x, target = torch.randn(1 + number % 3, 1 + number % 5), labels(1 + number % 3, 1 + number % 5)
        if number % 4 == 0:
            x, target = x[0], target[0]
        expected = kernel(x, target, reduction)
        torch.testing.assert_close(multilabel_margin_loss_forward(x, target, reduction), expected)


@pytest.mark.parametrize("backend", ["aot_eager", "fused", "openxla", "openxla_eval"])
@pytest.mark.parametrize("trains", [False, True])
def test_multilabel_margin_loss(backend: str, trains: bool) -> None:
    if backend.startswith("openxla"):
        pytest.importorskip("jaxlib", reason="the extra openxla is not installed")
    torch.manual_seed(0)
    target = torch.tensor([[1, -1, 3, 0, 2], [0, 2, -1, 1, 4], [3, 1, 0, -1, 2]])
    before = torch.ops.aten.multilabel_margin_loss_forward.default.py_kernels.copy()
    compiled = stator.compile(lambda x: F.multilabel_margin_loss(x * 2, target), backend=backend)
    for _ in range(2):
        x = torch.rand(3, 5)
        found = []
        for function in (lambda x: F.multilabel_margin_loss(x * 2, target), compiled):
            leaf = x.clone().requires_grad_(trains)
            loss = function(leaf)
            if trains:
                loss.backward()
            found.append((loss.detach(), leaf.grad))
        torch.testing.assert_close(found[1], found[0])
    assert torch.ops.aten.multilabel_margin_loss_forward.default.py_kernels == before
