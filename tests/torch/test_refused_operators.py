"""Operators that refuse the shapes they are given: eager's error, seen by captured handlers."""

from collections.abc import Callable
from typing import Any

import pytest
from comparison import assert_alike
from torch.nn import functional as F

import stator
import torch
from torch import Tensor

BACKENDS = ["native", "eager"]

REFUSED: dict[str, tuple[Callable[[Tensor], Any], tuple[int, ...], tuple[int, ...]]] = {
    "view": (lambda x: x.view(3, -1), (3, 4), (4, 2)),
    "reshape": (lambda x: x.reshape(5, 2), (2, 5), (3, 3)),
    "matmul": (lambda x: x @ torch.ones(4, 2), (3, 4), (3, 5)),
    "linear": (lambda x: F.linear(x, torch.ones(2, 4)), (3, 4), (3, 5)),
    "add": (lambda x: x + torch.ones(4), (3, 4), (3, 5)),
    "cat": (lambda x: torch.cat([x, torch.ones(2, 4)]), (3, 4), (3, 5)),
    "dim": (lambda x: x.sum(2), (3, 4, 2), (3, 5)),
    "index": (lambda x: x[3], (4, 4), (3, 5)),
    "squeeze": (lambda x: x.expand(2, 3), (1, 3), (1, 4)),
    "conv": (lambda x: F.conv2d(x, torch.ones(2, 3, 3, 3)), (1, 3, 8, 8), (1, 4, 8, 8)),
    "norm": (lambda x: F.layer_norm(x, (4,)), (3, 4), (3, 5)),
    "einsum": (lambda x: torch.einsum("ij,jk->ik", x, torch.ones(4, 2)), (3, 4), (3, 5)),
    "mean": (lambda x: x.to(torch.int64 if x.size(0) == 3 else torch.float).mean(), (4, 4), (3, 4)),
    "bmm": (lambda x: torch.bmm(x, x), (2, 3, 3), (2, 3, 4)),
}


def handled(operator: Callable[[Tensor], Any]) -> Callable[[Tensor], tuple[Any, str]]:
    def program(x: Tensor) -> tuple[Any, str]:
        try:
            return operator(x), ""
        except (RuntimeError, IndexError) as error:
            return x * 2 + 1, f"{type(error).__name__}: {error}"

    return program


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", REFUSED)
def test_the_handler_is_captured(name: str, backend: str) -> None:
    operator, good, bad = REFUSED[name]
    program = handled(operator)
    compiled = stator.compile(program, backend=backend, dynamic=False)
    for shape in (good, bad, bad, good, bad):
        x = torch.randn(shape)
        assert_alike(compiled(x), program(x))
    assert program(torch.ones(bad))[1] != ""
    assert compiled.breaks == []
    assert [entry["hits"] for entry in compiled.entries] == [1, 2]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", REFUSED)
def test_messages_show_numbers_where_sizes_are_symbols(name: str, backend: str) -> None:
    operator, good, bad = REFUSED[name]
    program = handled(operator)
    compiled = stator.compile(program, backend=backend, dynamic=True)
    for shape in (bad, (*bad[:-1], bad[-1] + 6), good, (bad[0] + 5, *bad[1:]), bad):
        x = torch.randn(shape)
        assert_alike(compiled(x), program(x))


def test_items_until_there_are_no_more() -> None:
    """The index is refused by torch's bindings, before there is an operator."""

    def program(x: Tensor) -> tuple[Tensor, int, str]:
        total, i = x[0], 1
        try:
            while True:
                total = total + x[i]
                i += 1
        except IndexError as error:
            return total, i, str(error)

    compiled = stator.compile(program, backend="native", dynamic=True)
    for rows in (3, 3, 5, 4, 3):
        x = torch.randn(rows)
        found, wanted = compiled(x), program(x)
        assert torch.equal(found[0], wanted[0])
        assert found[1:] == wanted[1:]
    assert len(compiled.entries) == 3


def test_sizes_that_vary() -> None:
    def program(x: Tensor) -> Tensor:
        try:
            return x.view(3, -1).sum(1)
        except RuntimeError:
            return x.sum().view(1)

    compiled = stator.compile(program, backend="native")
    for rows in (2, 3, 4, 5, 6, 7, 9, 10, 12):
        x = torch.randn(rows, 2)
        assert torch.equal(compiled(x), program(x))


def test_gradients_effects_and_random_numbers() -> None:
    log: list[str] = []

    def program(x: Tensor) -> Tensor:
        noise = torch.rand(2)
        try:
            log.append("tried")
            y = (x * noise) @ torch.ones(3, 3)
        except RuntimeError:
            log.append("refused")
            y = x * noise.flip(0)
        finally:
            log.append("done")
        return y + torch.rand(2)

    compiled = stator.compile(program, backend="native")
    found = []
    for f in (program, compiled):
        torch.manual_seed(1)
        log.clear()
        for _ in range(3):
            x = torch.ones(2, requires_grad=True)
            y = f(x)
            y.sum().backward()
            found.append((y.tolist(), x.grad.tolist(), list(log)))  # type: ignore[union-attr]
        found.append(torch.rand(1).item())
    assert found[:4] == found[4:]
    assert compiled.breaks == []


def test_an_error_that_leaves_the_function_is_eagers() -> None:
    def program(x: Tensor) -> Tensor:
        return (x + 1).view(7, 3)

    compiled = stator.compile(program, backend="native")
    for _ in range(2):
        with pytest.raises(RuntimeError) as wanted:
            program(torch.ones(2, 2))
        with pytest.raises(RuntimeError) as got:
            compiled(torch.ones(2, 2))
        assert str(got.value) == str(wanted.value)
    assert compiled(torch.ones(21)).shape == (7, 3)


def test_parameters_are_guarded() -> None:
    layer = torch.nn.Linear(4, 2)

    def program(x: Tensor) -> Tensor:
        try:
            return layer(x)  # type: ignore[no-any-return]
        except RuntimeError:
            return x

    compiled, x = stator.compile(program, backend="native"), torch.randn(3, 5)
    for _ in range(2):
        assert compiled(x) is not None
        assert torch.equal(compiled(x), x)
    layer.weight = torch.nn.Parameter(torch.ones(2, 5))
    assert torch.equal(compiled(x), program(x))
    layer.weight.data = torch.ones(2, 3)
    assert torch.equal(compiled(x), x)


def test_what_depends_on_values_is_not_guessed() -> None:
    def program(x: Tensor) -> Tensor:
        try:
            return torch.linalg.cholesky(x)
        except RuntimeError:
            return x * 0 - 1

    compiled = stator.compile(program, backend="native")
    for x in (
        torch.eye(3),
        torch.zeros(3, 3),
        torch.ones(3, 3),
        torch.eye(3) * 2,
        torch.ones(2, 3),
        torch.eye(3),
    ):
        assert torch.equal(compiled(x), program(x))


@pytest.mark.parametrize("backend", ["native", "aot_eager"])
def test_an_operator_whose_name_torch_cannot_write(backend: str) -> None:
    """`random_.from`: torch's graphs are Python text, in which that is no name."""

    def program(x: Tensor) -> Tensor:
        drawn = (x * 2).random_(-10, 10)
        return drawn + 1

    compiled = stator.compile(program, backend=backend)
    for _ in range(2):
        torch.manual_seed(3)
        wanted = program(torch.zeros(4, 5))
        torch.manual_seed(3)
        assert torch.equal(compiled(torch.zeros(4, 5)), wanted)
