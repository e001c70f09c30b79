"""Transforms of torch.func in captured code; see src/torch/replacements/transforms.h."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from torch._functorch.autograd_function import custom_function_call as _of_torch

import torch


def _outside(*_: torch.Tensor) -> bool:
    raise RuntimeError("asked by captures only")


# The extension puts its own in its place: whether no gradient of these can be asked for.
needs_no_gradient: Callable[..., bool] = _outside


def without_compiled_autograd() -> AbstractContextManager[None]:
    """In a capture, instead of the context in which torch asks its engine for the gradients of a transform.

    It switches compiled autograd off, whose settings a run must leave alone. The capture asks the engine only
    where compiled autograd is off, and a run does not ask it.
    """
    return nullcontext()


class _Context:
    """Given to `setup_context` where nothing will be asked of what it keeps."""

    needs_input_grad: tuple[bool, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep nothing."""

    save_for_forward = mark_non_differentiable = set_materialize_grads = save_for_backward


def custom_function_call(function: Any, *args: Any, **kwargs: Any) -> Any:
    """In a capture, instead of torch's operator for a `torch.autograd.Function` inside of a transform.

    A class that leaves its rule for vmap to torch has its forward mapped. Without gradients, that is all.
    """
    tensors = [leaf for leaf in torch.utils._pytree.tree_leaves(args) if isinstance(leaf, torch.Tensor)]
    if function.generate_vmap_rule and not kwargs and needs_no_gradient(*tensors):
        output = function.forward(*args)
        function.setup_context(_Context(), args, output)  # the program's code, whatever else it does
        return output
    return _of_torch.__call__(function, *args, **kwargs)
