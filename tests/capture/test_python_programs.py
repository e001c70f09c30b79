"""Everyday Python, captured whole: each program is one capture, and a change of what it read is noticed.

A case is a function that builds a program and a change. The program takes one number. The change alters
something that the program read; the next call must give what a plain call gives.
"""

import abc
import collections
import contextlib
import dataclasses
import enum
import functools
import importlib
import inspect
import itertools
import logging
import math
import operator
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import pytest

capture = importlib.import_module("stator._capture")

Program = Callable[[int], Any]
Change = Callable[[], object]
Case = Callable[[], tuple[Program, Change]]
CASES: dict[str, Case] = {}


def case(build: Case) -> Case:
    CASES[build.__name__] = build
    return build


# -- functools ---------------------------------------------------------------------------------------------
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

    @functools.lru_cache(maxsize=8)
    def cached(n: int) -> list[int]:
        return [n, source["a"]]

    def change() -> None:
        source["a"] = 2
        cached.cache_clear()

    return lambda n: sum(cached(n)), change


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


# -- itertools, operator -----------------------------------------------------------------------------------
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


# -- contextlib --------------------------------------------------------------------------------------------
@case
def contextmanager() -> tuple[Program, Change]:
    box = types.SimpleNamespace(k=1)

    def program(n: int) -> Any:
        log: list[int] = []
        with contextlib.suppress(KeyError), plain(n, log) as value:
            log.append(value)
        return log

    @contextlib.contextmanager
    def plain(n: int, log: list[int]) -> Iterator[int]:
        log.append(-1)
        try:
            yield n + box.k
        finally:
            log.append(-2)

    return program, lambda: setattr(box, "k", 5)


@case
def contextmanager_with_an_exception() -> tuple[Program, Change]:
    box = types.SimpleNamespace(k=1)

    @contextlib.contextmanager
    def swallowing(log: list[str]) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            log.append(str(error))

    def program(n: int) -> Any:
        log: list[str] = []
        with swallowing(log):
            raise ValueError(f"{n} {box.k}")
        return log

    return program, lambda: setattr(box, "k", 2)


@case
def exit_stack() -> tuple[Program, Change]:
    class Manager:
        def __init__(self, name: str, log: list[str]) -> None:
            self.name, self.log = name, log

        def __enter__(self) -> str:
            self.log.append("enter " + self.name)
            return self.name

        def __exit__(self, *error: object) -> None:
            self.log.append("exit " + self.name)

    names = ["a", "b"]

    def program(n: int) -> Any:
        log: list[str] = []
        with contextlib.ExitStack() as stack:
            for name in names:
                log.append(stack.enter_context(Manager(name, log)))
            stack.callback(log.append, "callback")
        return log

    return program, lambda: names.append("c")


@case
def nullcontext() -> tuple[Program, Change]:
    flags = {"on": False}

    def program(n: int) -> int:
        with contextlib.nullcontext(n) if not flags["on"] else contextlib.nullcontext(-n) as value:
            return value

    return program, lambda: flags.update(on=True)


@case
def user_context_manager() -> tuple[Program, Change]:
    class Manager:
        depth = 1

        def __enter__(self) -> "Manager":
            return self

        def __exit__(self, kind: Any, value: Any, traceback: Any) -> bool:
            return kind is KeyError

    manager = Manager()

    def program(n: int) -> int:
        with manager as entered:
            if n > 0:
                raise KeyError(n)
        return n + entered.depth

    return program, lambda: setattr(Manager, "depth", 4)


# -- inspect, typing, types --------------------------------------------------------------------------------
@case
def signature() -> tuple[Program, Change]:
    def target(a: int, b: str = "x", *args: int, k: float = 1.0, **kwargs: Any) -> bool:
        return True

    def program(n: int) -> Any:
        found = inspect.signature(target)
        return (
            [n, *found.parameters],
            [str(p.kind) for p in found.parameters.values()],
            found.parameters["b"].default,
        )

    return program, lambda: setattr(target, "__defaults__", ("y",))


@case
def signature_of_a_method() -> tuple[Program, Change]:
    class Thing:
        def forward(self, x: int, mask: int | None = None) -> int:
            return x

    thing = Thing()
    return (
        lambda n: (
            n,
            list(inspect.signature(thing.forward).parameters),
            "mask" in inspect.signature(Thing.forward).parameters,
        ),
        lambda: setattr(Thing, "forward", lambda self, y: y),
    )


