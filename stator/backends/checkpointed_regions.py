"""Checkpointed regions of a graph that a backend gives back to be run as it was given.

torch's operator for them leaves it to compilers to draw a region's random numbers once: run by itself, it
draws other ones where the backward computes the region again, and gradients are wrong without an error.
"""

from collections.abc import Callable
from typing import Any

from torch.utils.checkpoint import checkpoint, noop_context_fn

from torch import fx


def drawing_once(module: fx.GraphModule) -> fx.GraphModule:
    """The module, or one that runs its regions as eager code does."""
    bodies = {name: body for name, body in module.named_children() if isinstance(body, fx.GraphModule)}
    others = {name: other for name, body in bodies.items() if (other := drawing_once(body)) is not body}
    if not others and not any(_is_region(node) for node in module.graph.nodes):
        return module
    graph = fx.Graph(tracer_cls=module.graph._tracer_cls)
    graph.output(graph.graph_copy(module.graph, {}))
    for node in graph.nodes:
        if _is_region(node):
            node.target = _run
    made = fx.GraphModule(module, graph)
    made.meta.update(module.meta)
    for name, other in others.items():
        setattr(made, name, other)
    return made


def _is_region(node: fx.Node) -> bool:
    return getattr(node.target, "__name__", None) == "tag_activation_checkpoint"


def _run(body: fx.GraphModule, *arguments: Any, preserve_rng_state: bool = True, **_: Any) -> Any:
    """Not reentrant, whatever the program asked for: the region's parameters are arguments here."""
    contexts: Callable[[], Any] = body.meta.get("_checkpoint_context_fn", noop_context_fn)
    return checkpoint(
        body.forward,
        *arguments,
        use_reentrant=False,
        preserve_rng_state=preserve_rng_state,
        context_fn=contexts,
    )
