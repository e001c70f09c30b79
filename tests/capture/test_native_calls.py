"""C functions: what they read of nested data is guarded, what they write happens once on every call.

Each program is run twice, then something that its data reach is changed, and it is run again, captured and
plainly, on data of its own.
"""

import builtins
import collections
import copy
import functools
import importlib
import itertools
import operator
import re
import types
from collections.abc import Callable
from typing import Any

import pytest

capture = importlib.import_module("stator._capture")


PATTERN = re.compile("a")


class Item:
    """An instance whose class may gain special methods."""

    def __init__(self, value: Any = 0) -> None:
        self.value = value


class World:
    """The data of a program; `state` is compared too."""

    def __init__(self) -> None:
        self.inner: Any = [1, 2]
        self.nested: Any = [[self.inner, [3]], [[0], [4]]]
        self.pairs: Any = [["a", self.inner], ["b", [5]]]
        self.flags: Any = [[], [], self.inner]
        self.table: Any = {"k": self.inner, "l": [7]}
        self.words: Any = ["b", "a"]
        self.numbers: Any = [3, 1, 2]
        self.items: Any = [Item(), Item()]
        self.log: Any = []
        self.chars: Any = [["x"], ["y"]]


CHANGES: dict[str, Callable[[World], None]] = {
    "append": lambda w: w.inner.append(9),
    "clear": lambda w: w.inner.clear(),
    "set": lambda w: w.inner.__setitem__(0, 8),
}

