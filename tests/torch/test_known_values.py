"""Values that no input decides are asked for at capture: literals, ranges, and what is computed of them."""

from collections.abc import Callable
from typing import Any

import pytest
from comparison import alike

import stator
import torch

Tensor = torch.Tensor


def checked(x: Tensor) -> Tensor:
    std = torch.as_tensor([0.5, 0.4, 0.3], dtype=x.dtype)
    if (std == 0).any():
        raise ValueError("a deviation of zero")
    return x / std.view(-1, 1)


def cut(x: Tensor) -> Tensor:
    wanted = torch.ceil(torch.as_tensor(5 / 2)).long()
    return x[..., :wanted]


def ordered(x: Tensor) -> Tensor:
    steps = torch.linspace(0, 1, 4)
    assert (steps[1:] > steps[:-1]).all()
    return x * float(steps.tolist()[-1])


def joined(x: Tensor) -> Tensor:
    most = torch.cat([torch.tensor([1.0, 5.0]), torch.ones(2)]).max()
    return x * float(most) + int(torch.tensor([[1, 2], [3, 4]]).sum())


KNOWN: dict[str, Callable[[Tensor], Any]] = {
    "a check": checked,
    "an index": cut,
    "an assertion": ordered,
    "joined": joined,
    "axes": lambda x: x.sum(torch.arange(1, x.dim()).tolist()),
    "equal": lambda x: x * 2 if torch.equal(torch.tensor([1, 2]), torch.arange(1, 3)) else x,
    "lists": lambda x: (x + 1, torch.tensor([[1, 2], [3, 4]]).tolist(), torch.tensor(3.5).item()),
    "old classes": lambda x: x * torch.FloatTensor([0.5, 2, 1, 3]) + torch.Tensor([[1]]),
    "of an old class": lambda x: [
        isinstance(x, torch.FloatTensor),
        isinstance(x * 2, int | torch.FloatTensor),
        isinstance(x.long(), (str, torch.LongTensor)),
        isinstance(x.double(), torch.FloatTensor),
        isinstance(x, torch.cuda.FloatTensor),
        isinstance(torch.FloatTensor([1]), torch.FloatTensor),
    ],
    "an old class of ints": lambda x: (x + 1, torch.LongTensor([1, 2]), torch.Tensor(2, 3).shape),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_values_need_no_break(name: str) -> None:
    compiled = stator.compile(KNOWN[name], backend="native")
    for _ in range(3):
        x = torch.randn(2, 3, 4)
        assert alike(compiled(x), KNOWN[name](x))
    assert compiled.breaks == []
    assert len(compiled.entries) == 1


def of_tensors(x: Tensor) -> Any:
    view, made = torch.Tensor(x), torch.FloatTensor(x * 2)
    with torch.no_grad():
        without = torch.Tensor(x * 3)
    try:
        torch.LongTensor(x)
    except TypeError as error:
        return view * 2, made, without, str(error), view is x
    raise AssertionError


@pytest.mark.parametrize("gradient", [False, True])
def test_old_classes_of_a_tensor_are_views(gradient: bool) -> None:
    compiled = stator.compile(of_tensors, backend="native")
    for _ in range(3):
        one = torch.randn(2, 3).requires_grad_(gradient)
        other = one.detach().clone().requires_grad_(gradient)
        ours, eagers = compiled(one), of_tensors(other)
        assert alike(ours, eagers)
        assert [t.requires_grad for t in ours[:3]] == [t.requires_grad for t in eagers[:3]]
        if gradient:
            (ours[0] * ours[1]).sum().backward()
            (eagers[0] * eagers[1]).sum().backward()
            assert torch.equal(one.grad, other.grad)  # type: ignore[arg-type]
    assert compiled.breaks == []
    assert len(compiled.entries) == 1


def test_a_write_through_an_old_class_is_seen() -> None:
    def program(x: Tensor) -> Tensor:
        torch.Tensor(x).add_(1)
        return x * 2

    compiled = stator.compile(program, backend="native")
    for _ in range(3):
        x = torch.randn(3)
        kept = x.clone()
        assert torch.equal(compiled(x), (kept + 1) * 2)
        assert torch.equal(x, kept + 1)
    assert compiled.breaks == []


def written_through_a_view(x: Tensor) -> Tensor:
    numbers = torch.arange(3)
    numbers[1:].add_(5)
    return x * 2 if numbers[1] > 3 else x - 1


def written_after_it_was_used(x: Tensor) -> Tensor:
    first = torch.zeros(3)
    second = first + 1
    first.fill_(4)
    return x * second[0].item() if first[0] > second[0] else x - 1


def filled(x: Tensor) -> Tensor:
    numbers = torch.empty(3).fill_(2)
    return x * 2 if numbers[0] > 1 else x - 1


def drawn(x: Tensor) -> Tensor:
    return x * 2 if torch.rand(3)[0] > 0.5 else x - 1


def of_the_argument(x: Tensor) -> Tensor:
    return x * 2 if (x[0, 0, 0] * torch.ones(1)) > 0 else x - 1


@pytest.mark.parametrize("program", [written_through_a_view, written_after_it_was_used, filled])
def test_what_was_written_is_read_as_it_is(program: Callable[[Tensor], Tensor]) -> None:
    compiled = stator.compile(program, backend="native")
    for _ in range(3):
        x = torch.randn(2, 3, 4)
        assert alike(compiled(x), program(x))


@pytest.mark.parametrize("program", [drawn, of_the_argument])
def test_what_differs_from_run_to_run_is_not_known(program: Callable[[Tensor], Tensor]) -> None:
    compiled = stator.compile(program, backend="native")
    for seed in range(8):
        x = torch.randn(2, 3, 4)
        torch.manual_seed(seed)
        wanted = program(x)
        torch.manual_seed(seed)
        assert alike(compiled(x), wanted)
    assert compiled.breaks != []


def test_the_list_that_a_literal_is_made_of_may_change() -> None:
    numbers = [1.0, 2.0]

    def program(x: Tensor) -> Tensor:
        return x * 2 if (torch.tensor(numbers) > 1.5).any() else x - 1

    compiled = stator.compile(program, backend="native")
    x = torch.randn(3)
    assert alike(compiled(x), x * 2)
    numbers[1] = 0.0
    assert alike(compiled(x), x - 1)
    assert compiled.breaks == []


def test_the_default_dtype_of_an_old_class() -> None:
    compiled = stator.compile(lambda x: x + torch.Tensor([0.1]), backend="native")
    x = torch.ones(2, dtype=torch.float64)
    single = compiled(x)
    torch.set_default_dtype(torch.float64)
    try:
        double = compiled(x)
        assert alike(double, x + torch.Tensor([0.1]))
    finally:
        torch.set_default_dtype(torch.float32)
    assert alike(single, x + torch.Tensor([0.1]))
    assert not torch.equal(single, double)
