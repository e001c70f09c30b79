"""Hooks that captured code registers with tensors: every run registers them, when its graph has run."""

import functools
from collections.abc import Callable
from typing import Any

import pytest
from comparison import same
from torch.utils.hooks import RemovableHandle

import stator
import torch


def doubled(gradient: torch.Tensor) -> torch.Tensor:
    return gradient * 2


def leaf(*values: float) -> torch.Tensor:
    return torch.tensor(values, requires_grad=True)


def compiled_and_graphs(
    function: Callable[..., Any], backend: str = "native"
) -> tuple[Callable[..., Any], list[Any]]:
    """Compiled as one graph; the graphs of a Python backend."""
    graphs: list[Any] = []

    def keep(module: Any, _: Any) -> Any:
        graphs.append(module)
        return module.forward

    chosen: Any = keep if backend == "python" else backend
    return stator.compile(function, backend=chosen, fullgraph=True), graphs


BACKENDS = ("native", "eager", "aot_eager", "python")


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_hook_on_an_argument_is_registered_once_a_call(backend: str) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        x.register_hook(doubled)
        return x * 3

    compiled, _ = compiled_and_graphs(function, backend)
    for calls in range(1, 4):
        plain, captured = leaf(1.0, 2.0), leaf(1.0, 2.0)
        for _ in range(calls):
            expected, result = function(plain), compiled(captured)
        assert same(result.detach(), expected.detach())
        expected.sum().backward()
        result.sum().backward()
        assert same(captured.grad, plain.grad)
    assert len(stator.cache_entries(compiled)) == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_hook_between_two_operators(backend: str) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x * x
        y.register_hook(doubled)
        return y + 1

    compiled, _ = compiled_and_graphs(function, backend)
    for value in (2.0, 3.0):
        plain, captured = leaf(value), leaf(value)
        function(plain).sum().backward()
        compiled(captured).sum().backward()
        assert same(captured.grad, plain.grad)


def scaled(gradient: torch.Tensor, *, by: float = 1) -> torch.Tensor:
    return gradient * by


SEEN: list[torch.Tensor] = []
FACTOR = torch.tensor(3.0)


def noted(gradient: torch.Tensor) -> None:
    SEEN.append(gradient)


def by_factor(gradient: torch.Tensor) -> torch.Tensor:
    return gradient * FACTOR


def said(gradient: torch.Tensor) -> None:
    print("gradient", gradient.shape)


def with_older_list(gradient: torch.Tensor, seen: list[Any] = SEEN) -> None:
    seen.append(gradient)


HOOKS: dict[str, tuple[Any, bool]] = {
    "function": (doubled, True),
    "partial": (functools.partial(scaled, by=0.5), True),
    "torch's": (torch.neg, True),
    "lambda": (lambda gradient: gradient.clamp(max=1), True),
    "notes": (noted, False),
    "method of a list": (SEEN.append, False),
    "reads a global": (by_factor, False),
    "prints": (said, False),
    "partial of a tensor": (functools.partial(scaled, by=FACTOR), False),
    "default": (with_older_list, False),
}
"""With whether a compiler may trace it: it reads nothing but its argument, and does nothing else."""


@pytest.mark.parametrize("backend", ["aot_eager", "python"])
@pytest.mark.parametrize("name", HOOKS)
def test_hooks_between_operators_under_compilers(
    name: str, backend: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hook, is_traced = HOOKS[name]

    def function(x: torch.Tensor) -> torch.Tensor:
        y = x * x
        y.register_hook(hook)
        y.register_hook(doubled)
        return y.sin() + y

    graphs: list[Any] = []

    def keep(module: Any, _: Any) -> Any:
        graphs.append(module)
        return module.forward

    compiled = stator.compile(function, backend=keep if backend == "python" else backend)
    for value in (2.0, 3.0, 4.0):
        plain, captured = leaf(value), leaf(value)
        SEEN.clear()
        function(plain).sum().backward()
        wanted = [seen.clone() for seen in SEEN], capsys.readouterr().out
        SEEN.clear()
        compiled(captured).sum().backward()
        assert same(captured.grad, plain.grad)
        assert len(SEEN) == len(wanted[0])
        assert all(map(same, SEEN, wanted[0]))
        assert capsys.readouterr().out == wanted[1]
    assert (compiled.breaks == []) is is_traced


@pytest.mark.parametrize("backend", BACKENDS)
def test_hooks_that_are_made_where_they_are_registered(backend: str) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x * x
        y.register_hook(functools.partial(scaled, by=0.5))
        y.register_hook(lambda gradient: gradient + 1)
        return y.sin()

    compiled, _ = compiled_and_graphs(function, backend)
    for value in (2.0, 3.0):
        plain, captured = leaf(value), leaf(value)
        function(plain).sum().backward()
        compiled(captured).sum().backward()
        assert same(captured.grad, plain.grad)
    assert [entry.hits for entry in stator.cache_entries(compiled)] == [1]


@pytest.mark.parametrize("backend", ["aot_eager", "python"])
def test_the_handle_of_such_a_hook(backend: str) -> None:
    """What is done with it is done natively."""

    def removed(x: torch.Tensor) -> Any:
        y = x * x
        handle = y.register_hook(doubled)
        z = y + 1
        handle.remove()
        return z * 2

    def returned(x: torch.Tensor) -> Any:
        y = x * x
        return y + 1, y.register_hook(doubled)

    for function in (removed, returned):
        compiled = stator.compile(function, backend="aot_eager")
        for value in (2.0, 3.0):
            gradients = []
            for each in (function, compiled):
                x = leaf(value)
                result = each(x)
                if function is returned:
                    assert isinstance(result[1], RemovableHandle)
                    result[1].remove()
                (result[0] if function is returned else result).sum().backward()
                gradients.append(x.grad)
            assert same(gradients[1], gradients[0])


def test_the_handle_is_a_handle_and_removes_its_hook() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, RemovableHandle, list[RemovableHandle]]:
        handle = x.register_hook(doubled)
        return x * 1, handle, [handle]

    compiled, _ = compiled_and_graphs(function, "python")
    for _ in range(2):
        x = leaf(1.0)
        result, handle, handles = compiled(x)
        assert type(handle) is RemovableHandle
        assert handles == [handle]
        result.sum().backward(retain_graph=True)
        assert x.grad is not None
        assert x.grad.item() == 2
        handle.remove()
        x.grad = None
        result.sum().backward()
        assert x.grad is not None
        assert x.grad.item() == 1


