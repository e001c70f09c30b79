"""Sizes that the caller of `export` wants to stay open, and whether the program keeps them so."""

import ast
import inspect
from typing import Any

from torch.utils import _pytree as pytree

import torch
from stator.export.capture import Captured
from torch import fx


def check(graph: fx.GraphModule, captured: Captured, f: Any, arguments: Any, dynamic_shapes: Any) -> None:
    """ConstraintViolationError where the program fixes a size that is to stay open; it suggests the fix.

    torch.export's own solver judges: it is told what the operators of the graph rely on, by a run on fake
    tensors whose sizes have these constraints, and what the program has asked of sizes itself.
    """
    from torch._dispatch.python import enable_python_dispatcher
    from torch._export.non_strict_utils import make_fake_inputs, produce_guards_and_solve_constraints

    module = f if isinstance(f, torch.nn.Module) else _as_module(f)
    make: Any = make_fake_inputs
    mode, args, kwargs, equalities, signature, shapes = make(
        module, arguments.args, arguments.kwargs, dynamic_shapes
    )
    fakes, _ = pytree.tree_flatten((args, kwargs))
    by_tensor = {id(real): fake for real, fake in zip(arguments.flat, fakes, strict=True)}
    inputs = [by_tensor[id(node.meta["real"])] for node in graph.graph.nodes if node.op == "placeholder"]
    with mode, enable_python_dispatcher():
        fx.Interpreter(graph).run(*inputs)
        names = {"L": dict(_bound(signature, args, kwargs))}
        for text in captured.guards:
            if is_about_sizes(text):
                bool(eval(text, names))
    produce_guards_and_solve_constraints(mode, graph, shapes, equalities, signature)


def _as_module(f: Any) -> torch.nn.Module:
    module = torch.nn.Module()
    module.forward = f
    return module


def _bound(signature: inspect.Signature, args: Any, kwargs: Any) -> dict[str, Any]:
    found = signature.bind(*args, **kwargs)
    found.apply_defaults()
    return found.arguments


def is_about_sizes(text: str) -> bool:
    """Whether a guard is a comparison of sizes; the range that every size has is none."""
    if ".size(" not in text:
        return False
    try:
        expression = ast.parse(text, mode="eval").body
    except SyntaxError:
        return False
    return isinstance(expression, ast.Compare) and len(expression.ops) == 1
