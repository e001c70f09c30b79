"""torch.autograd.Function under autograd: one node that runs the program's own forward and backward."""

from collections.abc import Callable
from typing import Any

import pytest
from comparison import alike
from custom_gradients import BACKENDS, Round, apply, native
from torch.autograd import Function

import stator
import torch
from torch import Tensor


class Reverse(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, strength: float) -> Tensor:
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return -ctx.strength * grad, None


class Linear(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None
        y = x @ weight.t()
        return y if bias is None else y + bias

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        assert ctx.needs_input_grad[1]
        return grad @ weight, grad.t() @ x, grad.sum(0) if ctx.has_bias else None


class Largest(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        place, value = x.argmax(1), x.amax(1)
        ctx.mark_non_differentiable(place)
        ctx.save_for_backward(place)
        ctx.shape = x.shape
        return value, place

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> Any:
        (place,) = ctx.saved_tensors
        return torch.zeros(ctx.shape).scatter_(1, place[:, None], grad[:, None])


class Scaled(Function):
    """With a context that is set up on its own, and a default."""

    @staticmethod
    def forward(x: Tensor, factor: float = 2.0) -> tuple[Tensor, Tensor]:
        return x * factor, x.sum()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        x, ctx.factor = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor, of_sum: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return grad * ctx.factor + of_sum + 0 * x, None


class Noisy(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        noise = torch.randn_like(x)
        ctx.save_for_backward(noise)
        return x * noise

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (noise,) = ctx.saved_tensors
        return grad * noise


class Same(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad * 3


class ByClass(Function):
    """Its functions are class methods: what torch makes for them comes second."""

    slope = 4

    @classmethod
    def forward(cls, ctx: Any, x: Tensor) -> Tensor:  # type: ignore[override]
        ctx.slope = cls.slope
        ctx.save_for_backward(x > 0)
        return x * cls.slope

    @classmethod
    def backward(cls, ctx: Any, grad: Tensor) -> Any:  # type: ignore[override]
        (positive,) = ctx.saved_tensors
        return grad * positive * ctx.slope


class Twice(Function):
    """Its gradient has a gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return apply(Reverse, 2 * x * grad, -1.0)


weight = torch.nn.Parameter(torch.randn(4, 4))
bias = torch.nn.Parameter(torch.randn(4))


def multiplied(pair: Any) -> Tensor:
    return (pair[0] * pair[1]).sum()


PROGRAMS: dict[str, Callable[[Tensor], Tensor]] = {
    "round": lambda x: apply(Round, x * 3).sum(),
    "reverse": lambda x: (apply(Reverse, x, 0.5) * x).sum(),
    "linear": lambda x: apply(Linear, x.relu(), weight, bias).tanh().sum(),
    "without_bias": lambda x: apply(Linear, x.relu(), weight).tanh().sum(),
    "largest": lambda x: multiplied(apply(Largest, x)),
    "scaled": lambda x: multiplied(apply(Scaled, x)),
    "scaled_otherwise": lambda x: multiplied(apply(Scaled, x, 3.0)),
    "noisy": lambda x: (apply(Noisy, x) + torch.rand(4)).sum(),
    "same": lambda x: (apply(Same, x) * x).sum(),
    "by_class": lambda x: (apply(ByClass, x) + apply(ByClass, x.detach())).sum(),
    "nested": lambda x: apply(Linear, apply(Round, apply(Reverse, x, 2.0)), weight).sum(),
    "no_grad_inside": lambda x: (apply(Round, x) + apply(Round, x.detach())).sum(),
}


def results_of(function: Callable[[Tensor], Tensor], inputs: list[Tensor]) -> list[Any]:
    torch.manual_seed(0)
    weight.grad = bias.grad = None
    results: list[Any] = []
    for given in inputs:
        x = given.clone().requires_grad_()
        y = function(x)
        y.backward()
        results += [y.detach(), x.grad]
    return [*results, weight.grad, bias.grad, torch.rand(2)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_graph_with_the_gradients_of_eager(name: str, backend: str) -> None:
    program = PROGRAMS[name]
    inputs = [torch.randn(rows, 4) for rows in (3, 3, 5, 6, 7)]
    expected = results_of(program, inputs)
    compiled = stator.compile(program, backend=backend)
    assert all(map(alike, results_of(compiled, inputs), expected))
    assert compiled.breaks == []
    assert sum(entry["hits"] for entry in compiled.entries) == 3  # the sizes of the others are a symbol


def test_class_methods_are_captured_without_gradients() -> None:
    compiled = stator.compile(lambda x: apply(ByClass, x) + 1, backend="native")
    for factor in (4, 4, 5):
        ByClass.slope = factor
        assert torch.equal(compiled(torch.ones(3)), torch.ones(3) * factor + 1)
    assert compiled.breaks == []
    assert len(compiled.entries) == 2
    ByClass.slope = 4


def test_the_history_is_the_functions_own() -> None:
    compiled = native(lambda x: apply(Round, x))
    y = compiled(torch.randn(3, requires_grad=True))
    assert type(y.grad_fn).__name__ == "RoundBackward"
    assert not compiled(torch.randn(3)).requires_grad


def test_gradients_of_gradients() -> None:
    def penalty(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        (grad,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        (second,) = torch.autograd.grad((grad * grad).sum(), x)
        return second

    def program(x: Tensor) -> Tensor:
        return apply(Twice, x).sin()

    compiled = native(program)
    for _ in range(3):
        x = torch.randn(4, requires_grad=True)
        assert torch.equal(penalty(compiled, x), penalty(program, x))
    assert compiled.breaks == []


def test_what_forward_and_backward_read_may_change() -> None:
    class Factor(Function):
        ahead = 2.0
        back: float | Tensor = 3.0

        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return (x * Factor.ahead)[: shape["rows"]]

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Any:
            return torch.ones(4) * Factor.back * grad.sum()

    shape = {"rows": 4}

    def program(x: Tensor) -> Tensor:
        y = apply(Factor, x)
        return y * y.shape[0]

    compiled = native(program)

    def check() -> None:
        for _ in range(2):
            found = []
            for f in (program, compiled):
                x = torch.arange(4.0, requires_grad=True)
                y = f(x)
                y.sum().backward()
                found += [y, x.grad]
            assert torch.equal(found[0], found[2])
            assert torch.equal(found[1], found[3])

    check()
    Factor.back = 5.0
    check()
    Factor.ahead = 7.0
    check()
    shape["rows"] = 2
    check()
    Factor.backward = staticmethod(lambda ctx, grad: torch.full((4,), 11.0))  # type: ignore[assignment]
    check()
    Factor.forward = staticmethod(lambda ctx, x: x + 1)  # type: ignore[assignment]
    check()
    assert compiled.breaks == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_numbers_that_change_are_given_to_it(backend: str) -> None:
    def program(x: Tensor, strength: float) -> Tensor:
        return (apply(Reverse, x, strength * 2) + apply(Reverse, x, x.size(0))).sum()

    compiled = stator.compile(program, backend=backend)
    for step in range(6):
        found = []
        for f in (program, compiled):
            x = torch.ones(4 + step, requires_grad=True)
            f(x, 0.1 * (step + 1)).backward()
            found.append(x.grad)
        assert alike(*found)
    assert compiled.breaks == []
    assert len(compiled.entries) == 2


def test_an_allowed_function_is_given_the_numbers_of_the_call() -> None:
    @stator.allow_in_graph
    def repeated(x: Tensor, count: int) -> Tensor:
        assert type(count) is int
        return torch.cat([x] * count)

    compiled = native(lambda x: repeated(x, x.size(0)))
    for rows in (2, 3, 4, 5):
        x = torch.randn(rows, 2)
        assert torch.equal(compiled(x), torch.cat([x] * rows))


class Factor(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        noise = torch.rand(3)
        factor = torch.linalg.cholesky(x)
        ctx.save_for_backward(factor)
        return factor + noise

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad * ctx.saved_tensors[0]


def test_handlers_of_the_function_see_what_forward_raises() -> None:
    log: list[str] = []

    def program(x: Tensor) -> Tensor:
        log.append("tried")
        before = torch.rand(1)
        try:
            return apply(Factor, x) + before  # type: ignore[no-any-return]
        except RuntimeError:
            log.append("refused")
            return x * 0 - before

    compiled = native(program, fullgraph=True)
    found: list[list[Any]] = [[], []]
    for f, results in zip((program, compiled), found, strict=True):
        torch.manual_seed(5)
        log.clear()
        for x in (torch.eye(3), torch.zeros(3, 3), torch.eye(3) * 2, torch.zeros(3, 3)):
            y = f(x.requires_grad_())
            results += [y.tolist(), list(log)]
        results.append(torch.rand(1).item())
    assert found[0] == found[1]
    assert compiled.entries[0]["hits"] == 3
