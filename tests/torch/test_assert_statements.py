"""`assert` of a tensor: a node for backends in Python, so that it ends no capture."""

import pytest
from assert_programs import asserts, branches, handled

import stator
import torch

GOOD, BAD = torch.arange(3.0) + 1, torch.arange(3.0) - 5


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_statements_are_nodes(backend: str) -> None:
    graphs: list[torch.fx.GraphModule] = []

    def noting(graph: torch.fx.GraphModule, examples: object) -> object:
        graphs.append(graph)
        return stator.lookup_backend(backend)(graph, examples)

    compiled = stator.compile(asserts, backend=noting, fullgraph=True)
    assert torch.equal(compiled(GOOD), asserts(GOOD))
    with pytest.raises((AssertionError, RuntimeError), match="must be positive"):
        compiled(BAD)
    assert torch.equal(compiled(GOOD), asserts(GOOD))
    assert len(graphs) == 1
    checks = [node for node in graphs[0].graph.nodes if node.target is torch.ops.aten._assert_async.msg]
    assert [node.args[1] for node in checks] == ["must be positive", "assertion error"]


@pytest.mark.parametrize("backend", ["eager", "native"])
@pytest.mark.parametrize("function", [handled, branches])
def test_what_decides_is_no_assertion(function: object, backend: str) -> None:
    assert callable(function)
    with pytest.raises(stator.CaptureError):
        stator.compile(function, backend=backend, fullgraph=True)(GOOD)
    compiled = stator.compile(function, backend=backend)
    for x in (GOOD, BAD, GOOD):
        assert torch.equal(compiled(x), function(x))


def test_native_asks() -> None:
    compiled = stator.compile(asserts, backend="native")
    assert torch.equal(compiled(GOOD), asserts(GOOD))
    with pytest.raises(AssertionError, match="must be positive"):
        compiled(BAD)
