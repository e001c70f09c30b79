"""Results that share memory: the program computes what they are views of, and the views are made of that.

AOT autograd gives each result memory of its own where no gradient flows, and a write to one of them would not
show in the others.
"""

import operator
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from torch.fx import GraphModule, Node

import torch
from stator.fx.values import memory_of


class NotMadeAgain(Exception):
    """What shares memory cannot be made of what a program returns: the message is why."""


def returning_bases(gm: GraphModule) -> "SharedResults | None":
    """Changes the graph so that it returns the bases of results that share memory; None if none do.

    Raises NotMadeAgain.
    """
    results = list(gm.graph.output_node().args[0])  # type: ignore[arg-type]
    given = {_memory(node) for node in gm.graph.nodes if node.op in ("placeholder", "get_attr")}
    changing = {_memory(node) for node in gm.graph.nodes if _changes_shape(node)}
    if (given & changing) - {None}:
        # AOT autograd would give it the strides of the result that holds its new contents.
        raise NotMadeAgain("it changes the shape of an argument")
    sharing: defaultdict[int, set[Node]] = defaultdict(set)
    for result in results:
        memory = _memory(result)
        if memory is not None:
            sharing[memory].add(result)
    shared = {memory for memory, nodes in sharing.items() if len(nodes) > 1}
    if not shared:
        return None
    shared -= given  # AOT autograd knows views of inputs
    owners: dict[int, Node] = {}
    for node in gm.graph.nodes:
        memory = _memory(node)
        if memory is not None:
            owners.setdefault(memory, node)
    made = SharedResults(results, {memory: owners[memory] for memory in shared})
    if shared & changing or not all(map(_can_be_made_again, made.steps)):
        raise NotMadeAgain("it changes the shape of results that share memory")
    if not shared:
        return None
    gm.graph.output_node().args = (tuple(made.computed),)
    gm.recompile()
    return made


def _memory(node: Any) -> int | None:
    return memory_of(node.meta.get("val")) if isinstance(node, Node) else None


def _changes_shape(node: Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and torch.Tag.inplace_view in node.target.tags


def _can_be_made_again(node: Node) -> bool:
    return node.target is operator.getitem or isinstance(node.target, torch._ops.OpOverload)


class SharedResults:
    """`computed`: what the changed graph returns. `steps` make the other results of it after each run."""

    def __init__(self, results: list[Any], bases: dict[int, Node]) -> None:
        self.results, self.bases = results, bases
        given = (result for result in results if isinstance(result, Node) and _memory(result) not in bases)
        self.computed = list(dict.fromkeys((*bases.values(), *given)))
        self.steps: list[Node] = []
        for result in results:
            if _memory(result) in bases:
                self._add(result)

    def _add(self, node: Node) -> None:
        """What makes a view of its base, in order; operands that are no views of it are computed, too."""
        if node in self.computed or node in self.steps:
            return
        for operand in [_written(node)] if _writes(node) else node.all_input_nodes:
            is_list = node.target is operator.getitem
            if is_list or _memory(operand) in self.bases:
                self._add(operand)
            elif operand not in self.computed:
                self.computed.append(operand)
        self.steps.append(node)

    def around(self, compiled: Callable[..., Any]) -> Callable[..., Any]:
        def run(*inputs: Any) -> tuple[Any, ...]:
            values = dict(zip(self.computed, compiled(*inputs), strict=True))
            for node in self.steps:
                values[node] = _made_again(node, values)
            return tuple(values[each] if isinstance(each, Node) else each for each in self.results)

        return run


def _writes(node: Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable


def _written(node: Node) -> Node:
    """The operand that an operator in place, or with `out=`, gives back."""
    return next(operand for operand in node.all_input_nodes if _memory(operand) == _memory(node))


def _made_again(node: Node, values: dict[Node, Any]) -> Any:
    """A view, of the base that the program computed; what was written is in it already."""
    if _writes(node):
        return values[_written(node)]
    args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), values.__getitem__)
    kept = (node, *node.users) if node.meta.get("val") is None else (node,)
    with torch.set_grad_enabled(any(_requires_grad(each) for each in kept)):
        assert callable(node.target)
        return node.target(*args, **kwargs)


def _requires_grad(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.requires_grad
