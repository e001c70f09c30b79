"""Calls that a program notices without their results: numbers drawn, errors for what tensors hold.

AOT autograd drops calls whose results nobody uses. Eager code draws their random numbers, which moves the
stream of all that follow, and raises for their indices.
"""

import operator
from collections.abc import Callable
from typing import Any

from torch.fx import GraphModule, Node

import torch
from stator import _torch
from stator.backends.openxla.decompositions import is_random, name_of


def is_noticed(node: Node) -> bool:
    target = node.target
    return isinstance(target, torch._ops.OpOverload) and (
        is_random(target) or _torch.may_raise(name_of(target))
    )


def unused(gm: GraphModule) -> list[Node]:
    """Such calls, whose results do not reach the graph's."""
    reached: set[Node] = set()
    waiting = list(gm.graph.output_node().all_input_nodes)
    while waiting:
        node = waiting.pop()
        if node not in reached:
            reached.add(node)
            waiting += node.all_input_nodes
    return [node for node in gm.graph.nodes if node not in reached and is_noticed(node)]


def returning_unused(gm: GraphModule) -> Callable[[Callable[..., Any]], Callable[..., Any]] | None:
    """Changes the graph so that it returns what they give, without gradients; None if there are none.

    The result makes of the compiled graph one that returns what the graph did.
    """
    nodes = unused(gm)
    if not nodes:
        return None
    output = gm.graph.output_node()
    results = list(output.args[0])  # type: ignore[arg-type]
    added = [_detached(gm, node) for node in nodes]
    output.args = ((*results, *added),)
    gm.recompile()
    count = len(results)

    def without_them(compiled: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *inputs: compiled(*inputs)[:count]

    return without_them


def _detached(gm: GraphModule, node: Node) -> Node:
    value = node.meta.get("val")
    last = node
    with gm.graph.inserting_before(gm.graph.output_node()):
        while isinstance(value, (tuple, list)):
            value = value[0]
            last = gm.graph.call_function(operator.getitem, (last, 0))
            last.meta["val"] = value
        made = gm.graph.call_function(torch.ops.aten.detach.default, (last,))
    if isinstance(value, torch.Tensor):
        made.meta["val"] = value.detach()
    return made
