"""Captures of functions and modules with tensors: equal to eager, and fresh after any change."""

from collections.abc import Callable

import pytest

import torch
from stator.support import load_torch_extension

load_torch_extension()
from stator._capture import Compiled  # noqa: E402


def mlp(depth: int = 3) -> torch.nn.Module:
    torch.manual_seed(0)
    blocks = [torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU()) for _ in range(depth)]
    return torch.nn.Sequential(*blocks).eval()


def test_a_function_of_tensors() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Size]:
        z = torch.relu(x @ y) + 1
        return z.sum(-1), z.shape

    compiled = Compiled(function)
    x, y = torch.randn(3, 4), torch.randn(4, 5)
    for _ in range(2):
        got, wanted = compiled(x, y), function(x, y)
        assert torch.equal(got[0], wanted[0])
        assert got[1] == wanted[1]
    assert compiled.breaks == []
    assert compiled.entries[0]["hits"] == 1
    assert "aten::matmul" in compiled.entries[0]["graph"]


CHANGES: dict[str, Callable[[torch.nn.Module], object]] = {
    "another parameter": lambda m: setattr(m[1][0], "bias", torch.nn.Parameter(torch.ones(8))),
    "values in place": lambda m: m[0][0].weight.data.zero_(),
    "data replaced": lambda m: setattr(m[0][0].weight, "data", torch.zeros(8, 8)),
    "frozen": lambda m: m[0][0].weight.requires_grad_(False),
    "hook": lambda m: m[1].register_forward_hook(lambda module, args, out: out + 1),
    "module replaced": lambda m: m.__setitem__(1, torch.nn.Identity()),
    "module appended": lambda m: m.append(torch.nn.Tanh()),
    "forward replaced": lambda m: setattr(m[0][1], "forward", torch.tanh),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_a_module_is_seen(change: str) -> None:
    model, x = mlp(), torch.randn(2, 8)
    compiled = Compiled(model)
    assert torch.equal(compiled(x), model(x))
    assert torch.equal(compiled(x), model(x))
    assert compiled.breaks == []
    assert compiled.entries[0]["hits"] == 1
    CHANGES[change](model)
    assert torch.equal(compiled(x), model(x))
    assert torch.equal(compiled(x), model(x))


def test_shapes_dtypes_and_modes_are_guarded() -> None:
    model = mlp()
    compiled = Compiled(model)
    x = torch.randn(2, 8)
    for argument in (x, torch.randn(3, 8), torch.randn(8, 2).t(), x):
        assert torch.equal(compiled(argument), model(argument))
    with torch.no_grad():
        assert not compiled(x).requires_grad
    assert compiled(x).requires_grad
    model.half()
    assert compiled(x.half()).dtype == torch.half


def test_gradients_are_eagers() -> None:
    model, twin, x = mlp(), mlp(), torch.randn(2, 8)
    compiled = Compiled(model)
    for _ in range(2):
        compiled(x).square().sum().backward()
        twin(x).square().sum().backward()
    for ours, eagers in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(ours.grad, eagers.grad)


def test_values_of_tensors_are_never_read_at_capture() -> None:
    def branch(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.sum() > 0 else x - 1

    def listed(x: torch.Tensor) -> float:
        return float(sum(x.tolist()))

    for function in (branch, listed):
        compiled = Compiled(function)
        for x in (torch.ones(3), -torch.ones(3)):
            got, wanted = compiled(x), function(x)
            assert torch.equal(torch.as_tensor(got), torch.as_tensor(wanted))
        assert len(compiled.entries) == (function is branch)  # up to the read
        assert compiled.breaks


def test_one_tensor_given_twice() -> None:
    compiled = Compiled(lambda x, y: (x + y, x is y))
    x, y = torch.randn(3), torch.randn(3)
    for pair in ((x, x), (x, y), (x, x), (y, x)):
        total, one = compiled(*pair)
        assert torch.equal(total, pair[0] + pair[1])
        assert one is (pair[0] is pair[1])


def test_writes_to_arguments_happen_on_every_call() -> None:
    compiled = Compiled(lambda x: x.add_(1))
    x = torch.zeros(3)
    for n in range(1, 4):
        assert compiled(x) is x
        assert torch.equal(x, torch.full((3,), float(n)))


def test_dropout_keeps_the_random_stream() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.5)).train()
    compiled, x = Compiled(model), torch.randn(4, 8)
    compiled(x)
    for _ in range(3):
        torch.manual_seed(1)
        got = compiled(x)
        torch.manual_seed(1)
        assert torch.equal(got, model(x))


def test_a_capture_that_is_given_up_leaves_no_mode_behind() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            y = x @ x
            return y if y.sum().item() > 0 else -y

    x = torch.eye(3, requires_grad=True)
    compiled = Compiled(function)
    assert torch.equal(compiled(x), function(x))
    assert compiled.breaks
    assert torch.is_grad_enabled()
    assert not torch.is_autocast_enabled("cpu")
    assert (x @ x).dtype == torch.float32
    assert (x @ x).requires_grad


def test_constructors_of_extension_modules_are_not_captured() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.rand(x.shape, generator=torch._C.Generator(device="cpu"))

    compiled = Compiled(function)
    compiled(torch.ones(2))
    assert compiled.entries == []
