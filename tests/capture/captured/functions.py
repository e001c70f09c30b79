"""functools, itertools and operator."""

import functools
import itertools
import operator
import sys
import types
from typing import Any

from captured.case import Change, Program, case


# -- functools ----------------------------------------------------------------------------------------------
@case
def wraps() -> tuple[Program, Change]:
    box = types.SimpleNamespace(factor=2)

    def decorate(function: Program) -> Program:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs) * box.factor

        return wrapper

    @decorate
    def inner(n: int) -> int:
        """Documented."""
        return n + 1

    return lambda n: (inner(n), inner.__name__, inner.__doc__), lambda: setattr(box, "factor", 3)


@case
def wraps_in_the_run() -> tuple[Program, Change]:
    box = types.SimpleNamespace(offset=1)

    def inner(n: int) -> int:
        return n + box.offset

    def program(n: int) -> Any:
        @functools.wraps(inner)
        def wrapper(*args: Any) -> int:
            return inner(*args) * 2

        return wrapper(n), wrapper.__name__

    return program, lambda: setattr(inner, "__name__", "renamed")


@case
def lru_cache() -> tuple[Program, Change]:
    source = {"a": 1}

    @functools.lru_cache(maxsize=64)
    def cached(n: int) -> list[int]:
        return [n, source["a"]]

    def change() -> None:
        source["a"] = 2
        cached.cache_clear()

    return lambda n: sum(cached(n)), change


@case
def single_dispatch_by_class() -> tuple[Program, Change]:
    @functools.singledispatch
    def shown(value: object) -> object:
        return "something", value

    @shown.register
    def _(value: list) -> object:  # type: ignore[type-arg]
        return "list", len(value)

    # The program's class is known by its base; the change registers the class itself.
    return lambda n: (shown(n), shown([n]), shown("text")), lambda: shown.register(int, lambda n: n + 1)


@case
def single_dispatch_replaced() -> tuple[Program, Change]:
    @functools.singledispatch
    def scaled(value: Any, by: int) -> Any:
        return value

    @scaled.register(int)
    def _(value: int, by: int) -> int:
        return value * by

    return lambda n: scaled(n, by=3), lambda: scaled.register(int, lambda value, by: value - by)


def single_dispatch_methods() -> tuple[Program, Change]:
    class Writer:
        def __init__(self) -> None:
            self.seen: list[str] = []

        @functools.singledispatchmethod
        def write(self, value: Any) -> Any:
            self.seen.append("other")
            return value

        @write.register
        def _(self, value: str) -> str:
            self.seen.append("str")
            return value.upper()

    def change() -> None:
        Writer.__dict__["write"].register(int, lambda self, value: -value)

    def program(n: int) -> Any:
        writer = Writer()
        return writer.write(n), writer.write("a"), writer.seen

    return program, change


# From 3.13 on each such method has a cache of weak keys of its own, which ends the capture.
if sys.version_info < (3, 13):
    case(single_dispatch_methods)


@case
def cache_without_arguments() -> tuple[Program, Change]:
    source = {"a": 1}

    @functools.cache
    def cached() -> int:
        return source["a"]

    def change() -> None:
        source["a"] = 2
        cached.cache_clear()

    return lambda n: n + cached(), change


@case
def partial() -> tuple[Program, Change]:
    items = [1]
    add = functools.partial(lambda a, b, *, c: a + b + sum(c), 10, c=items)
    return lambda n: add(n), lambda: items.append(5)


@case
def partial_in_the_run() -> tuple[Program, Change]:
    box = types.SimpleNamespace(k=1)
    return lambda n: functools.partial(lambda a, b: a - b, n)(box.k), lambda: setattr(box, "k", 9)


@case
def partialmethod() -> tuple[Program, Change]:
    class Thing:
        def scaled(self, n: int, by: int) -> int:
            return n * by

        double = functools.partialmethod(scaled, by=2)

    thing = Thing()
    return lambda n: thing.double(n), lambda: setattr(
        Thing, "double", functools.partialmethod(Thing.scaled, by=3)
    )


@case
def cached_property() -> tuple[Program, Change]:
    class Thing:
        @functools.cached_property
        def value(self) -> int:
            return 5

    thing = Thing()
    thing.value  # noqa: B018
    return lambda n: n + thing.value, lambda: vars(thing).update(value=7)


@case
def cached_property_of_a_new_object() -> tuple[Program, Change]:
    box = types.SimpleNamespace(k=3)

    class Thing:
        @functools.cached_property
        def value(self) -> int:
            return int(box.k)

    def program(n: int) -> int:
        thing = Thing()
        return n + thing.value + thing.value

    return program, lambda: setattr(box, "k", 4)


@case
def reduce() -> tuple[Program, Change]:
    items = [1, 2, 3]
    return lambda n: functools.reduce(lambda a, b: a * b + n, items, 1), lambda: items.append(4)


@case
def total_ordering_and_cmp_to_key() -> tuple[Program, Change]:
    sign = [1]
    return (
        lambda n: sorted([3, n, 2], key=functools.cmp_to_key(lambda a, b: sign[0] * (a - b))),
        lambda: sign.__setitem__(0, -1),
    )


# -- itertools, operator ------------------------------------------------------------------------------------
@case
def itertools_chain() -> tuple[Program, Change]:
    first, second = [1, 2], (3, 4)
    return lambda n: [
        n,
        *itertools.chain(first, second),
        *itertools.chain.from_iterable([first, second]),
    ], first.clear


@case
def itertools_of_many_kinds() -> tuple[Program, Change]:
    items = [3, 1, 2]

    def program(n: int) -> Any:
        return [
            list(itertools.islice(itertools.count(n), 3)),
            list(itertools.product(items, [0, 1])),
            list(itertools.accumulate(items)),
            list(itertools.starmap(lambda a, b: a + b, zip(items, items, strict=True))),
            list(itertools.takewhile(lambda x: x > 2, items)),
            [(key, list(group)) for key, group in itertools.groupby(items, key=lambda x: x > 1)],
            list(itertools.zip_longest(items, [1])),
            list(itertools.pairwise(items)),
            list(itertools.combinations(items, 2)),
            [list(part) for part in itertools.tee(items)],
            list(itertools.repeat(n, 2)),
        ]

    return program, lambda: items.append(5)


@case
def operators_as_functions() -> tuple[Program, Change]:
    data = {"a": types.SimpleNamespace(b=2)}
    get, pick, call = operator.attrgetter("b"), operator.itemgetter("a"), operator.methodcaller("__len__")
    return lambda n: n + get(pick(data)) + call([1]), lambda: setattr(data["a"], "b", 5)
