"""Transforms of torch.func in captured code; see src/torch/domain/transforms.h."""

from contextlib import AbstractContextManager, nullcontext


def without_compiled_autograd() -> AbstractContextManager[None]:
    """In a capture, instead of the context in which torch asks its engine for the gradients of a transform.

    It switches compiled autograd off, whose settings a run must leave alone. The capture asks the engine only
    where compiled autograd is off, and a run does not ask it.
    """
    return nullcontext()