READERS: dict[str, Callable[[World], Any]] = {
    "any": lambda w: any(w.flags),
    "all": lambda w: all([w.inner, [1]]),
    "all of a generator": lambda w: all(x for x in [w.inner]),
    "filter none": lambda w: len(list(filter(None, w.flags))),
    "filter bool": lambda w: len(list(filter(bool, w.flags))),
    "filter len": lambda w: len(list(filter(len, w.flags))),
    "filter a getter": lambda w: len(list(filter(operator.itemgetter(1), w.pairs))),
    "filter lambda": lambda w: len(list(filter(lambda p: p[1], w.pairs))),
    "filterfalse": lambda w: len(list(itertools.filterfalse(None, w.flags))),
    "map len": lambda w: list(map(len, w.flags)),
    "map str": lambda w: list(map(str, w.nested)),
    "map repr": lambda w: list(map(repr, [w.nested])),
    "map sum": lambda w: list(map(sum, [w.inner])),
    "map tuple": lambda w: list(map(tuple, w.nested)),
    "map of a loop": lambda w: [n for n in map(len, w.flags)],  # noqa: C416
    "next of map": lambda w: next(map(len, [w.inner])),
    "map get": lambda w: list(map(w.table.get, ["k", "m"])),
    "map getitem": lambda w: [len(x) for x in map(operator.getitem, [w.table], ["k"])],
    "chain": lambda w: list(itertools.chain(w.inner, [0])),
    "chain.from_iterable": lambda w: list(itertools.chain.from_iterable([w.inner, [0]])),
    "starmap": lambda w: list(itertools.starmap(max, [[w.inner, [2]]])),
    "groupby": lambda w: [len(list(g)) for k, g in itertools.groupby([w.inner, [1, 2]])],
    "groupby key": lambda w: [k for k, g in itertools.groupby(w.flags, key=len)],
    "accumulate": lambda w: list(itertools.accumulate([w.inner, [0]])),
    "accumulate func": lambda w: list(itertools.accumulate([[0], w.inner], operator.add)),
    "compress": lambda w: list(itertools.compress([1, 2], [w.inner, []])),
    "takewhile": lambda w: len(list(itertools.takewhile(len, [w.inner, []]))),
    "dict of pairs": lambda w: dict([w.inner[:2], [5, 6]]) if len(w.inner) > 1 else {},
    "dict of lists": lambda w: {k: len(v) for k, v in dict(w.pairs).items()},
    "zip unpacked": lambda w: list(zip(*[w.inner, [1, 2, 3]], strict=False)),
    "min key": lambda w: min([w.inner, [3]], key=len),
    "max key": lambda w: max([[0]], [w.inner, [1, 2, 3]], key=str),
    "max": lambda w: max([w.inner, [1, 5]]),
    "sorted": lambda w: sorted([w.inner, [1, 5]]),
    "sorted key": lambda w: sorted(["k", "l"], key=w.table.get),
    "sorted lambda": lambda w: sorted(["k", "l"], key=lambda k: w.table[k]),
    "sort key": lambda w: sorted_in_place(["k", "l"], w.table.get),
    "cmp_to_key": lambda w: sorted([w.inner, [1, 5]], key=functools.cmp_to_key(lambda a, b: len(a) - len(b))),
    "reduce getitem": lambda w: functools.reduce(operator.getitem, [w.table, "k"]),
    "reduce add": lambda w: functools.reduce(operator.add, [w.inner, [1]]),
    "reduce lambda": lambda w: functools.reduce(lambda a, b: a + b, [w.inner, [1]]),
    "sum lists": lambda w: sum([w.inner, [1]], []),  # noqa: RUF017
    "str.format": lambda w: "{0[0]}".format(w.nested),  # noqa: UP030, UP032
    "format method": lambda w: "{}".format(w.nested),  # noqa: UP032
    "percent": lambda w: "%s" % (w.nested,),  # noqa: UP031
    "percent mapping": lambda w: "%(k)s" % w.table,  # noqa: UP031
    "equal": lambda w: w.nested == [[[1, 2], [3]], [[0], [4]]],
    "operator.eq": lambda w: operator.eq(w.nested, [[[1, 2], [3]], [[0], [4]]]),
    "in": lambda w: [1, 2] in [w.inner],
    "contains": lambda w: operator.contains([w.inner], [1, 2]),
    "count": lambda w: [w.inner].count([1, 2]),
    "index": lambda w: [[1, 2], w.inner].index(w.inner),
    "join": lambda w: "".join(map(str, w.inner)),
    "set": lambda w: set(map(tuple, [w.inner])),
    "partial get": lambda w: functools.partial(w.table.get, "k")(),
    "partial map": lambda w: list(map(functools.partial(operator.getitem, w.table), ["k"])),
    "methodcaller": lambda w: list(map(operator.methodcaller("copy"), [w.inner])),
    "attrgetter": lambda w: list(map(operator.attrgetter("value"), [Item(w.inner)])),
    "dict get": lambda w: w.table.get("k"),
    "proxy get": lambda w: list(map(types.MappingProxyType(w.table).get, ["k"])),
    "values": lambda w: list(w.table.values()) == [[1, 2], [7]],
    "items": lambda w: sorted(w.table.items()),
    "iter until": lambda w: list(iter(functools.partial(next, iter([1, w.inner, 2])), [1, 2])),
    "enumerate": lambda w: list(enumerate([w.inner])),
    "product": lambda w: list(itertools.product(w.inner, [0])),
    "deque": lambda w: collections.deque([w.inner]) == collections.deque([[1, 2]]),
    "tuple": lambda w: ((w.inner,),) == (([1, 2],),),
    "tuple hash": lambda w: hash(tuple(w.inner)),
    "re.sub": lambda w: PATTERN.sub(functools.partial(shown, w.inner), "ab"),
    "prod": lambda w: importlib.import_module("math").prod(w.inner),
    "operator.call": lambda w: operator.call(len, w.inner),
    "bisect": lambda w: importlib.import_module("bisect").bisect([[0], w.inner, [9]], [1, 3]),
    "counter": lambda w: collections.Counter(map(str, w.nested)),
    "defaultdict": lambda w: collections.defaultdict(list, w.table)["k"],
    "zip": lambda w: list(zip(w.inner, [1, 2, 3], strict=False)),
}


def sorted_in_place(items: list[Any], key: Any) -> list[Any]:
    items.sort(key=key)
    return items


def shown(data: Any, match: Any) -> str:
    return str(data) + match.group()


def same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and repr(a) == repr(b)


def run_cases(program: Callable[[World], Any], change: Callable[[World], Any], state: str = "inner") -> Any:
    """Compares a captured program with the plain one; gives what was compiled."""
    ours, plain = World(), World()
    compiled = capture.Compiled(lambda: program(ours))
    for call in range(5):
        if call == 3:
            change(ours)
            change(plain)
        results = []
        for run in (compiled, lambda: program(plain)):
            try:
                results.append(repr(run()))
            except Exception as error:
                results.append(repr(error))
        assert results[0] == results[1], call
        assert same(getattr(ours, state), getattr(plain, state)), call
    return compiled


