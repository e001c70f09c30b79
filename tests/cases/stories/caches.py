"""Caches, registries, memos and pools: dictionaries that a program reads and fills."""

import functools
import weakref
from collections import OrderedDict
from types import SimpleNamespace
from typing import Any

import torch
from stories.story import Story, call, story, tensor


@story
def cache_by_size() -> Story:
    cache: dict[int, torch.Tensor] = {}
    counts = {"hits": 0, "misses": 0}

    def mask(n: int) -> torch.Tensor:
        if n in cache:
            counts["hits"] += 1
            return cache[n]
        counts["misses"] += 1
        cache[n] = torch.tril(torch.ones(n, n))
        return cache[n]

    def program(x: torch.Tensor) -> torch.Tensor:
        return x * mask(x.shape[-1])

    small, large = tensor(3, 3), tensor(4, 4)
    steps = [
        call(small),
        call(small),
        call(large),
        call(small),
        call(large),
        cache.clear,
        call(small),
        call(large),
    ]
    return Story(program, steps, lambda: (cache, counts), served=0)


@story
def memo_by_tuple() -> Story:
    memo: dict[tuple[Any, ...], int] = {}
    seen: set[int] = set()
    recent: OrderedDict[int, str] = OrderedDict()

    def cost(*key: int) -> int:
        if key not in memo:
            memo[key] = sum(key)
        return memo[key]

    def program(x: torch.Tensor, n: int) -> torch.Tensor:
        seen.add(n)
        recent[n] = str(n)
        memo.setdefault((n, "fixed"), 1)
        return x * cost(n, 2) + cost(x.shape[0], n, 3)

    steps = [call(tensor(size), n) for size, n in [(3, 2), (3, 2), (3, 3), (4, 3), (3, 2), (5, 4)]]
    return Story(program, steps, lambda: (memo, seen, recent), served=0)


@story
def lru_caches() -> Story:
    ran: list[Any] = []

    @functools.cache
    def weight(n: int, kind: str = "a") -> int:
        ran.append(type(n).__name__)
        return sum(range(n)) * (2 if kind == "a" else 3)

    class Table:
        @functools.lru_cache(maxsize=64)  # noqa: B019
        def squares(self, n: int) -> tuple[int, ...]:
            ran.append(type(n).__name__)
            return tuple(i * i for i in range(n))

    table = Table()

    def program(x: torch.Tensor) -> torch.Tensor:
        n = x.shape[0]
        return x * weight(n) + weight(n, kind="b") + table.squares(n)[-1]

    sizes = [3, 3, 4, 5, 6, 3]
    steps = [*[call(tensor(size)) for size in sizes], weight.cache_clear, call(tensor(3)), call(tensor(7))]
    return Story(program, steps, lambda: set(ran), served=0)


@story
def registry_of_classes() -> Story:
    known: dict[str, Any] = {}

    def register(name: str) -> Any:
        def keep(one: Any) -> Any:
            known[name] = one
            return one

        return keep

    @register("double")
    class Double:
        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    @register("shift")
    class Shift:
        by = 1

        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.by

    @register("sine")
    def sine() -> Any:
        return torch.sin

    pipeline = ["double", "shift"]

    def program(x: torch.Tensor) -> torch.Tensor:
        for name in pipeline:
            x = known[name]()(x)
        return x

    x = tensor(3)
    steps = [
        call(x),
        call(x),
        lambda: pipeline.append("sine"),
        call(x),
        call(x),
        lambda: setattr(Shift, "by", 4),
        call(x),
        lambda: known.update(double=Shift),
        call(x),
    ]
    return Story(program, steps, served=2)


@story
def objects_as_keys() -> Story:
    class Node:
        def __init__(self, value: float) -> None:
            self.value = value

        def __repr__(self) -> str:
            return f"Node({self.value})"

    first, second, third = Node(1.0), Node(2.0), Node(3.0)
    weights = {first: 2.0, second: 3.0}
    layer = torch.nn.Linear(3, 3)
    torch.nn.init.constant_(layer.weight, 0.2)
    torch.nn.init.zeros_(layer.bias)
    names = {layer: "layer"}
    box = SimpleNamespace(now=first)

    def program(x: torch.Tensor) -> Any:
        return layer(x) * weights[box.now] + box.now.value, names[layer], weights.get(third, 5)

    x = tensor(2, 3)
    steps = [
        call(x),
        call(x),
        lambda: weights.update({first: 7.0}),
        call(x),
        lambda: setattr(box, "now", second),
        call(x),
        lambda: weights.update({third: 1.0}),
        call(x),
        lambda: weights.pop(second),
        call(x),
    ]
    return Story(program, steps)


@story
def weak_references() -> Story:
    class Node:
        def __init__(self, value: float, parent: "Node | None" = None) -> None:
            self.value = value
            self.up = weakref.ref(parent) if parent is not None else None

        @property
        def parent(self) -> "Node | None":
            return self.up and self.up()

    nodes = {"root": Node(2.0), "other": Node(10.0)}
    child = Node(3.0, nodes["root"])

    def program(x: torch.Tensor) -> Any:
        parent = child.parent
        return (x * parent.value if parent else -x), child.up == weakless, nodes["other"].parent

    weakless = child.up
    x = tensor(3)
    steps = [
        call(x),
        call(x),
        lambda: setattr(nodes["root"], "value", 4.0),
        call(x),
        lambda: setattr(child, "up", weakref.ref(nodes["other"])),
        call(x),
        lambda: nodes.update(other=Node(1.0)),  # what was referred to is gone
        call(x),
        lambda: setattr(child, "up", None),
        call(x),
    ]
    return Story(program, steps)


@story
def pool_of_buffers() -> Story:
    free: list[torch.Tensor] = []
    made: list[int] = []

    def take(n: int) -> torch.Tensor:
        for i, buffer in enumerate(free):
            if buffer.shape[0] == n:
                return free.pop(i)
        made.append(n)
        return torch.zeros(n)

    def program(x: torch.Tensor) -> torch.Tensor:
        buffer = take(x.shape[0])
        buffer.copy_(x)
        buffer.mul_(2)
        y = buffer + 1
        free.append(buffer)
        return y

    steps = [call(tensor(n)) for n in (3, 3, 4, 3, 3, 4)]
    return Story(program, steps, lambda: (free, made), served=0)


@story
def cached_property() -> Story:
    class Table:
        made = 0

        def __init__(self, n: int) -> None:
            self.n = n

        @functools.cached_property
        def squares(self) -> list[int]:
            Table.made += 1
            return [i * i for i in range(self.n)]

        @classmethod
        def of(cls, n: int) -> "Table":
            return cls(n)

    table = Table(3)

    def program(x: torch.Tensor) -> torch.Tensor:
        return x * sum(table.squares) + Table.of(4).squares[-1]

    x = tensor(3)
    steps = [
        *[call(x)] * 4,
        lambda: table.squares.append(100),
        call(x),
        lambda: table.__dict__.pop("squares"),
        call(x),
    ]
    return Story(program, steps, lambda: (vars(table), Table.made))
