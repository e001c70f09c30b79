"""Ints that `item()` and `tolist()` give: symbols that only a run knows, for backends that get torch.fx."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import stator
import torch

BACKENDS = ["eager", "aot_eager"]


@pytest.fixture(autouse=True)
def with_scalars() -> Iterator[None]:
    with stator.config.patch(capture_scalar_outputs=True):
        yield
    stator.reset()


def as_a_size(x: torch.Tensor, n: torch.Tensor) -> Any:
    return torch.zeros(n.item(), 3) + x.sum()


def as_a_number(x: torch.Tensor, n: torch.Tensor) -> Any:
    return x * n.item() + (n.item() * 2 - 1)


def returned(x: torch.Tensor, n: torch.Tensor) -> Any:
    number = n.item()
    return x + number, number, [number + 1]


def of_another_dtype(x: torch.Tensor, n: torch.Tensor) -> Any:
    return x * n.to(torch.int32).item()


def as_a_list(x: torch.Tensor, n: torch.Tensor) -> Any:
    first, second = torch.stack([n, n + 2]).tolist()
    return x * first + second


def as_the_end_of_a_range(x: torch.Tensor, n: torch.Tensor) -> Any:
    return torch.arange(n.item()) + x.sum()


def of_the_larger(x: torch.Tensor, n: torch.Tensor) -> Any:
    return torch.zeros(max(n.item(), 4)) + x.sum(), min(5, n.item())


def split(x: torch.Tensor, n: torch.Tensor) -> Any:
    return torch.cat([x] * 6).split([n.item(), 24 - n.item()])[0] * 2


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "function",
    [
        *(as_a_size, as_a_number, returned, of_another_dtype, as_a_list, as_the_end_of_a_range),
        *(of_the_larger, split),
    ],
)
def test_one_graph_for_all_values(function: Callable[..., Any], backend: str) -> None:
    compiled = stator.compile(function, backend=backend, fullgraph=True)
    x = torch.randn(4)
    for value in (3, 7, 2, 5, 11):
        n = torch.tensor(value)
        torch.testing.assert_close(compiled(x, n), function(x, n), rtol=0, atol=0)
    assert len(stator.cache_entries(compiled)) == 1


@pytest.mark.parametrize("value", [0, 1])
def test_small_sizes(value: int) -> None:
    """Captured for a size that is taken for at least 2, and right for these too."""

    def f(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        return (torch.ones(n.item(), 3) + x.sum()).sum(0)

    compiled = stator.compile(f, backend="eager", fullgraph=True)
    x = torch.randn(2)
    for n in (torch.tensor(4), torch.tensor(value)):
        assert torch.equal(compiled(x, n), f(x, n))


def branch(x: torch.Tensor, n: torch.Tensor) -> Any:
    return x + 1 if n.item() > 3 else x - 1


def squeezed(x: torch.Tensor, n: torch.Tensor) -> Any:
    made = torch.ones(n.item()).squeeze(0)
    return made.dim(), x + 1


def as_a_count(x: torch.Tensor, n: torch.Tensor) -> Any:
    for _ in range(n.item()):
        x = x + 1
    return x


def as_a_key(x: torch.Tensor, n: torch.Tensor) -> Any:
    return x * {2: 3, 4: 5}.get(n.item(), 0)


def shown(x: torch.Tensor, n: torch.Tensor) -> Any:
    return f"{n.item()}", x + 1


def large(x: torch.Tensor, n: torch.Tensor) -> Any:
    return x + 1, (n.item() + 2**62) * 4


@pytest.mark.parametrize("function", [branch, squeezed, as_a_count, as_a_key, shown, large])
def test_decisions_are_the_programs(function: Callable[..., Any]) -> None:
    """Where the value decides, the capture ends, and every call decides anew."""
    compiled = stator.compile(function, backend="eager")
    x = torch.randn(3)
    for value in (4, 1, 2, 4, 2**62 if function is large else 5):
        n = torch.tensor(value)
        expected = function(x, n)
        result = compiled(x, n)
        assert result[0] == expected[0] if function is shown else True
        result, expected = (result[1], expected[1]) if function is shown else (result, expected)
        torch.testing.assert_close(result, expected, rtol=0, atol=0)


def test_off_by_default() -> None:
    with stator.config.patch(capture_scalar_outputs=False), pytest.raises(stator.CaptureError):
        stator.compile(as_a_size, backend="aot_eager", fullgraph=True)(torch.ones(2), torch.tensor(3))
