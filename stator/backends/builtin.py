"""The backends of Stator's own."""

import logging
from typing import Any

from stator.backends.fused import fused
from stator.backends.registry import register_backend, register_debug_backend


@register_backend
def native(gm: Any, example_inputs: Any) -> Any:
    """Replay from C++. Captures do not come here: they go to src/backends/native without a torch.fx graph."""
    return gm.forward


@register_debug_backend
def empty(gm: Any, example_inputs: Any) -> Any:
    """Answer every call with the outputs of the first. Captures go to src/backends/empty instead."""
    first: list[Any] = []

    def answer(*inputs: Any) -> Any:
        if not first:
            first.append(gm.forward(*inputs))
        return first[0]

    return answer


@register_backend
def eager(gm: Any, example_inputs: Any, **ignored: Any) -> Any:
    """Run the torch.fx graph as it is: shows whether a fault is the graph's or a backend's."""
    if ignored:
        logging.getLogger("stator").warning("the backend 'eager' ignores %s", ignored)
    return gm.forward


# Nodes that change what a tensor is (requires_grad, data) are given to backends that run them in their order.
setattr(eager, "runs_as_is", True)  # noqa: B010


def in_engine(backend: Any) -> Any:
    """What the engine is given: a name for the backends that it has in C++, the backend itself otherwise."""
    names = {native: "native", empty: "empty", fused: "fused"}
    return names.get(backend, backend) if _hashable(backend) else backend


def _hashable(backend: Any) -> bool:
    return type(backend).__hash__ is not None
