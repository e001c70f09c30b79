"""What a torch.autograd.Function may not do in a capture under autograd: it breaks, and does it once."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from comparison import alike
from custom_gradients import BACKENDS, Round, apply, native
from torch.autograd import Function

import stator
import torch
from torch import Tensor

calls: list[int] = []


class Counting(Function):
    count = 0

    @staticmethod
    def forward(ctx: Any, x: Tensor, way: str) -> Tensor:
        match way:
            case "class":
                Counting.count += 1
            case "list":
                calls.append(1)
            case "tensor":
                seen.add_(x.detach())
            case "reads":
                return x * setting["factor"]
            case "raises":
                raise ValueError("not today")
            case "real":
                return seen
            case "dirty":
                x.mul_(2)
                ctx.mark_dirty(x)
                return x
            case "value":
                return x * (2 if x.sum().item() > 0 else 3)
            case "numpy":
                return torch.from_numpy(x.detach().numpy() * 2)
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad * 2, None


seen = torch.zeros(3)
setting = {"factor": 1.0}


@pytest.mark.parametrize("way", ["class", "list", "tensor", "raises", "dirty", "value", "numpy"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_leaves_a_trace_breaks_and_is_done_once(way: str, backend: str) -> None:
    def program(x: Tensor) -> Tensor:
        try:
            return apply(Counting, x * 1, way).sum()
        except ValueError:
            return x.sum() * 3

    def run(f: Callable[[Tensor], Tensor]) -> list[Any]:
        Counting.count = 0
        calls.clear()
        with torch.no_grad():
            seen.zero_()
        torch.manual_seed(3)
        results: list[Any] = []
        for _ in range(3):
            x = torch.randn(3, requires_grad=True)
            f(x).backward()
            results += [x.grad, Counting.count, len(calls), seen.clone(), seen.requires_grad]
        return results

    compiled = stator.compile(program, backend=backend)
    assert all(alike(a, b) or a == b for a, b in zip(run(compiled), run(program), strict=True))
    assert compiled.breaks


def test_a_forward_that_reads_what_was_written_before_breaks() -> None:
    def program(x: Tensor, factor: float) -> Tensor:
        setting["factor"] = factor
        return apply(Counting, x, "reads")

    compiled, x = native(program, dynamic=False), torch.randn(3, requires_grad=True)
    for factor in (2.0, 2.0, 3.0):
        setting["factor"] = 1.0
        assert torch.equal(compiled(x, factor), x * factor)
    assert "has written before" in compiled.breaks[0]


def test_writes_of_others_around_it() -> None:
    log: list[str] = []

    def program(x: Tensor) -> Tensor:
        log.append("before")
        y = apply(Counting, x, "reads")
        log.append("after")
        return y

    setting["factor"] = 1.0
    compiled, x = native(program), torch.randn(3, requires_grad=True)
    for factor in (1.0, 1.0, 4.0, 4.0):
        setting["factor"] = factor
        assert torch.equal(compiled(x), x * factor)
    assert compiled.breaks == []
    assert log == ["before", "after"] * 4


def test_a_tensor_that_was_there_is_returned() -> None:
    compiled = native(lambda x: apply(Counting, x, "real") + x)
    compiled(torch.randn(3))
    assert compiled(torch.randn(3, requires_grad=True)).requires_grad
    assert len(compiled.breaks) >= 1
    seen.detach_()


def test_containers_among_the_arguments_break() -> None:
    class Listed(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, notes: list[int]) -> Tensor:
            notes.append(len(notes))
            return x * len(notes)

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Any:
            return grad, None

    def program(x: Tensor) -> tuple[Tensor, list[int]]:
        notes: list[int] = []
        return apply(Listed, x, notes), notes

    compiled, x = native(program), torch.randn(3, requires_grad=True)
    for _ in range(2):
        y, notes = compiled(x)
        assert torch.equal(y, x)
        assert notes == [0]
    assert "an argument is a list" in compiled.breaks[0]


def test_compilers_are_given_what_is_self_contained() -> None:
    compiled, x = (
        stator.compile(lambda x: apply(Round, x * 3).sum(), backend="aot_eager"),
        torch.randn(3, requires_grad=True),
    )
    compiled(x).backward()
    assert alike(x.grad, torch.full((3,), 3.0))
    assert compiled.breaks == []


class Told(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        print("backward of", tuple(grad.shape))
        return grad * 2


@pytest.mark.parametrize("backend", [*BACKENDS, "aot_eager"])
def test_a_backward_that_prints_does_so_in_each_run(backend: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Compilers are not given it: they would run it once, when they compile."""
    compiled = stator.compile(lambda x: Told.apply(x).sin(), backend=backend)  # type: ignore[no-untyped-call]
    for _ in range(3):
        x = torch.ones(3, requires_grad=True)
        compiled(x).sum().backward()
        assert capsys.readouterr().out == "backward of (3,)\n"


def test_functions_are_not_kept_alive() -> None:
    class Gone(Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Any:
            return grad

    held = {"function": Gone}
    compiled = native(lambda x: apply(held["function"], x))
    compiled(torch.randn(2, requires_grad=True))
    assert compiled.breaks == []
    watch = weakref.ref(Gone)
    held["function"] = Round  # type: ignore[assignment]
    del Gone
    gc.collect()
    assert watch() is None
    assert compiled(torch.tensor([0.6], requires_grad=True)).item() == 1.0


@pytest.mark.parametrize("how", ["backward", "grad"])
def test_gradients_that_are_asked_for_inside(how: str) -> None:
    def program(x: Tensor) -> Tensor:
        y = (x * x).sum()
        if how == "grad":
            (grad,) = torch.autograd.grad(y, x, create_graph=True)
            return (grad * grad).sum()
        y.backward()  # type: ignore[no-untyped-call]
        return y

    compiled = native(program)
    for _ in range(2):
        found = []
        for f in (program, compiled):
            x = torch.arange(3.0, requires_grad=True)
            y = f(x)
            if how == "grad":
                y.backward()
            found += [y.detach(), x.grad]
        assert alike(found[0], found[2])
        assert alike(found[1], found[3])
    assert compiled.breaks == []
