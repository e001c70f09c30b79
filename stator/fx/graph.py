"""A captured graph as a torch.fx.GraphModule; driven node by node from src/backends/fx/convert.cpp."""

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch._C._autograd import _get_data_attr  # type: ignore[attr-defined]
from torch._ops import OpOverload
from torch.amp.autocast_mode import _enter_autocast, _exit_autocast
from torch.autograd.grad_mode import _enter_inference_mode, _exit_inference_mode
from torch.fx._lazy_graph_module import _make_graph_module, _use_lazy_graph_module
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

import torch
from stator.fx.bodies import OpenGraph, arguments_of
from stator.fx.failed_line import LINE
from stator.fx.module_stacks import ModuleCalls
from stator.fx.values import FakeValues
from stator.runtime.bodies import Body, HigherOrderCall
from stator.runtime.user_lines import traceback_text
from torch import fx


class NodeMeta(dict[str, Any]):
    """The `meta` of a node: "val", "example_value" (its name in Dynamo's graphs), "stack_trace" and
    "nn_module_stack" are made when somebody asks for them.

    torch's fake tensors cost more than the conversion itself, and most backends look at none of them.
    """

    __slots__ = ("_make",)

    def __init__(self, pending: Mapping[str, Any], make: Callable[[str, Any], Any]) -> None:
        super().__init__(pending)
        self._make = make

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        if type(value) is _Pending:
            value = self._make(key, value.number)
            self[key] = value
        return value

    def get(self, key: str, default: Any = None) -> Any:
        if key not in self:
            return default
        return self[key]

    # With an __iter__ of its own, dict(meta) and {**meta} come through __getitem__ as well.
    def __iter__(self) -> Iterator[str]:
        return super().__iter__()

    def items(self) -> Any:
        return self.copy().items()

    def values(self) -> Any:
        return self.copy().values()

    def copy(self) -> dict[str, Any]:
        return {key: self[key] for key in self}

    __copy__ = copy

    def pop(self, key: str, *default: Any) -> Any:
        if key in self:
            self[key] = self[key]
        return super().pop(key, *default)

    def __reduce__(self) -> Any:
        return dict, (self.copy(),)


