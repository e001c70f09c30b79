"""The settings of `stator.export` that say which sizes stay open, and who checks them."""

import pytest

import stator
import torch


def doubled(x):
    return x * 2 + x.shape[0]


def fixes(x):
    return x + 1 if x.shape[0] == 3 else x + 2


ROWS = torch.export.Dim("rows", min=2, max=64)
three, five = torch.ones(3, 2), torch.ones(5, 2)


def symbols_of(graph):
    placeholder = next(node for node in graph.graph.nodes if node.op == "placeholder")
    return [type(size) for size in placeholder.meta["val"].shape]


@pytest.mark.parametrize(
    ("settings", "kinds"),
    [
        ({}, [torch.SymInt, torch.SymInt]),
        ({"tracing_mode": "symbolic"}, [torch.SymInt, torch.SymInt]),
        ({"tracing_mode": "real"}, [int, int]),
        ({"assume_static_by_default": True}, [int, int]),
        ({"assume_static_by_default": True, "dynamic_shapes": ({0: ROWS},)}, [torch.SymInt, torch.SymInt]),
    ],
)
def test_which_sizes_are_open(settings, kinds):
    graph, _ = stator.export(doubled, **settings)(three)
    assert symbols_of(graph) == kinds
    assert torch.equal(graph(three), doubled(three))
    if kinds[0] is torch.SymInt:
        assert torch.equal(graph(five), doubled(five))
    else:
        with pytest.raises(RuntimeError, match=r"size\(0\) == 3"):
            graph(five)
        with pytest.raises(RuntimeError, match=r"dim\(\) == 2"):
            graph(torch.ones(3, 2, 1))


def test_the_constraint_solver_is_asked_unless_it_is_disabled():
    with pytest.raises(Exception, match="rows"):
        stator.export(fixes, dynamic_shapes=({0: ROWS},))(three)
    graph, _ = stator.export(fixes, dynamic_shapes=({0: ROWS},), disable_constraint_solver=True)(three)
    assert torch.equal(graph(three), fixes(three))


@pytest.mark.parametrize("prefers_asserts", [False, True])
def test_what_the_graph_relies_on_is_asserted_in_its_runs(prefers_asserts):
    graph, guards = stator.export(fixes, prefer_deferred_runtime_asserts_over_guards=prefers_asserts)(three)
    assert any("size(0)" in str(guard) for guard in guards)
    with pytest.raises(RuntimeError, match=r"size\(0\)"):
        graph(five)


def test_debug_backends_are_listed_on_request():
    stator.register_debug_backend(lambda gm, inputs: gm.forward, name="for_debugging")
    assert "for_debugging" not in stator.list_backends()
    assert "for_debugging" in stator.list_backends(exclude_tags=("experimental",))
    assert torch.equal(stator.compile(doubled, backend="for_debugging")(three), doubled(three))
