"""The user's lines: of graph nodes, of guards, of breaks, with the calls that led there."""

import inspect
import traceback
from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch
from torch import nn

FILE = __file__


def line_of(function: Callable[..., Any], text: str) -> int:
    """The number of the line of a function's source that has this text."""
    lines, first = inspect.getsourcelines(function)
    (found,) = [first + i for i, line in enumerate(lines) if text in line]
    return found


def scaled(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    return torch.relu(y)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))
        self.factor = 2.5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        x = scaled(x)
        return scaled(x) * self.factor


def captured(fn: Any, *args: Any) -> torch.fx.GraphModule:
    modules: list[torch.fx.GraphModule] = []

    def keeps(gm: torch.fx.GraphModule, examples: Any) -> Any:
        modules.append(gm)
        return gm.forward

    stator.compile(fn, backend=keeps, fullgraph=True)(*args)
    return modules[0]


def test_nodes_have_stacks() -> None:
    module = captured(Net(), torch.ones(2, 3))
    nodes = {node: node.meta["stack_trace"] for node in module.graph.nodes if node.op == "call_function"}
    adds = [text for node, text in nodes.items() if node.target is torch.ops.aten.add.Tensor]
    for text, call in zip(adds, ("x = scaled(x)", "return scaled(x) * self.factor"), strict=True):
        assert text.endswith(
            f'  File "{FILE}", line {line_of(Net.forward, call)}, in forward\n    {call}\n'
            f'  File "{FILE}", line {line_of(scaled, "y = x + 1")}, in scaled\n    y = x + 1\n'
        )
    linears = [text for node, text in nodes.items() if node.target is torch.ops.aten.linear.default]
    assert len(linears) == 2
    for text in linears:
        assert f"line {line_of(Net.forward, 'x = layer(x)')}, in forward\n    x = layer(x)\n" in text
        assert text.rstrip().endswith("return F.linear(input, self.weight, self.bias)")


def test_generators_and_callbacks_have_stacks() -> None:
    def doubled(xs: list[torch.Tensor]) -> Any:
        for x in xs:
            yield x * 2

    def less_one(x: torch.Tensor) -> torch.Tensor:
        return x - 1

    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        total = x
        for each in doubled([x, y]):
            total = total + each
        return sum(map(less_one, [total, y]), total)

    module = captured(f, torch.ones(2), torch.ones(2))
    by_target: dict[Any, list[str]] = {}
    for node in module.graph.nodes:
        if node.op == "call_function":
            by_target.setdefault(node.target, []).append(node.meta["stack_trace"])
    aten = torch.ops.aten
    for text in by_target[aten.mul.Tensor]:
        assert f"line {line_of(f, 'for each in')}, in f" in text
        assert f"line {line_of(doubled, 'yield')}, in doubled" in text
    for text in by_target[aten.sub.Tensor]:
        assert "in less_one" in text
        assert f"line {line_of(f, 'return sum')}, in f" in text
    assert f"line {line_of(f, 'total = total')}, in f" in by_target[aten.add.Tensor][0]
    assert f"line {line_of(f, 'return sum')}, in f" in by_target[aten.add.Tensor][-1]


def test_guards_have_lines() -> None:
    net = Net()
    compiled = stator.compile(net, backend="native")
    compiled(torch.ones(2, 3))
    (entry,) = stator.cache_entries(compiled)
    assert all(guard.user_line for guard in entry.guards)
    (weight,) = [g for g in entry.guards if "['0']._parameters['weight']" in g.source]
    assert weight.user_line == f"{FILE}:{line_of(Net.forward, 'x = layer(x)')} in forward"
    called = [g for g in entry.guards if g.source.endswith("['scaled']")]
    assert {g.user_line for g in called} == {f"{FILE}:{scaled.__code__.co_firstlineno} in scaled"}
    failed: list[str] = []
    hooked = stator.optimize("native", guard_fail_fn=failed.append)(scaled_by_global)
    hooked(torch.ones(2))
    globals()["FACTOR"] = "another"
    try:
        hooked(torch.ones(2))
    finally:
        globals()["FACTOR"] = "one"
    assert failed[0].endswith(f"  # test_user_lines.py:{line_of(scaled_by_global, 'if FACTOR')}")


FACTOR = "one"


def scaled_by_global(x: torch.Tensor) -> torch.Tensor:
    if FACTOR == "one":
        return x
    return x * 2


def test_size_guards_have_lines() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] > 5:
            return x + 1
        return x * 2

    compiled = stator.compile(f, backend="native", dynamic=True)
    compiled(torch.ones(7, 3))
    (entry,) = stator.cache_entries(compiled)
    here = f"{FILE}:{line_of(f, 'if x.shape')} in f"
    assert [g.user_line for g in entry.guards if "6 <=" in str(g) or "> 5" in str(g)] == [here]


def test_breaks_have_stacks() -> None:
    def deep(x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 3:
            return x
        return x - 1

    def f(x: torch.Tensor) -> torch.Tensor:
        return deep(x * 2)

    (first, *_) = stator.explain(f)(torch.ones(2)).break_reasons
    assert first.user_stack == (
        f"{FILE}:{line_of(f, 'return deep')}: return deep(x * 2)",
        f"{FILE}:{line_of(deep, 'if x.sum()')}: if x.sum() > 3:",
    )
    with pytest.raises(stator.CaptureError) as caught:
        stator.compile(f, backend="native", fullgraph=True)(torch.ones(2))
    assert (
        f'  File "{FILE}", line {line_of(f, "return deep")}, in f\n    return deep(x * 2)\n'
        f'  File "{FILE}", line {line_of(deep, "if x.sum()")}, in deep\n    if x.sum() > 3:\n'
    ) in str(caught.value)
    assert "reason:" in str(caught.value)
    assert "hint:" in str(caught.value)


def test_a_long_function_is_read_once() -> None:
    """Lines are looked up by search: 4,000 statements of one function, each with its own line."""
    names: dict[str, Any] = {}
    body = "\n".join(f"    x = x + {i % 7}" for i in range(4000))
    exec(compile(f"def long(x):\n{body}\n    return x\n", "<long>", "exec"), names)
    module = captured(names["long"], torch.ones(1))
    adds = [n for n in module.graph.nodes if n.op == "call_function"]
    assert [n.meta["stack_trace"] for n in adds] == [
        f'  File "<long>", line {i + 2}, in long\n' for i in range(4000)
    ]


def out_of_range(buffer: torch.Tensor, x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    buffer.add_(1)
    y = x * 2
    z = y[at]
    return z + 1


def called(function: Any, *arguments: Any) -> Any:
    return function(*arguments)


def outer(buffer: torch.Tensor, x: torch.Tensor, at: torch.Tensor) -> Any:
    return called(out_of_range, buffer, x, at) + 1


@pytest.mark.parametrize("backend", ["native", "eager", "aot_eager"])
def test_errors_of_kernels_carry_the_lines_of_the_program(backend: str) -> None:
    compiled = stator.compile(outer, backend=backend)
    shown = []
    for function in (outer, compiled, compiled):
        if function is compiled:
            compiled(torch.zeros(3), torch.ones(3), torch.tensor([1]))
        with pytest.raises(IndexError, match="out of") as raised:
            function(torch.zeros(3), torch.ones(3), torch.tensor([7]))
        frames = traceback.extract_tb(raised.value.__traceback__)[1:]
        shown.append([(frame.name, frame.lineno) for frame in frames])
    assert [name for name, _ in shown[0]] == ["outer", "called", "out_of_range"]
    assert shown[1:] == shown[:1] * 2