class _Pending:
    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class GraphBuilder:
    """Makes the nodes of one torch.fx graph in the order of the captured one."""

    def __init__(
        self,
        describe: Callable[[int], Mapping[str, Any] | None],
        stack_of: Callable[[int], list[tuple[str, int, str]]],
        symbols: Any,
    ) -> None:
        self._open = [OpenGraph()]
        self._bodies: dict[Any, OpenGraph] = {}
        self._body_counts: Counter[str] = Counter()
        self._has_bodies = False
        self._symbols = symbols
        self._fakes = FakeValues(describe, symbols.env if symbols else None)
        self._stack_of = stack_of
        self._module_calls = ModuleCalls()
        self._entered: dict[str, list[fx.Node]] = {}
        self._placeholders: set[str] = set()
        self._grad = torch.is_grad_enabled()

    @property
    def graph(self) -> fx.Graph:
        """The graph that is being made: that of the innermost body, or the whole one."""
        return self._open[-1].graph

    def _node(self, kind: str, target: Any, args: Any = (), kwargs: Any = None) -> fx.Node:
        """A node in the graph that is being made; values of graphs around it become inputs of it."""
        if self._has_bodies:
            args = fx.map_arg(args, self._inside)
            kwargs = fx.map_arg(kwargs, self._inside)
        return self.graph.create_node(kind, target, args, kwargs, name_of(target))

    def _inside(self, node: fx.Node) -> fx.Node:
        depth = next((i for i, each in enumerate(self._open) if each.graph is node.graph), None)
        if depth is None:
            raise NotImplementedError(
                "a tensor of a function that an operator is given is used outside of it"
            )
        for each in self._open[depth + 1 :]:
            node = each.lift(node)
        return node

    def symbol(self, index: int, source: str) -> fx.Node:
        """A symbolic int: an input of the graph, as in Dynamo's."""
        node = self.graph.placeholder(f"s{index}")
        node.meta = NodeMeta({"val": self._symbols.ints[index], "source": source}, self._make)
        return node

    def real(self, index: int, source: str, value: int) -> fx.Node | float:
        """A symbolic float: a tensor among the inputs and the number in it, as in Dynamo's graphs.

        Where it is none, the tensor is not used, and the number stands in its place.
        """
        node = self.graph.placeholder(f"f{index}")
        number = self._symbols.reals[index]
        self._fakes.add_number(value, number)
        node.meta = self._meta(value, 0)
        node.meta["source"] = source
        if isinstance(number, float):
            return number
        item = self.graph.create_node("call_method", "item", (node,))
        item.meta = NodeMeta({"val": number}, self._make)
        return item

    def read(self, node: fx.Node, index: int | None) -> None:
        """A node that reads a number off a tensor; `index`: the symbol that stands for an int."""
        node.meta["val"] = self._symbols.env_float() if index is None else self._symbols.ints[index]

    def number(self, place: int, function: Callable[..., Any], *operands: Any) -> Any:
        """The same for the node at that place of the graph, of numbers that may be read off tensors."""
        is_read = any(isinstance(each, fx.Node) and each.meta.get("val") is None for each in operands)
        return self.arithmetic(at_place(function, place) if is_read else function, *operands)

    def arithmetic(self, function: Callable[..., Any], *operands: Any) -> Any:
        """An operation on numbers of which some are symbolic."""
        if not any(isinstance(each, fx.Node) for each in operands):
            return function(*operands)
        values = [each.meta.get("val") if isinstance(each, fx.Node) else each for each in operands]
        is_read = any(value is None for value in values)  # off a tensor: it has a value in a run alone
        # Such numbers are shared by all that comes later, inside of bodies or not.
        node = self._open[0].graph.create_node("call_function", function, operands)
        node.meta = NodeMeta({} if is_read else {"val": function(*values)}, self._make)
        return node

    def placeholder(self, source: str, example: Any, value: int) -> fx.Node:
        name = placeholder_name(source, isinstance(example, torch.nn.Parameter))
        if name in self._placeholders:  # sources that differ in objects alone, say two parameters as keys
            name = f"{name}_{len(self._placeholders)}"
        self._placeholders.add(name)
        if is_traceable_wrapper_subclass(example):
            self._fakes.add_wrapper(value, example)
        elif example.is_leaf:
            self._fakes.add_leaf(value)
        node = self.graph.placeholder(name)
        node.meta = self._meta(value, 0)
        node.meta["source"] = source
        # Marks of the program's and of torch's (`mark_static_address`), which backends look for.
        marks = dict(vars(example))
        if isinstance(example, torch.nn.Parameter) or "._buffers[" in source:
            marks.setdefault("_dynamo_static_input_type", "unguarded")  # it stays where it lies in memory
        node.meta["tensor_dict"] = marks
        return node

    def call(
        self,
        target: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        value: int | None,
        line: int,
        below_autograd: bool,
    ) -> fx.Node:
        if below_autograd:
            self._function(torch._C._set_grad_enabled, (False,), line)
        node = self._node("call_function", target, args, kwargs)
        node.meta = self._meta(value, line, node)
        if below_autograd:
            self._function(torch._C._set_grad_enabled, (self._grad,), line)
        return node

    def item(self, of: fx.Node, position: int, value: int | None, line: int = 0) -> fx.Node:
        node = self._node("call_function", operator.getitem, (of, position))
        node.meta = self._meta(value, line)
        return node

    def data(self, of: fx.Node, value: int, line: int) -> fx.Node:
        node = self._function(_get_data_attr, (of,), line)
        node.meta = self._meta(value, line)
        return node

    def set_data(self, of: fx.Node, data: fx.Node, line: int) -> None:
        self._function(torch.ops.aten.set_data.default, (of, data), line)

    def opaque(
        self, call: Any, tensors: list[fx.Node], numbers: list[Any], first: int, line: int
    ) -> list[fx.Node]:
        """A function that is allowed in the graph, by itself; its tensors, numbered from `first`."""
        if isinstance(call, Body):
            self._mark(call, tensors)
            return []
        if isinstance(call, HigherOrderCall):
            return self._higher_order(call, tensors, first, line)
        self._fakes.finds_tensors = True
        if not call.is_plain():
            node = self._function(call.on_leaves(), (*tensors, *numbers), line)
            return [self.item(node, i, first + i, line) for i in range(call.result_count)]
        args, kwargs = call.arguments(tensors, numbers)
        node = self._node("call_function", call.function, args, kwargs)
        places = call.places()
        node.meta = self._meta(first if places == [None] else None, line, node)
        if places == [None]:
            return [node]
        return [self.item(node, place, first + i, line) for i, place in enumerate(places)]

    def _mark(self, body: Body, outputs: list[fx.Node]) -> None:
        """The code of a body begins, or ends with these results."""
        if body not in self._bodies:
            self._has_bodies = True
            self._bodies[body] = OpenGraph((*self._open[-1].operators, body.operator))
            self._open.append(self._bodies[body])
            return
        self.graph.output(tuple(self._inside(each) for each in outputs))
        self._open.pop()

    def _higher_order(
        self, call: HigherOrderCall, tensors: list[fx.Node], first: int, line: int
    ) -> list[fx.Node]:
        given = [self._inside(each) for each in tensors]
        bodies = [self._bodies.pop(body) for body in call.bodies]
        args = arguments_of(call, given, bodies, self._open[-1], self._body_counts)
        for each in args:
            if isinstance(each, fx.Node) and each.op == "get_attr":
                each.meta = self._meta(None, line)
        node = self.graph.create_node("call_function", call.operator, args, call.keywords)
        node.meta = self._meta(None, line, node)
        return [self.item(node, i, first + i, line) for i in range(call.results)]

    def constant(self, value: Any) -> fx.Node:
        """An attribute of the module, for what source text cannot express."""
        root = self._open[-1].root
        name = f"_constant{len(root)}"
        root[name] = value
        return self.graph.create_node("get_attr", name)

    def mode(self, name: str, args: list[Any], line: int) -> None:
        """A change of a mode, in the calls that AOT autograd and Inductor know from Dynamo's graphs."""
        match name:
            case "stator::set_grad_enabled":
                self._grad = args[0]
                self._function(torch._C._set_grad_enabled, tuple(args), line)
            case "stator::inference_mode_enter":
                self._enter("inference", _enter_inference_mode, tuple(args), line)
            case "stator::inference_mode_exit":
                self._exit("inference", _exit_inference_mode, line)
            case "stator::autocast_enter":
                device, dtype, enabled, cache = args
                self._enter(device.type, _enter_autocast, (device.type, dtype, enabled, cache), line)
            case "stator::autocast_exit":
                self._exit(args[0].type, _exit_autocast, line)
            case "stator::set_default_dtype":
                self._function(torch.set_default_dtype, tuple(args), line)
            case "stator::set_attention_kernels":
                self._function(set_attention_kernels, tuple(args), line)
            case _:
                raise NotImplementedError(f"torch.fx has no form of {name}")

    def finish(self, outputs: list[fx.Node]) -> fx.GraphModule:
        self.graph.output(tuple(outputs))
        for node in self.graph.find_nodes(op="placeholder"):
            # Where it was read first.
            user = next(iter(node.users), None)
            if user is not None and "nn_module_stack" in user.meta:
                node.meta["nn_module_stack"] = dict.__getitem__(user.meta, "nn_module_stack")
        with _use_lazy_graph_module(True):
            module = _make_graph_module(self._open[0].root or torch.nn.Module(), self.graph)
        assert isinstance(module, fx.GraphModule)
        module.meta["stator_fakes"] = self._fakes
        return module

    def _enter(self, mode: str, function: Callable[..., Any], args: tuple[Any, ...], line: int) -> None:
        self._entered.setdefault(mode, []).append(self._function(function, args, line))

    def _exit(self, mode: str, function: Callable[..., Any], line: int) -> None:
        self._function(function, (self._entered[mode].pop(),), line)

    def _function(self, target: Callable[..., Any], args: tuple[Any, ...], line: int) -> fx.Node:
        node = self._node("call_function", target, args)
        node.meta = self._meta(None, line)
        return node

    def _meta(self, value: int | None, line: int, operation: fx.Node | None = None) -> NodeMeta:
        """`operation`: the node, where it is one of the program's own."""
        pending: dict[str, Any] = {}
        if value is not None:
            pending["val"] = pending["example_value"] = _Pending(value)
        calls = self._module_calls.of(line) if line else ()
        if line:
            pending["stack_trace"] = _Pending(line)
            pending[LINE] = line
        if calls:
            pending["nn_module_stack"] = _Pending(line)
        if operation is not None:
            around = [(name_of(each) or each.__name__, each) for each in self._open[-1].operators]
            source = calls[-1].kind if calls and calls[-1].is_torchs else operation.target
            pending["source_fn_stack"] = [*around, (operation.name, source)]
        return NodeMeta(pending, self._make)

    def _make(self, key: str, number: int) -> Any:
        if key == "stack_trace":
            return traceback_text(self._stack_of(number))
        if key == "nn_module_stack":
            return self._module_calls.stack(number)
        return self._fakes[number]


