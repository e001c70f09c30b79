"""`stator.export`: one graph with the program's own signature."""

from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch
from tests.comparison import difference
from torch import nn

WEIGHT = torch.arange(4.0)


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("offset", torch.ones(4))

    def forward(self, x: torch.Tensor, scale: float = 2.0) -> torch.Tensor:
        return self.linear(x) * scale + self.offset


def nested(x: torch.Tensor, pair: tuple[torch.Tensor, dict[str, torch.Tensor]]) -> dict[str, Any]:
    total = x + pair[1]["a"]
    return {"total": total, "same": x, "twice": (total, total), "number": 3, "size": x.shape[0] * 2}


def in_place(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y.add_(1)
    return y


def reads_a_global(x: torch.Tensor) -> torch.Tensor:
    return x + WEIGHT


def by_name(x: torch.Tensor, *, y: torch.Tensor, flag: bool = True) -> torch.Tensor:
    return x + y if flag else x - y


MODEL = Model()
PROGRAMS: list[tuple[Callable[..., Any], Callable[[int], tuple[tuple[Any, ...], dict[str, Any]]]]] = [
    (nested, lambda n: ((torch.randn(n, 4), (torch.randn(n, 4), {"a": torch.randn(n, 4)})), {})),
    (in_place, lambda n: ((torch.randn(n, 4),), {})),
    (reads_a_global, lambda n: ((torch.randn(n, 4),), {})),
    (by_name, lambda n: ((torch.randn(n, 4),), {"y": torch.randn(n, 4), "flag": False})),
    (MODEL, lambda n: ((torch.randn(n, 4),), {})),
    (MODEL, lambda n: ((torch.randn(n, 4), 3.0), {})),
]


@pytest.mark.parametrize("aten_graph", [False, True])
@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_graph_does_what_the_program_does(number: int, aten_graph: bool) -> None:
    program, arguments = PROGRAMS[number]
    args, kwargs = arguments(3)
    graph, guards = stator.export(program, aten_graph=aten_graph)(*args, **kwargs)
    assert isinstance(graph, torch.fx.GraphModule)
    assert guards
    assert any(node.op == "call_function" for node in graph.graph.nodes)
    for rows in (3, 5):
        args, kwargs = arguments(rows)
        torch.manual_seed(0)
        found = graph(*args, **kwargs)
        with torch.no_grad():
            assert difference(_plain(found), _plain(program(*args, **kwargs))) is None
    if program is nested:
        assert found["same"] is args[0]
        assert found["size"] == 10


def _plain(value: Any) -> Any:
    return torch.utils._pytree.tree_map(
        lambda each: each.detach() if isinstance(each, torch.Tensor) else each, value
    )


def test_parameters_and_buffers_are_the_modules() -> None:
    graph, _ = stator.export(MODEL)(torch.randn(2, 4))
    assert {id(p) for p in graph.parameters()} == {id(p) for p in MODEL.parameters()}
    assert {id(b) for b in graph.buffers()} == {id(b) for b in MODEL.buffers()}


def test_nothing_is_written() -> None:
    norm = nn.BatchNorm1d(4)
    before = {name: value.clone() for name, value in norm.state_dict().items()}
    graph, _ = stator.export(norm)(torch.randn(3, 4))
    assert difference(dict(norm.state_dict()), before) is None
    graph(torch.randn(3, 4))
    assert norm.num_batches_tracked == 1


def test_a_break_is_an_error() -> None:
    def breaks(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.sum() > 0 else x

    with pytest.raises(stator.CaptureError, match=r"test_export\.py"):
        stator.export(breaks)(torch.ones(2))


def test_a_program_without_operators() -> None:
    graph, _ = stator.export(lambda x, n: (n, x))(WEIGHT, 5)
    assert graph(WEIGHT, 5)[1] is WEIGHT
    assert graph(WEIGHT, 5)[0] == 5
    with pytest.raises(AssertionError, match="no tensor operations"):
        stator.export(lambda x: x, same_signature=False)(WEIGHT)


def test_arguments_that_make_no_sense() -> None:
    with pytest.raises(AssertionError, match="aten_graph"):
        stator.export(in_place, decomposition_table={})
    with pytest.raises(AssertionError, match="aten_graph"):
        stator.export(in_place, pre_dispatch=True)
    from torch._dynamo.exc import UserError

    with pytest.raises(UserError, match="inputs with type"):
        stator.export(lambda x, y: x)(WEIGHT, object())


def test_old_form() -> None:
    with pytest.warns(FutureWarning, match="old form"):
        graph, _ = stator.export(in_place, torch.ones(3))
    assert torch.equal(graph(torch.ones(3)), torch.full((3,), 2.0))


def fixes(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.shape[0] == 3 else x - 1


def keeps_open(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x @ y


def test_sizes_that_are_to_stay_open() -> None:
    from torch.export import Dim
    from torch.fx.experimental.symbolic_shapes import ConstraintViolationError

    rows, columns = Dim("rows", max=100), Dim("columns")
    x, y = torch.randn(5, 4), torch.randn(4, 6)
    graph, _ = stator.export(keeps_open, dynamic_shapes=({0: rows}, {1: columns}))(x, y)
    for n, m in ((2, 3), (7, 7)):
        a, b = torch.randn(n, 4), torch.randn(4, m)
        torch.testing.assert_close(graph(a, b), a @ b)
    with pytest.raises(ConstraintViolationError, match="rows"):
        stator.export(fixes, dynamic_shapes=({0: rows},))(torch.ones(3, 2))
    other = Dim("other")
    with pytest.raises(ConstraintViolationError, match="other"):
        stator.export(keeps_open, dynamic_shapes=({1: other}, None))(x, y)
    with pytest.raises(ConstraintViolationError):
        stator.export(lambda a, b: a + b, dynamic_shapes=({0: rows}, {0: other}))(x, x + 1)


def test_inputs_of_the_graph_are_named_as_those_of_torch() -> None:
    def program(x: torch.Tensor, n: int, unused: torch.Tensor) -> torch.Tensor:
        return x + n

    given = torch.ones(3), 2, torch.ones(2)
    for aten_graph, expected in ((False, ["l_x_", "arg1", "unused"]), (True, ["arg0_1", "arg1", "arg1_1"])):
        graph, _ = stator.export(program, aten_graph=aten_graph)(*given)
        inputs = graph.graph.find_nodes(op="placeholder")
        assert [node.target for node in inputs] == ["arg0", "arg1", "arg2"]
        assert [node.name for node in inputs] == expected
        assert torch.equal(graph(*given), program(*given))


def branches(x: torch.Tensor) -> torch.Tensor:
    if x.shape[0] > 4:
        return x * 2
    return x * 3


def reads_a_comparison(x: torch.Tensor) -> torch.Tensor:
    return torch.scalar_tensor(x.shape[0] > 4) + x.sum()


def compares_two(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.sum() if x.shape[0] * 2 == y.shape[0] + 1 else y.sum()


@pytest.mark.parametrize("aten_graph", [False, True])
@pytest.mark.parametrize(
    ("program", "example", "served", "refused"),
    [
        (branches, (5,), (6,), (3,)),
        (reads_a_comparison, (5,), (9,), (4,)),
        (compares_two, (3, 5), (4, 7), (4, 6)),
    ],
)
def test_sizes_that_lead_another_way_are_an_error(
    program: Any, example: Any, served: Any, refused: Any, aten_graph: bool
) -> None:
    """The graph holds the way that the example took: for others it must not answer."""
    module = stator.export(program, aten_graph=aten_graph)(*map(torch.ones, example)).graph_module
    inputs = [*map(torch.ones, served)]
    assert difference(module(*inputs), program(*inputs)) is None
    with pytest.raises(RuntimeError, match="captured for"):
        module(*map(torch.ones, refused))


@pytest.mark.parametrize("aten_graph", [False, True])
def test_attributes_of_tensors(aten_graph: bool) -> None:
    """Inputs that the graph uses carry what the program has attached to them."""

    def function(x: torch.Tensor, unused: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x * y

    given = [torch.randn(3) for _ in range(3)]
    for name, tensor in zip("abc", given, strict=True):
        tensor.tag = name  # type: ignore[attr-defined]
    graph = stator.export(function, aten_graph=aten_graph)(*given)[0].graph
    inputs = graph.find_nodes(op="placeholder")
    assert [node.meta.get("tensor_dict", {}).get("tag") for node in inputs] == ["a", None, "c"]