@case
def typing_at_run_time() -> tuple[Program, Change]:
    box = types.SimpleNamespace(k=1)

    def program(n: int) -> Any:
        value: typing.Any = typing.cast(typing.Optional[int], n)  # noqa: UP045
        kind = typing.Union[int, str]  # noqa: UP007
        return value + box.k, typing.get_origin(kind) is typing.Union, typing.get_args(kind) == (int, str)

    return program, lambda: setattr(box, "k", 2)


@case
def generic_class() -> tuple[Program, Change]:
    T = typing.TypeVar("T")

    class Holder(typing.Generic[T]):
        scale = 1

        def __init__(self, value: T) -> None:
            self.value = value

    return lambda n: Holder(n).value * Holder.scale, lambda: setattr(Holder, "scale", 3)


# -- classes -----------------------------------------------------------------------------------------------
@case
def abstract_base_classes() -> tuple[Program, Change]:
    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self) -> int: ...

    class Square(Shape):
        side = 2

        def area(self) -> int:
            return self.side**2

    class Other:
        pass

    square, other = Square(), Other()

    def program(n: int) -> Any:
        return (
            isinstance(square, Shape),
            isinstance(other, Shape),
            issubclass(Square, Shape),
            isinstance([n], collections.abc.Sequence),
            isinstance({}, Mapping),
            isinstance(square, collections.abc.Hashable),
            square.area(),
        )

    return program, lambda: Shape.register(Other)


@case
def enums() -> tuple[Program, Change]:
    class Colour(enum.Enum):
        RED = 1
        GREEN = 2

    class Flag(enum.Flag):
        A = 1
        B = 2

    class Name(str, enum.Enum):  # noqa: UP042
        X = "x"

    box = types.SimpleNamespace(colour=Colour.RED)

    def program(n: int) -> Any:
        return (
            box.colour.value,
            box.colour.name,
            box.colour == Colour.RED,
            Colour(2) is Colour.GREEN,
            Colour["RED"].value,
            [member.name for member in Colour],
            (Flag.A | Flag.B).value,
            Name.X == "x",
            Name("x").value,
            n,
        )

    return program, lambda: setattr(box, "colour", Colour.GREEN)


@case
def dataclass() -> tuple[Program, Change]:
    @dataclasses.dataclass
    class Config:
        width: int
        names: list[str] = dataclasses.field(default_factory=list)
        depth: int = 2

        @property
        def size(self) -> int:
            return self.width * self.depth

    config = Config(3)

    def program(n: int) -> Any:
        made = Config(n, depth=config.depth)
        made.names.append("x")
        return (
            made,
            config.size,
            made == Config(n, ["x"]),
            [f.name for f in dataclasses.fields(made)],
            dataclasses.replace(made, width=9).width,
        )

    return program, lambda: setattr(config, "depth", 5)


@case
def frozen_dataclass_with_slots() -> tuple[Program, Change]:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 0

    points = [Point(1, 2)]
    return lambda n: (
        Point(n).x + points[0].y,
        Point(1) == Point(1, 0),
        hash(Point(n)),
    ), lambda: points.__setitem__(0, Point(3, 4))


class Pair(NamedTuple):
    left: int
    right: int = 7

    @property
    def total(self) -> int:
        return self.left + self.right


@case
def named_tuples() -> tuple[Program, Change]:
    old = [Pair(1, 2)]
    Plain = collections.namedtuple("Plain", "a b")

    def program(n: int) -> Any:
        pair = Pair(n)
        left, _ = pair
        return (
            pair,
            pair.total + left,
            old[0].right,
            pair._replace(left=0),
            pair._asdict(),
            Plain(n, b=1),
            Pair._fields,
        )

    return program, lambda: old.__setitem__(0, Pair(5, 6))


