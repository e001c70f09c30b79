"""Attributes of tensors that captured code reads and writes: their own, gradients, requires_grad and data."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from comparison import alike

import stator
import torch
from torch import nn

Program = tuple[Callable[[torch.Tensor], Any], Callable[[], Any]]  # the function, and what it writes to


def layer() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(3, 3)


def constant() -> Program:
    m = layer()

    def f(x: torch.Tensor) -> Any:
        m.weight.tag = 3  # type: ignore[attr-defined]
        return m(x) + m.weight.tag

    return f, lambda: vars(m.weight)


def counter() -> Program:
    m = layer()
    m.weight.count = 0  # type: ignore[attr-defined]

    def f(x: torch.Tensor) -> Any:
        m.weight.count += 1  # type: ignore[attr-defined, operator]
        return m(x) * m.weight.count

    return f, lambda: vars(m.weight)


def cached() -> Program:
    m = layer()

    def f(x: torch.Tensor) -> Any:
        old = getattr(m.weight, "cached", None)
        m.weight.cached = m(x).detach()  # type: ignore[attr-defined]
        return m.weight.cached if old is None else old + m.weight.cached

    return f, lambda: vars(m.weight)


def deleted() -> Program:
    m = layer()
    m.weight.first, m.weight.last = 1, 2  # type: ignore[attr-defined]

    def f(x: torch.Tensor) -> Any:
        first = m.weight.first
        del m.weight.first
        absent = hasattr(m.weight, "first")
        m.weight.first = first
        m.weight.brief = x  # type: ignore[attr-defined]
        del m.weight.brief
        return x + absent

    return f, lambda: vars(m.weight)


def on_result() -> Program:
    def f(x: torch.Tensor) -> Any:
        y = x * 2
        y.kind, y.next, y.self = "a", y + 1, y  # type: ignore[attr-defined]
        del y.self  # type: ignore[attr-defined]
        y.next.kind = {"nested": [y.kind]}  # type: ignore[attr-defined]
        return y

    return f, lambda: None


def on_argument() -> Program:
    def f(x: torch.Tensor) -> Any:
        x.count = getattr(x, "count", 0) + 1  # type: ignore[attr-defined]
        x.twice = x * 2  # type: ignore[attr-defined]
        return x * x.count

    return f, lambda: None


def gradient_dropped() -> Program:
    m = layer()

    def f(x: torch.Tensor) -> Any:
        m.weight.grad = None
        return x * 2, m.weight.grad

    return f, lambda: m.weight.grad


def gradient_written() -> Program:
    m = layer()

    def f(x: torch.Tensor) -> Any:
        m.weight.grad = x.expand(3, 3) * 2
        return m.weight.grad + 1

    return f, lambda: m.weight.grad


def frozen() -> Program:
    m = layer()

    def f(x: torch.Tensor) -> Any:
        for p in m.parameters():
            p.requires_grad = False
        y = m(x)
        m.requires_grad_()
        return y, m(x), m.weight.requires_grad

    return f, lambda: list(m.parameters())


def data_replaced() -> Program:
    m = layer()

    def f(x: torch.Tensor) -> Any:
        old = m.weight.data
        new = old * 0.9
        m.weight.data = new
        new.add_(0.5)
        y = m(x)
        m.weight.data.mul_(2)
        return y, new + 0, m.weight * 1, old.sum()

    return f, lambda: m.weight


def averages_swapped() -> Program:
    m = layer()
    kept = [torch.zeros(3, 3)]

    def f(x: torch.Tensor) -> Any:
        kept[0], m.weight.data = m.weight.data, kept[0]
        return m(x)

    return f, lambda: (m.weight, kept)


def on_class() -> Program:
    class Model:
        calls = 0
        mean = torch.zeros(1, 3)

        @classmethod
        def update(cls, x: torch.Tensor) -> torch.Tensor:
            cls.calls += 1
            cls.mean = cls.mean * 0.5 + x
            return cls.mean * cls.calls

    def f(x: torch.Tensor) -> Any:
        return Model.update(x) + Model.mean

    return f, lambda: (Model.calls, Model.mean)


def recurrent_state() -> Program:
    torch.manual_seed(0)
    cell = nn.LSTMCell(3, 3)
    kept: list[Any] = [(torch.zeros(1, 3), (torch.zeros(1, 3), None))]

    def f(x: torch.Tensor) -> Any:
        h, c = cell(x, (kept[0][0], kept[0][1][0]))
        kept[0] = (h.detach(), (c.detach(), None))
        return h

    return f, lambda: kept


def nonlocal_state() -> Program:
    count, hidden = 0, torch.zeros(1, 3)

    def f(x: torch.Tensor) -> Any:
        nonlocal count, hidden
        count += 1
        hidden = hidden * 0.5 + x
        return hidden * count

    return f, lambda: (count, hidden)


PROGRAMS = [
    constant, counter, cached, deleted, on_result, on_argument, gradient_dropped, gradient_written, frozen,
    data_replaced, averages_swapped, on_class, recurrent_state, nonlocal_state,
]  # fmt: skip


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_writes_are_those_of_eager_code(program: Callable[[], Program], backend: str) -> None:
    plain, plain_state = program()
    function, state = program()
    compiled = stator.compile(function, backend=backend, fullgraph=True)
    for i in range(8):
        x = torch.full((1, 3), float(i + 1))
        one, other = x.clone(), x.clone()
        assert alike(compiled(one), plain(other))
        assert alike(state(), plain_state())
        assert alike(one, other)
    assert sum(entry.hits for entry in stator.cache_entries(compiled)) >= 5


def test_what_is_written_is_what_is_returned() -> None:
    m = layer()

    def f(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        m.weight.kept = y  # type: ignore[attr-defined]
        m.bias.grad = y[0]
        return y

    compiled = stator.compile(f, backend="native", fullgraph=True)
    for _ in range(3):
        y = compiled(torch.ones(1, 3))
        assert m.weight.kept is y
        assert m.bias.grad is not None
        assert m.bias.grad.data_ptr() == y.data_ptr()


def training(optimizer: str, **options: Any) -> Iterator[tuple[nn.Module, Callable[[], None]]]:
    for _ in range(2):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
        used = getattr(torch.optim, optimizer)(model.parameters(), lr=0.1)

        def step(used: Any = used) -> None:
            used.step()
            used.zero_grad(**options)

        yield model, step


@pytest.mark.parametrize("set_to_none", [True, False])
@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "RMSprop"])
def test_step_and_zero_grad_are_one_program(optimizer: str, set_to_none: bool) -> None:
    (plain, plain_step), (model, step) = training(optimizer, set_to_none=set_to_none)
    compiled = stator.compile(step, backend="native", fullgraph=True)
    for i in range(10):
        torch.manual_seed(i)
        x = torch.randn(3, 4)
        plain(x).pow(2).sum().backward()
        model(x).pow(2).sum().backward()
        plain_step()
        compiled()
        for p, q in zip(plain.parameters(), model.parameters(), strict=True):
            assert torch.equal(p, q)
            assert (p.grad is None) == (q.grad is None) == set_to_none
            assert p.grad is None or torch.equal(p.grad, q.grad)  # type: ignore[arg-type]
    assert sum(entry.hits for entry in stator.cache_entries(compiled)) >= 6


@pytest.mark.parametrize("backend", ["native", "eager"])
def test_the_end_of_a_training_step_with_parameters_as_arguments(backend: str) -> None:
    def update(parameters: list[nn.Parameter], rate: float) -> None:
        for p in parameters:
            assert p.grad is not None
            p.data.add_(p.grad, alpha=-rate)
            p.grad = None

    model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 2))
    other = copy.deepcopy(model)
    compiled = stator.compile(update, backend=backend, fullgraph=True)
    for i in range(6):
        torch.manual_seed(i)
        x = torch.randn(3, 4)
        for m, function in ((model, compiled), (other, update)):
            m(x).pow(2).sum().backward()
            function(list(m.parameters()), 0.1)
        assert all(map(torch.equal, model.parameters(), other.parameters()))
        assert all(p.grad is None for p in model.parameters())
    assert sum(entry.hits for entry in stator.cache_entries(compiled)) >= 3


def test_requires_grad_of_arguments_and_results() -> None:
    def f(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x.requires_grad_()
        z = torch.zeros(3).requires_grad_()
        return (x * 2 + z).sum(), z

    compiled = stator.compile(f, backend="native", fullgraph=True)
    for _ in range(3):
        x = torch.ones(3)
        y, z = compiled(x)
        y.backward()
        assert x.requires_grad
        assert z.requires_grad
        assert x.grad is not None
        assert x.grad.tolist() == [2, 2, 2]
        assert z.grad is not None
        assert z.grad.tolist() == [1, 1, 1]


def test_errors_of_eager_code() -> None:
    m = layer()

    def grad(x: torch.Tensor) -> None:
        m.weight.grad = x

    def history(x: torch.Tensor) -> None:
        (m.weight * x).requires_grad_(False)

    def integer(x: torch.Tensor) -> None:
        x.long().requires_grad_()

    for function in (grad, history, integer):
        for _ in range(2):
            with pytest.raises(RuntimeError):
                stator.compile(function, backend="native")(torch.ones(1, 3))
    assert m.weight.grad is None
    assert m.weight.requires_grad


def test_attributes_of_arguments_are_guarded() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * getattr(x, "scale", 1)

    compiled = stator.compile(f, backend="native")
    x, y = torch.ones(3), torch.ones(3)
    assert compiled(x).tolist() == [1, 1, 1]
    x.scale = 5  # type: ignore[attr-defined]
    assert compiled(x).tolist() == [5, 5, 5]
    assert compiled(y).tolist() == [1, 1, 1]
    x.scale = torch.full((3,), 7.0)  # type: ignore[attr-defined]
    assert compiled(x).tolist() == [7, 7, 7]
    x.scale = torch.full((3,), 8.0)  # type: ignore[attr-defined]
    assert compiled(x).tolist() == [8, 8, 8]
    del x.scale  # type: ignore[attr-defined]
    assert compiled(x).tolist() == [1, 1, 1]


def test_metadata_of_tensors_that_are_no_inputs_is_guarded() -> None:
    p = nn.Parameter(torch.ones(2, 3))

    def f(x: torch.Tensor) -> torch.Tensor:
        return x * (2 if p.requires_grad else 3) + p.shape[0] + p.dim() + len(p) + p.size(-1)

    compiled = stator.compile(f, backend="native")

    def check() -> None:
        for _ in range(2):
            assert torch.equal(compiled(torch.ones(1)), f(torch.ones(1)))

    check()
    p.requires_grad = False
    check()
    p.data = torch.ones(5)
    check()
    p.data = torch.ones(1, 2, 3)
    check()


def test_a_gradient_that_is_replaced_is_read_from_its_place() -> None:
    p = nn.Parameter(torch.ones(3))

    def f() -> torch.Tensor | None:
        return None if p.grad is None else p.grad * 2

    compiled = stator.compile(f, backend="native")
    for i in range(8):
        p.grad = None if i == 4 else torch.full((3,), float(i))
        got, wanted = compiled(), f()
        assert (got is None) == (wanted is None)
        assert got is None or torch.equal(got, wanted)  # type: ignore[arg-type]
    assert sum(entry.hits for entry in stator.cache_entries(compiled)) >= 4
    p.grad = p.detach()  # the memory of the parameter
    assert torch.equal(compiled(), torch.full((3,), 2.0))  # type: ignore[arg-type]


def test_a_capture_that_is_given_up_leaves_the_tensor() -> None:
    m = layer()
    m.weight.old = 1  # type: ignore[attr-defined]
    seen: list[Any] = []

    def f(x: torch.Tensor) -> None:
        m.weight.tag = x  # type: ignore[attr-defined]
        del m.weight.old
        m.weight.grad = x.expand(3, 3) + 1
        m.requires_grad_(False)
        m.weight.data = m.weight.data + 1
        seen.append((vars(m.weight).keys(), m.weight.grad.numpy().sum()))

    weight = m.weight.detach().clone()
    stator.compile(f, backend="native")(torch.ones(1, 3))
    assert list(vars(m.weight)) == ["tag"]
    assert type(m.weight.tag) is torch.Tensor
    assert m.weight.tag.tolist() == [[1, 1, 1]]
    assert m.weight.grad is not None
    assert m.weight.grad.tolist() == [[2, 2, 2]] * 3
    assert not m.weight.requires_grad
    assert torch.equal(m.weight, weight + 1)
    assert seen[0][1] == 18


def test_backends_that_compile_are_given_no_changes_of_tensors() -> None:
    def frozen(x: torch.Tensor) -> Any:
        m.requires_grad_(False)
        y = m(x)
        m.requires_grad_()
        return y

    def halved(x: torch.Tensor) -> Any:
        m.weight.data = m.weight.data * 0.5
        return m(x)

    def written(x: torch.Tensor) -> Any:
        m.weight.grad = x.expand(3, 3) * 2
        m.weight.tag = x + 1  # type: ignore[attr-defined]
        return m(x)

    for function in (frozen, halved, written):
        m = layer()
        wanted = (
            function(torch.ones(1, 3)),
            m.weight.grad,
            copy.copy(vars(m.weight)),
            m.weight.detach().clone(),
        )
        m = layer()
        compiled = stator.compile(function, backend="aot_eager")
        got = compiled(torch.ones(1, 3)), m.weight.grad, vars(m.weight), m.weight.detach()
        assert torch.allclose(got[0], wanted[0])
        assert got[0].requires_grad == wanted[0].requires_grad
        assert alike(got[1:], wanted[1:])
        assert bool(stator.cache_entries(compiled)) or function is not written


def test_bound_methods_are_captured_whole() -> None:
    class Model:
        calls = 0

        def __init__(self) -> None:
            self.scale = 2.0

        def run(self, x: torch.Tensor) -> torch.Tensor:
            type(self).calls += 1
            return x * self.scale

    model = Model()
    compiled = stator.compile(model.run, backend="native", fullgraph=True)
    for _ in range(3):
        assert compiled(torch.ones(2)).tolist() == [2, 2]
    model.scale = 3.0
    assert compiled(torch.ones(2)).tolist() == [3, 3]
    assert Model.calls == 4
