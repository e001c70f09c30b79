"""tests/capture/test_argument_sweep.py: every way to read, over arguments.

What was read is noticed, and what was not is not. The programs of test_opcode_reads (one a row of
opcodes.def) and the readers of test_native_calls (every row of the tables of C functions) are run there over
the globals of their worlds; here the same data are arguments of the function.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import itertools
import re
import types
from collections.abc import Callable
from typing import Any

import pytest
import test_native_calls as native
import test_opcode_reads as opcodes

capture = opcodes.capture


def values_of(program: opcodes.Program, names: dict[str, Any]) -> list[str]:
    """The globals of a program that hold data."""
    skipped = (type, types.FunctionType, types.ModuleType, types.BuiltinFunctionType)
    return [
        name
        for name, value in names.items()
        if re.search(rf"\b{name}\b", program.body)
        and not name.startswith("__")
        and not isinstance(value, skipped)
        and not re.search(rf"\b(global|nonlocal|del) [^\n]*\b{name}\b", program.body)
    ]


def world(program: opcodes.Program) -> tuple[dict[str, Any], list[str]]:
    names: dict[str, Any] = {"__name__": "world"}
    exec(program.setup, names)
    given = values_of(program, names)
    lines = "\n".join(f"    {line}" for line in program.body.strip().splitlines())
    exec(f"def function({', '.join(given)}):\n{lines}\n", names)
    return names, given


def outcome(function: Callable[..., Any], names: dict[str, Any], given: list[str]) -> str:
    return opcodes.outcome(lambda: function(*(names[name] for name in given)))


@pytest.mark.parametrize(("name", "change"), opcodes.CASES)
def test_operands_that_are_arguments(name: str, change: str) -> None:
    program = opcodes.PROGRAMS[name]
    (eager, given), (ours, _) = world(program), world(program)
    compiled = capture.Compiled(ours["function"], limit=16)
    for _ in range(2):
        assert outcome(compiled, ours, given) == outcome(eager["function"], eager, given)
    for names in (eager, ours):
        exec(change, names)
    for _ in range(2):
        assert outcome(compiled, ours, given) == outcome(eager["function"], eager, given), change


FIELDS = list(vars(native.World()))
Fields = dataclasses.make_dataclass("Fields", FIELDS, eq=False)


def fields_of(w: native.World) -> Any:
    return Fields(**vars(w))


# How the data of a reader are given: as an argument, and deeper inside of one.
PLACES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "instance": (lambda w: w, lambda a: a),
    "dict": (lambda w: {"id": 0, "w": w}, lambda a: a["w"]),
    "list": (lambda w: [0, w], lambda a: a[-1]),
    "tuple": (lambda w: ((0, w), 0), lambda a: a[0][1]),
    "method": (lambda w: {"w": w}.get, lambda a: a("w")),
}


@pytest.mark.parametrize("change", native.CHANGES)
@pytest.mark.parametrize("name", native.READERS)
@pytest.mark.parametrize("place", ["instance", "dict", "tuple"])
def test_readers_of_arguments(place: str, name: str, change: str) -> None:
    wrap, unwrap = PLACES[place]
    reader = native.READERS[name]
    ours, plain = native.World(), native.World()
    compiled = capture.Compiled(lambda a: reader(unwrap(a)), limit=16)
    for call in range(5):
        if call == 3:
            native.CHANGES[change](ours)
            native.CHANGES[change](plain)
        results = []
        for run, data in ((compiled, ours), (lambda a: reader(unwrap(a)), plain)):
            try:
                results.append(repr(run(wrap(fields_of(data)))))
            except Exception as error:
                results.append(repr(error))
        assert results[0] == results[1], call
        assert native.same(vars(ours)["inner"], vars(plain)["inner"]), call


UNREAD = [0, 1, "text", None, 2.5, [1], {"a": 1}, (1, 2), object(), len, int, types, iter([1]), lambda: 1]


@pytest.mark.parametrize("name", native.READERS)
def test_what_is_beside_is_not_read(name: str) -> None:
    """Parts that the reader does not reach may be anything."""
    reader = native.READERS[name]
    compiled = capture.Compiled(lambda a, unread: reader(a["w"]), limit=16)
    hits = 0
    for i, other in enumerate(UNREAD):
        w = native.World()
        got: Any
        try:
            got = repr(compiled({"id": other, "w": fields_of(w), **{str(j): j for j in range(i)}}, other))
        except Exception as error:
            got = repr(error)
        try:
            wanted = repr(reader(native.World()))
        except Exception as error:
            wanted = repr(error)
        assert got == wanted
        hits += 1
    if compiled.entries and name not in native.RESULTS_OF_C:
        assert len(compiled.entries) == 1, [entry["guards"] for entry in compiled.entries]
        assert compiled.entries[0]["hits"] >= hits - 1


@pytest.mark.parametrize("name", native.ROWS)
def test_every_row_over_arguments(name: str) -> None:
    """As test_every_row_reads_nested_data, with the data as arguments and as items of one."""
    function = native.resolve(name)
    if not callable(function):
        return

    def program(*given: Any) -> str:
        try:
            result = function(*given)
            return f"{result if not hasattr(result, '__next__') else list(itertools.islice(result, 5))}"
        except Exception as error:
            return f"{type(error)} {error.args}"

    def unpacks(given: list[Any]) -> str:
        return program(*given)

    for count, is_spread in itertools.product((1, 2, 3), (False, True)):
        worlds = [native.World(), native.World()]
        data = [native.arguments_for(name.rpartition(".")[0], w, count) for w in worlds]
        compiled = capture.Compiled(program if is_spread else unpacks, limit=16)
        for call in range(4):
            if call == 2:
                for w in worlds:
                    w.inner[0] = 8
            if call == 3:
                for w in worlds:
                    w.inner.append(9)
            ours = compiled(*data[0]) if is_spread else compiled(data[0])
            plain = program(*data[1])
            assert re.sub("0x[0-9a-f]+", "", ours) == re.sub("0x[0-9a-f]+", "", plain), (
                count,
                call,
                is_spread,
            )
            assert native.same(copy.copy(data[0]), data[1]) or "0x" in repr(data[0]), (count, call)


# readers of one container: whether each change of it is one of what was read
CONTAINERS: dict[str, Callable[[], Any]] = {
    "list": lambda: [1, [2], 3],
    "tuple": lambda: (1, [2], 3),
    "dict": lambda: {0: 1, "k": [2], -1: 3},
    "ordered": lambda: collections.OrderedDict({0: 1, "k": [2], -1: 3}),
    "set": lambda: {0, 1, "k"},
}
SIZES: dict[str, Callable[[Any], Any]] = {
    "len": lambda c: len(c),
    "__len__": lambda c: c.__len__(),
    "truth": lambda c: 1 if c else 2,
    "not": lambda c: not c,
    "bool": lambda c: bool(c),
    "and": lambda c: (c and 1) or 2,
    "while": lambda c: [i for i in range(2) if c],
    "in": lambda c: 1 in c,
    "not in": lambda c: 17 not in c,
    "contains": lambda c: c.__contains__(0),
    "list": lambda c: list(c),
    "tuple": lambda c: tuple(c),
    "iteration": lambda c: [x for x in c],  # noqa: C416
    "star": lambda c: [*c],
    "call": lambda c: (lambda *a: a)(*c),
    "unpack": lambda c: (lambda: [(a, b) for a, *b in [c]])(),
    "sum": lambda c: len(list(map(repr, c))),
    "enumerate": lambda c: list(enumerate(c)),
    "zip": lambda c: list(zip(c, c, strict=True)),
    "reversed": lambda c: list(reversed(c)),
    "equality": lambda c: c == c.__class__(c),
    "repr": lambda c: repr(c),
    "format": lambda c: f"{c}",
    "copy": lambda c: c.copy() if hasattr(c, "copy") else c[:],
    "any": lambda c: any(c),
    "keys": lambda c: list(c.keys()),
    "values": lambda c: list(c.values()),
    "items": lambda c: list(c.items()),
    "merge": lambda c: {**c, 5: 6},
    "or": lambda c: c | c,
    "get": lambda c: c.get("k"),
    "get absent": lambda c: c.get("none", 7),
    "subscript": lambda c: c[0],
    "last": lambda c: c[-1],
    "slice": lambda c: c[1:],
    "pop": lambda c: c.pop(),
    "pop 0": lambda c: c.pop(0),
    "append": lambda c: c.append(4),
    "append, len": lambda c: (c.append(4), len(c)),
    "append, last": lambda c: (c.append(4), c[-1]),
    "append, truth": lambda c: (c.append(4), bool(c)),
    "insert": lambda c: c.insert(0, 4),
    "extend": lambda c: c.extend([4]),
    "set item": lambda c: c.__setitem__(0, 4),
    "set last": lambda c: c.__setitem__(-1, 4),
    "setdefault": lambda c: c.setdefault("n", 4),
    "add": lambda c: c.add(5),
    "add, in": lambda c: (c.add(5), 5 in c, 6 in c),
    "discard": lambda c: c.discard(1),
    "clear": lambda c: c.clear(),
    "clear, len": lambda c: (c.clear(), len(c)),
    "update": lambda c: c.update({7: 8}),
    "update, keys": lambda c: (c.update({7: 8}), list(c)),
    "sort": lambda c: c.sort(key=str),
    "count": lambda c: c.count(1),
    "index": lambda c: c.index(3),
    "match": lambda c: matched(c),
    "delete": lambda c: c.__delitem__(0),
}


def matched(c: Any) -> Any:
    match c:
        case [first, *_, last]:
            return first, last
        case {"k": [two]}:
            return two
    return None


OTHERS: dict[str, list[Any]] = {
    "list": [
        [],
        [1],
        [1, [2]],
        [1, [2], 3],
        [1, [5], 3],
        [1, [2], 3, 4],
        [9, [2], 3],
        [0],
        [None, None, None],
    ],
    "tuple": [(), (1,), (1, [2]), (1, [2], 3), (1, [5], 3), (1, [2], 3, 4), (9, [2], 3), (None, None, None)],
    "dict": [
        {},
        {0: 1},
        {0: 1, -1: 3},
        {0: 1, "k": [5], -1: 3},
        {0: 9, "k": [2], -1: 3},
        {"k": [2], 0: 1, -1: 3},
        {0: 1, "k": [2], -1: 3, 17: 2},
        {0: 1, "k": [2], 1: 3},
        {False: 1, "k": [2], -1: 3},
        {"none": 2},
    ],
    "set": [set(), {0}, {1}, {0, 1}, {0, 1, "k", 17}, {1, "k", 17}, {"k"}, {False, 1, "k"}, {5, 6, 7}],
}


@pytest.mark.parametrize("reader", SIZES)
@pytest.mark.parametrize("kind", CONTAINERS)
def test_one_container(kind: str, reader: str) -> None:
    """One capture after the other, each of which must refuse what its reads would see otherwise."""
    function = SIZES[reader]
    others = OTHERS["dict" if kind == "ordered" else kind]
    if kind == "ordered":
        others = [collections.OrderedDict(other) for other in others]
    for nested in (False, True):
        compiled = capture.Compiled((lambda c: function(c["c"])) if nested else function, limit=64)
        for other in [CONTAINERS[kind](), *others, *others[::-1], CONTAINERS[kind]()]:
            ours, plain = copy.deepcopy(other), copy.deepcopy(other)
            results = []
            for run, data in ((compiled, ours), (function, plain)):
                try:
                    results.append(repr(run({"c": data} if nested and run is compiled else data)))
                except Exception as error:
                    results.append(repr(error))
            if kind == "set":  # in another order where many items were written
                assert sorted(results[0]) == sorted(results[1]), other
                assert ours == plain
                continue
            assert results[0] == results[1], other
            assert repr(ours) == repr(plain), other
