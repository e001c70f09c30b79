"""Operators that take functions, in captured code: torch.cond, while_loop, scan, map, flex_attention, wrap.

Captures call these functions in place of torch's. Each function that the operator takes is run once, and what
it does is recorded between two marks; torch.fx gets it as a graph of its own (stator/fx/bodies.py).
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

import torch
from stator import _capture
from stator.dropin.after_import import after_import


def _outside(*_: object) -> Any:
    raise RuntimeError("bodies are recorded by captures only")


# The extension puts its own in their place (src/torch/replacements/bodies.cpp).
begin_body: Callable[["Body"], None] = _outside
end_body: Callable[["Body", tuple[torch.Tensor, ...], bool], None] = _outside
call: Callable[..., tuple[torch.Tensor, ...]] = _outside
refuse: Callable[[str], Any] = _outside
takes_bodies: Callable[[], bool] = _outside
is_older: Callable[[torch.Tensor], bool] = _outside

WRAPPER_CODES: set[CodeType] = set()
"""Code of torch's functions around the operators, which is captured like the program's."""


class Body:
    """One function of an operator; its first mark begins it, the second ends it.

    `given`: which stand-ins of the operator it takes, by their numbers. `is_single`: it gives one tensor,
    not a tuple. `meta`: what its module says about itself.
    """

    def __init__(
        self,
        name: str,
        operator: Any,
        given: range = range(0),
        is_single: bool = False,
        meta: dict[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.operator = operator
        self.given = given
        self.is_single = is_single
        self.meta = meta or {}


class HigherOrderCall:
    """The operator with its bodies.

    `arrange` makes its arguments of the values that it is given, of the modules of its bodies, and of what
    each of them reads beside its stand-ins. The last `stand_ins` of the values are none: they stood for
    arguments of the bodies while those were recorded. `shares_reads`: all bodies take what any of them reads.
    """

    def __init__(
        self,
        operator: Any,
        bodies: tuple[Body, ...],
        arrange: Callable[[list[Any], list[Any], list[list[Any]]], tuple[Any, ...]],
        results: int,
        stand_ins: int = 0,
        shares_reads: bool = True,
        keywords: dict[str, Any] | None = None,
    ) -> None:
        self.operator = operator
        self.bodies = bodies
        self.arrange = arrange
        self.results = results
        self.stand_ins = stand_ins
        self.shares_reads = shares_reads
        self.keywords = keywords or {}


def _record(
    body: Body,
    function: Any,
    args: Any,
    kwargs: Any,
    *,
    in_place: bool = False,
    may_alias: bool = False,
) -> tuple[list[torch.Tensor], Any]:
    """Run a function as a body: what it gives, as tensors and the structure around them.

    `in_place`: the operator does what calling the function would do, so tensors that the function hands
    through need not come out of the operator. `may_alias`: what the function returns may share memory with
    what it is given, since the operator computes its results of that, or gives it as calling would.
    """
    begin_body(body)
    try:
        result = function(*args, **kwargs)
    except TypeError as error:  # torch names the operator, and eager code raises this
        refuse(f"{body.operator}: {body.name} raises TypeError: {error}")
    tensors: list[torch.Tensor] = []
    structure = _taken_apart(result, tensors, in_place)
    end_body(body, tuple(tensors), may_alias)
    return tensors, structure


def _taken_apart(value: Any, tensors: list[torch.Tensor], in_place: bool = False) -> tuple[Any, Any]:
    if isinstance(value, torch.Tensor):
        if in_place and is_older(value):
            return "constant", value  # what the function was given, or reads: the operator need not return it
        for i, other in enumerate(tensors):
            if in_place and other is value:
                return "again", i
        tensors.append(value)
        return "tensor", len(tensors) - 1
    if type(value) is tuple or type(value) is list:
        return type(value), [_taken_apart(each, tensors, in_place) for each in value]
    if type(value) is dict:
        return dict, {key: _taken_apart(each, tensors, in_place) for key, each in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return "constant", value
    refuse(f"a function that an operator is given returns a {type(value).__name__}")
    return "constant", None


def _put_together(structure: tuple[Any, Any], tensors: Sequence[torch.Tensor]) -> Any:
    kind, parts = structure
    if kind == "tensor" or kind == "again":
        return tensors[parts]
    if kind == "constant":
        return parts
    if kind is dict:
        return {key: _put_together(each, tensors) for key, each in parts.items()}
    return kind([_put_together(each, tensors) for each in parts])


def _leaves(values: Any, name: str) -> list[torch.Tensor]:
    leaves = pytree.tree_leaves(values)
    for leaf in leaves:
        if not isinstance(leaf, torch.Tensor):
            refuse(f"{name} is given a {type(leaf).__name__}")
    return leaves


def _refuse_others(name: str, given: Sequence[torch.Tensor], results: Sequence[torch.Tensor]) -> None:
    """What a loop carries from one round to the next must look the same in each."""
    if len(given) != len(results):
        refuse(f"{name}: the function gives {len(results)} tensors for the {len(given)} that are carried")
    for one, other in zip(given, results, strict=True):
        if one.shape != other.shape or one.dtype != other.dtype or one.device != other.device:
            refuse(
                f"{name}: what is carried has other metadata after a round: {one.dtype} {tuple(one.shape)}, "
                f"then {other.dtype} {tuple(other.shape)}"
            )


def _spread(given: list[Any], modules: list[Any], reads: list[list[Any]]) -> tuple[Any, ...]:
    return (*modules, *reads[0])


def wrap(function: Any, *args: Any, **kwargs: Any) -> Any:
    """`torch.ops.higher_order.wrap`."""
    if not takes_bodies():
        refuse("wrap")
    body = Body("wrap_body", _operators["wrap"])
    tensors, structure = _record(body, function, args, kwargs, may_alias=True)
    made = HigherOrderCall(body.operator, (body,), _spread, len(tensors))
    return _put_together(structure, call(made, (), tuple(tensors), len(tensors), 0))


def checkpoint(function: Any, *args: Any, use_reentrant: bool | None = None, **kwargs: Any) -> Any:
    """`torch.utils.checkpoint.checkpoint`."""
    if not takes_bodies() or use_reentrant is None or not torch.is_grad_enabled():
        return _checkpoint(function, *args, use_reentrant=use_reentrant, **kwargs)
    meta: dict[str, Any] = {}
    for name in ("context_fn", "determinism_check", "debug", "early_stop"):
        value = kwargs.pop(name, None)
        if name == "context_fn" and value is not None and value is not _no_context:
            meta["_checkpoint_context_fn"] = value
    keywords = {"use_reentrant": use_reentrant, "preserve_rng_state": kwargs.pop("preserve_rng_state", True)}
    if kwargs and use_reentrant:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    body = Body("wrap_body", _operators["checkpoint"], meta=meta)
    tensors, structure = _record(body, function, args, kwargs, in_place=True, may_alias=True)
    made = HigherOrderCall(body.operator, (body,), _spread, len(tensors), keywords=keywords)
    return _put_together(structure, call(made, (), tuple(tensors), len(tensors), 0))


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
    if_true, if_false = Body("cond_true", _operators["cond"]), Body("cond_false", _operators["cond"])
    tensors, structure = _record(if_true, true_fn, operands, {})
    others, other_structure = _record(if_false, false_fn, operands, {})
    if structure != other_structure:
        refuse("torch.cond: Unmatched output spec from torch.cond branches")
    for one, other in zip(tensors, others, strict=True):
        if one.shape != other.shape or one.dtype != other.dtype or one.device != other.device:
            refuse("torch.cond: its branches give tensors of different shapes, types or devices")
    likes = [one if one.requires_grad else other for one, other in zip(tensors, others, strict=True)]

    def arrange(given: list[Any], modules: list[Any], reads: list[list[Any]]) -> tuple[Any, ...]:
        return (*given, *modules, tuple(reads[0]))

    made = HigherOrderCall(if_true.operator, (if_true, if_false), arrange, len(likes))
    return _put_together(structure, call(made, (pred,), tuple(likes), len(likes), 0))


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
    body = Body("map_body", _operators["map"], range(len(slices)))
    tensors, structure = _record(body, f, (pytree.tree_unflatten(slices, structure_of_mapped), *args), {})

    def arrange(given: list[Any], modules: list[Any], reads: list[list[Any]]) -> tuple[Any, ...]:
        return (*modules, given, reads[0])

    made = HigherOrderCall(body.operator, (body,), arrange, len(tensors), len(slices))
    return _put_together(structure, call(made, (*mapped, *slices), tuple(tensors), 0, 0))


def while_loop(cond_fn: Any, body_fn: Any, carried_inputs: Any, additional_inputs: Any) -> Any:
    """The operator behind `torch.while_loop`."""
    if not takes_bodies():
        refuse("while_loop")
    carried = _leaves((carried_inputs, additional_inputs), "while_loop")
    stand_ins = tuple(each.clone() for each in carried)
    places = range(len(carried))
    condition = Body("cond_fn", _operators["while_loop"], places, True)
    predicate, structure = _record(condition, cond_fn, stand_ins, {})
    if structure[0] != "tensor" or predicate[0].dim() != 0 or predicate[0].dtype != torch.bool:
        refuse("while_loop: cond_fn returns something else than a boolean scalar tensor")
    body = Body("body_fn", _operators["while_loop"], places)
    tensors, structure = _record(body, body_fn, stand_ins, {})
    _refuse_others("while_loop", carried, tensors)

    def arrange(given: list[Any], modules: list[Any], reads: list[list[Any]]) -> tuple[Any, ...]:
        return (*modules, tuple(given), tuple(reads[0]))

    made = HigherOrderCall(body.operator, (condition, body), arrange, len(tensors), len(carried))
    return _put_together(structure, call(made, (*carried, *stand_ins), tuple(tensors), len(tensors), 0))


def scan(combine_fn: Any, init: Any, xs: Any, additional_inputs: Any) -> Any:
    """The operator behind `torch._higher_order_ops.scan`."""
    if not takes_bodies():
        refuse("scan")
    carried, rows = _leaves(init, "scan"), _leaves(xs, "scan")
    stand_ins = (*(each.clone() for each in carried), *(each[0].clone() for each in rows))
    body = Body("scan_combine_fn", _operators["scan"], range(len(stand_ins)))
    tensors, structure = _record(body, combine_fn, stand_ins, {})
    if structure[0] is not tuple or len(structure[1]) != 2:
        refuse("scan: combine_fn returns something else than a pair of what is carried and what is put out")
    carries = pytree.tree_leaves(_put_together(structure, tensors)[0])
    _refuse_others("scan", carried, carries)
    count = len(carries)

    def arrange(given: list[Any], modules: list[Any], reads: list[list[Any]]) -> tuple[Any, ...]:
        return (*modules, given[:count], given[count:], tuple(reads[0]))

    made = HigherOrderCall(body.operator, (body,), arrange, len(tensors), len(stand_ins))
    return _put_together(structure, call(made, (*carried, *rows, *stand_ins), tuple(tensors), count, count))


def associative_scan(combine_fn: Any, xs: Any, additional_inputs: Any) -> Any:
    """The operator behind `torch._higher_order_ops.associative_scan`."""
    if not takes_bodies():
        refuse("associative_scan")
    rows = _leaves(xs, "associative_scan")
    stand_ins = tuple(each[0].clone() for each in (*rows, *rows))
    body = Body("associative_scan_combine_fn", _operators["associative_scan"], range(len(stand_ins)))
    tensors, structure = _record(body, combine_fn, stand_ins, {}, may_alias=True)
    _refuse_others("associative_scan", stand_ins[: len(rows)], tensors)

    def arrange(given: list[Any], modules: list[Any], reads: list[list[Any]]) -> tuple[Any, ...]:
        return (*modules, given, tuple(reads[0]))

    made = HigherOrderCall(body.operator, (body,), arrange, len(tensors), len(stand_ins))
    return _put_together(structure, call(made, (*rows, *stand_ins), tuple(tensors), 0, 0))


def flex_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    score_mod: Any,
    block_mask: tuple[Any, ...],
    scale: float,
    kernel_options: dict[str, Any],
    score_mod_other_buffers: tuple[Any, ...] = (),
    mask_mod_other_buffers: tuple[Any, ...] = (),
) -> Any:
    """The operator behind `torch.nn.attention.flex_attention`."""
    if not takes_bodies():
        refuse("flex_attention")
    score = query.new_empty((), requires_grad=query.requires_grad)
    places = tuple(query.new_empty((), dtype=torch.int) for _ in range(4))
    scores = Body("score_mod", _operators["flex_attention"], range(5), True)
    given = (score, *places, *score_mod_other_buffers)
    with _TensorsIndex():
        _, structure = _record(scores, score_mod, given, {}, may_alias=True)
    masks = Body("mask_fn", _operators["flex_attention"], range(1, 5), True)
    with _TensorsIndex():
        given = (*places, *mask_mod_other_buffers)
        _, mask_structure = _record(masks, block_mask[-1], given, {}, may_alias=True)
    if structure[0] != "tensor" or mask_structure[0] != "tensor":
        refuse("flex_attention: score_mod or mask_mod returns no tensor")
    mask = [each if each is None or isinstance(each, torch.Tensor) else int(each) for each in block_mask[:-1]]
    blocks = tuple(each for each in mask if isinstance(each, torch.Tensor))
    shape = [None if isinstance(each, torch.Tensor) else each for each in mask]
    is_tensor = [isinstance(each, torch.Tensor) for each in mask]
    factor, options = float(scale), dict(kernel_options)

    def arrange(given: list[Any], modules: list[Any], reads: list[list[Any]]) -> tuple[Any, ...]:
        tensors = iter(given[3:])
        described = [next(tensors) if one else other for one, other in zip(is_tensor, shape, strict=True)]
        buffers = (tuple(reads[0]), tuple(reads[1]))
        return (*given[:3], modules[0], (*described, modules[1]), factor, options, *buffers)

    made = HigherOrderCall(scores.operator, (scores, masks), arrange, 3, 5, False)
    # Results lie in memory as the query does.
    out = torch.empty_like(query[..., :1].expand(*query.shape[:-1], value.shape[-1]))
    sums = query.new_empty(query.shape[:-1], dtype=torch.float32)
    if any(each.requires_grad for each in (query, key, value)):
        out, sums = out.requires_grad_(), sums.requires_grad_()
    return call(made, (query, key, value, *blocks, score, *places), (out, sums, sums), 3, 0)


def hints_wrapper(
    body_fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], hints: dict[str, Any] | None = None
) -> Any:
    """`torch.ops.higher_order.hints_wrapper`."""
    if hints is None:
        raise TypeError("hints_wrapper() missing 1 required positional argument: 'hints'")
    if not takes_bodies():
        refuse("hints_wrapper")
    body = Body("hints_wrapper_body", _operators["hints_wrapper"])
    tensors, structure = _record(body, body_fn, args, kwargs, in_place=True, may_alias=True)

    def arrange(given: list[Any], modules: list[Any], reads: list[list[Any]]) -> tuple[Any, ...]:
        return (*modules, tuple(reads[0]), {})

    made = HigherOrderCall(body.operator, (body,), arrange, len(tensors), keywords={"hints": hints})
    return _put_together(structure, call(made, (), tuple(tensors), len(tensors), 0))


_operators: dict[str, Any] = {}


def _in_place_of(name: str, ours: Callable[..., Any], *others: str) -> Callable[[Any], None]:
    """Called with torch's module: `ours` is captured in place of its operator `name` and of these."""

    def put(module: Any) -> None:
        operator = getattr(module, name)
        _operators[ours.__name__] = operator
        for each in (name, *others):
            _capture.substitute(getattr(module, each), ours)

    return put


