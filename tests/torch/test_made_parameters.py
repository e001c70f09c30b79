"""nn.Parameter, modules and copies of modules that a captured function makes."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch
from torch import Tensor, nn

BACKENDS = ["native", "eager"]
WEIGHT = torch.randn(3, requires_grad=True)
LINEAR = nn.Linear(3, 3)
WATCHED = (WEIGHT, *LINEAR.parameters())


def shares_memory(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x.detach().clone()
    parameter = nn.Parameter(y)
    y.add_(1)
    return parameter * 1, y


def used(x: Tensor) -> tuple[Tensor, Tensor, bool]:
    parameter = nn.Parameter(x.detach() * 2)
    is_usual = isinstance(parameter, nn.Parameter) and parameter.is_leaf and parameter.requires_grad
    return (parameter * WEIGHT).sum(), parameter, is_usual


def without_gradients(x: Tensor) -> tuple[Tensor, Tensor]:
    with torch.no_grad():
        parameter = nn.Parameter(x * 2)
    return parameter, parameter * WEIGHT


def module(x: Tensor) -> tuple[Tensor, nn.Module]:
    made = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    return made(x), made


def copied(x: Tensor) -> tuple[Tensor, Tensor]:
    twin = copy.deepcopy(LINEAR)
    with torch.no_grad():
        twin.weight.mul_(2)
    return twin(x), twin.weight


PROGRAMS: dict[str, Callable[[Tensor], Any]] = {
    "result": lambda x: nn.Parameter(x * 2),
    "result twice": lambda x: (lambda p: (p, {"again": p}))(nn.Parameter(x * 2)),
    "of a parameter": lambda x: nn.Parameter(nn.Parameter(x) * 2, requires_grad=False) + x,
    "of an older tensor": lambda x: nn.Parameter(LINEAR.weight) @ x,
    "empty": lambda x: (nn.Parameter().shape, x + 1),
    "used": used,
    "shares memory": shares_memory,
    "without gradients": without_gradients,
    "module": module,
    "copied": copied,
    "shallow copy": lambda x: copy.copy(LINEAR)(x),
}


def leaves_of(result: Any) -> list[Any]:
    leaves = []
    for leaf in torch.utils._pytree.tree_leaves(result):
        leaves += list(leaf.parameters()) if isinstance(leaf, nn.Module) else [leaf]
    return leaves


def observed(program: Callable[[Tensor], Any], values: Tensor, needs: bool) -> Any:
    given = values.clone().requires_grad_(needs)
    for tensor in WATCHED:
        tensor.grad = None
    torch.manual_seed(1)
    leaves = leaves_of(program(given))
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    state = torch.random.get_rng_state()
    total = torch.stack([t.sum() for t in tensors]).sum()
    if total.requires_grad:
        total.backward()
    gradients = [t.grad for t in (given, *WATCHED, *(t for t in tensors if t.is_leaf))]
    numbers = ([t.detach() for t in tensors], gradients, state, given.detach())
    kinds = [(type(t), t.requires_grad, t.is_leaf) for t in tensors]
    return numbers, kinds, [leaf for leaf in leaves if not isinstance(leaf, Tensor)]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("needs", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_made(name: str, needs: bool, backend: str) -> None:
    program = PROGRAMS[name]
    compiled = stator.compile(program, backend=backend)
    for _ in range(3):
        values = torch.randn(3)
        wanted = observed(program, values, needs)
        found = observed(compiled, values, needs)
        torch.testing.assert_close(found[0], wanted[0], rtol=0, atol=0)
        assert found[1:] == wanted[1:]
    assert compiled.breaks == []
    assert [entry["hits"] for entry in compiled.entries] == [2]


def test_each_call_makes_its_own() -> None:
    compiled = stator.compile(lambda x: nn.Parameter(x * 2), backend="native")
    first, second = compiled(torch.ones(2)), compiled(torch.ones(2))
    assert first is not second
    with torch.no_grad():
        first.zero_()
    assert torch.equal(second, torch.full((2,), 2.0))


def test_what_is_copied_is_noticed() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())

    def program(x: Tensor) -> Tensor:
        result: Tensor = copy.deepcopy(model)(x)
        return result

    compiled = stator.compile(program, backend="native")
    x = torch.randn(2, 3)
    changes: list[Callable[[], Any]] = [
        lambda: None,
        lambda: model[0].weight.data.mul_(2),
        lambda: setattr(model[0], "weight", nn.Parameter(torch.randn(3, 3))),
        lambda: setattr(model[0], "bias", None),
        lambda: model.append(nn.Sigmoid()),
        lambda: model[0].requires_grad_(False),
    ]
    for change in changes:
        change()
        for _ in range(2):
            found, wanted = compiled(x), program(x)
            assert torch.equal(found, wanted)
            assert found.requires_grad == wanted.requires_grad


def test_what_no_compiler_makes_is_a_break() -> None:
    compiled = stator.compile(lambda x: nn.Parameter(x * 2) * 3, backend="aot_eager")
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 6.0))
    assert len(compiled.breaks) == 1


def test_integers_are_refused_as_in_eager_code() -> None:
    compiled = stator.compile(lambda x: nn.Parameter(x), backend="native")
    with pytest.raises(RuntimeError, match="floating point"):
        compiled(torch.ones(2, dtype=torch.int64))
