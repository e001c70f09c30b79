"""Operators that take functions, in captured code: torch.cond, wrap, map, checkpoint.

Captures call these functions in place of torch's. Each function that the operator takes is run once, and what
it does is recorded between two marks; torch.fx gets it as a graph of its own (stator/fx/bodies.py).
"""

from collections.abc import Callable, Iterator
from typing import Any

from torch.utils import _pytree as pytree

import torch
from stator import _capture
from stator.dropin.after_import import after_import


def _outside(*_: object) -> Any:
    raise RuntimeError("bodies are recorded by captures only")


# The extension puts its own in their place (src/torch/replacements/bodies.cpp).
begin_body: Callable[["Body"], None] = _outside
end_body: Callable[["Body", tuple[torch.Tensor, ...]], None] = _outside
call: Callable[..., tuple[torch.Tensor, ...]] = _outside
refuse: Callable[[str], Any] = _outside
takes_bodies: Callable[[], bool] = _outside


class Body:
    """One function of an operator; its first mark begins it, the second ends it."""

    def __init__(self, name: str, operator: Any) -> None:
        self.name = name
        self.operator = operator


class HigherOrderCall:
    """The operator with its bodies.

    `layout` says how its arguments stand: "spread" (bodies, then what they read), "condition" (a predicate,
    two bodies, a tuple of what they read) or "map" (a body, a list of what is mapped, a list of the rest).
    """

    def __init__(
        self, operator: Any, bodies: tuple[Body, ...], layout: str, keywords: dict[str, Any] | None = None
    ) -> None:
        self.operator = operator
        self.bodies = bodies
        self.layout = layout
        self.keywords = keywords or {}


def _record(
    operator: str, name: str, function: Any, args: Any, kwargs: Any
) -> tuple[Body, list[torch.Tensor], Any]:
    """Run a function as a body: what it gives, as tensors and the structure around them."""
    body = Body(name, _operators[operator])
    begin_body(body)
    try:
        result = function(*args, **kwargs)
    except TypeError as error:  # torch names the operator, and eager code raises this
        refuse(f"torch.{operator}: {name} raises TypeError: {error}")
    tensors: list[torch.Tensor] = []
    structure = _taken_apart(result, tensors)
    end_body(body, tuple(tensors))
    return body, tensors, structure


def _taken_apart(value: Any, tensors: list[torch.Tensor]) -> tuple[Any, Any]:
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return "tensor", None
    if type(value) is tuple or type(value) is list:
        return type(value), [_taken_apart(each, tensors) for each in value]
    if type(value) is dict:
        return dict, {key: _taken_apart(each, tensors) for key, each in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return "constant", value
    refuse(f"a function that an operator is given returns a {type(value).__name__}")
    return "constant", None


def _put_together(structure: tuple[Any, Any], tensors: Iterator[torch.Tensor]) -> Any:
    kind, parts = structure
    if kind == "tensor":
        return next(tensors)
    if kind == "constant":
        return parts
    if kind is dict:
        return {key: _put_together(each, tensors) for key, each in parts.items()}
    return kind([_put_together(each, tensors) for each in parts])


def wrap(function: Any, *args: Any, **kwargs: Any) -> Any:
    """`torch.ops.higher_order.wrap`."""
    if not takes_bodies():
        refuse("wrap")
    body, tensors, structure = _record("wrap", "wrap_body", function, args, kwargs)
    results = call(HigherOrderCall(_operators["wrap"], (body,), "spread"), (), tuple(tensors), False)
    return _put_together(structure, iter(results))


def cond(pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
    """`torch.cond`."""
    if isinstance(pred, bool | int | float):
        return true_fn(*operands) if pred else false_fn(*operands)
    if not isinstance(pred, torch.Tensor):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if pred.numel() != 1:
        raise RuntimeError("Expected pred to be bool or single-element tensor.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    leaves, _ = pytree.tree_flatten(operands)
    if not isinstance(operands, tuple | list) or not all(isinstance(leaf, torch.Tensor) for leaf in leaves):
        raise RuntimeError(
            "Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor "
            "leaves."
        )
    if not takes_bodies():
        refuse("torch.cond")
    if_true, tensors, structure = _record("cond", "cond_true", true_fn, operands, {})
    if_false, others, other_structure = _record("cond", "cond_false", false_fn, operands, {})
    if structure != other_structure:
        refuse("torch.cond: Unmatched output spec from torch.cond branches")
    for one, other in zip(tensors, others, strict=True):
        if one.shape != other.shape or one.dtype != other.dtype or one.device != other.device:
            refuse("torch.cond: its branches give tensors of different shapes, types or devices")
    likes = [one if one.requires_grad else other for one, other in zip(tensors, others, strict=True)]
    made = HigherOrderCall(_operators["cond"], (if_true, if_false), "condition")
    return _put_together(structure, iter(call(made, (pred,), tuple(likes), False)))


def map(f: Any, xs: Any, *args: Any) -> Any:
    """`torch._higher_order_ops.map.map`."""
    if not takes_bodies():
        refuse("map")
    mapped, structure_of_mapped = pytree.tree_flatten(xs)
    if not mapped or not all(isinstance(each, torch.Tensor) for each in mapped):
        raise RuntimeError(f"Mapped xs can only consist of tensors. Got xs {mapped}.")
    length = mapped[0].shape[0]
    if length == 0:
        raise RuntimeError("Leading dimensions of mapped xs cannot be 0.")
    if any(each.shape[0] != length for each in mapped):
        raise RuntimeError("Leading dimensions of mapped xs must be consistent.")
    slices = [each[0] for each in mapped]
    body, tensors, structure = _record(
        "map", "map_body", f, (pytree.tree_unflatten(slices, structure_of_mapped), *args), {}
    )
    made = HigherOrderCall(_operators["map"], (body,), "map")
    return _put_together(structure, iter(call(made, (*mapped, *slices), tuple(tensors), True)))


_operators: dict[str, Any] = {}


def _know_wrap(module: Any) -> None:
    _operators["wrap"] = module.wrap
    _capture.substitute(module.wrap, wrap)


def _know_cond(module: Any) -> None:
    _operators["cond"] = module.cond_op
    _capture.substitute(module.cond_op, cond)
    _capture.substitute(module.cond, cond)


def _know_map(module: Any) -> None:
    _operators["map"] = module.map_impl
    _capture.substitute(module.map, map)


after_import("torch._higher_order_ops.wrap", _know_wrap)
after_import("torch._higher_order_ops.cond", _know_cond)
after_import("torch._higher_order_ops.map", _know_map)
