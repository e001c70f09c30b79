"""A functional ATen graph as programs of XLA, with torch's own kernels for operators without a rule."""

import itertools
import logging
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from stator import _torch
from stator.backends.openxla import runtime
from stator.backends.openxla.decompositions import is_random, name_of
from stator.backends.openxla.executables import counts, executable_of
from stator.backends.openxla.graph_text import GraphText, NotInGraph, source_of, type_text, values_of

log = logging.getLogger("stator.openxla")

Value = tuple[torch.fx.Node, int]


def compile_functional(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., list[Any]]:
    """What runs the graph. It takes the inputs in the order of the placeholders, as AOT autograd calls it."""
    return Plan(gm).callable()


class Plan:
    """Which node runs where: `stage` 2k is outside XLA, 2k + 1 is the XLA program after it."""

    def __init__(self, gm: torch.fx.GraphModule) -> None:
        self.gm = gm
        self.nodes = list(gm.graph.nodes)
        self.placeholders = [node for node in self.nodes if node.op == "placeholder"]
        self.attributes = [node for node in self.nodes if node.op == "get_attr"]
        for node in self.attributes:
            node.meta.setdefault("val", _attribute(gm, node))
        self.calls = [
            node for node in self.nodes if node.op == "call_function" and node.target is not operator.getitem
        ]
        (output,) = [node for node in self.nodes if node.op == "output"]
        self.outputs: list[Any] = list(output.args[0])
        self.outside = self._outside()
        self.stages = self._stages()

    def _outside(self) -> dict[torch.fx.Node, str]:
        """The nodes that torch runs, with the reason."""
        text, reasons = GraphText(), dict[torch.fx.Node, str]()
        for node in (*self.placeholders, *self.attributes):
            _add_inputs(text, node)
        for node in self.calls:
            try:
                text.add_node(node)
            except NotInGraph as error:
                reasons[node] = str(error)
                _add_inputs(text, node)
        for position, reason in _torch.stablehlo_refusals(text.text([])):
            reasons[text.nodes[position]] = reason
        if reasons:
            names = sorted({f"{_name(node)} ({reason})" for node, reason in reasons.items()})
            log.info(
                "%d of %d operators run outside XLA: %s", len(reasons), len(self.calls), ", ".join(names)
            )
        counts["outside"] += len(reasons)
        for output in self.outputs:
            while isinstance(output, torch.fx.Node) and _is_view_with_gaps(*source_of(output)):
                node = source_of(output)[0]
                reasons.setdefault(node, "a result that is a view")
                output = node.args[0]
        return reasons

    def _stages(self) -> dict[torch.fx.Node, int]:
        stages: dict[torch.fx.Node, int] = dict.fromkeys((*self.placeholders, *self.attributes), 0)
        last_random = 0
        for node in self.calls:
            after = max((stages[source_of(used)[0]] for used in node.all_input_nodes), default=0)
            if node not in self.outside:
                stages[node] = after | 1
                continue
            stages[node] = after + after % 2
            # Random operators draw in the order of the program.
            if not isinstance(node.target, torch._ops.OpOverload) or is_random(node.target):
                stages[node] = last_random = max(stages[node], last_random)
        return stages

    def callable(self) -> Callable[..., list[Any]]:
        steps: list[Step] = []
        wanted = self._used_across()
        for stage in range(max(self.stages.values(), default=0) + 1):
            nodes = [node for node in self.calls if self.stages[node] == stage]
            if stage % 2 == 0:
                steps += [Outside(node) for node in nodes]
            elif nodes:
                steps.append(Inside(nodes, wanted))
        constants = {(node, 0): _attribute(self.gm, node) for node in self.attributes}
        if len(steps) == 1 and isinstance(steps[0], Inside) and not runtime.lost_by_fork():
            return whole_graph(self, steps[0], constants)
        return Program(self, steps, constants)

    def _used_across(self) -> set[Value]:
        """The values that are used in another stage than their own, or returned."""
        used = {source_of(node) for node in self.outputs if isinstance(node, torch.fx.Node)}
        for node in self.calls:
            for value in map(source_of, node.all_input_nodes):
                if self.stages[value[0]] != self.stages[node] or node in self.outside:
                    used.add(value)
        return used


class Step:
    """Reads and writes values of one run."""

    def run(self, values: dict[Value, Any]) -> None:
        raise NotImplementedError


class Outside(Step):
    """One operator, by torch."""

    def __init__(self, node: torch.fx.Node) -> None:
        self.node, self.target = node, node.target
        self.single = not isinstance(node.meta.get("val"), (tuple, list))

    def run(self, values: dict[Value, Any]) -> None:
        def lookup(node: torch.fx.Node) -> Any:
            return values[source_of(node)]

        args, kwargs = torch.fx.node.map_arg((self.node.args, self.node.kwargs), lookup)
        assert callable(self.target)
        result = self.target(*args, **kwargs)
        for position, value in enumerate((result,) if self.single else result):
            values[self.node, position] = value


