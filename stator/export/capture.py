"""One whole capture of a program for `export`, with fake results: no tensor of the program is written."""

from dataclasses import dataclass, field
from typing import Any

import torch
from stator.api.contexts import OptimizeContext
from stator.config import config
from torch import fx


class NumberOutput(int):
    """An int that the graph computes; known by its identity in what the program returns."""


class FloatOutput(float):
    """The same of a float."""


UNKNOWN_NUMBER = 7919
"""What stands for a number that only a run knows."""


@dataclass
class Captured:
    """The graph as a backend gets it, and what went in and came out."""

    module: fx.GraphModule
    inputs: list[Any]
    """The values of the placeholders."""
    outputs: list[Any]
    """What stands for each output of the graph in `result`."""
    result: Any
    guards: list[str] = field(default_factory=list)

    @property
    def placeholders(self) -> list[fx.Node]:
        """The inputs of the graph."""
        return [node for node in self.module.graph.nodes if node.op == "placeholder"]

    @property
    def output_nodes(self) -> list[fx.Node]:
        """The nodes that the graph gives."""
        output = next(iter(reversed(self.module.graph.nodes)))
        return list(output.args[0])

    @property
    def mode(self) -> Any:
        """The mode of the graph's fake tensors."""
        return self.module.meta["stator_fakes"].mode


def capture(f: Any, arguments: Any, is_symbolic: bool) -> Captured | None:
    """None: the program has no operators; its result is then in `nothing`."""
    found: list[Captured] = []
    guards: list[str] = []

    def backend(module: fx.GraphModule, examples: list[Any]) -> Any:
        if found:
            raise AssertionError("stator.export: the program gave a second graph")
        stands = [_stand_in(node.meta.get("val"), module) for node in _outputs_of(module)]
        found.append(Captured(module, [], _distinct(stands), None, guards))

        def give(*inputs: Any) -> Any:
            found[0].inputs = list(inputs)
            return found[0].outputs

        return give

    context = OptimizeContext(backend, True, True if is_symbolic else None, guards.extend)
    with config.patch(capture_scalar_outputs=True):
        result = context(f)(*arguments.args, **arguments.kwargs)
    if not found:
        return None
    found[0].result = result
    return found[0]


def nothing(f: Any, arguments: Any) -> Captured:
    """What stands for a program without operators: its results are arguments, parameters and constants."""
    result = f(*arguments.args, **arguments.kwargs)
    graph = fx.Graph()
    graph.output(())
    module = fx.GraphModule(torch.nn.Module(), graph)
    from stator.fx.values import FakeValues

    module.meta["stator_fakes"] = FakeValues(lambda _: None)
    return Captured(module, [], [], result)


def _outputs_of(module: fx.GraphModule) -> list[fx.Node]:
    output = next(iter(reversed(module.graph.nodes)))
    return list(output.args[0])


def _stand_in(value: Any, module: fx.GraphModule) -> Any:
    if isinstance(value, torch.SymInt):
        return NumberOutput(value.node.hint if value.node.has_hint() else UNKNOWN_NUMBER)
    if isinstance(value, torch.SymFloat):
        return FloatOutput(UNKNOWN_NUMBER)
    return value


def _distinct(values: list[Any]) -> list[Any]:
    """Each output is an object of its own."""
    seen: set[int] = set()
    distinct = []
    for value in values:
        if id(value) in seen:
            value = value.detach().requires_grad_(value.requires_grad)
        seen.add(id(value))
        distinct.append(value)
    return distinct
