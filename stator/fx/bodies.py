"""Graphs inside of a torch.fx graph: the functions of operators such as torch.cond."""

import contextlib
from collections import Counter
from typing import Any

import torch
from torch import fx


class OpenGraph:
    """A graph that is being made, and the module that will hold it.

    `operators`: those that this graph and the ones around it are functions of, the outermost first.
    """

    def __init__(self, operators: tuple[Any, ...] = ()) -> None:
        self.graph = fx.Graph()
        self.operators = operators
        self.root: dict[str, Any] = {}
        self.lifted: dict[fx.Node, fx.Node] = {}
        """Values of the graph around it that it reads, and the placeholders that stand for them."""

    def lift(self, node: fx.Node) -> fx.Node:
        """The placeholder for a value of the graph around this one."""
        if node not in self.lifted:
            first = next((each for each in self.graph.nodes if each.op != "placeholder"), None)
            with self.graph.inserting_before(first) if first is not None else contextlib.nullcontext():
                placeholder = self.graph.placeholder(node.name)
            placeholder.meta = node.meta
            self.lifted[node] = placeholder
        return self.lifted[node]

    def reads(self, nodes: list[fx.Node]) -> fx.GraphModule:
        """A module of it that takes these values of the graph around it, in this order."""
        graph = fx.Graph()
        values: dict[fx.Node, fx.Node] = {}
        for node in nodes:
            placeholder = graph.placeholder(node.name)
            placeholder.meta = node.meta
            if node in self.lifted:
                values[self.lifted[node]] = placeholder
        graph.output(graph.graph_copy(self.graph, values))
        return fx.GraphModule(self.root or torch.nn.Module(), graph)

    def attribute(self, name: str, value: Any) -> fx.Node:
        """A value that the module holds."""
        self.root[name] = value
        return self.graph.create_node("get_attr", name)


def arguments_of(
    call: Any, given: list[fx.Node], bodies: list[OpenGraph], around: OpenGraph, counts: Counter[str]
) -> tuple[Any, ...]:
    """What the operator is called with in the graph `around`.

    `counts`: how many functions of each name all graphs have so far. Those inside of others count first.
    """
    read: dict[fx.Node, None] = {}
    if call.layout == "map":  # the first item of each stands for all of them
        half = len(given) // 2
        read.update(dict.fromkeys(given[half:]))
    for body in bodies:
        read.update(dict.fromkeys(body.lifted))
    operands = list(read)
    modules = []
    for body, open_graph in zip(call.bodies, bodies, strict=True):
        name = f"{body.name}_{counts[body.name]}"
        counts[body.name] += 1
        modules.append(around.attribute(name, open_graph.reads(operands)))
    if call.layout == "condition":
        return (*given, *modules, tuple(operands))
    if call.layout == "map":
        for node in given[half:]:
            if not node.users:
                around.graph.erase_node(node)
        return (*modules, given[:half], operands[half:])
    return (*modules, *operands)