# What C code made is still held by it, so the capture cannot tell that it is new.
RESULTS_OF_C = {"accumulate", "accumulate func", "re.sub"}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", READERS)
def test_readers_of_nested_data(name: str, change: str) -> None:
    compiled = run_cases(READERS[name], CHANGES[change])
    if name not in RESULTS_OF_C:
        assert compiled.entries, compiled.breaks
        assert sum(entry["hits"] for entry in compiled.entries) >= 2


WRITERS: dict[str, Callable[[World], Any]] = {
    "map append": lambda w: list(map(w.log.append, [1, 2])),
    "map unbound append": lambda w: list(map(list.append, [w.log], [1])),
    "filter append": lambda w: list(filter(w.log.append, [1, 0])),
    "for of map": lambda w: [x for x in map(w.log.append, [1])],  # noqa: C416
    "iter pop": lambda w: (w.log.extend([1, 2, 3]), list(iter(w.log.pop, 1))),
    "reduce iadd": lambda w: functools.reduce(operator.iadd, [[1], [2]], w.log),
    "reduce imul": lambda w: functools.reduce(list.__imul__, [2], w.inner),
    "iadd": lambda w: operator.iadd(w.log, [1]),
    "iconcat": lambda w: operator.iconcat(w.log, [1]),
    "imul": lambda w: operator.imul(w.numbers, 2),
    "setitem": lambda w: operator.setitem(w.numbers, 0, len(w.numbers) + w.numbers[0]),
    "setitem of a dict": lambda w: operator.setitem(w.table, "n", len(w.table)),
    "delitem": lambda w: operator.delitem(w.table, "l") if "l" in w.table else None,
    "ior": lambda w: operator.ior(w.table, {"x": 1}),
    "sorted key append": lambda w: sorted([1, 2], key=lambda x: w.log.append(x) or x),
    "max key": lambda w: max([1, 2], key=w.numbers.remove) if len(w.numbers) > 3 else w.numbers.append(1),
    "partial": lambda w: functools.partial(w.log.append, 1)(),
    "map partial": lambda w: list(map(functools.partial(w.log.insert, 0), [1, 2])),
    "methodcaller": lambda w: list(map(operator.methodcaller("append", 1), [w.log])),
    "starmap": lambda w: list(itertools.starmap(w.log.insert, [(0, 1), (0, 2)])),
    "accumulate": lambda w: list(itertools.accumulate([w.log, [1], [2]], operator.iadd)),
    "deque of map": lambda w: collections.deque(map(w.log.append, [1]), maxlen=0),
    "setdefault": lambda w: list(map(w.table.setdefault, ["q"], [3])),
    "defaultdict": lambda w: collections.defaultdict(w.numbers.pop)["a"],
    "operator.call": lambda w: operator.call(w.log.append, 1),
    "star arguments": lambda w: list(map(*[w.log.append, [1]])),
    "map class": lambda w: [item.value for item in map(Item, w.numbers)],
}


@pytest.mark.parametrize("name", WRITERS)
def test_writes_through_callables_happen_once(name: str) -> None:
    for state in ("log", "numbers", "table", "inner"):
        run_cases(WRITERS[name], lambda w: w.log.append(7), state)


CLASS_READERS: dict[str, tuple[Callable[[World], Any], str, Any]] = {
    "equal": (lambda w: {"a": [w.items[0]]} == {"a": [w.items[1]]}, "__eq__", lambda a, b: True),
    "count": (lambda w: [w.items[:1], w.items[1:]].count(w.items[1:]), "__eq__", lambda a, b: True),
    "in": (lambda w: w.items[0] in [w.items[1]], "__eq__", lambda a, b: True),
    "any": (lambda w: any(w.items), "__bool__", lambda a: False),
    "all": (lambda w: all(w.items), "__len__", lambda a: 0),
    "filter": (lambda w: len(list(filter(None, w.items))), "__bool__", lambda a: False),
    "set": (lambda w: len({*w.items}), "__hash__", lambda a: 1),
    "str": (lambda w: len(str([w.items])) > 20, "__repr__", lambda a: "i"),
    "sorted": (
        lambda w: sorted(w.items, key=lambda i: i.value)[0] is w.items[0],
        "__lt__",
        lambda a, b: True,
    ),
    "sum": (lambda w: w.items[0] in itertools.chain(w.items[1:]), "__eq__", lambda a, b: True),
}