class Inside(Step):
    """Nodes of one stage as one program."""

    def __init__(self, nodes: list[torch.fx.Node], wanted: set[Value]) -> None:
        text = GraphText()
        own = set(nodes)
        used = {
            value: None
            for node in nodes
            for value in map(source_of, node.all_input_nodes)
            if value[0] not in own
        }
        for value in sorted(used, key=lambda value: value[0].op == "get_attr"):
            text.add_input(*value)
        for node in nodes:
            text.add_node(node)
        self.inputs = text.inputs
        self.outputs = [
            (node, position)
            for node in nodes
            for position, value in enumerate(values_of(node))
            if value is not None and (node, position) in wanted
        ]
        tensors = (value for node in nodes for value in values_of(node) if isinstance(value, torch.Tensor))
        self.device = next((str(tensor.device) for tensor in tensors), "cpu")
        self.nodes = nodes
        self.text = text.text(self.outputs)
        self.executables: dict[tuple[str, str], Any] = {}
        if not runtime.lost_by_fork():
            counts["uses"] += 1
            self.compiled(_torch.xla_precision(self.device))  # now, so that errors come before the first run

    def compiled(self, precision: tuple[str, str]) -> Any:
        found = self.executables.get(precision)
        if found is None:
            found = self.executables[precision] = executable_of(self.text, self.device, precision)
        return found

    def by_torch(self, *inputs: Any) -> list[Any]:
        """The same by torch's kernels: where XLA cannot be called, or would not raise as they do."""
        values = dict(zip(self.inputs, inputs, strict=True))
        for node in self.nodes:
            Outside(node).run(values)
        return [values[output] for output in self.outputs]

    def run(self, values: dict[Value, Any]) -> None:
        inputs = [values[value] for value in self.inputs]
        results = None
        if not runtime.lost_by_fork():
            results = self.compiled(_torch.xla_precision(self.device))(*inputs)
        if results is None:
            results = self.by_torch(*inputs)
        values.update(zip(self.outputs, results, strict=True))


class Program:
    """The steps of a graph. Called with a list of its inputs, which it empties: AOT autograd's boxed call."""

    _boxed_call = True

    def __init__(self, plan: Plan, steps: list[Step], constants: dict[Value, Any]) -> None:
        self.placeholders: list[Value] = [(node, 0) for node in plan.placeholders]
        self.outputs = [source_of(node) if isinstance(node, torch.fx.Node) else node for node in plan.outputs]
        self.steps, self.constants = steps, constants

    def __call__(self, inputs: list[Any]) -> list[Any]:
        values = dict(zip(self.placeholders, inputs, strict=True))
        inputs.clear()
        values.update(self.constants)
        for step in self.steps:
            step.run(values)
        return [values[output] if isinstance(output, tuple) else output for output in self.outputs]


def whole_graph(plan: Plan, step: Inside, constants: dict[Value, Any]) -> Callable[..., list[Any]]:
    """A graph that XLA runs whole: called without any code of Python's."""
    positions = {(node, 0): position for position, node in enumerate(plan.placeholders)}
    inputs = [value for value in step.inputs if value in positions]
    used_constants = [constants[value] for value in step.inputs if value in constants]
    assert step.inputs[len(inputs) :] == [value for value in step.inputs if value in constants]
    made = {value: position for position, value in enumerate(step.outputs)}
    results: list[tuple[str, Any]] = []
    for output in plan.outputs:
        value = source_of(output) if isinstance(output, torch.fx.Node) else None
        if value is None:
            results.append(("constant", output))
        elif value in made:
            results.append(("made", made[value]))
        elif value in positions:
            results.append(("input", positions[value]))
        else:
            results.append(("constant", constants[value]))
    arguments = [positions[value] for value in inputs]
    return _torch.XlaWholeGraph(step.compiled, step.device, arguments, used_constants, results, step.by_torch)


def _add_inputs(text: GraphText, node: torch.fx.Node) -> None:
    for position, value in enumerate(values_of(node)):
        try:
            type_text(value)
        except NotInGraph:
            continue
        if value is not None:
            text.add_input(node, position)


def _attribute(gm: torch.fx.GraphModule, node: torch.fx.Node) -> Any:
    return operator.attrgetter(str(node.target))(gm)


def _name(node: torch.fx.Node) -> str:
    return name_of(node.target) if isinstance(node.target, torch._ops.OpOverload) else str(node.target)


def _is_view_with_gaps(node: torch.fx.Node, position: int) -> bool:
    """A view whose memory is not compact, as XLA's results are: torch makes it, of a compact result."""
    value = values_of(node)[position]
    if not isinstance(node.target, torch._ops.OpOverload) or not isinstance(value, torch.Tensor):
        return False
    if not node.target.is_view or not node.args or not isinstance(node.args[0], torch.fx.Node):
        return False
    if value.is_conj() or value.is_neg() or value.storage_offset() != 0:
        return True
    pairs = sorted(
        (stride, size) for stride, size in zip(value.stride(), value.shape, strict=True) if size != 1
    )
    compact = itertools.accumulate((size for _, size in pairs), operator.mul, initial=1)
    return value.numel() > 0 and any(
        stride != step for (stride, _), step in zip(pairs, compact, strict=False)
    )
