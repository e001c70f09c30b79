"""Asserts at the head of an exported graph: sizes that the program compared lie as they did at export.

A program that asks `x.shape[0] > 4` takes one of two ways, and the graph holds that one alone. For sizes that
lead the other way a call is an error that says so, as with torch.export.
"""

import ast
import inspect
import operator
from collections.abc import Callable
from typing import Any

import torch
from stator.export.constraint import is_about_sizes
from torch import fx

COMPARISONS: dict[type[ast.cmpop], Callable[..., Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
ARITHMETIC: dict[type[ast.operator], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def add(module: fx.GraphModule, guards: list[str], parameters: inspect.Signature, arguments: Any) -> None:
    """One assert for each guard on sizes of the arguments."""
    bound = parameters.bind(*arguments.args, **arguments.kwargs)
    bound.apply_defaults()
    inputs = {id(node.meta["real"]): node for node in module.graph.find_nodes(op="placeholder")}
    first = next((node for node in module.graph.nodes if node.op != "placeholder"), None)
    if first is None:
        return
    with module.graph.inserting_before(first):
        for text in guards:
            if not is_about_sizes(text):
                continue
            holds = _Writer(module.graph, inputs, bound.arguments).written(ast.parse(text, mode="eval").body)
            if isinstance(holds, fx.Node):
                message = f"stator.export: the graph was captured for {text}"
                module.graph.call_function(torch.ops.aten._assert_scalar.default, (holds, message))
    module.recompile()


def add_fixed(module: fx.GraphModule) -> None:
    """Asserts that the tensors of a call are of the sizes that all were captured for."""
    graph = module.graph
    first = next((node for node in graph.nodes if node.op != "placeholder"), None)
    if first is None:
        return
    with graph.inserting_before(first):
        for node in graph.find_nodes(op="placeholder"):
            shape = node.meta["real"].shape
            _assert_equal(graph, torch.ops.aten.dim.default, (node,), len(shape), f"{node.name}.dim()")
            for dim, size in enumerate(shape):
                _assert_equal(
                    graph, torch.ops.aten.sym_size.int, (node, dim), size, f"{node.name}.size({dim})"
                )
    module.recompile()


def _assert_equal(graph: fx.Graph, asked: Any, of: tuple[Any, ...], number: int, name: str) -> None:
    holds = graph.call_function(operator.eq, (graph.call_function(asked, of), number))
    message = f"stator.export: the graph was captured for {name} == {number}"
    graph.call_function(torch.ops.aten._assert_scalar.default, (holds, message))


class _Writer:
    """Writes an expression over sizes as nodes; None where it is about something else."""

    def __init__(self, graph: fx.Graph, inputs: dict[int, fx.Node], arguments: dict[str, Any]) -> None:
        self.graph = graph
        self.inputs = inputs
        self.arguments = arguments

    def written(self, expression: ast.expr) -> fx.Node | int | None:
        match expression:
            case ast.Constant(value=int() as number):
                return number
            case ast.Compare(left=left, ops=[sign], comparators=[right]):
                return self.call(COMPARISONS.get(type(sign)), left, right)
            case ast.BinOp(left=left, op=sign, right=right):
                return self.call(ARITHMETIC.get(type(sign)), left, right)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.call(operator.neg, operand)
            case ast.Call(
                func=ast.Attribute(value=tensor, attr="size"), args=[ast.Constant(value=int() as dim)]
            ):
                return self.size(tensor, dim)
            case _:
                return None

    def call(self, function: Callable[..., Any] | None, *operands: ast.expr) -> fx.Node | None:
        values = [self.written(operand) for operand in operands]
        if function is None or any(value is None for value in values):
            return None
        return self.graph.call_function(function, tuple(values))

    def size(self, tensor: ast.expr, dim: int) -> fx.Node | None:
        try:
            real = eval(compile(ast.Expression(tensor), "<guard>", "eval"), {"L": self.arguments})
        except Exception:  # of a tensor that is no argument
            return None
        node = self.inputs.get(id(real))
        return None if node is None else self.graph.call_function(torch.ops.aten.sym_size.int, (node, dim))
