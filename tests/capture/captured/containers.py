"""Lists, dictionaries, sets, deques and classes over them."""

import collections
import types
from typing import Any

from captured.case import Change, Program, case


@case
def old_set() -> tuple[Program, Change]:
    names, fixed = {"a", "b"}, frozenset({1, 2})
    return (
        lambda n: (
            "a" in names,
            n in fixed,
            len(names),
            sorted(names | {"z"}),
            sorted(names & {"a"}),
            sorted(fixed | {9}),
        ),
        lambda: names.discard("a"),
    )


@case
def old_set_with_the_same_size() -> tuple[Program, Change]:
    names = {"a", "b"}

    def change() -> None:
        names.discard("a")
        names.add("c")

    return lambda n: "a" in names, change


@case
def ordered_dict() -> tuple[Program, Change]:
    table = collections.OrderedDict(a=1, b=2, c=3)
    return lambda n: (
        list(table),
        list(table.items()),
        table["a"] + n,
        next(iter(table)),
    ), lambda: table.move_to_end("a")


@case
def ordered_dict_made_in_the_run() -> tuple[Program, Change]:
    items = [("a", 1), ("b", 2)]

    def program(n: int) -> Any:
        table = collections.OrderedDict(items)
        table["c"] = n
        table.move_to_end("a")
        return list(table.items()), list(table)

    return program, lambda: items.append(("d", 4))


@case
def dict_views() -> tuple[Program, Change]:
    table = {"a": 1, "b": 2}
    keys = table.keys()
    return (
        lambda n: (
            "a" in keys,
            list(table.values()),
            sorted(table.keys() & {"a"}),
            list(table.items()),
            len(keys),
            dict(table),
        ),
        lambda: table.update(c=3),
    )


@case
def mapping_proxy() -> tuple[Program, Change]:
    table = {"a": 1}
    proxy = types.MappingProxyType(table)
    return lambda n: (
        proxy["a"] + n,
        "b" in proxy,
        list(proxy),
        dict(proxy),
        proxy.get("c"),
    ), lambda: table.update(b=2)


@case
def class_dictionary() -> tuple[Program, Change]:
    class Thing:
        a = 1

    return lambda n: (
        Thing.__dict__["a"],
        "b" in vars(Thing),
        Thing.__name__,
        Thing.__mro__[-1] is object,
    ), lambda: setattr(Thing, "b", 2)


@case
def deque() -> tuple[Program, Change]:
    queue = collections.deque([1, 2], maxlen=4)
    return lambda n: (queue[0] + n, list(queue), len(queue), 2 in queue), lambda: queue.rotate(1)


@case
def deque_made_in_the_run() -> tuple[Program, Change]:
    box = types.SimpleNamespace(k=2)

    def program(n: int) -> Any:
        queue = collections.deque(maxlen=box.k)
        for i in range(n):
            queue.append(i)
        return list(queue), queue.popleft()

    return program, lambda: setattr(box, "k", 1)


@case
def default_dict() -> tuple[Program, Change]:
    table = collections.defaultdict(list, a=[1])

    def program(n: int) -> Any:
        made: collections.defaultdict[str, list[int]] = collections.defaultdict(list)
        made["x"].append(n)
        return table["a"], "b" in table, table.get("b"), dict(made)

    return program, lambda: table["b"].append(1)


@case
def counter() -> tuple[Program, Change]:
    counts = collections.Counter("aab")
    return lambda n: (
        counts["a"] + n,
        counts["zzz"],
        counts.most_common(1),
        sum(counts.values()),
    ), lambda: counts.update("bbbb")


@case
def chain_map() -> tuple[Program, Change]:
    under: dict[str, int] = {"a": 1}
    over: dict[str, int] = {}
    maps = collections.ChainMap(over, under)
    return lambda n: maps["a"] + n, lambda: over.update(a=5)


@case
def nested_containers() -> tuple[Program, Change]:
    table = {"a": [[1], {"b": (2, [3])}]}
    return lambda n: (table == {"a": [[1], {"b": (2, [3])}]}, str(table), [1] in table["a"]), lambda: table[
        "a"
    ][1]["b"][1].append(4)  # type: ignore[index]


@case
def nested_in_tuples() -> tuple[Program, Change]:
    inner = [1]
    pair = (inner, 2)
    return lambda n: (
        pair == ([1], 2),
        repr(pair),
        sorted([pair, ([0], n)]),
        max(pair[0]),
    ), lambda: inner.append(2)


@case
def slices_and_unpacking() -> tuple[Program, Change]:
    items = [1, 2, 3, 4]

    def program(n: int) -> Any:
        a, *b, c = items
        return items[1:3], items[::-1], (a, b, c), tuple(items)[n:], [*items, *"xy"], {**{"a": n}, "b": 2}

    return program, lambda: items.reverse()


@case
def starred_targets() -> tuple[Program, Change]:
    values = [1, 2, 3, 4]

    def program(n: int) -> Any:
        first, *middle, last = values
        *head, _ = range(n)
        (a, *rest), b = (middle, n)
        middle.append(n)
        rest += head
        return first, middle, last, a, rest, b, sum(middle[1:])

    return program, lambda: values.insert(2, 9)


@case
def counters() -> tuple[Program, Change]:
    words = ["a", "b", "a"]

    def program(n: int) -> Any:
        counter = collections.Counter(words)
        counter.update(["b"] * n)
        return counter.most_common(), counter["missing"], dict(counter + collections.Counter("ab"))

    return program, lambda: words.append("c")
