"""Steps of optimizers: parameters change in place, gradients are read, state is made on the first step."""

import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch
from torch import nn


def made(kind: Any, foreach: bool | None = False, **options: Any) -> tuple[list[nn.Parameter], Any]:
    torch.manual_seed(0)
    parameters = [nn.Parameter(torch.randn(4, 3)) for _ in range(5)]
    for p in parameters:
        p.grad = torch.randn(4, 3)
    if foreach is not None:
        options["foreach"] = foreach
    return parameters, kind(parameters, lr=0.1, **options)


@pytest.mark.parametrize(
    "options", [{}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}]
)
def test_sgd_is_one_graph(options: dict[str, Any]) -> None:
    (ours, optimizer), (theirs, plain) = made(torch.optim.SGD, **options), made(torch.optim.SGD, **options)
    step = stator.compile(lambda: optimizer.step(), backend="native", fullgraph=True)
    for _ in range(4):
        step()
        plain.step()
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
    assert sum(entry.hits for entry in stator.cache_entries(step)) >= 2
    for p, q in zip(ours, theirs, strict=True):
        p.grad = q.grad = torch.ones(4, 3)  # another gradient is noticed
    step()
    plain.step()
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_a_learning_rate_that_changes_is_seen() -> None:
    (ours, optimizer), (theirs, plain) = made(torch.optim.SGD), made(torch.optim.SGD)
    step = stator.compile(lambda: optimizer.step(), backend="native")
    for lr in (0.1, 0.1, 0.05, 0.05, 0.01):
        optimizer.param_groups[0]["lr"] = plain.param_groups[0]["lr"] = lr
        step()
        plain.step()
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


O = torch.optim
ONE_GRAPH: list[tuple[Any, dict[str, Any]]] = [
    (O.Adam, {}),
    (O.Adam, {"amsgrad": True, "weight_decay": 0.1}),
    (O.Adam, {"maximize": True}),
    (O.AdamW, {}),
    (O.RMSprop, {"centered": True, "momentum": 0.9}),
    (O.Adagrad, {"lr_decay": 0.1}),
    (O.NAdam, {"weight_decay": 0.1}),
    (O.Adamax, {}),
    (O.Adadelta, {}),
    (O.Rprop, {}),
    (O.SGD, {"momentum": 0.9, "nesterov": True}),
]
FUSED: list[tuple[Any, dict[str, Any]]] = [
    (O.Adam, {"amsgrad": True}),
    (O.AdamW, {"maximize": True}),
    (O.SGD, {"momentum": 0.9, "nesterov": True}),
    (O.Adagrad, {}),
]
# They look at the step's number.
BREAKS: list[tuple[Any, dict[str, Any]]] = [(O.RAdam, {}), (O.ASGD, {}), (O.Adafactor, {"weight_decay": 0.1})]


def steps(kind: Any, options: dict[str, Any], foreach: bool | None, whole: bool) -> Any:
    """Eight steps beside eager ones, with a schedule of learning rates in the second half."""
    options = {**options, "foreach": foreach}
    ours, optimizer = made(kind, **options)
    theirs, plain = made(kind, **options)
    schedules = [torch.optim.lr_scheduler.ExponentialLR(each, 0.9) for each in (optimizer, plain)]
    step = stator.compile(lambda: optimizer.step(), backend="native", fullgraph=whole)
    for i in range(8):
        step()
        plain.step()
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
        for p, q in zip(ours, theirs, strict=True):
            p.grad.mul_(-0.7)  # type: ignore[union-attr]
            q.grad.mul_(-0.7)  # type: ignore[union-attr]
        if i >= 3:
            for schedule in schedules:
                schedule.step()
    own, wanted = (each.state_dict()["state"] for each in (optimizer, plain))
    for number, state in wanted.items():
        for name, value in state.items():
            assert torch.equal(torch.as_tensor(own[number][name]), torch.as_tensor(value)), name
    return step


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize(("kind", "options"), ONE_GRAPH)
def test_steps_are_one_graph_and_eagers_to_the_bit(kind: Any, options: dict[str, Any], foreach: bool) -> None:
    step = steps(kind, options, foreach, whole=True)
    # The first step makes the state, the second has it, and then the learning rate is a number that changes.
    assert len(stator.cache_entries(step)) <= 3, step.misses


@pytest.mark.parametrize(("kind", "options"), FUSED)
def test_fused_steps_are_one_graph(kind: Any, options: dict[str, Any]) -> None:
    steps(kind, {**options, "fused": True}, None, whole=True)


def test_muon_is_one_graph() -> None:
    if not hasattr(O, "Muon"):
        pytest.skip("this torch has none")
    steps(O.Muon, {}, None, whole=True)


