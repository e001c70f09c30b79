"""Closures, generators and comprehensions."""

import types
from collections.abc import Iterator
from typing import Any

from captured.case import Change, Program, case


@case
def closures() -> tuple[Program, Change]:
    total = 1

    def bump() -> None:
        nonlocal total
        total += 1

    def program(n: int) -> int:
        inner = 0

        def add(k: int) -> None:
            nonlocal inner
            inner += k + total

        for i in range(n):
            add(i)
        return inner

    return program, bump


@case
def generators() -> tuple[Program, Change]:
    items = [1, 2, 3]

    def each() -> Iterator[int]:
        for item in items:
            got = yield item
            if got:
                yield got

    def delegating() -> Iterator[int]:
        yield 0
        yield from each()

    def program(n: int) -> Any:
        generator = each()
        first = next(generator)
        sent = generator.send(n)
        generator.close()
        return first, sent, list(delegating()), sum(x * n for x in each()), max(each()), next(each(), None)

    return program, lambda: items.append(4)


@case
def comprehensions() -> tuple[Program, Change]:
    table = {"a": [1, 2], "b": [3]}
    return (
        lambda n: (
            [x + n for xs in table.values() for x in xs if x != 2],
            {key: len(value) for key, value in table.items()},
            sorted({x % 2 for xs in table.values() for x in xs}),
            sorted(table, key=lambda key: -len(table[key])),
        ),
        lambda: table["b"].extend([7, 8, 9]),
    )


@case
def higher_order_functions() -> tuple[Program, Change]:
    items = [3, 1, 2]
    box = types.SimpleNamespace(k=1)

    def program(n: int) -> Any:
        return (
            list(map(lambda x: x + box.k, items)),  # noqa: C417
            list(filter(lambda x: x > box.k, items)),
            sorted(items, key=lambda x: -x * box.k),
            max(items, key=lambda x: x % 3),
            list(zip(items, map(str, items), strict=True)),
            any(x > n for x in items),
            all(map(bool, items)),
            list(enumerate(reversed(items))),
        )

    return program, lambda: setattr(box, "k", 2)


@case
def star_arguments() -> tuple[Program, Change]:
    items, options = [1, 2], {"k": 3}

    def target(*args: int, **kwargs: int) -> Any:
        return args, kwargs

    def program(n: int) -> Any:
        first, *rest = [n, *items]
        return (
            target(*items, n, **options),
            target(*(x for x in items)),
            target(*options),
            target(*range(n)),
            first,
            rest,
        )

    return program, lambda: options.update(m=4)
