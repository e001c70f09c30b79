"""`torch.utils.checkpoint` in captured code and in its runs; see torch/replacements/checkpoint_region.h."""

from collections.abc import Callable, Generator
from typing import Any

from torch.utils.checkpoint import _checkpoint_without_reentrant_generator, noop_context_fn

import torch


def _outside(*_: object) -> None:
    raise RuntimeError("a region is recorded by captures only")


# The extension puts its own in their place: they record where a region begins and ends.
begin: Callable[[bool, bool, tuple[Any, ...]], None] = _outside
end: Callable[[], None] = _outside

_USUAL_CHECK = "default"


def region(
    fn: Callable[..., Any],
    preserve_rng_state: bool = True,
    context_fn: Callable[..., Any] = noop_context_fn,
    determinism_check: str = _USUAL_CHECK,
    debug: bool = False,
    early_stop: bool = True,
    *args: Any,
    **kwargs: Any,
) -> Generator[None, None, None]:
    """In a capture, instead of torch's generator of the same arguments: the region runs while it waits."""
    if not torch.is_grad_enabled():
        yield
    elif context_fn is noop_context_fn and determinism_check == _USUAL_CHECK and not debug:
        begin(preserve_rng_state, early_stop, args)
        yield
        end()
    else:
        yield from _checkpoint_without_reentrant_generator(
            fn, preserve_rng_state, context_fn, determinism_check, debug, early_stop, *args, **kwargs
        )


def enter(
    again: Callable[..., None], preserve_rng_state: bool, early_stop: bool, given: list[torch.Tensor]
) -> Generator[None, None, None]:
    """In a run: the region begins. `again` computes it once more, from the tensors that were given."""
    state: Generator[None, None, None] = _checkpoint_without_reentrant_generator(
        again, preserve_rng_state, noop_context_fn, _USUAL_CHECK, False, early_stop, *given
    )
    next(state)
    return state


def leave(state: Generator[None, None, None]) -> None:
    """In a run: the region has ended."""
    for _ in state:
        raise AssertionError("a checkpointed region ended twice")
