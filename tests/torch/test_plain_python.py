"""Captures without operators: no backend is given them, `explain` does not count them, and after a break they
do not slow plain Python down."""

import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import stator
import torch


class Counting:
    """A backend that counts what it is given."""

    def __init__(self) -> None:
        self.operators: list[int] = []

    def __call__(self, gm: Any, inputs: Any) -> Any:
        self.operators.append(sum(node.op == "call_function" for node in gm.graph.nodes))
        return gm.forward


def identity(x: torch.Tensor) -> torch.Tensor:
    return x


def size(x: torch.Tensor) -> int:
    return x.shape[0]


def whole(x: torch.Tensor) -> torch.Tensor:
    return identity(x) * size(x)


def prints(x: torch.Tensor) -> torch.Tensor:
    os.getloadavg()
    return identity(x) + size(x)


def prints_below(x: torch.Tensor) -> torch.Tensor:
    y = prints(x * 2)
    return identity(y) * size(y)


def prints_twice(x: torch.Tensor) -> torch.Tensor:
    y = whole(x)
    os.getloadavg()
    z = whole(y + 1)
    os.getloadavg()
    return whole(z)


def reads_a_value(x: torch.Tensor) -> torch.Tensor:
    y = whole(x)
    return whole(y) if y.sum() > 0 else y


PROGRAMS: list[Callable[[torch.Tensor], Any]] = [
    identity,
    size,
    whole,
    prints,
    prints_below,
    prints_twice,
    reads_a_value,
    lambda x: (identity(x), size(x)),
    torch.nn.Sequential(torch.nn.Identity(), torch.nn.Linear(3, 3)),
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_explain_agrees_with_the_backend(program: Any) -> None:
    x = torch.ones(2, 3)
    backend = Counting()
    compiled = stator.compile(program, backend=backend)
    compiled(x)
    given = list(backend.operators)
    assert 0 not in given
    form: Any = compiled._compiled if isinstance(compiled, stator.OptimizedModule) else compiled
    for shown in (stator.explain(program)(x), stator.explain(compiled)(x)):
        assert shown.graph_count == len(shown.graphs) == len(given) == len(shown.compile_times)
        assert sorted(map(len, shown.ops_per_graph)) == sorted(given)
        assert shown.op_count == sum(given)
        assert shown.graph_break_count == len(shown.break_reasons)
        places = {why.user_stack[-1] for why in shown.break_reasons}
        assert len(places) == shown.graph_break_count
        assert bool(form.breaks) == bool(shown.break_reasons)


def test_explain_of_a_native_function_shows_what_native_captures() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2 + x.sum().item()

    compiled = stator.compile(f, backend="native")
    compiled(torch.ones(2))
    shown = stator.explain(compiled)(torch.ones(2))
    assert shown.graph_break_count == len(compiled.breaks)
    assert shown.graph_count == len(stator.cache_entries(compiled))
    assert shown.op_count == sum(entry.nodes for entry in stator.cache_entries(compiled))


class Walk:
    """Many small methods that are given tensors and do nothing with them."""

    def __init__(self) -> None:
        self.count = 0

    def look(self, x: torch.Tensor) -> int:
        return self.count

    def pick(self, x: torch.Tensor) -> torch.Tensor:
        return x

    def steps(self, x: torch.Tensor, times: int) -> Iterator[torch.Tensor]:
        for _ in range(times):
            x = self.pick(x)
            self.look(x)
            os.getloadavg()
        yield x

    def loop(self, x: torch.Tensor, times: int) -> torch.Tensor:
        return next(self.steps(x, times))


def test_a_loop_of_small_methods_after_a_break() -> None:
    walk, x = Walk(), torch.ones(2)
    compiled = stator.compile(walk.loop, backend="native")
    for _ in range(3):
        assert compiled(x, 20) is x
    left = {callee["name"]: callee for callee in compiled.callees}
    for name in ("Walk.look", "Walk.pick"):
        assert left[name]["left_to_python"]
        assert left[name]["captures"] <= 1  # and asked no more
    shown = stator.explain(walk.loop)(x, 20)
    assert sorted(shown.left_to_python) == ["Walk.look", "Walk.pick"]
    assert "Walk.look" in str(shown)

    def seconds(call: Callable[[], Any]) -> float:
        return min(timed(call) for _ in range(7))

    def timed(call: Callable[[], Any]) -> float:
        begin = time.perf_counter()
        call()
        return time.perf_counter() - begin

    eager = seconds(lambda: walk.loop(x, 4000))
    # Every Python call pays for the hook. Served by captures, this loop took 6 times eager's time.
    assert seconds(lambda: compiled(x, 4000)) < 3 * eager


def test_functions_with_operators_stay_captured() -> None:
    def sometimes(x: torch.Tensor, much: bool) -> torch.Tensor:
        return x.relu() * 2 if much else x

    def outer(x: torch.Tensor) -> torch.Tensor:
        return list(steps(x))[-1]

    def steps(x: torch.Tensor) -> Iterator[torch.Tensor]:
        for i in range(40):
            os.getloadavg()
            x = sometimes(x, i % 4 == 3)
            yield x

    x = torch.ones(2)
    compiled = stator.compile(outer, backend="native")
    assert torch.equal(compiled(x), outer(x))
    (row,) = (callee for callee in compiled.callees if "sometimes" in callee["name"])
    assert not row["left_to_python"]
    assert row["hits"] == 38


def test_unawaited_coroutines_are_warned_of_on_hits_too() -> None:
    async def later(x: torch.Tensor) -> torch.Tensor:
        return x

    def f(x: torch.Tensor) -> torch.Tensor:
        later(x)
        return x + 1

    def warned(fn: Callable[..., Any]) -> list[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fn(torch.ones(1))
        messages = [str(each.message) for each in caught]
        return [message for message in messages if not message.startswith("stator:")]

    wanted = warned(f)
    assert len(wanted) == 1
    compiled = stator.compile(f, backend="native")
    for _ in range(3):
        assert warned(compiled) == wanted
