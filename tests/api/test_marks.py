"""Marks on sizes by Stator's own names, and `cudagraph_mark_step_begin`."""

import sys
from types import ModuleType
from typing import Any

import pytest

import stator
import torch


def captures(*, mark: Any = None, dynamic: bool | None = None) -> int:
    """How many captures three sizes need."""
    compiled = stator.compile(lambda x: x * 2, backend="native", dynamic=dynamic)
    for size in (3, 4, 5):
        x = torch.ones(size, 2)
        if mark is not None:
            mark(x)
        assert torch.equal(compiled(x), x * 2)
    return len(stator.cache_entries(compiled))


def test_marks() -> None:
    assert captures() == 2
    assert captures(mark=lambda x: stator.mark_dynamic(x, 0)) == 1
    assert captures(mark=lambda x: stator.maybe_mark_dynamic(x, [0])) == 1
    assert captures(mark=lambda x: stator.mark_static(x, 0)) == 3
    assert captures(mark=lambda x: stator.mark_static(x), dynamic=True) == 3


def test_a_dimension_that_is_not_there() -> None:
    with pytest.raises(IndexError, match="a tensor of 1 dimensions has no dimension 3"):
        stator.mark_dynamic(torch.ones(2), 3)


def test_iterations_of_cuda_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inductor's graphs are told where they were loaded; nothing is loaded for it."""
    told: list[str] = []
    trees: Any = ModuleType("torch._inductor.cudagraph_trees")
    trees.mark_step_begin = lambda: told.append("begun")
    monkeypatch.setitem(sys.modules, trees.__name__, trees)
    stator.cudagraph_mark_step_begin()
    assert told == ["begun"]
    monkeypatch.delitem(sys.modules, trees.__name__)
    stator.cudagraph_mark_step_begin()
    assert told == ["begun"]
