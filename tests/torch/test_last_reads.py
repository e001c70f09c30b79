"""A segment may end with an operator whose result only a run has: it is part of the graph."""

import traceback
from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch


class Recording:
    """A backend that runs the graphs as they are, and keeps them."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []
        self.runs = 0

    def __call__(self, module: Any, examples: Any) -> Callable[..., Any]:
        self.graphs.append(module)

        def run(*arguments: Any) -> Any:
            self.runs += 1
            return module.forward(*arguments)

        return run

    def operators(self) -> list[str]:
        names = [getattr(node.target, "_opname", "") for graph in self.graphs for node in graph.graph.nodes]
        return [name for name in names if name]


def work(x: torch.Tensor) -> torch.Tensor:
    return torch.tanh(x * 2 + 1)


def branches(x: torch.Tensor) -> torch.Tensor:
    y = work(x)
    return work(y * 2) if y.sum() > 0 else work(y + 3)


def negates(x: torch.Tensor) -> torch.Tensor:
    y = work(x)
    return work(y) if not (y > 0).any() else y


def asserts(x: torch.Tensor) -> torch.Tensor:
    y = work(x)
    assert (y.abs() < 10).all(), "too large"
    return work(y)


def loops(x: torch.Tensor) -> torch.Tensor:
    error = x.abs().sum()
    while error > 0.25:
        x, error = work(x), error * 0.5
    return x


def floats(x: torch.Tensor) -> torch.Tensor:
    return work(x) * float(x.sum()) + int(x.abs().sum()) + bool(x.any())


def items(x: torch.Tensor) -> tuple[torch.Tensor, int, bool, float]:
    y = work(x)
    count, any_there = (y > 0).sum().item(), (y > 0).any().item()
    mean = y.mean().item()
    return work(y) * count, count, any_there, mean


def large_ints(x: torch.Tensor) -> int:
    return int((x.sum() > 0).long() * 0 + 2**62 + 1)


def masks(x: torch.Tensor) -> torch.Tensor:
    y = work(x)
    return work(y[y > 0]).sum() + y.masked_select(y < 0).sum()


def nonzeros(x: torch.Tensor) -> torch.Tensor:
    return work(torch.nonzero(x > 0).float()).sum()


def uniques(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, counts = torch.unique(x.round(), return_counts=True)
    return work(values), counts


PROGRAMS = [branches, negates, asserts, loops, floats, items, large_ints, masks, nonzeros, uniques]
READS = {
    branches: "is_nonzero",
    negates: "is_nonzero",
    asserts: "is_nonzero",
    loops: "is_nonzero",
    floats: "item",
    items: "item",
    large_ints: "item",
    masks: "index",
    nonzeros: "nonzero",
    uniques: "_unique2",
}


def inputs() -> list[torch.Tensor]:
    return [torch.tensor(row) for row in ([1.0, -2.0, 3.0], [-1.0, -2.0, -3.0], [0.5, 0.5, 0.5, 2.0])]


@pytest.mark.parametrize("backend", ["native", "eager", "python"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_results_are_those_of_eager(program: Callable[..., Any], backend: str) -> None:
    compiled = stator.compile(program, backend=Recording() if backend == "python" else backend)
    for x in inputs() * 3:
        expected, found = program(x), compiled(x)
        assert type(found) is type(expected)
        torch.testing.assert_close(found, expected, rtol=0, atol=0)
        if isinstance(expected, tuple):
            assert [type(each) for each in found] == [type(each) for each in expected]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_the_read_is_part_of_a_graph(program: Callable[..., Any]) -> None:
    backend = Recording()
    stator.compile(program, backend=backend)(inputs()[0])
    assert READS[program] in backend.operators()


def test_an_assertion_fails_as_in_eager_code() -> None:
    compiled = stator.compile(asserts, backend="native")
    compiled(torch.ones(3))
    wrong = torch.full((3,), torch.nan)
    with pytest.raises(AssertionError, match="too large") as raised:
        compiled(wrong)
    lines = [frame.lineno for frame in traceback.extract_tb(raised.tb)[1:]]
    assert lines == [asserts.__code__.co_firstlineno + 2]


def test_the_truth_of_several_elements_raises() -> None:
    def ambiguous(x: torch.Tensor) -> torch.Tensor:
        y = work(x)
        try:
            return y if y > 0 else -y
        except RuntimeError as error:
            return y * len(str(error))

    x = torch.ones(3)
    compiled = stator.compile(ambiguous, backend="native")
    assert torch.equal(compiled(x), ambiguous(x))


def test_gradients_pass_through_a_mask() -> None:
    def masked(x: torch.Tensor) -> torch.Tensor:
        y = work(x)
        return work(y[y > 0]).sum()

    for backend in ("native", Recording()):
        mine = torch.linspace(-1, 1, 8, requires_grad=True)
        theirs = mine.detach().clone().requires_grad_()
        compiled = stator.compile(masked, backend=backend)
        for _ in range(2):
            compiled(mine).backward()
            masked(theirs).backward()
        assert torch.equal(mine.grad, theirs.grad)  # type: ignore[arg-type]


def test_a_backend_that_refuses_is_asked_without() -> None:
    offered: list[bool] = []

    def refuses(module: Any, examples: Any) -> Any:
        reads = any(getattr(node.target, "_opname", "") == "is_nonzero" for node in module.graph.nodes)
        offered.append(reads)
        if reads:
            raise NotImplementedError("no values here")
        return module.forward

    compiled = stator.compile(branches, backend=refuses)
    for x in inputs():
        assert torch.equal(compiled(x), branches(x))
    assert offered[0]
    assert not any(offered[1:])


def test_compilers_are_not_offered_one() -> None:
    compiled = stator.compile(branches, backend="aot_eager")
    for x in inputs():
        assert torch.equal(compiled(x), branches(x))


def test_classes_that_answer_themselves_are_asked() -> None:
    class Shy(torch.Tensor):
        def __bool__(self) -> bool:
            return False

    x = torch.ones(1).as_subclass(Shy)
    compiled = stator.compile(lambda x: x * 2 if x + 0 else x * 3, backend="native")
    for _ in range(3):
        assert compiled(x).item() == 3


def make_step() -> tuple[Callable[..., Any], torch.nn.Module]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def step(x: torch.Tensor) -> tuple[torch.Tensor, float]:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach(), loss.item()

    return step, model


def trained(backend: Any) -> tuple[list[Any], dict[str, torch.Tensor]]:
    step, model = make_step()
    compiled = step if backend is None else stator.compile(step, backend=backend)
    results = [compiled(torch.full((3, 4), float(i + 1))) for i in range(6)]
    return results, {name: value.detach().clone() for name, value in model.named_parameters()}


def compiles(module: Any, examples: Any) -> Any:
    """A backend that knows nothing of Stator, and traces what it is given."""
    from functorch.compile import make_boxed_func
    from torch._functorch.aot_autograd import aot_module_simplified

    return aot_module_simplified(module, examples, fw_compiler=lambda gm, _: make_boxed_func(gm.forward))


@pytest.mark.parametrize("kind", ["native", "eager", "recording", "compiles"])
def test_training_steps_are_those_of_eager(kind: str) -> None:
    backend = {"recording": Recording(), "compiles": compiles}.get(kind, kind)
    expected, weights = trained(None)
    found, ours = trained(backend)
    assert [each[1] for each in found] == [each[1] for each in expected]
    assert all(torch.equal(a[0], b[0]) for a, b in zip(found, expected, strict=True))
    assert all(torch.equal(ours[name], weights[name]) for name in weights)


def test_backward_is_part_of_a_graph_that_is_run_as_it_is() -> None:
    backend = Recording()
    step, _ = make_step()
    compiled = stator.compile(step, backend=backend)
    for _ in range(4):
        compiled(torch.ones(3, 4))
    backend.runs = 0
    compiled(torch.ones(3, 4))
    assert backend.runs == 1
    targets = [getattr(node.target, "__name__", "") for node in backend.graphs[-1].graph.nodes]
    assert "backward" in targets


def test_a_module_without_operators_leaves_others_captured() -> None:
    class Quiet(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            torch._dynamo.graph_break()
            return x

    quiet, linear = Quiet(), torch.nn.Linear(2, 2)

    def alternates(x: torch.Tensor) -> torch.Tensor:
        for _ in range(12):
            x = quiet(x)
        torch._dynamo.graph_break()
        return linear(x)

    backend = Recording()
    compiled = stator.compile(alternates, backend=backend)
    x = torch.ones(1, 2)
    for _ in range(3):
        assert torch.equal(compiled(x), alternates(x))
    backend.runs = 0
    compiled(x)
    assert backend.runs == 1
