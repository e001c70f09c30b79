"""What explain says of breaks, segments and captures, and that it is what compile does."""

import os
import shutil
from typing import Any

import pytest

import stator
import torch

X = torch.ones(2, 3)


def block(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 100:
        x = x / 2
    return torch.nn.functional.layer_norm(x, (3,))


def program(x: torch.Tensor) -> torch.Tensor:
    for _ in range(3):
        x = block(x) + 1
        os.getloadavg()
    return x.relu()


def test_it_agrees_with_compile() -> None:
    """The backend is given the same graphs as by compile, and explain counts these and no others."""
    given: list[str] = []

    def backend(gm: torch.fx.GraphModule, inputs: Any) -> Any:
        given.append(str(gm.code))
        return gm.forward

    compiled = stator.compile(program, backend=backend)
    compiled(X)
    by_compile = list(given)
    output = stator.explain(compiled)(X)
    assert sorted(given[len(by_compile) :]) == sorted(by_compile)
    assert sorted(str(graph.code) for graph in output.graphs) == sorted(by_compile)
    assert output.graph_count == len(by_compile)
    assert output.backend == "backend"


@pytest.mark.parametrize("backend", ["native", "eager", "aot_eager"])
def test_it_agrees_with_what_was_captured(backend: str) -> None:
    compiled = stator.compile(program, backend=backend)
    compiled(X)
    explained, captured = stator.explain(compiled)(X), stator.ExplainOutput.of(compiled)
    assert sorted(e.graph for e in explained.entries) == sorted(e.graph for e in captured.entries)
    assert {str(why) for why in explained.break_reasons} == {str(why) for why in captured.break_reasons}
    assert all(ops for ops in explained.ops_per_graph)
    assert explained.backend == captured.backend == backend


def test_each_break_once_with_the_users_line() -> None:
    output = stator.explain(program)(X)
    places = [(why.code, why.own_frame) for why in output.break_reasons]
    assert len(places) == len(set(places))
    lines = [str(why).splitlines()[0].split(": ", 1)[1] for why in output.break_reasons]
    assert {"if x.sum() > 100:", "os.getloadavg()"} <= set(lines)
    assert str(output).count("os.getloadavg()") == 1


def test_the_librarys_line_stands_below() -> None:
    def asks(x: torch.Tensor) -> torch.Tensor:
        shutil.disk_usage("/")
        return x + 1

    why = stator.explain(asks)(X).break_reasons[0]
    assert why.own_frame == (__file__, asks.__code__.co_firstlineno + 1, "asks")
    assert why.library_frame is not None
    assert why.library_frame[0] == shutil.__file__
    first, below, *_ = str(why).splitlines()
    assert first.endswith('shutil.disk_usage("/")')
    assert below.strip().startswith(f"below it: {shutil.__file__}:")


def test_segments_know_where_they_begin_and_end() -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        os.getloadavg()
        return y.cos()

    first = broken.__code__.co_firstlineno
    before, behind = (e for e in stator.explain(broken)(X).entries if e.nodes)
    assert before.begins == (__file__, first, "broken")
    assert before.ends == (__file__, first + 2, "broken")
    assert behind.begins == (__file__, first + 2, "broken")
    assert behind.ends is None
    assert [stack[-1] for stack in behind.node_stacks] == [(__file__, first + 3, "broken")]


def test_the_share_that_was_captured() -> None:
    assert stator.explain(lambda x: x.sin() + 1)(X).captured_share == 1.0
    assert stator.explain(lambda x: os.getloadavg())(X).captured_share == 0.0
    output = stator.explain(program)(X)
    assert output.captured_share == output.op_count / (output.op_count + output.graph_break_count)
    assert f"Captured: {output.captured_share:.0%}" in str(output)


def test_guards_as_text() -> None:
    """Of the arguments, with the line that relied on them; the others are counted."""
    output = stator.explain(program)(X)
    line = f"{__file__}:{program.__code__.co_firstlineno} in program"
    assert f'Guard: L["x"] is Tensor float [2, 3] strides [3, 1] on cpu  (relied on at {line})' in str(output)
    assert "more guards: out_guards" in str(output)


def test_what_was_called_so_far() -> None:
    compiled = stator.compile(lambda x, name: x.sin() * len(name), backend="native")
    for name in ("a", "bc", "bc"):
        compiled(X, name)
    output = stator.ExplainOutput.of(compiled)
    assert [entry.hits for entry in output.entries] == [0, 1]
    assert [str(guard) for guard in output.recompiles] == ["L[\"name\"] == 'a'"]
    assert (output.backend, output.graph_count) == ("native", 2)
    assert "Captured again, for this no longer held: L[\"name\"] == 'a'" in str(output)
    with pytest.raises(TypeError, match="a compiled function is needed"):
        stator.ExplainOutput.of(3)


def test_recompiles_of_what_is_called() -> None:
    def inner(x: torch.Tensor, name: str) -> torch.Tensor:
        return x * len(name)

    def outer(x: torch.Tensor, name: str) -> torch.Tensor:
        os.getloadavg()
        return inner(x, name).sin()

    compiled = stator.compile(outer, backend="native")
    for name in ("a", "bc"):
        compiled(X, name)
    assert any("'a'" in str(guard) for guard in stator.ExplainOutput.of(compiled).recompiles)
