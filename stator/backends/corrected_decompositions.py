"""Decompositions of torch's that give other values than its kernels, written anew.

torch puts some in the place of an operator whenever a graph is traced, so every compiler behind AOT autograd
gets them. They are replaced while Stator has a graph compiled that the operator stands in.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch._C import DispatchKey

import torch
from torch import Tensor, fx


def multilabel_margin_loss_forward(input: Tensor, target: Tensor, reduction: int) -> tuple[Tensor, Tensor]:
    """torch's compares with labels behind the first -1, too, as if they were 0."""
    classes = input.shape[-1]
    rows, labels = input.reshape(-1, classes), target.reshape(-1, classes)
    index = torch.arange(classes, device=target.device)
    end = torch.where(labels == -1, index, classes).amin(dim=-1, keepdim=True)
    counts = index < end
    chosen = rows.gather(-1, torch.where(counts, labels, 0))
    is_target = (index == torch.where(counts, labels, -1).unsqueeze(-1)).any(dim=1)
    margins = (1.0 - chosen.unsqueeze(-1) + rows.unsqueeze(-2)).clamp_min(0) / classes
    margins = torch.where(counts.unsqueeze(-1) & ~is_target.unsqueeze(-2), margins, 0)
    losses = margins.sum(dim=(1, 2)).reshape(input.shape[:-1])
    if reduction == 1:
        losses = losses.mean()
    elif reduction == 2:
        losses = losses.sum()
    return losses, is_target.to(input.dtype).reshape(target.shape)


CORRECTED: dict[Any, Any] = {
    torch.ops.aten.multilabel_margin_loss_forward.default: multilabel_margin_loss_forward,
}
_USED_BY: dict[Any, Any] = {
    torch.ops.aten.multilabel_margin_loss.default: torch.ops.aten.multilabel_margin_loss_forward.default,
}


@contextmanager
def installed_for(module: fx.GraphModule) -> Iterator[None]:
    """While a graph is compiled: what torch calls in the place of the operators in it."""
    wanted = {_USED_BY.get(node.target, node.target) for node in module.graph.nodes}
    replaced = {}
    for op in CORRECTED.keys() & wanted:
        replaced[op] = op.py_kernels.get(DispatchKey.Autograd)
        _put(op, CORRECTED[op])
    try:
        yield
    finally:
        for op, kernel in replaced.items():
            _put(op, kernel)


def _put(op: Any, kernel: Any) -> None:
    if kernel is None:
        op.py_kernels.pop(DispatchKey.Autograd, None)
    else:
        op.py_kernels[DispatchKey.Autograd] = kernel
    op._dispatch_cache.clear()
