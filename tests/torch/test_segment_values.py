"""What a segment begins with is another one in each run: objects with finalizers, texts, lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch

break_here = stator.disable(lambda: None)


def hits(compiled: Any) -> int:
    rows = [*compiled.entries, *(entry for row in compiled.callees for entry in row["entries"])]
    return sum(row["hits"] for row in rows)


def captures(compiled: Any) -> int:
    return len(compiled.entries) + sum(len(row["entries"]) for row in compiled.callees)


@pytest.mark.parametrize("in_cell", [False, True])
def test_a_variable_comes_to_hold_a_finalizer(in_cell: bool) -> None:
    log: list[str] = []

    class Loud:
        def __del__(self) -> None:
            log.append("gone")

    def plain(x: torch.Tensor, make: Callable[[], Any]) -> torch.Tensor:
        kept = make()
        y = x + 1
        break_here()
        log.append("before")
        del kept
        log.append("behind")
        return y * 2

    def celled(x: torch.Tensor, make: Callable[[], Any]) -> torch.Tensor:
        kept = make()

        def look() -> Any:
            return kept

        y = x + 1
        break_here()
        log.append("before")
        kept = None
        log.append("behind")
        return y * 2 if look() is None else y

    compiled = stator.compile(celled if in_cell else plain, backend="native")
    silent: list[Callable[[], Any]] = [list, lambda: 3, list]
    loud: list[Callable[[], Any]] = [Loud, lambda: [Loud()], lambda: ({"a": Loud()},)]
    for make in [*silent, *loud, *silent, *loud]:
        log.clear()
        compiled(torch.ones(2), make)
        assert log == ["before", *(["gone"] if make in loud else []), "behind"]
    assert hits(compiled) >= 4


@pytest.mark.parametrize("way", ["slice", "clear"])
def test_a_list_that_is_filled_anew_is_not_looked_at(way: str) -> None:
    history: list[float] = [0.0]

    def replaces(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        break_here()
        if way == "slice":
            history[:] = [y.sum().item()]
        else:
            history.clear()
            history.append(y.sum().item())
        return y + history[-1] + len(history)

    compiled = stator.compile(replaces, backend="native")
    for i in range(10):
        x = torch.full((3,), float(i))
        assert torch.equal(compiled(x), x * 2 + x.sum() * 2 + 1)
        assert history == [x.sum().item() * 2]
        history.extend([1.0] * (i % 3))
    assert captures(compiled) <= 4
    assert hits(compiled) >= 16


def test_a_text_that_each_run_makes_costs_no_captures() -> None:
    found: list[str] = []

    def tells(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        text = f"loss {y.sum().item():.3f}"
        break_here()
        y = y + 1
        found.append(text + "!")
        return y * 3

    compiled = stator.compile(tells, backend="native")
    for i in range(20):
        x = torch.full((3,), i / 7)
        assert torch.equal(compiled(x), (x * 2 + 1) * 3)
        assert found.pop() == f"loss {(x * 2).sum().item():.3f}!"
    before = captures(compiled)
    served = hits(compiled)
    for i in range(20):
        compiled(torch.full((3,), i / 9))
    assert captures(compiled) == before
    assert hits(compiled) >= served + 40
