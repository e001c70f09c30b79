"""Ints that only a run has, under `native`: read off tensors, or drawn at random as nodes of the graph."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from torch.utils.checkpoint import checkpoint

import stator
import torch
from torch import Tensor

Program = Callable[[Tensor, Tensor], Any]


def as_a_number(x: Tensor, n: Tensor) -> Any:
    return x * n.item() + (n.item() * 2 - 1)


def as_a_size(x: Tensor, n: Tensor) -> Any:
    return torch.zeros(n.item(), 3) + x.sum()


def as_the_end_of_a_range(x: Tensor, n: Tensor) -> Any:
    return torch.arange(n.item()) + x.sum()


def returned(x: Tensor, n: Tensor) -> Any:
    number = n.item()
    return x + number, number, [number + 1, (number, -number)], number // 2, number % 3


def of_another_dtype(x: Tensor, n: Tensor) -> Any:
    return x * n.to(torch.int32).item() + n.to(torch.uint8).item()


def as_a_list(x: Tensor, n: Tensor) -> Any:
    first, second = torch.stack([n, n + 2]).tolist()
    return x * first + second


def counted(x: Tensor, n: Tensor) -> Any:
    right = total = 0
    for i in range(3):
        right += ((x * (i + 1)) > 0).sum().item()
        total += x.numel()
    return right, total, right / total, x * (right / total)


def between_writes(x: Tensor, n: Tensor) -> Any:
    y = x.clone()
    number = n.item()
    n.add_(1)
    y.mul_(number)
    n.sub_(1)
    return y + n.item(), number


def in_a_region(x: Tensor, n: Tensor) -> Any:
    def inner(y: Tensor) -> Tensor:
        return torch.sin(y) * n.item() * y

    return checkpoint(inner, x, use_reentrant=False)


def with_gradients(x: Tensor, n: Tensor) -> Any:
    return (x * n.item()).sin() * n.item()


PLAIN: list[Program] = [
    *(as_a_number, as_a_size, as_the_end_of_a_range, returned, of_another_dtype, between_writes),
    with_gradients,
]


def branch(x: Tensor, n: Tensor) -> Any:
    return (x + 1 if n.item() > 3 else x - 1) * 2


def as_a_count(x: Tensor, n: Tensor) -> Any:
    for _ in range(n.item()):
        x = x + 1
    return x


def as_a_key(x: Tensor, n: Tensor) -> Any:
    return x * {2: 3, 4: 5}.get(n.item(), 0) + 1


def as_an_index(x: Tensor, n: Tensor) -> Any:
    return (x * 2)[n.item() % 4] + 1, [1, 2, 3, 4][n.item() % 4]


def shown(x: Tensor, n: Tensor) -> Any:
    y = x * n.item()
    return f"{n.item():3d}", y + 1


def divided(x: Tensor, n: Tensor) -> Any:
    try:
        return x * (7 // (n.item() - 3)), x / (n.item() - 3)
    except ZeroDivisionError as error:
        return str(error), x * 2


def large(x: Tensor, n: Tensor) -> Any:
    return x + 1, (n.item() + 2**62) * 4, n.item() ** 3


def many(x: Tensor, n: Tensor) -> Any:
    total = 0
    for i in range(80):
        total += (n + i).item()
    return x * total, total


DECIDING: list[Program] = [
    *(
        branch,
        as_a_count,
        as_a_key,
        as_an_index,
        shown,
        divided,
        large,
        many,
        in_a_region,
        as_a_list,
        counted,
    ),
]


EXTREMES = [3, 2**31, -(2**31) - 1, 2**40, 2**61, 2**62, 2**63 - 1, -(2**63), -1, 0]


@pytest.mark.parametrize(
    "arithmetic",
    [
        "n * 2",
        "n * n * n",
        "n + n",
        "-n",
        "n - m",
        "n // 7",
        "n % 7",
        "m * n + 1",
        "abs(n)",
        "n + 2**62",
        "n ** 2",
    ],
)
def test_ints_of_any_size(arithmetic: str) -> None:
    space: dict[str, Any] = {}
    exec(f"def f(x, a, b):\n    n, m = a.item(), b.item()\n    return x + 1, {arithmetic}", space)
    compiled = stator.compile(space["f"], backend="native")
    for n in EXTREMES:
        for m in (n, -5, 2**62):
            given = (torch.ones(2), torch.tensor(n), torch.tensor(m))
            assert compiled(*given)[1] == space["f"](*given)[1], (n, m)


def outcome(function: Program, value: int) -> Any:
    torch.manual_seed(value)
    x, n = torch.randn(4).requires_grad_(), torch.tensor(value)
    result = function(x, n)
    tensors = [each for each in (result if isinstance(result, tuple) else (result,)) if torch.is_tensor(each)]
    sums = [each.sum() for each in tensors if each.requires_grad]
    if sums:
        torch.stack(sums).sum().backward()
    return repr(result).replace("CompiledFunctionBackward", ""), x.grad, n


def check(function: Program) -> Any:
    compiled = stator.compile(function, backend="native")
    for value in (3, 7, 2, 5, 3, 11, 4, 1, 0):
        wanted, found = outcome(function, value), outcome(compiled, value)
        assert wanted[0] == found[0]
        assert (wanted[1] is None) == (found[1] is None)
        assert wanted[1] is None or torch.equal(wanted[1], found[1])
        assert torch.equal(wanted[2], found[2])
    return compiled


@pytest.mark.parametrize("function", [*PLAIN, *DECIDING], ids=lambda program: program.__name__)
def test_ints_that_are_read(function: Program) -> None:
    check(function)


def drawn_factor(x: Tensor) -> Any:
    return x * random.randint(1, 6) + random.random()


def drawn_in_order(x: Tensor) -> Any:
    first = random.randint(-5, 5)
    y = x + np.random.randint(10)
    second = random.randrange(3, 40)
    bits = random.randint(0, 2**20)
    return y * first, second, bits + np.random.randint(2, high=7), random.randint(1, 3) * x.numel()


def drawn_and_compared(x: Tensor) -> Any:
    if random.randint(0, 1):
        x = x * 2
    return x + random.randrange(5)


def chosen(x: Tensor) -> Any:
    numbers = [1, 2, 3, 4]
    random.shuffle(numbers)
    return x * random.choice([2.0, 3.0]) + numbers[0], random.sample(range(9), 3)


def of_any_size(x: Tensor) -> Any:
    return x + 1, random.randint(0, 2**80), random.getrandbits(100), random.randint(-(2**62), 2**62)


def refused(x: Tensor) -> Any:
    try:
        random.randint(5, 1)
    except ValueError:
        return x * random.randint(2, 4)
    return x


def own_generator(x: Tensor) -> Any:
    return x * GENERATOR.randint(1, 9) + float(ARRAYS.integers(3)), ARRAYS.random(2).tolist()


GENERATOR = random.Random(7)
ARRAYS = np.random.default_rng(7)


def seeded(function: Callable[[Tensor], Any]) -> list[Any]:
    random.seed(1)
    np.random.seed(1)
    GENERATOR.seed(7)
    ARRAYS.bit_generator.state = np.random.default_rng(7).bit_generator.state
    seen = []
    for call in range(8):
        seen.append(repr(function(torch.full((2,), float(call)))))
        seen.append((random.getstate(), GENERATOR.getstate(), repr(np.random.get_state())))
    return seen


@pytest.mark.parametrize("backend", ["native", "eager", "aot_eager", "fused"])
@pytest.mark.parametrize(
    "function",
    [drawn_factor, drawn_in_order, drawn_and_compared, chosen, of_any_size, refused, own_generator],
    ids=lambda program: program.__name__,
)
def test_draws_in_order(function: Callable[[Tensor], Any], backend: str) -> None:
    assert seeded(stator.compile(function, backend=backend)) == seeded(function)


def test_draws_are_nodes() -> None:
    for function in (drawn_factor, drawn_in_order):
        compiled = stator.compile(function, backend="native", fullgraph=True)
        seeded(compiled)
        assert sum(entry.hits for entry in stator.cache_entries(compiled)) >= 6