@pytest.mark.parametrize("name", CLASS_READERS)
def test_special_methods_that_a_class_gains(name: str) -> None:
    program, method, function = CLASS_READERS[name]
    plain_value = Item.__dict__.get(method)
    world = World()
    compiled = capture.Compiled(lambda: program(world))
    assert compiled() == compiled() == program(world)
    assert compiled.entries, compiled.breaks
    setattr(Item, method, function)
    try:
        assert compiled() == program(world)
    finally:
        if plain_value is None:
            delattr(Item, method)
    assert compiled() == program(world)


# Functions of other versions of Python than this one.
OTHER_VERSIONS = {
    "itertools.batched",
    "math.fma",
    "math.sumprod",
    "builtins.int.is_integer",
    "builtins.bool.__invert__",
    "builtins.slice.__hash__",
}


def test_rows_without_a_function() -> None:
    missing = {name for name, found in capture.native_functions().items() if not found}
    assert missing <= OTHER_VERSIONS


def resolve(path: str) -> Any:
    module, _, rest = path.partition(".")
    found = builtins if module == "builtins" else importlib.import_module(module)
    for name in rest.split("."):
        found = vars(found)[name] if isinstance(found, type) else getattr(found, name)
    return found.__func__ if isinstance(found, staticmethod) else found


def arguments_for(owner: str, world: World, count: int) -> list[Any]:
    """Nested data, the first of the type that owns the method."""
    nested = [[world.inner], [[0]]]
    first: Any = {
        "builtins.tuple": (tuple(nested)),
        "builtins.dict": {"a": world.inner},
        "collections.OrderedDict": collections.OrderedDict(a=world.inner),
        "_collections.deque": collections.deque(nested),
        "_collections.defaultdict": collections.defaultdict(list, a=world.inner),
        "types.MappingProxyType": types.MappingProxyType({"a": world.inner}),
        "builtins.str": "{}",
    }.get(owner, nested)
    return [first, [[[1, 2]], [[0]]], 1][:count]


ROWS = sorted(
    name
    for name, found in capture.native_functions().items()
    if found
    and name.split(".")[0] not in ("_thread", "_random", "sys", "_warnings", "contextvars", "_abc")
    and name not in ("builtins.id", "builtins.object.__hash__", "types.MethodType.__hash__")  # addresses
)


@pytest.mark.parametrize("name", ROWS)
def test_every_row_reads_nested_data(name: str) -> None:
    """Whatever comes out, an error too, is what comes out of the plain call after a change inside."""
    function = resolve(name)
    if not callable(function):
        return
    for count in (1, 2, 3):
        worlds = [World(), World()]
        data = [arguments_for(name.rpartition(".")[0], world, count) for world in worlds]

        def program(given: list[Any]) -> str:
            try:
                result = function(*given)
                return f"{result if not hasattr(result, '__next__') else list(itertools.islice(result, 5))}"
            except Exception as error:
                return f"{type(error)} {error.args}"

        compiled = capture.Compiled(lambda: program(data[0]))  # noqa: B023
        for call in range(4):
            if call == 2:
                for world in worlds:
                    world.inner[0] = 8
            ours, plain = compiled(), program(data[1])
            assert re.sub("0x[0-9a-f]+", "", ours) == re.sub("0x[0-9a-f]+", "", plain), (count, call)
            assert same(copy.copy(data[0]), data[1]) or "0x" in repr(data[0]), (count, call)


@pytest.mark.parametrize(
    "text", ["{0.value}", "{0.value:>3}", "{a.value!r}", "{{{b[0].value}}}", "{0!s:{0.value}}"]
)
def test_fields_that_read_attributes(text: str) -> None:
    item = Item(4)
    compiled = capture.Compiled(lambda: text.format(item, a=item, b=[item]))
    for value in (4, 4, 5, 7):
        item.value = value
        assert compiled() == text.format(item, a=item, b=[item])
    plain = capture.Compiled(lambda: f"{1}.{2.0:.2f}{{.}}")
    assert plain() == plain() == "1.2.00{.}"
    assert plain.breaks == []
