"""`nn_module_stack` and `source_fn_stack` of graphs: which modules an operator belongs to."""

import pytest
from torch.fx.passes.utils.source_matcher_utils import get_source_partitions

import stator
import torch


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.weight = torch.nn.Parameter(torch.ones(4))

    def forward(self, x):
        return self.linear(x).relu() * self.weight


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block() for _ in range(2))
        self.norm = torch.nn.Sequential(torch.nn.LayerNorm(4), torch.nn.GELU())

    def forward(self, x):
        x = torch.sin(x)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


GLOBAL = Model()
x = torch.randn(3, 4)


def graph_of(f, *args):
    graphs = []

    def keep(gm, examples):
        graphs.append(gm)
        return gm.forward

    assert torch.equal(stator.compile(f, backend=keep, fullgraph=True)(*args), f(*args))
    return graphs[0].graph


def paths(node):
    return [path for path, _ in node.meta.get("nn_module_stack", {}).values()]


def test_operators_know_their_modules():
    model = Model()
    nodes = {node.name: node for node in graph_of(model, x).nodes}
    assert paths(nodes["sin"]) == ["L['self']"]
    assert paths(nodes["linear"]) == ["L['self']", "L['self'].blocks.0", "L['self'].blocks.0.linear"]
    assert paths(nodes["relu_1"]) == ["L['self']", "L['self'].blocks.1"]
    assert paths(nodes["gelu"]) == ["L['self']", "L['self'].norm", "L['self'].norm.1"]
    stack = nodes["linear_1"].meta["nn_module_stack"]
    assert [kind for _, kind in stack.values()] == [Model, Block, torch.nn.Linear]
    assert [*stack] == [str(id(each)) for each in (model, model.blocks[1], model.blocks[1].linear)]


def test_parameters_know_the_module_that_read_them_first():
    graph = graph_of(Model(), x)
    of = {node.meta["source"]: paths(node) for node in graph.find_nodes(op="placeholder")}
    weight = next(path for source, path in of.items() if "'1'" in source and "linear" in source)
    assert weight == ["L['self']", "L['self'].blocks.1", "L['self'].blocks.1.linear"]


def test_tensors_of_modules_are_said_to_stay_where_they_are():
    norm = torch.nn.BatchNorm1d(4).eval()
    graph = graph_of(lambda x, y: norm(x) + y, x, x + 1)
    fixed = {
        node.meta["source"].split("'")[-2]
        for node in graph.find_nodes(op="placeholder")
        if node.meta["tensor_dict"].get("_dynamo_static_input_type") == "unguarded"
    }
    assert fixed == {"weight", "bias", "running_mean", "running_var"}


def calls_a_global(x):
    return GLOBAL(x) + 1


def calls_an_argument(model, x):
    return model(x) + 1


@pytest.mark.parametrize(
    ("f", "args", "path"),
    [
        (calls_a_global, (x,), "G['GLOBAL'].blocks.1.linear"),
        (calls_an_argument, (GLOBAL, x), "L['model'].blocks.1.linear"),
    ],
)
def test_modules_that_functions_call(f, args, path):
    nodes = {node.name: node for node in graph_of(f, *args).nodes}
    assert paths(nodes["linear_1"])[-1] == path
    assert paths(nodes["add"]) == []


def test_a_module_that_is_called_twice():
    norm = torch.nn.LayerNorm(4)
    nodes = {node.name: node for node in graph_of(lambda x: norm(norm(x)), x).nodes}
    assert paths(nodes["layer_norm"]) == ["L['norm']"]
    assert nodes["layer_norm"].meta["nn_module_stack"] == nodes["layer_norm_1"].meta["nn_module_stack"]


def test_tools_find_layers_by_their_class():
    found = get_source_partitions(graph_of(Model(), x), [torch.nn.Linear, torch.nn.LayerNorm, torch.nn.GELU])
    assert {kind: len(partitions) for kind, partitions in found.items()} == {
        torch.nn.Linear: 2,
        torch.nn.LayerNorm: 1,
        torch.nn.GELU: 1,
    }


def test_aot_autograd_keeps_the_stacks():
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    graphs = []

    def keep(gm, examples):
        graphs.append(gm.graph)
        return make_boxed_func(gm.forward)

    model = Model()
    stator.compile(model, backend=aot_autograd(fw_compiler=keep))(x)
    gelu = next(node for node in graphs[0].nodes if "gelu" in str(node.target) or "erf" in str(node.target))
    assert paths(gelu)[-1] == "L['self'].norm.1"


def test_modules_made_in_the_call_have_no_stack():
    def f(x):
        return torch.nn.ReLU()(x) + 1

    nodes = {node.name: node for node in graph_of(f, x).nodes}
    assert paths(nodes["relu"]) == []


def test_export_keeps_the_stacks():
    graph, _ = stator.export(Model())(x)
    attributes = [node for node in graph.graph.nodes if node.op == "get_attr"]
    assert attributes
    assert all(paths(node) for node in attributes)
