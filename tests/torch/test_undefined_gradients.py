"""Results of compiled graphs that get no gradient: what depends on them gets none, and no NaN."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from comparison import near
from torch._dynamo import compiled_autograd

import stator
import torch
from torch import Tensor, nn

Program = Callable[..., Any]


def dead_variable(x: Tensor) -> Tensor:
    unread = (x * 0).sqrt()  # noqa: F841
    y = x * 2
    torch._dynamo.graph_break()
    return (y * 1).sum()


def norm_of_zeros(x: Tensor) -> Tensor:
    unread = (x - x).norm()  # noqa: F841
    torch._dynamo.graph_break()
    return x.sin()


def dead_division(x: Tensor) -> Tensor:
    unread = 1 / (x - x)  # noqa: F841
    torch._dynamo.graph_break()
    return x.sin()


def one_of_several_pieces(x: Tensor) -> Tensor:
    first, second = x.sin().unbind(0)[:2]
    unread = (second * 0).sqrt()  # noqa: F841
    torch._dynamo.graph_break()
    return first * 1


def other_result(x: Tensor) -> tuple[Tensor, Tensor]:
    return (x * 0).sqrt(), x * 2


def views(x: Tensor) -> tuple[Tensor, ...]:
    steep = (x * 0).sqrt()
    return steep.view(-1), steep.t(), x + 1


def in_a_callee(x: Tensor) -> Tensor:
    return dead_variable(x) + x.sum()


def in_a_loop(x: Tensor) -> Tensor:
    for _ in range(3):
        unread = (x * 0).sqrt()  # noqa: F841
        torch._dynamo.graph_break()
        x = x.sin()
    return x


PROGRAMS = [value for value in list(globals().values()) if getattr(value, "__module__", "") == __name__]


def gradients(function: Program, *sizes: tuple[int, ...]) -> list[Tensor | None]:
    found: list[Tensor | None] = []
    for size in sizes:
        torch.manual_seed(0)
        x = torch.randn(size).requires_grad_()
        results = function(x)
        (results[-1] if isinstance(results, tuple) else results).sum().backward()
        found.append(x.grad)
    return found


def are_same(wanted: list[Tensor | None], found: list[Tensor | None]) -> None:
    assert near(found, wanted, rtol=1.3e-6, atol=1e-5)
    assert not any(one.isnan().any() for one in wanted if one is not None)


@pytest.mark.parametrize("backend", ["aot_eager", "fused", "native"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_nothing_flows_back(program: Program, backend: str) -> None:
    sizes = [(3, 4), (3, 4), (5, 4), (6, 4)]
    are_same(gradients(program, *sizes), gradients(stator.compile(program, backend=backend), *sizes))


@pytest.mark.parametrize("backend", ["inductor", "openxla"])
def test_nothing_flows_back_through_compilers(backend: str) -> None:
    if backend == "openxla":
        pytest.importorskip("jaxlib")
    for program in (one_of_several_pieces, other_result):
        are_same(gradients(program, (3, 4)), gradients(stator.compile(program, backend=backend), (3, 4)))


def test_parameters_of_unused_results_have_no_gradient() -> None:
    model = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

    def step(x: Tensor) -> tuple[Tensor, Tensor]:
        return model[0](x), model[1](x)

    compiled = stator.compile(step, backend="aot_eager")
    compiled(torch.ones(2, 4))[0].sum().backward()
    assert model[0].weight.grad is not None
    assert model[1].weight.grad is None
    assert model[1].bias.grad is None
    compiled(torch.ones(2, 4))[1].sum().backward()
    assert torch.equal(model[1].bias.grad, torch.full((4,), 2.0))
    assert torch.equal(model[0].bias.grad, torch.full((4,), 2.0))


def test_each_result_by_itself_and_all_together() -> None:
    def program(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return x.sin(), (x * 0).sqrt() + 1, x.exp()

    compiled = stator.compile(program, backend="aot_eager")
    for chosen in ([0], [2], [0, 2], [1], [0, 1, 2], [0]):
        found = []
        for function in (program, compiled):
            x = torch.full((3,), 0.5).requires_grad_()
            results = function(x)
            torch.stack([results[i].sum() for i in chosen]).sum().backward()
            found.append(x.grad)
        torch.testing.assert_close(found[1], found[0], equal_nan=True)
        assert found[1].isnan().all() == (1 in chosen)


@pytest.mark.parametrize("first_keeps", [False, True])
def test_a_graph_is_kept_by_some_runs_only(first_keeps: bool) -> None:
    compiled = stator.compile(lambda x: (x.sin().exp(), x * 2), backend="aot_eager")
    for keeps in (first_keeps, not first_keeps, first_keeps):
        x = torch.full((3,), 0.5).requires_grad_()
        one, other = compiled(x)
        (one.sum() + other.sum()).backward(retain_graph=keeps)
        expected = x.detach().cos() * x.detach().sin().exp() + 2
        torch.testing.assert_close(x.grad, expected)
        if keeps:
            one.sum().backward()
            torch.testing.assert_close(x.grad, 2 * expected - 2)


def test_a_hook_of_the_program_sees_what_is_defined() -> None:
    x = torch.zeros(3).requires_grad_()
    steep, other = stator.compile(lambda x: (x.sqrt(), x * 2), backend="aot_eager")(x)
    assert steep.grad_fn is other.grad_fn
    seen: list[Any] = []

    def hook(given: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
        seen.extend(given)
        return tuple(each if each is None else each * 2 for each in given)

    other.grad_fn.register_prehook(hook)
    other.sum().backward()
    assert seen[0] is None
    assert torch.equal(seen[1], torch.ones(3))
    assert torch.equal(x.grad, torch.full((3,), 4.0))


def test_variables_are_there_with_their_history() -> None:
    found: list[Any] = []

    def look() -> None:
        found.append(sys._getframe(2).f_locals["unread"])

    def program(x: Tensor) -> Tensor:
        unread = x.exp()  # noqa: F841
        torch._dynamo.disable(look)()
        return x * 2

    x = torch.zeros(3).requires_grad_()
    result = stator.compile(program, backend="aot_eager")(x)
    result.sum().backward(retain_graph=True)
    assert torch.equal(x.grad, torch.full((3,), 2.0))
    found[0].sum().backward()
    assert torch.equal(x.grad, torch.full((3,), 3.0))


def test_under_compiled_autograd() -> None:
    compiled = stator.compile(lambda x: (x.exp(), x * 2), backend="aot_eager")
    compiled_autograd.reset()
    x = torch.ones(3).requires_grad_()
    with compiled_autograd._enable(lambda graph: stator.compile(graph, backend="eager")):
        compiled(x)[1].sum().backward()
    assert torch.equal(x.grad, torch.full((3,), 2.0))


def transposed(x: Tensor) -> tuple[Tensor, ...]:
    view = (x * 2).t()
    return view, view.detach()


def part(x: Tensor) -> tuple[Tensor, ...]:
    view = (x * 2)[1:]
    return view, view.detach()


def piece(x: Tensor) -> tuple[Tensor, ...]:
    view = (x * 2).split(2)[1]
    torch._dynamo.graph_break()
    other = torch.cat([view, x]).split(2)[1]
    return other.detach(), other, view


def data_of_a_view(x: Tensor) -> tuple[Tensor, ...]:
    view = (x * 2).t()
    data = view.data
    data.mul_(2)
    return data, view


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("program", [transposed, part, piece, data_of_a_view], ids=lambda p: p.__name__)
def test_views_and_what_is_detached_of_them(program: Program) -> None:
    compiled = stator.compile(program, backend="aot_eager")
    for size in (4, 4, 6, 8):
        x = torch.randn(size, size).requires_grad_()
        wanted, found = program(x), compiled(x)
        for one, other in zip(wanted, found, strict=True):
            assert torch.equal(one, other)
        for results in (wanted, found):
            assert results[0].data_ptr() == results[1].data_ptr()
