"""The order of a set's items, and what pop() gives next, after captured writes: as eager leaves them.

A set's order follows from its whole hash table: random programs of writes are compared by the order and by
what is popped afterwards.
"""

import random
import types
from typing import Any

import pytest

import stator
import torch

WRITES = [
    "s.add({a})",
    "s.discard({a})",
    "s.update([{a}, {b}, {c}])",
    "s |= {{{a}, {b}}}",
    "s -= {{{a}, {b}}}",
    "s ^= {{{a}, {c}}}",
    "if s: got.append(s.pop())",
    "s.difference_update([{a}])",
    "got.append({a} in s)",
    "got.append(list(s))",
    "got.append(len(s))",
    "y = y + len(s)",
]
BREAKS = ["torch._dynamo.graph_break()", "print(end='')"]
HEADS = {
    "argument": "def f(x, s):",
    "global": "def f(x, _):\n    global s",
    "attribute": "def f(x, _):\n    s = holder.s",
    "new": "def f(x, s):\n    s = set(s)",
}


def program(seed: int, place: str) -> str:
    choice = random.Random(seed)
    lines = [HEADS[place], "    got = []", "    y = x + 1"]
    for _ in range(choice.randint(3, 9)):
        # Items that collide in small tables.
        a, b, c = (choice.choice([0, 8, 16, 24, 40, 1, 9, 33, 64, 7, 15, "'k'"]) for _ in range(3))
        lines.append("    " + choice.choice(WRITES).format(a=a, b=b, c=c))
        if choice.random() < 0.15:
            lines.append("    " + choice.choice(BREAKS))
    return "\n".join([*lines, "    return y, got, s"])


def outcomes(source: str, compiled: bool) -> list[object]:
    holder = types.SimpleNamespace(s={40, 8, 0, 16, 33} | {1})
    names: dict[str, Any] = {"torch": torch, "holder": holder, "s": {40, 8, 0, 16, 33}}
    exec(source, names)
    run = stator.compile(names["f"], backend="native") if compiled else names["f"]
    seen: list[object] = []
    for call in range(4):
        given = {40, 8, 0, 16, 33}
        given.discard(8)
        y, got, result = run(torch.full((2,), float(call)), given)
        tables = [given, names["s"], names["holder"].s]
        seen.append((y.tolist(), got, list(result), [list(table) for table in tables]))
        if call == 1:
            seen.append([table.pop() for table in (given, names["s"], names["holder"].s) if table])
            for table in (given, names["s"], names["holder"].s, result):
                table.add(24)
    seen.append([result.pop() for _ in range(len(result))])
    if compiled:
        assert stator.cache_entries(run), "nothing was captured"
    return seen


@pytest.mark.parametrize("place", HEADS)
@pytest.mark.parametrize("chunk", range(5))
def test_order_after_writes(place: str, chunk: int) -> None:
    for seed in range(chunk * 12, chunk * 12 + 12):
        source = program(seed, place)
        assert outcomes(source, True) == outcomes(source, False), source


def test_pop_goes_on_where_the_last_one_ended() -> None:
    def first(x: torch.Tensor, s: set[int]) -> torch.Tensor:
        return x + s.pop()

    compiled = stator.compile(first, backend="native")
    left, right = {0, 1, 2}, {0, 1, 2}
    for _ in range(2):
        assert torch.equal(compiled(torch.ones(2), left), first(torch.ones(2), right))
        left.add(0), right.add(0)
    assert left == right


def test_writes_one_by_one_serve_whatever_else_is_there() -> None:
    seen: set[int] = set()

    def note(x: torch.Tensor) -> torch.Tensor:
        seen.add(7)
        seen.discard(3)
        return x + 1

    compiled = stator.compile(note, backend="native")
    for other in range(20, 30):
        seen.add(other)
        compiled(torch.ones(2))
        assert 7 in seen
        assert 3 not in seen
        seen.discard(7)
    assert len(stator.cache_entries(compiled)) == 1