def test_a_hook_that_is_removed_again() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, RemovableHandle]:
        with x.register_hook(doubled) as first:
            y = x * 2
        second = x.register_hook(lambda gradient: gradient * 5)
        assert isinstance(second, RemovableHandle)
        first.remove()
        return y, second

    compiled, _ = compiled_and_graphs(function)
    for _ in range(2):
        plain, captured = leaf(1.0), leaf(1.0)
        function(plain)[0].sum().backward()
        compiled(captured)[0].sum().backward()
        assert same(captured.grad, plain.grad)
        assert len(captured._backward_hooks or ()) == 1


def test_a_handle_that_is_kept_by_an_older_object() -> None:
    class Keeper(torch.nn.Module):  # its __setattr__ asks what it is given
        handle: RemovableHandle | None = None

    keeper = Keeper()

    def function(x: torch.Tensor) -> torch.Tensor:
        keeper.handle = x.register_hook(doubled)
        return x * 3

    compiled, _ = compiled_and_graphs(function)
    for _ in range(2):
        x = leaf(1.0)
        result = compiled(x)
        assert type(keeper.handle) is RemovableHandle
        keeper.handle.remove()
        result.sum().backward()
        assert x.grad is not None
        assert x.grad.item() == 3


def test_hooks_that_know_values_of_the_call() -> None:
    def function(x: torch.Tensor, factor: float) -> torch.Tensor:
        y = x * factor
        x.register_hook(lambda gradient: gradient * y.detach() + factor)
        x.register_hook(functools.partial(torch.add, other=factor))
        return y

    compiled, _ = compiled_and_graphs(function)
    for factor in (2.0, 3.0, 4.0, 5.0):
        plain, captured = leaf(1.0, 2.0), leaf(1.0, 2.0)
        function(plain, factor).sum().backward()
        compiled(captured, factor).sum().backward()
        assert same(captured.grad, plain.grad)


def test_another_hook_is_given_as_an_argument() -> None:
    def function(x: torch.Tensor, hook: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        x.register_hook(hook)
        return x * 3

    compiled, _ = compiled_and_graphs(function)
    for factor in range(4):
        x = leaf(1.0)
        compiled(x, lambda gradient, factor=factor: gradient * factor).sum().backward()
        assert x.grad is not None
        assert x.grad.item() == 3 * factor


def test_a_hook_behind_accumulation_on_a_parameter() -> None:
    module = torch.nn.Linear(2, 1, bias=False)
    seen: list[torch.Tensor] = []

    def keep(parameter: torch.Tensor) -> None:
        assert parameter.grad is not None
        seen.append(parameter.grad.clone())

    def function(x: torch.Tensor) -> torch.Tensor:
        module.weight.register_post_accumulate_grad_hook(keep)
        result: torch.Tensor = module(x)
        return result

    compiled, _ = compiled_and_graphs(function, "python")
    compiled(torch.ones(1, 2)).sum().backward()
    assert len(seen) == 1
    assert same(seen[0], torch.ones(1, 2))


@pytest.mark.parametrize("fullgraph", [False, True])
def test_a_tensor_that_is_written_to_behind_its_hook(fullgraph: bool) -> None:
    """The hook belongs to the history before the write."""

    def function(x: torch.Tensor) -> torch.Tensor:
        y = x * 1
        y.register_hook(doubled)
        y.mul_(10)
        return y

    if fullgraph:
        with pytest.raises(stator.CaptureError, match="written to behind register_hook"):
            stator.compile(function, backend="native", fullgraph=True)(leaf(1.0))
        return
    plain, captured = leaf(1.0), leaf(1.0)
    function(plain).sum().backward()
    stator.compile(function, backend="native")(captured).sum().backward()
    assert same(captured.grad, plain.grad)


def test_backward_in_the_function_that_registers_a_hook() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        x.register_hook(doubled)
        loss = (x * x).sum()
        loss.backward()
        return loss

    plain, captured = leaf(1.0, 2.0), leaf(1.0, 2.0)
    function(plain)
    stator.compile(function, backend="native")(captured)
    assert same(captured.grad, plain.grad)


def test_a_tensor_without_gradient_refuses_its_hook_as_ever() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        try:
            x.register_hook(doubled)
        except RuntimeError:
            return x + 1
        return x * 2

    x = torch.ones(2)
    assert same(stator.compile(function, backend="native")(x), function(x))


def test_the_number_of_a_handle_is_not_captured() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, int]:
        handle = x.register_hook(doubled)
        return x * 2, handle.id

    compiled = stator.compile(function, backend="native")
    x = leaf(1.0)
    numbers = [compiled(x)[1] for _ in range(3)]
    assert numbers == sorted(set(numbers))
