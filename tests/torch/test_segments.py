"""Breaks cost only themselves: what stands before and behind one is captured, and the program is eager's."""

from __future__ import annotations

import builtins
import concurrent.futures
import contextlib
import gc
import io
import traceback
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from comparison import difference
from segment_programs import PROGRAMS

import stator
import torch

# A break on every backend; the builtin is a node under some.
print = stator.disable(builtins.print)


def outcome(function: Callable[..., Any], x: torch.Tensor) -> tuple[Any, ...]:
    """What a user sees of a call: the value or the exception with its traceback, and what was written."""
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        try:
            value: Any = function(x)
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)[1:]
            lines = [(frame.name, frame.lineno) for frame in frames]
            chained = repr(error.__cause__), repr(error.__context__)
            value = type(error).__name__, repr(error.args), lines, chained
    return value, written.getvalue()


def operators(compiled: Any) -> int:
    rows = [*compiled.entries, *(entry for row in compiled.callees for entry in row["entries"])]
    return sum(row["nodes"] for row in rows)


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_eager(name: str, backend: str) -> None:
    program, at_least = PROGRAMS[name]
    compiled = stator.compile(program, backend=backend)
    torch.manual_seed(0)
    for _ in range(5):
        for x in (torch.randn(3, 4), torch.ones(3, 4)):
            ours, eagers = outcome(compiled, x.clone()), outcome(program, x.clone())
            assert difference(ours, eagers) is None
    assert operators(compiled) >= at_least
    served = sum(entry["hits"] for entry in compiled.entries) + sum(row["hits"] for row in compiled.callees)
    assert served >= 4


@pytest.mark.parametrize("name", ["prints_between", "branches_on_data", "prints_three_calls_deep"])
def test_gradients(name: str) -> None:
    program, _ = PROGRAMS[name]
    compiled = stator.compile(program, backend="native")
    for seed in range(4):
        torch.manual_seed(seed)
        x = torch.randn(3, 4)
        ours, eagers = x.clone().requires_grad_(), x.clone().requires_grad_()
        with contextlib.redirect_stdout(io.StringIO()):
            compiled(ours).sum().backward()
            program(eagers).sum().backward()
        assert torch.equal(ours.grad, eagers.grad)


def test_a_whole_capture_makes_no_frame() -> None:
    compiled = stator.compile(lambda x: x + 1, backend="native")
    for _ in range(3):
        compiled(torch.ones(2))
    assert compiled.callees == []
    assert [entry["hits"] for entry in compiled.entries] == [2]


def test_a_tensor_dies_where_eager_lets_it_die() -> None:
    alive: list[int] = []
    watched: list[weakref.ref[torch.Tensor]] = []

    def watch(tensor: torch.Tensor) -> None:
        watched.append(weakref.ref(tensor))

    def count() -> None:
        alive.append(sum(each() is not None for each in watched))

    def program(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        watch(y)
        z = y * 2
        del y
        count()
        return z - 1

    compiled = stator.compile(program, backend="native")
    for function in (program, compiled, compiled, compiled):
        alive.clear()
        watched.clear()
        function(torch.ones(3))
        gc.collect()
        assert alive == [0]


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("ends", ["returns", "breaks again"])
def test_a_finalizer_runs_where_eager_runs_it(ends: str, inside: bool) -> None:
    log: list[str] = []

    class Loud:
        def __del__(self) -> None:
            log.append("gone")

    def program(x: torch.Tensor) -> torch.Tensor:
        loud: Any = [(Loud(),)] if inside else Loud()
        y = x + 1
        print("-")
        del loud
        log.append("after")
        if ends == "breaks again":
            print("-")
        return y * 2

    compiled = stator.compile(program, backend="native")
    with contextlib.redirect_stdout(io.StringIO()):
        for function in (program, compiled, compiled, compiled):
            log.clear()
            function(torch.ones(2))
            assert log == ["gone", "after"]


def test_an_exception_that_was_handled_before_a_break() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        try:
            {}["missing"]
        except KeyError:
            y = y * 2
        builtins_id = stator.disable(len)("abc")
        return y + builtins_id

    compiled = stator.compile(function, backend="eager")
    # In a thread of its own: nothing was handled in it so far.
    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        for _ in range(3):
            assert thread.submit(compiled, torch.ones(2)).result().tolist() == [7.0, 7.0]
    assert compiled.entries


def test_fullgraph_still_refuses() -> None:
    compiled = stator.compile(PROGRAMS["prints_between"][0], fullgraph=True)
    with pytest.raises(stator.CaptureError, match="print"):
        compiled(torch.ones(3, 4))


def test_changed_globals_are_seen_behind_a_break() -> None:
    space = {"factor": 2}

    def program(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        print("-")
        return y * space["factor"]

    compiled = stator.compile(program, backend="native")
    with contextlib.redirect_stdout(io.StringIO()):
        for factor in (2, 2, 3, 5, 5):
            space["factor"] = factor
            assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0 * factor))


def test_reset_drops_segments() -> None:
    compiled = stator.compile(PROGRAMS["prints_between"][0], backend="native")
    with contextlib.redirect_stdout(io.StringIO()):
        for _ in range(3):
            compiled(torch.ones(2))
        assert operators(compiled) == 3
        compiled.reset()
        assert operators(compiled) == 0
        compiled(torch.ones(2))
    assert operators(compiled) == 3
