"""Arguments that share memory, otherwise than at capture, where the function writes to one of them."""

import itertools
from collections.abc import Callable

import pytest

import stator
import torch

BACKENDS = ["native", "eager", "aot_eager"]


def writes_first(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    a.add_(1)
    return a + b * 2


def writes_second(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    c = a * 2
    b.mul_(3)
    return c + a + b


def writes_both(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    a.add_(1)
    b.add_(10)
    return a * 1, b * 1


def writes_a_view(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    a[0].fill_(7)
    return b.clone()


def only_reads(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a + b


def apart() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.arange(4.0), torch.arange(4.0) + 10


def neighbours() -> tuple[torch.Tensor, torch.Tensor]:
    base = torch.arange(8.0)
    return base[:4], base[4:]


def whole_twice() -> tuple[torch.Tensor, torch.Tensor]:
    base = torch.arange(4.0)
    return base, base.view(4)


def shifted() -> tuple[torch.Tensor, torch.Tensor]:
    base = torch.arange(8.0)
    return base[:4], base[2:6]


def shifted_more() -> tuple[torch.Tensor, torch.Tensor]:
    base = torch.arange(8.0)
    return base[:4], base[3:7]


def shifted_back() -> tuple[torch.Tensor, torch.Tensor]:
    base = torch.arange(8.0)
    return base[2:6], base[:4]


def further_on() -> tuple[torch.Tensor, torch.Tensor]:
    base = torch.arange(16.0)
    return base[4:8], base[6:10]


PLACES = [apart, neighbours, whole_twice, shifted, shifted_more, shifted_back, further_on]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [writes_first, writes_second, writes_both, writes_a_view, only_reads])
def test_every_order_of_places(backend: str, fn: Callable[..., object]) -> None:
    for first, second in itertools.product([apart, whole_twice, shifted], PLACES):
        compiled = stator.compile(fn, backend=backend)
        for place in (first, second, first):
            ours, eagers = place(), place()
            torch.testing.assert_close(compiled(*ours), fn(*eagers), msg=f"{first.__name__} {place.__name__}")
            torch.testing.assert_close(ours, eagers)


@pytest.mark.parametrize("backend", ["native", "eager", "aot_eager"])
def test_what_does_not_overlap_is_one_capture(backend: str) -> None:
    compiled = stator.compile(writes_first, backend=backend)
    for place in (apart, neighbours, apart, neighbours):
        ours, eagers = place(), place()
        torch.testing.assert_close(compiled(*ours), writes_first(*eagers))
    assert [entry.hits for entry in stator.cache_entries(compiled)] == [3]


@pytest.mark.parametrize("backend", ["aot_eager"])
def test_where_nothing_is_written_overlap_does_not_matter(backend: str) -> None:
    compiled = stator.compile(only_reads, backend=backend)
    for place in PLACES:
        ours, eagers = place(), place()
        torch.testing.assert_close(compiled(*ours), only_reads(*eagers))
    assert len(stator.cache_entries(compiled)) <= 2


@pytest.mark.parametrize("backend", ["aot_eager"])
def test_parameters_and_arguments(backend: str) -> None:
    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.total.add_(x)
            return self.total * 2 + x

    ours, eagers = Counter(), Counter()
    compiled = stator.compile(ours, backend=backend)
    for give in (lambda m: torch.ones(4), lambda m: m.total.view(4), lambda m: torch.ones(4)):
        torch.testing.assert_close(compiled(give(ours)), eagers(give(eagers)))
        torch.testing.assert_close(ours.total, eagers.total)


def writes_each(*tensors: torch.Tensor) -> torch.Tensor:
    for each in tensors:
        each.add_(1)
    return tensors[0] * 1


def writes_one_of_four(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
    a.mul_(2)
    return a + b + c + d


FOUR_VIEWS: list[Callable[[torch.Tensor], tuple[torch.Tensor, ...]]] = [
    lambda x: (x[:5], x[4:9], x[10:15], x[15:]),
    lambda x: (x[:5], x[4:9], x[8:13], x[15:]),
    lambda x: (x[:5], x[5:10], x[10:15], x[15:]),
    lambda x: (x[2:7], x[:5], x[3:8], x[1:6]),
    lambda x: (x[:4], x[2:6], x[4:8], x[6:10]),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dynamic", [None, True, False])
@pytest.mark.parametrize("function", [writes_each, writes_one_of_four])
def test_sizes_that_are_symbols(
    function: Callable[..., torch.Tensor], dynamic: bool | None, backend: str
) -> None:
    """Fake tensors of symbolic sizes would not show a compiler which inputs share memory."""
    compiled = stator.compile(function, backend=backend, dynamic=dynamic, recompile_limit=64)
    for views in [*FOUR_VIEWS, *FOUR_VIEWS]:
        memory, own = torch.arange(20.0), torch.arange(20.0)
        assert torch.equal(compiled(*views(own)), function(*views(memory)))
        assert torch.equal(own, memory)
    assert sum(entry.hits for entry in stator.cache_entries(compiled)) >= len(FOUR_VIEWS)


def adds_its_neighbour(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x[1:].add_(y)
    return x * 1


@pytest.mark.parametrize("backend", [*BACKENDS, "fused"])
@pytest.mark.parametrize("start", [0, 1, 3])
def test_writes_that_eager_refuses(backend: str, start: int) -> None:
    """Kernels refuse to write to memory that an operand shares in part; a functional graph would not."""
    compiled = stator.compile(adds_its_neighbour, backend=backend)

    def arguments() -> tuple[torch.Tensor, torch.Tensor]:
        base = torch.arange(10.0)
        return base[:6].view(3, 2), base[start : start + 4].view(2, 2)

    apart_from_it = torch.ones(3, 2), torch.ones(2, 2)
    compiled(*apart_from_it)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="refer to a single memory location") as refused:
            compiled(*arguments())
        if backend != "eager":  # torch.fx runs that graph, in frames of its own
            assert refused.traceback[-1].name == adds_its_neighbour.__name__
    expected = adds_its_neighbour(torch.ones(3, 2), torch.ones(2, 2))
    assert torch.equal(compiled(torch.ones(3, 2), torch.ones(2, 2)), expected)
    assert sum(entry.hits for entry in stator.cache_entries(compiled)) >= 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_view_of_an_overlapping_argument_is_returned(backend: str) -> None:
    def first_row(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        y.mul_(2)
        return x[0]

    compiled = stator.compile(first_row, backend=backend)
    for start in (6, 3, 4, 3):
        base, other = torch.arange(12.0), torch.arange(12.0)
        row = compiled(base[:6].view(3, 2), base[start : start + 4].view(2, 2))
        assert torch.equal(row, first_row(other[:6].view(3, 2), other[start : start + 4].view(2, 2)))
        assert torch.equal(base, other)
        assert row.untyped_storage().data_ptr() == base.untyped_storage().data_ptr()


@pytest.mark.parametrize("backend", ["native", "eager", "aot_eager"])
def test_an_argument_that_overlaps_itself(backend: str) -> None:
    def first_row(x: torch.Tensor) -> torch.Tensor:
        x[0] = x[1] * 2
        return x + 1

    compiled = stator.compile(first_row, backend=backend)
    for _ in range(2):
        ours, eagers = torch.ones(1, 4).expand(3, 4), torch.ones(1, 4).expand(3, 4)
        assert torch.equal(compiled(ours), first_row(eagers))
        assert torch.equal(ours, eagers)
        with pytest.raises(RuntimeError, match="refers to a single memory location"):
            stator.compile(lambda x: x.mul_(2), backend=backend)(ours)
    assert stator.cache_entries(compiled)[0].hits == 1
