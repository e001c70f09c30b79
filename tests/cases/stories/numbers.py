"""Numbers and order: sorting, heaps, counters that change, sets, nested results."""

import bisect
import heapq
from collections import OrderedDict, namedtuple
from typing import Any

import torch
from stories.story import Story, call, story, tensor


@story
def heaps() -> Story:
    heap: list[Any] = []

    def program(x: torch.Tensor, n: int) -> Any:
        for i in range(n):
            heapq.heappush(heap, (-(i * 7 % 5), i))
        best = [heapq.heappop(heap) for _ in range(n)]
        levels = [1, 3, 5]
        bisect.insort(levels, n)
        return x * best[0][0], best, levels, bisect.bisect(levels, 2)

    return Story(program, [call(tensor(3), 4)] * 3 + [call(tensor(3), 5)] * 2, lambda: heap)


@story
def lists_inside_of_lists_are_compared() -> Story:
    rows = [[1], [2], [3]]
    heap = [[1], [5], [3]]
    table = {"a": [1]}

    def program(x: torch.Tensor) -> Any:
        rows.sort()
        own = list(heap)
        own.sort()
        if [7] in rows:
            rows.remove([7])
        return x, str(rows), str(own), [4] in table.values(), heapq.nsmallest(1, heap)

    x = tensor(2)
    steps = [
        call(x),
        call(x),
        lambda: rows[0].__setitem__(0, 10),
        call(x),
        lambda: rows[0].__setitem__(0, 7),
        call(x),
        lambda: heap[0].__setitem__(0, 4),
        call(x),
        lambda: table["a"].__setitem__(0, 4),
        call(x),
    ]
    return Story(program, steps, lambda: (rows, heap))


@story
def set_algebra() -> Story:
    frozen, active = frozenset({"q", "k"}), {"k", "v"}

    def program(x: torch.Tensor, names: list[str]) -> Any:
        todo = (set(names) | active) - frozen
        for name in sorted(todo):
            x = x + len(name)
        both = set(names)
        both &= active
        both ^= {"z"}
        active.add("w")
        return x, sorted(both), frozen <= active, {name: i for i, name in enumerate(sorted(active))}

    x = tensor(3)
    steps = [
        *[call(x, ["k", "a"])] * 3,
        lambda: active.add("long"),
        call(x, ["v"]),
        lambda: active.clear(),
        call(x, ["v"]),
    ]
    return Story(program, steps, lambda: active)


@story
def patience() -> Story:
    class Stopper:
        def __init__(self, patience: int) -> None:
            self.patience, self.best, self.bad = patience, None, 0

        def __call__(self, value: int) -> bool:
            if self.best is None or value < self.best:
                self.best, self.bad = value, 0  # type: ignore[assignment]
            else:
                self.bad += 1
            return self.bad >= self.patience

    stopper, values = Stopper(2), [5, 4, 4, 4, 3]

    def program(x: torch.Tensor) -> Any:
        for i, value in enumerate(values):  # noqa: B007
            x = x * 1.1
            if stopper(value):
                break
        else:
            x = x + 100
        return x, i

    x = tensor(3)
    steps = [*[call(x)] * 4, lambda: values.__setitem__(slice(None), [9, 1]), call(x), call(x)]
    return Story(program, steps, lambda: (stopper.best, stopper.bad))


@story
def unpacking() -> Story:
    def program(parts: list[torch.Tensor], *rest: int) -> Any:
        first, *middle, last = parts
        if (n := len(middle)) > 1:
            first = first + n
        table = {"a": 1, "b": first, **{f"k{i}": part for i, part in enumerate(middle)}}
        del table["a"]
        (a, (b, c)), d = ((1, (2, 3)), 4)
        x = first if last.shape[0] > 2 else last
        return (
            table,
            sorted({*rest, 1, 2}),
            len((*rest, *parts)),
            x[..., None][:, 0],
            (a, b, c, d),
            rest or "none",
        )

    parts = [tensor(3) + i for i in range(4)]
    return Story(program, [call(parts, 5, 6), call(parts, 5, 6), call(parts[:2]), call([tensor(2)] * 2, 1)])


@story
def nested_results() -> Story:
    Pair = namedtuple("Pair", "a b")

    def mapped(function: Any, tree: Any) -> Any:
        if isinstance(tree, dict):
            return type(tree)((key, mapped(function, item)) for key, item in tree.items())
        if isinstance(tree, tuple) and hasattr(tree, "_fields"):
            return type(tree)(*(mapped(function, item) for item in tree))
        if isinstance(tree, list | tuple):
            return type(tree)(mapped(function, item) for item in tree)
        return function(tree) if isinstance(tree, torch.Tensor) else tree

    def program(tree: Any) -> Any:
        return mapped(lambda x: x * 2, tree)

    def tree(text: str, size: int = 3) -> Any:
        return {
            "a": [tensor(size), (tensor(2), None)],
            "b": Pair(tensor(2), text),
            "c": OrderedDict(z=tensor(1)),
        }

    return Story(
        program, [call(tree("s")), call(tree("s")), call(tree("t")), call(tree("s", 4)), call([tensor(3)])]
    )


@story
def results_that_are_arguments() -> Story:
    kept: list[torch.Tensor] = []

    def program(x: torch.Tensor, what: str | None = None) -> Any:
        if what is None:
            return None
        if what == "kept":
            kept.append(x)
            return kept
        if what == "twice":
            return x, x, (x,)
        if what == "views":
            return x[1:], x.view(-1)
        x += 1
        return x

    x = tensor(3)
    steps = [call(x), *[call(x, what) for what in ("kept", "twice", "views", "written") for _ in range(2)]]
    return Story(program, steps, lambda: kept, served=3)
