"""A functional torch.fx graph of ATen operators as the text of Stator's graph (docs/graph.md)."""

import json
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from stator.backends.openxla.decompositions import name_of

DTYPES = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int16: "i16",
    torch.int8: "i8",
    torch.uint8: "u8",
    torch.uint16: "u16",
    torch.uint32: "u32",
    torch.uint64: "u64",
    torch.bool: "bool",
    torch.complex64: "c64",
    torch.complex128: "c128",
}
LAYOUTS = {torch.strided: "strided"}
MEMORY_FORMATS = {
    torch.contiguous_format: "contiguous",
    torch.preserve_format: "preserve",
    torch.channels_last: "channels_last",
    torch.channels_last_3d: "channels_last_3d",
}


class NotInGraph(Exception):
    """A node or value that the graph's text cannot say: it stays outside XLA."""


def values_of(node: torch.fx.Node) -> list[Any]:
    """The results of a node, one for each value it defines."""
    value = node.meta.get("val")
    return list(value) if isinstance(value, (tuple, list)) else [value]


def type_text(value: Any) -> str:
    if value is None:
        return "none"
    if not isinstance(value, torch.Tensor):
        raise NotInGraph(f"a value of type {type(value).__name__}")
    if value.layout is not torch.strided or value.dtype not in DTYPES:
        raise NotInGraph(f"a tensor of {value.dtype} and {value.layout}")
    if not all(type(size) is int for size in (*value.shape, *value.stride())):
        raise NotInGraph("a symbolic size")
    sizes, strides = (",".join(map(str, numbers)) for numbers in (value.shape, value.stride()))
    offset = value.storage_offset()
    return f"{DTYPES[value.dtype]}[{sizes}]{{{strides}}}" + (f"+{offset}" if offset else "")


class GraphText:
    """Collects inputs and nodes, in an order in which each comes after what it uses."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.ids: dict[tuple[torch.fx.Node, int], int] = {}
        self.nodes: list[torch.fx.Node] = []
        self.inputs: list[tuple[torch.fx.Node, int]] = []
        self._next = 0

    def add_input(self, node: torch.fx.Node, position: int = 0) -> None:
        text = type_text(values_of(node)[position])
        self.inputs.append((node, position))
        self.lines.append(f"  %{self._define(node, position)}: {text} = input i{len(self.inputs) - 1}")

    def add_node(self, node: torch.fx.Node) -> None:
        call = self._call(node)
        types = [type_text(value) for value in values_of(node)]
        results = ", ".join(f"%{self._define(node, i)}: {text}" for i, text in enumerate(types))
        self.nodes.append(node)
        self.lines.append(f"  {results} = {call}")

    def text(self, outputs: Iterable[tuple[torch.fx.Node, int]]) -> str:
        returned = ", ".join(f"%{self.ids[output]}" for output in outputs)
        return "\n".join(["graph {", *self.lines, f"  return {returned}".rstrip(), "}", ""])

    def _define(self, node: torch.fx.Node, position: int) -> int:
        self.ids[node, position] = self._next
        self._next += 1
        return self._next - 1

    def _call(self, node: torch.fx.Node) -> str:
        if not isinstance(node.target, torch._ops.OpOverload):
            raise NotInGraph(f"a call of {node.target}")
        operands = []
        for position, argument in enumerate(node.target._schema.arguments):
            if position < len(node.args):
                given = node.args[position]
            else:
                given = node.kwargs.get(argument.name, argument.default_value)
            operands.append(f"{argument.name}={self._operand(given, str(argument.type))}")
        return f"{name_of(node.target)}({', '.join(operands)})"

    def _operand(self, value: Any, kind: str) -> str:
        if value is None:
            return "none"
        if isinstance(value, torch.fx.Node):
            return self._value(value)
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            return repr(value)
        if isinstance(value, complex):
            return f"complex({value.real!r}, {value.imag!r})"
        if isinstance(value, str):
            return json.dumps(value)
        if isinstance(value, torch.dtype):
            if value not in DTYPES:
                raise NotInGraph(f"{value}")
            return f"dtype({DTYPES[value]})"
        if isinstance(value, torch.device):
            return f"device({value})"
        if isinstance(value, torch.layout):
            return f"layout({LAYOUTS[value]})" if value in LAYOUTS else "none"
        if isinstance(value, torch.memory_format):
            return f"memory_format({MEMORY_FORMATS[value]})"
        if isinstance(value, (list, tuple)):
            return self._list(value, kind)
        raise NotInGraph(f"an argument of type {type(value).__name__}")

    def _list(self, values: Sequence[Any], kind: str) -> str:
        if "Optional[Tensor]" in kind:
            return "?[" + ", ".join(self._operand(value, "Tensor") for value in values) + "]"
        if not values:
            kinds = {"Tensor": "value[]", "float": "float[]", "bool": "bool[]"}
            return next((text for name, text in kinds.items() if name in kind), "int[]")
        texts = [self._operand(value, kind) for value in values]
        return f"[{', '.join(texts)}]" if len({type(v) for v in values}) == 1 else f"list({', '.join(texts)})"

    def _value(self, node: torch.fx.Node) -> str:
        source, position = source_of(node)
        if (source, position) not in self.ids:
            raise NotInGraph("a value that is made outside")
        return f"%{self.ids[source, position]}"


def source_of(node: torch.fx.Node) -> tuple[torch.fx.Node, int]:
    """The node and the position among its results that a node stands for: getitem nodes are seen through."""
    if node.op == "call_function" and node.target is operator.getitem:
        producer, position = node.args
        assert isinstance(producer, torch.fx.Node)
        assert isinstance(position, int)
        return producer, position
    return node, 0
