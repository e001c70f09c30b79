"""A functional ATen graph as programs of XLA, with torch's own kernels for operators without a rule."""

import logging
import operator
import os
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from stator import _torch
from stator.backends.openxla import runtime
from stator.backends.openxla.decompositions import is_random, name_of
from stator.backends.openxla.graph_text import GraphText, NotInGraph, source_of, type_text, values_of

log = logging.getLogger("stator.openxla")
hlo_log = logging.getLogger("stator.stablehlo")

Value = tuple[torch.fx.Node, int]

counts = {"programs": 0, "uses": 0, "direct": 0, "outside": 0}
"""Since the process began: programs compiled by XLA; graphs, or parts of them, that use one; those of them
that went to the emitter as they were captured; operators left to torch."""


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
        if len(steps) == 1 and isinstance(steps[0], Inside):
            return OneProgram(self, steps[0], constants)
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
        device = next(
            (v.device.type for n in nodes for v in values_of(n) if isinstance(v, torch.Tensor)), "cpu"
        )
        self.nodes = nodes
        self.executable: Callable[..., list[Any]] = self.by_torch
        if not runtime.lost_by_fork():
            self.executable = executable_of(text.text(self.outputs), device)
        _inside.add(self)

    def by_torch(self, *inputs: Any) -> list[Any]:
        """The same by torch's kernels, where XLA cannot be called."""
        values = dict(zip(self.inputs, inputs, strict=True))
        for node in self.nodes:
            Outside(node).run(values)
        return [values[output] for output in self.outputs]

    def run(self, values: dict[Value, Any]) -> None:
        results = self.executable(*[values[value] for value in self.inputs])
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


class OneProgram:
    """A graph that XLA runs whole: no more than picking arguments and results."""

    _boxed_call = True

    def __init__(self, plan: Plan, step: Inside, constants: dict[Value, Any]) -> None:
        self.step = step
        positions = {(node, 0): position for position, node in enumerate(plan.placeholders)}
        inputs = [value for value in step.inputs if value in positions]
        self.arguments = [positions[value] for value in inputs]
        self.constants = [constants[value] for value in step.inputs if value in constants]
        assert step.inputs[len(inputs) :] == [value for value in step.inputs if value in constants]
        made = {value: position for position, value in enumerate(step.outputs)}
        self.results: list[tuple[str, Any]] = []
        for output in plan.outputs:
            value = source_of(output) if isinstance(output, torch.fx.Node) else None
            if value is None:
                self.results.append(("constant", output))
            elif value in made:
                self.results.append(("made", made[value]))
            elif value in positions:
                self.results.append(("input", positions[value]))
            else:
                self.results.append(("constant", constants[value]))
        self.plain = self.results == [("made", position) for position in range(len(step.outputs))]

    def __call__(self, inputs: list[Any]) -> list[Any]:
        made: list[Any] = self.step.executable(*[inputs[i] for i in self.arguments], *self.constants)
        if not self.plain:
            sources = {"made": made, "input": list(inputs)}
            made = [what if kind == "constant" else sources[kind][what] for kind, what in self.results]
        inputs.clear()
        return made


_programs: dict[tuple[str, str], Any] = {}


def executable_of(graph: str, device_type: str) -> Any:
    """The program of a graph text, which has the shapes: equal graphs of equal shapes are compiled once."""
    counts["uses"] += 1
    found = _programs.get((graph, device_type))
    if found is None:
        found = _programs[graph, device_type] = _compiled(graph, device_type)
    return found


def _compiled(graph: str, device_type: str) -> Any:
    made = _loaded(_torch.stablehlo(graph, "HIGHEST"), device_type)
    return _torch.XlaExecutable(graph, made.execute, made.from_dlpack, made.to_dlpack, made.device)


def compile_stablehlo(stablehlo: str, device_type: str) -> runtime.Loaded | None:
    """A program for a graph that the emitter took as it was captured; None where XLA cannot be called."""
    if runtime.lost_by_fork():
        return None
    counts["uses"] += 1
    counts["direct"] += 1
    found = _direct.get(stablehlo)
    if found is None:
        found = _direct[stablehlo] = _loaded(stablehlo, device_type)
    return found


_direct: dict[str, runtime.Loaded] = {}


def _loaded(stablehlo: str, device_type: str) -> runtime.Loaded:
    hlo_log.info("%s", stablehlo)
    counts["programs"] += 1
    return runtime.client_for(device_type).compile(stablehlo)


def forget_programs() -> None:
    """Drops the programs that no compiled function holds."""
    _programs.clear()
    _direct.clear()


_inside: weakref.WeakSet[Inside] = weakref.WeakSet()
_of_parent: list[Any] = []


def _leave_to_parent() -> None:
    """After a fork: what the parent's client made is neither called nor torn down; torch runs the graphs."""
    _of_parent.extend(_programs.values())
    _programs.clear()
    for step in _inside:
        _of_parent.append(step.executable)
        step.executable = step.by_torch


os.register_at_fork(after_in_child=_leave_to_parent)


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