def test_a_closure_that_calls_backward() -> None:
    """LBFGS decides by values how far to go, behind a closure whose backward() is captured."""
    x, y = torch.randn(16, 4), torch.randn(16, 1)

    def fitted(compiles: bool) -> tuple[list[torch.Tensor], Any]:
        torch.manual_seed(0)
        layer = torch.nn.Linear(4, 1)
        optimizer = O.LBFGS(layer.parameters(), lr=0.1, line_search_fn="strong_wolfe", max_iter=4)

        def loss() -> torch.Tensor:
            optimizer.zero_grad()
            value: torch.Tensor = ((layer(x) - y) ** 2).mean()
            value.backward()
            return value

        def run() -> Any:
            return optimizer.step(loss)

        step = stator.compile(run, backend="native") if compiles else run
        found = [torch.as_tensor(step()).detach() for _ in range(5)]
        return [*found, *(p.detach() for p in layer.parameters())], step

    own, step = fitted(True)
    assert all(torch.equal(a, b) for a, b in zip(own, fitted(False)[0], strict=True))
    assert step.breaks[0].startswith("data-dependent-branch:")


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize(("kind", "options"), BREAKS)
def test_steps_that_break_do_what_eager_does(kind: Any, options: dict[str, Any], foreach: bool) -> None:
    assert steps(kind, options, foreach, whole=False).breaks


def test_numbers_read_off_tensors() -> None:
    def f(t: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, float]:
        t += 1
        step = t.item()
        correction = 1 - 0.9**step
        return torch.addcdiv(x, x, x + 1, value=-0.1 / correction) / math.sqrt(correction), step

    compiled = stator.compile(f, backend="native", fullgraph=True)
    t, u, x = torch.tensor(0.0), torch.tensor(0.0), torch.rand(4)
    for _ in range(4):
        got, wanted = compiled(t, x), f(u, x)
        assert torch.equal(got[0], wanted[0])
        assert got[1] == wanted[1]
        assert type(got[1]) is float
    assert len(stator.cache_entries(compiled)) == 1
    t.fill_(-1), u.fill_(-1)
    with pytest.raises(ZeroDivisionError):
        f(u, x)
    with pytest.raises(ZeroDivisionError):
        compiled(t, x)


def test_a_tensor_where_a_number_is_wanted() -> None:
    def f(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        return torch.add(x, x, alpha=t) + x.clone().addcdiv_(x, x + 1, value=t)

    compiled = stator.compile(f, backend="native", fullgraph=True)
    for value in (0.5, -2.0):
        x, t = torch.rand(3), torch.tensor(value)
        assert torch.equal(compiled(x, t), f(x, t))
    assert len(stator.cache_entries(compiled)) == 1


def test_a_branch_on_a_number_read_off_a_tensor_breaks() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.sum().item() > 1 else x

    compiled = stator.compile(f, backend="native")
    for value in (0.1, 5.0):
        x = torch.full((2,), value)
        assert torch.equal(compiled(x), f(x))
    assert "data-dependent-branch" in compiled.breaks[0]


FIRST_STEP = """
import stator
import torch
p, q = torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(3))
p.grad = q.grad = torch.full((3,), 0.5)
optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9, foreach=False)
stator.compile(lambda: optimizer.step(), backend="native", fullgraph=True)()
torch.optim.SGD([q], lr=0.1, momentum=0.9, foreach=False).step()
assert torch.equal(p, q)
"""


def test_the_first_step_of_a_process() -> None:
    """Torch loads a part of itself then, having written to a variable of a module of its own."""
    subprocess.run([sys.executable, "-c", FIRST_STEP], check=True)


S = torch.optim.lr_scheduler
SCHEDULES: dict[str, tuple[Callable[[Any], Any], int]] = {
    "cosine": (lambda o: S.CosineAnnealingLR(o, 25, 0.001), 4),
    "one cycle": (lambda o: S.OneCycleLR(o, 0.3, total_steps=60), 4),
    "one cycle of lines": (
        lambda o: S.OneCycleLR(o, 0.3, total_steps=60, anneal_strategy="linear", three_phase=True),
        5,
    ),
    "cyclic": (lambda o: S.CyclicLR(o, 0.01, 0.2, 7), 6),
    "cyclic, smaller and smaller": (lambda o: S.CyclicLR(o, 0.01, 0.2, 7, mode="exp_range", gamma=0.99), 6),
    "polynomial": (lambda o: S.PolynomialLR(o, 30, 2.0), 5),
    "linear": (lambda o: S.LinearLR(o, total_iters=9), 4),
    "milestones": (lambda o: S.MultiStepLR(o, [5, 11, 20], 0.3), 7),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_are_served(name: str) -> None:
    """Forty steps: captures for the first ones, whose numbers are 0 and 1, and for each phase."""
    make, captures = SCHEDULES[name]

    def world() -> tuple[Any, Any]:
        groups = [{"params": [torch.nn.Parameter(torch.ones(2))], "lr": lr} for lr in (0.1, 0.05)]
        optimizer = O.SGD(groups, lr=0.1, momentum=0.9)
        return optimizer, make(optimizer)

    (ours, schedule), (theirs, plain) = world(), world()
    step = stator.compile(lambda: schedule.step(), backend="native")
    for _ in range(40):
        ours.step()
        theirs.step()
        step()
        plain.step()
        for one, other in zip(ours.param_groups, theirs.param_groups, strict=True):
            assert (one["lr"], one["momentum"]) == (other["lr"], other["momentum"])
        assert schedule.last_epoch == plain.last_epoch
        assert schedule.get_last_lr() == plain.get_last_lr()
    assert len(stator.cache_entries(step)) <= captures, step.misses
