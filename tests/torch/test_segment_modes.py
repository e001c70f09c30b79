"""Segments that end or begin inside of no_grad, autocast and their like: every run leaves the modes that the
program left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch._dynamo
from comparison import difference
from torch.utils._pytree import tree_map_only

import stator
import torch

Program = Callable[[torch.Tensor, torch.Tensor], Any]


def stop() -> None:
    torch._dynamo.graph_break()


def modes() -> tuple[Any, ...]:
    torch.autocast_increment_nesting()
    return (
        torch.is_grad_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.get_autocast_dtype("cpu"),
        torch.is_autocast_cache_enabled(),
        torch.get_default_dtype(),
        torch.autocast_decrement_nesting(),
    )


seen_modes = stator.disable(modes)


def without_gradients(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = x @ w
    with torch.no_grad():
        z = y * 2
        stop()
        z = z.sin()
    return z + y, z.requires_grad


def under_autocast(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = x.sin()
    with torch.autocast("cpu", torch.bfloat16):
        z = y @ w
        seen = seen_modes()
        z = z @ w
    return z.float() + (x @ w), seen


def under_two_regions(x: torch.Tensor, w: torch.Tensor) -> Any:
    with torch.autocast("cpu", torch.bfloat16):
        a = x @ w
    b = x @ w
    with torch.autocast("cpu", torch.float16), torch.autocast("cpu", enabled=False):
        c = x @ w
        seen = seen_modes()
    return a, b, c, seen


def twice_inside(x: torch.Tensor, w: torch.Tensor) -> Any:
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        y = x @ w
        stop()
        y = y @ w
        stop()
        y = y @ w
    return y, seen_modes()


def in_a_callee(x: torch.Tensor, w: torch.Tensor) -> Any:
    @torch.autocast("cpu", torch.bfloat16)
    def inner(x: torch.Tensor) -> torch.Tensor:
        y = x @ w
        stop()
        return y @ w

    return inner(x.cos()) + x.sum(), seen_modes()


def raises_inside(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = x @ w
    try:
        with torch.autocast("cpu", torch.bfloat16):
            y = y @ w
            stop()
            y = y[torch.tensor([99])]
    except IndexError:
        y = y + 1
    return y, seen_modes()


def under_another_dtype(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = x * 2
    torch.set_default_dtype(torch.float64)
    y = y * torch.ones(4)
    stop()
    y = y + torch.ones(4)
    torch.set_default_dtype(torch.float32)
    return y * torch.ones(4)


def dtype_without_a_break(x: torch.Tensor, w: torch.Tensor) -> Any:
    torch.set_default_dtype(torch.float64)
    y = x * torch.ones(4)
    torch.set_default_dtype(torch.float32)
    return y


def under_a_range(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = x.sin()
    with torch.profiler.record_function("range"):
        y = y @ w
        stop()
        y = y.cos()
    return y + 1


PROGRAMS: list[Program] = [
    without_gradients,
    under_autocast,
    under_two_regions,
    twice_inside,
    in_a_callee,
    raises_inside,
    under_another_dtype,
    dtype_without_a_break,
    under_a_range,
]


def operators(compiled: Any) -> int:
    rows = [*compiled.entries, *(entry for row in compiled.callees for entry in row["entries"])]
    return sum(row["nodes"] for row in rows)


@pytest.mark.parametrize("gradients", [False, True], ids=["plain", "gradients"])
@pytest.mark.parametrize("backend", ["native", "eager", "aot_eager"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_eager(program: Program, backend: str, gradients: bool) -> None:
    compiled = stator.compile(program, backend=backend)
    before = modes()
    for call in range(4):
        torch.manual_seed(call)
        x, w = torch.randn(4, 4), torch.randn(4, 4).requires_grad_(gradients)
        ours, eagers = compiled(x, w), program(x, w)
        if backend == "aot_eager":  # its histories have other names
            ours, eagers = tree_map_only(torch.Tensor, torch.Tensor.detach, (ours, eagers))
        assert difference(ours, eagers) is None
        assert modes() == before
    assert operators(compiled) > 0


def test_nothing_before_the_region_is_lost() -> None:
    for program in (without_gradients, under_autocast, under_a_range):
        for backend in ("native", "eager"):
            compiled = stator.compile(program, backend=backend)
            for _ in range(3):
                compiled(torch.ones(4, 4), torch.ones(4, 4))
            first = compiled.entries[0]
            assert first["hits"] == 2
            assert first["nodes"] >= 2, program.__name__


def test_casts_are_kept_over_a_break() -> None:
    """One cast of the weight serves both sides, so gradients are added up in its dtype, as in eager code."""

    def program(x: torch.Tensor, w: torch.Tensor) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            y = x @ w
            stop()
            y = (y @ w) @ w
        return y.float().sum()

    compiled = stator.compile(program, backend="native")
    for call in range(4):
        torch.manual_seed(call)
        x, w = torch.randn(8, 8), torch.randn(8, 8)
        ours, eagers = w.clone().requires_grad_(), w.clone().requires_grad_()
        compiled(x, ours).backward()
        program(x, eagers).backward()
        assert torch.equal(ours.grad, eagers.grad)


def test_a_run_that_fails_leaves_the_modes_of_its_caller() -> None:
    def program(x: torch.Tensor, index: torch.Tensor) -> Any:
        with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
            y = x[index] @ x
            stop()
            return y + 1

    compiled = stator.compile(program, backend="native")
    before = modes()
    for position in (0, 0, 9, 0, 9):
        index = torch.tensor([position])
        if position == 9:
            with pytest.raises(IndexError):
                compiled(torch.ones(4, 4), index)
        else:
            assert difference(compiled(torch.ones(4, 4), index), program(torch.ones(4, 4), index)) is None
        assert modes() == before