class Output(collections.OrderedDict[str, Any]):
    """A dictionary whose keys are attributes too."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value

    def __getitem__(self, key: Any) -> Any:
        return dict(self.items())[key] if isinstance(key, str) else self.to_tuple()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def to_tuple(self) -> tuple[Any, ...]:
        return tuple(self[key] for key in self)


@dataclasses.dataclass
class TwoOutputs(Output):
    first: Any = None
    second: Any = None


@case
def output_classes() -> tuple[Program, Change]:
    box = types.SimpleNamespace(k=1)

    def program(n: int) -> Any:
        out = TwoOutputs(first=n, second=box.k)
        return out, out[0], out["second"], out.first, list(out.keys()), len(out)

    return program, lambda: setattr(box, "k", 2)


@case
def properties_and_descriptors() -> tuple[Program, Change]:
    class Positive:
        def __set_name__(self, owner: type, name: str) -> None:
            self.name = "_" + name

        def __get__(self, owner: Any, kind: Any = None) -> Any:
            return getattr(owner, self.name)

        def __set__(self, owner: Any, value: int) -> None:
            setattr(owner, self.name, abs(value))

    class Thing:
        size = Positive()

        def __init__(self, size: int) -> None:
            self.size = size

        @property
        def twice(self) -> int:
            return self.size * 2

        @classmethod
        def make(cls, size: int) -> "Thing":
            return cls(size)

        @staticmethod
        def helper(n: int) -> int:
            return n + 1

    old = Thing(3)
    return lambda n: (Thing.make(-n).twice, old.twice, Thing.helper(n)), lambda: setattr(old, "size", -8)


@case
def dynamic_attributes() -> tuple[Program, Change]:
    class Lazy:
        def __init__(self) -> None:
            self.values = {"a": 1}

        def __getattr__(self, name: str) -> int:
            try:
                return self.values[name]
            except KeyError:
                raise AttributeError(name) from None

    lazy = Lazy()
    return lambda n: (lazy.a + n, hasattr(lazy, "b"), getattr(lazy, "c", n)), lambda: lazy.values.update(b=1)


@case
def all_attribute_reads() -> tuple[Program, Change]:
    class Proxy:
        def __init__(self, target: Any) -> None:
            object.__setattr__(self, "target", target)

        def __getattribute__(self, name: str) -> Any:
            target = object.__getattribute__(self, "target")
            return getattr(target, name)

    target = types.SimpleNamespace(k=1)
    proxy = Proxy(target)
    return lambda n: n + proxy.k, lambda: setattr(target, "k", 3)


@case
def slots_and_super() -> tuple[Program, Change]:
    class Base:
        __slots__ = ("value",)

        def __init__(self, value: int) -> None:
            self.value = value

        def get(self) -> int:
            return self.value

    class Derived(Base):
        __slots__ = ()

        def get(self) -> int:
            return super().get() + 1

    old = Derived(4)
    return lambda n: old.get() + Derived(n).get(), lambda: setattr(old, "value", 9)


@case
def special_methods() -> tuple[Program, Change]:
    class Vector:
        scale = 1

        def __init__(self, *items: int) -> None:
            self.items = list(items)

        def __add__(self, other: "Vector") -> "Vector":
            return Vector(*(a + b for a, b in zip(self.items, other.items, strict=True)))

        def __getitem__(self, index: int) -> int:
            return self.items[index] * self.scale

        def __len__(self) -> int:
            return len(self.items)

        def __iter__(self) -> Iterator[int]:
            return iter(self.items)

        def __contains__(self, item: int) -> bool:
            return item in self.items

        def __call__(self, n: int) -> int:
            return n * self.scale

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Vector) and self.items == other.items

        def __hash__(self) -> int:
            return hash(tuple(self.items))

        def __bool__(self) -> bool:
            return bool(self.items)

        def __lt__(self, other: "Vector") -> bool:
            return self.items < other.items

    old = Vector(1, 2)

    def program(n: int) -> Any:
        total = old + Vector(n, n)
        return (
            total[0],
            len(total),
            list(total),
            3 in total,
            old(n),
            total == Vector(n + 1, n + 2),
            {total: 1}[total],
            1 if total else 0,
            sorted([total, old])[0] is old,
        )

    return program, lambda: setattr(Vector, "scale", 2)


@case
def class_made_in_the_run() -> tuple[Program, Change]:
    box = types.SimpleNamespace(k=1)
    maker = type("Made", (), {"k": 5, "get": lambda self: self.k + box.k})
    return lambda n: maker().get() + n, lambda: setattr(box, "k", 2)


# -- closures, generators, comprehensions ------------------------------------------------------------------
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


# -- containers --------------------------------------------------------------------------------------------
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


# -- text --------------------------------------------------------------------------------------------------
@case
def text() -> tuple[Program, Change]:
    box = types.SimpleNamespace(name="x", width=3)

    def program(n: int) -> Any:
        return (
            f"{box.name!r:>{box.width}}|{n:03d}|{3.14159:.2f}|{box.name}",
            f"{n} {box.name}",
            "%s-%05.1f" % (box.name, n),  # noqa: UP031
            ",".join(str(i) for i in range(n)),
            ["a", "b", "c"],
            box.name.upper().startswith("X"),
            "abc"[n % 3],
            b"ab".hex(),
            "tEXT".title().replace("T", "t"),
        )

    return program, lambda: setattr(box, "name", "long")


@case
def text_of_objects() -> tuple[Program, Change]:
    class Thing:
        label = "one"

        def __repr__(self) -> str:
            return f"Thing({self.label})"

    thing = Thing()

    def program(n: int) -> Any:
        return repr(thing), f"{thing}", str([thing]), "%r" % (thing,), n  # noqa: UP031

    return program, lambda: setattr(thing, "label", "two")


# -- loggers, numbers, control -----------------------------------------------------------------------------
@case
def silent_logger() -> tuple[Program, Change]:
    logger = logging.getLogger("stator.tests.silent")
    logger.setLevel(logging.ERROR)
    box = types.SimpleNamespace(k=1)

    def program(n: int) -> int:
        logger.debug("nothing %s", n)
        logger.info("nothing")
        if logger.isEnabledFor(logging.WARNING):
            return -1
        return n + box.k

    return program, lambda: setattr(box, "k", 2)


@case
def numbers() -> tuple[Program, Change]:
    box = types.SimpleNamespace(k=2)
    return (
        lambda n: (
            math.sqrt(n),
            round(2.567, box.k),
            divmod(n, 3),
            int("12"),
            float("1.5"),
            pow(n, 2, 5),
            abs(-n),
            sum([n, 1]),
            n.bit_length(),
            complex(n, 1).conjugate(),
            math.inf,
        ),
        lambda: setattr(box, "k", 1),
    )


@case
def exceptions() -> tuple[Program, Change]:
    table: dict[str, int] = {}

    class OwnError(Exception):
        def __init__(self, code: int) -> None:
            super().__init__(f"code {code}")
            self.code = code

    def program(n: int) -> Any:
        log = []
        try:
            log.append(table["a"])
        except KeyError as error:
            log.append(error.args[0])
        else:
            log.append("else")
        finally:
            log.append("finally")
        try:
            raise OwnError(n)
        except (ValueError, OwnError) as error:
            log.append((str(error), getattr(error, "code", None)))
        try:
            try:
                raise ValueError("a")
            except ValueError as error:
                raise TypeError("b") from error
        except TypeError as error:
            log.append(type(error.__cause__).__name__)
        return log

    return program, lambda: table.update(a=1)


@case
def match_statement() -> tuple[Program, Change]:
    box = types.SimpleNamespace(value={"kind": "a", "items": [1, 2]})

    def program(n: int) -> Any:
        match box.value:
            case {"kind": "a", "items": [first, *rest]}:
                return first, rest, n
            case {"kind": other}:
                return other
            case _:
                return None

    return program, lambda: box.value.update(kind="b")


@case
def match_on_classes() -> tuple[Program, Change]:
    @dataclasses.dataclass
    class Point:
        x: int
        y: int

    points: list[Any] = [Point(0, 1)]

    def program(n: int) -> Any:
        match points[0]:
            case Point(x=0, y=y):
                return y + n
            case Point(x, y):
                return x * y
            case int():
                return 0

    return program, lambda: setattr(points[0], "x", 6)


@case
def global_state_of_modules() -> tuple[Program, Change]:
    module = types.ModuleType("stator_test_module")
    exec("k = 1\ndef get(n): return n + k", module.__dict__)
    return lambda n: module.get(n) + module.k, lambda: setattr(module, "k", 3)


@case
def function_attributes() -> tuple[Program, Change]:
    def target(n: int) -> int:
        """Documentation."""
        return n

    target.version = 1  # type: ignore[attr-defined]
    return (
        lambda n: (
            target.version,
            target.__name__,
            target.__module__,
            target.__doc__,
            target.__code__.co_argcount,
            target.__annotations__["n"],
            target.__dict__,
        ),  # type: ignore[attr-defined]
        lambda: setattr(target, "__doc__", "Other."),
    )


@case
def copies() -> tuple[Program, Change]:
    import copy

    class Config:
        def __init__(self) -> None:
            self.k, self.names = 1, ["a"]

    config = Config()

    def program(n: int) -> Any:
        one, two = copy.copy(config), copy.deepcopy(config)
        two.names.append("b")
        return one.k + n, two.names, config.names, copy.deepcopy([[n]])

    return program, lambda: config.names.append("z")


def equal(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    return bool(a == b)


@pytest.mark.parametrize("name", CASES)
def test_program(name: str) -> None:
    program, change = CASES[name]()
    compiled = capture.Compiled(program)
    wanted = program(4)
    assert equal(compiled(4), wanted)
    assert compiled.breaks == []
    assert equal(compiled(4), wanted)
    assert [entry["hits"] for entry in compiled.entries] == [1]
    change()
    changed = program(4)
    assert not equal(changed, wanted), "the change must matter"
    assert equal(compiled(4), changed)
    assert equal(compiled(4), changed)
    assert len(compiled.misses) == 1