def _follow(*names: str) -> Callable[[Any], None]:
    """Called with torch's module: these functions of it are captured like the program's code."""

    def follow(module: Any) -> None:
        for name in names:
            function = getattr(module, name)
            if isinstance(function, FunctionType):
                WRAPPER_CODES.update(_codes(function.__code__))

    return follow


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


_no_context: Any = None
_checkpoint: Any = _outside


def _know_checkpoint(module: Any) -> None:
    global _no_context, _checkpoint
    _no_context = module.noop_context_fn
    _checkpoint = module.checkpoint.__wrapped__  # torch keeps Dynamo out of the function around it
    _capture.substitute(module.checkpoint, checkpoint)


def _know_tag(module: Any) -> None:
    _operators["checkpoint"] = module.tag_activation_checkpoint


class _TensorsIndex(TorchFunctionMode):
    """In flex_attention's functions places are tensors, and index tensors: one node, torch's gradient."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.__getitem__:
            tensor, index = args
            parts = index if isinstance(index, tuple) else (index,)
            if parts and all(isinstance(part, torch.Tensor) for part in parts):
                return _index_node(tensor, *parts)
        return func(*args, **(kwargs or {}))


def _index_node(tensor: torch.Tensor, *indices: torch.Tensor) -> torch.Tensor:
    from torch._dynamo._trace_wrapped_higher_order_op import mod_index

    result: torch.Tensor = mod_index(tensor, list(indices))
    return result


_capture.mark_function(_index_node, "opaque")


@contextlib.contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """`torch.fx.traceback.annotate` in captured code: it writes to what compilers replace as they trace."""
    yield


def _know_annotations(module: Any) -> None:
    _capture.substitute(module.annotate, annotate)


def mark_static(tensor: Any, index: Any = None) -> None:
    """`torch._dynamo.mark_static` in captured code: flex_attention fixes numbers of heads by it."""
    if index is None:
        index = tuple(range(tensor.dim()))
    for each in index if isinstance(index, tuple | list) else (index,):
        int(tensor.shape[each])


def _know_marks(module: Any) -> None:
    _capture.substitute(module.mark_static, mark_static)


_PACKAGE = "torch._higher_order_ops"

after_import(f"{_PACKAGE}.wrap", _in_place_of("wrap", wrap))
after_import(f"{_PACKAGE}.wrap", _know_tag)
after_import("torch.utils.checkpoint", _know_checkpoint)
after_import(f"{_PACKAGE}.cond", _in_place_of("cond_op", cond, "cond"))
after_import(f"{_PACKAGE}.map", _in_place_of("map_impl", map, "map"))
after_import(f"{_PACKAGE}.while_loop", _in_place_of("while_loop_op", while_loop))
after_import(f"{_PACKAGE}.while_loop", _follow("while_loop"))
after_import(f"{_PACKAGE}.scan", _in_place_of("scan_op", scan))
after_import(f"{_PACKAGE}.scan", _follow("scan", "wrap_combine_fn_flat"))
after_import(f"{_PACKAGE}.associative_scan", _in_place_of("associative_scan_op", associative_scan))
after_import(
    f"{_PACKAGE}.associative_scan",
    _follow(
        "associative_scan", "generic_associative_scan", "wrap_combine_fn_flat", "_interleave", "safe_map"
    ),
)
after_import(f"{_PACKAGE}.utils", _follow("_maybe_compile_and_run_fn", "validate_subgraph_args_types"))
after_import(f"{_PACKAGE}.flex_attention", _in_place_of("flex_attention", flex_attention))
after_import("torch.nn.attention.flex_attention", _follow("flex_attention"))
after_import("torch.fx.traceback", _know_annotations)
after_import("torch._dynamo.decorators", _know_marks)
after_import(f"{_PACKAGE}.hints_wrap", _in_place_of("hints_wrapper", hints_wrapper))
