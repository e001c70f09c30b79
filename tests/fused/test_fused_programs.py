"""Programs with writes, aliases, views, modes and changing sizes: as eager, fused or not."""

from collections.abc import Callable
from typing import Any

import pytest
import torch.nn.functional as F
from fused_checks import check, difference, tensors

import stator
import torch
from stator.backends.fused.compiler import counts


@pytest.fixture(autouse=True)
def _fresh() -> None:
    stator.reset()
    torch.manual_seed(0)


def reads_before_a_write(x: torch.Tensor) -> Any:
    before = x * 2
    x.add_(1)
    return before, x * 2


def reads_a_view_of_what_is_written(x: torch.Tensor) -> Any:
    y = x + 1
    view = y[1:]
    first = view * 2
    y.mul_(3)
    return first, view * 2, y


def writes_through_a_view(x: torch.Tensor) -> Any:
    y = x * 2
    y.t()[0] = 5
    return y + x


def writes_into_a_buffer(x: torch.Tensor, into: torch.Tensor) -> Any:
    into[:, 1:3] = x[:, 1:3] * 2 + 1
    return into.sum(-1) + x.sum(-1)


def returns_views(x: torch.Tensor) -> Any:
    y = x * 2 + 1
    return y, y.t(), y[1:], x.unsqueeze(0), y.flatten().relu()


def returns_the_argument(x: torch.Tensor) -> Any:
    return x, F.dropout(x, 0.5, training=False), x + 0


def in_place_activations(x: torch.Tensor) -> Any:
    y = x * 2
    F.relu_(y)
    return (y + 1).sigmoid_() * y


def random_between(x: torch.Tensor) -> Any:
    a = x * 2 + torch.rand_like(x)
    b = F.dropout(a * 2, 0.5)
    return a + b + torch.randn(x.shape)


def columns_and_rows(x: torch.Tensor) -> Any:
    """A row's value that is broadcast along the other dimension."""
    square = x[:2, :2]
    return square + square.sum(-1), square + square.sum(-1, keepdim=True), square - square.mean(0)


def diamond(x: torch.Tensor) -> Any:
    """What the product needs is made by the kernel that needs the product."""
    a = x.sigmoid()
    b = a @ x.t()
    c = b.sum(-1, keepdim=True)
    return a * c + x, b.tanh() + c


def two_rows(x: torch.Tensor) -> Any:
    return F.softmax(F.layer_norm(x, x.shape[-1:]) * 2, -1).sum(-1)


def renamed_rows(x: torch.Tensor) -> Any:
    mean = x.mean(-1)
    return (x - mean.unsqueeze(-1)) / (x.amax(-1)[:, None] + 3)


def scalars(x: torch.Tensor) -> Any:
    total = x.sum()
    return x / (total * 2 + 1), total.sqrt() if total is None else total * 2


def many_operators(x: torch.Tensor) -> Any:
    for i in range(200):
        x = (x * 1.001 + i).tanh() if i % 50 == 0 else x * 0.5 + 1
    return x


def unused(x: torch.Tensor) -> Any:
    (x * 3).exp()
    return x + 1


def shared_memory(x: torch.Tensor) -> Any:
    y = torch.empty_like(x)
    y.copy_(x * 2)
    z = y.t()
    z[0] = 1
    return (y * 2, z)


def modes(x: torch.Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = (x @ x.t()) * 2 + 1
        z = F.softmax(y, -1)
    return y, z * 2, F.layer_norm(y.float(), y.shape[-1:])


PROGRAMS: list[Callable[..., Any]] = [
    reads_before_a_write,
    reads_a_view_of_what_is_written,
    writes_through_a_view,
    returns_views,
    returns_the_argument,
    in_place_activations,
    random_between,
    columns_and_rows,
    diamond,
    two_rows,
    renamed_rows,
    scalars,
    many_operators,
    unused,
    shared_memory,
    modes,
]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("layout", ["plain", "transposed"])
def test_programs(program: Callable[..., Any], layout: str) -> None:
    x = torch.randn(6, 8)
    assert not (text := difference(program, (x.t() if layout == "transposed" else x,), ulps=64)), text


def test_writes_to_arguments() -> None:
    check(writes_into_a_buffer, torch.randn(3, 5), torch.zeros(3, 5), kernels=None)


def test_arguments_that_share_memory() -> None:
    def program(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        c = b * 2
        a.add_(1)
        return c + b * 2

    compiled = stator.compile(program, backend="fused")
    with torch.no_grad():
        for _ in range(2):
            x, y = torch.arange(8.0), torch.arange(8.0)
            assert torch.equal(compiled(x, x + 1), program(y, y + 1))
            assert torch.equal(compiled(x[1:], x[:-1]), program(y[1:], y[:-1]))
            assert torch.equal(compiled(x, x), program(y, y))
            assert torch.equal(x, y)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), ()])