_ATTENTION_SETTERS = tuple(
    getattr(torch._C, f"_set_sdp_use_{name}")
    for name in ("math", "flash", "mem_efficient", "cudnn", "overrideable")
)


def set_attention_kernels(enabled: list[bool], order: list[int]) -> None:
    """What `torch.nn.attention.sdpa_kernel` sets: for each kernel, by its number, whether it may be used."""
    for setter, value in zip(_ATTENTION_SETTERS, enabled, strict=True):
        setter(value)
    torch._C._set_sdp_priority_order(order)


PLACE = "stator_place"
"""Where an error of a number's says which node raised it; read by src/backends/fx/fx_program.cpp."""


def at_place(function: Callable[..., Any], place: int) -> Callable[..., Any]:
    """A calculation of every run. (torch.fx would write operators, and a negative base without brackets.)"""

    def number(*operands: float) -> Any:
        try:
            result = function(*operands)
            if isinstance(result, complex):  # the function runs natively instead
                raise ArithmeticError("stator: a power is complex; the capture has a float")
        except Exception as error:
            setattr(error, PLACE, place)
            raise
        return result

    number.__name__ = number.__qualname__ = getattr(function, "__name__", "number")
    return number


def name_of(target: Any) -> str | None:
    """After the operator without its overload: `add`, where torch.fx would write `add_tensor`."""
    return target._opname if type(target) is OpOverload else None


def calculate(function: Callable[..., Any], left: Any, right: Any) -> Any:
    """An operation on torch's symbolic ints."""
    return function(left, right)


def placeholder_name(source: str, is_parameter: bool) -> str:
    """A source expression as an identifier: `L["x"]` is `L_x_`, a parameter is `p_layer_weight`."""
    if is_parameter:
        path = re.sub(r"\._(?:parameters|modules|buffers)\[(['\"])(.*?)\1\]", r".\2", source)
        return "p_" + _identifier(path.removeprefix("fn.")).strip("_")
    return _identifier(re.sub(r"['\"]", "", source)) or "input"


def _identifier(text: str) -> str:
    return re.sub(r"\W+", "_", text)
