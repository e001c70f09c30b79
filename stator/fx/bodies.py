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

    def module(self, nodes: list[fx.Node], body: Any) -> fx.GraphModule:
        """A module of it that takes these values of the graph around it, in this order."""
        graph = fx.Graph()
        values: dict[fx.Node, fx.Node] = {}
        for node in nodes:
            placeholder = graph.placeholder(node.name)
            placeholder.meta = node.meta
            if node in self.lifted:
                values[self.lifted[node]] = placeholder
        results = graph.graph_copy(self.graph, values)
        if body.is_single:
            assert isinstance(results, tuple)
            results = results[0]
        graph.output(results)
        module = fx.GraphModule(self.root or torch.nn.Module(), graph)
        module.meta.update(body.meta)
        return module

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
    count = len(given) - call.stand_ins
    stand_ins = given[count:]
    reads: list[list[fx.Node]] = []
    for body in bodies:
        reads.append([node for node in body.lifted if node not in stand_ins])
    if call.shares_reads:
        shared = list(dict.fromkeys(node for each in reads for node in each))
        reads = [shared] * len(bodies)
    modules = []
    for body, open_graph, read in zip(call.bodies, bodies, reads, strict=True):
        name = f"{body.name}_{counts[body.name]}"
        counts[body.name] += 1
        taken = [stand_ins[i] for i in body.given]
        modules.append(around.attribute(name, open_graph.module([*taken, *read], body)))
    for node in reversed(stand_ins):
        _drop(around.graph, node)
    arguments: tuple[Any, ...] = call.arrange(given[:count], modules, reads)
    return arguments


def _drop(graph: fx.Graph, node: fx.Node) -> None:
    """Take a stand-in out of the graph, and what only it was made of."""
    if node.users or node.op == "placeholder" or node._erased:
        return
    read = node.all_input_nodes
    graph.erase_node(node)
    for each in read:
        if each.op == "call_function" and each.target is torch.ops.aten.select.int:
            _drop(graph, each)