def test_nothing_and_one_element(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    check(lambda x: (x * 2 + 1).sigmoid(), x, kernels=None)
    check(lambda x: x.sum() * 2, x, kernels=None)
    check(lambda x: F.softmax(x * 2, -1), x, kernels=None)


@pytest.mark.parametrize("program", [two_rows, renamed_rows, columns_and_rows, diamond, returns_views])
def test_one_kernel_for_all_sizes(program: Callable[..., Any]) -> None:
    compiled = stator.compile(program, backend="fused", dynamic=True)
    kernels = []
    with torch.no_grad():
        for rows, columns in ((5, 7), (9, 33), (2, 64), (40, 6), (17, 4)):
            x = torch.randn(rows, columns)
            results, expected = tensors(compiled(x)), tensors(program(x))
            for got, wanted in zip(results, expected, strict=True):
                torch.testing.assert_close(got, wanted)
                assert got.stride() == wanted.stride()
            kernels.append(counts["kernels"])
    assert kernels[1] == kernels[-1]


def test_parts_that_become_empty() -> None:
    """A size is a symbol, and a part of it may have no elements, or one."""

    def program(x: torch.Tensor) -> Any:
        part = x[2:] * 2 + 1
        return part.relu(), part.sum(-1), (x[:, 2:] * 3).sum(-1) + 1

    compiled = stator.compile(program, backend="fused", dynamic=True)
    with torch.no_grad():
        for size in (7, 5, 9, 3, 2, 4):
            x = torch.randn(size, size)
            for got, wanted in zip(compiled(x), program(x), strict=True):
                torch.testing.assert_close(got, wanted)


def test_layouts_that_change() -> None:
    compiled = stator.compile(lambda x: F.softmax(x * 2, -1) + 1, backend="fused")
    x = torch.randn(4, 6, 8)
    with torch.no_grad():
        for view in (x, x.transpose(0, 1), x.permute(2, 1, 0), x[..., ::2], x[:1].expand(4, -1, -1)):
            torch.testing.assert_close(compiled(view), F.softmax(view * 2, -1) + 1)


def test_errors_are_eagers() -> None:
    def program(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        return (x * 2)[i] + 1

    compiled = stator.compile(program, backend="fused")
    with torch.no_grad():
        compiled(torch.randn(4), torch.tensor([1]))
        with pytest.raises(IndexError, match="out of"):
            compiled(torch.randn(4), torch.tensor([7]))
        assert compiled(torch.ones(4), torch.tensor([2])).item() == 3


def test_threads_share_rows() -> None:
    x = torch.randn(300, 700)
    threads = torch.get_num_threads()
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            check(lambda x: (F.gelu(x) * 2, F.softmax(x, -1), x.sum(-1)), x, kernels=None, ulps=64)
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("whole", [True, False])
def test_results_of_inference_mode_are_of_it(whole: bool) -> None:
    """A kernel runs on its side of a mode's border, and is made there: nothing is moved across."""

    def inside(x: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode():
            return (x * 2).relu() + 1

    def around(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x * 3
        z = inside(x)
        return y + 1, z, x + 1, y.sin() * z

    program = inside if whole else around
    compiled = stator.compile(program, backend="fused", fullgraph=True)
    x = torch.randn(4, 3)
    for _ in range(3):
        wanted, found = program(x), compiled(x)
        for a, b in zip([wanted] if whole else wanted, [found] if whole else found, strict=True):
            assert torch.allclose(a, b)
            assert a.is_inference() == b.is_inference()
