"""tests/capture/test_unread_arguments.py: a capture depends on what was read of its arguments.

For each kind of container and each way to read it: whatever was not read may change, and the capture serves;
whatever was read is noticed.
"""

import collections
import copy
import dataclasses
import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

capture = importlib.import_module("stator._capture")


@dataclasses.dataclass
class Batch:
    x: int
    id: object = None
    meta: object = None


class Pair(NamedTuple):
    x: int
    id: object = None


class Plain:
    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)


def ignores(a: Any, **rest: Any) -> Any:
    return a * 2


def passes_on(a: Any, *rest: Any, **named: Any) -> Any:
    return ignores(a, *(), **named)


def three_deep(tree: Any) -> Any:
    return tree["a"]["b"]["c"] + 1


def pick(pair: Any) -> Any:
    x, _ = pair
    return x + 1


def is_there(table: dict[str, Any]) -> Any:
    return 1 if "k" in table else 0


def looks_twice(items: list[int]) -> int:
    return items[-1] + items[-1]


def both_ends(items: list[int]) -> int:
    return items[0] * 100 + items[-1]


def membership(flags: set[str]) -> str:
    return "fast" if "fast" in flags else "slow"


def spread(table: dict[str, Any]) -> Any:
    return takes(**table)


def takes(x: int, y: Any = None) -> int:
    return x + 1


def by_items(table: dict[str, int]) -> Any:
    return [(value, key) for key, value in table.items()]


# what is called, the arguments, others that are read alike, others that are not
Case = tuple[Callable[..., Any], tuple[Any, ...], list[tuple[Any, ...]], list[tuple[Any, ...]]]
CASES: dict[str, Case] = {
    "argument": (lambda x, note: x + 1, (1, "a"), [(1, "b"), (1, [2]), (1, None), (1, object())], [(2, "a")]),
    "key": (
        lambda b: b["x"] + 1,
        ({"x": 1, "id": 1},),
        [({"x": 1, "id": 2},), ({"x": 1},), ({"id": [3], "x": 1, "more": 5},)],
        [({"x": 2, "id": 1},), ({"x": 1.0, "id": 1},)],
    ),
    "get, absent": (
        lambda b: b.get("mask", 7),
        ({"x": 1},),
        [({"x": 2},), ({},), ({"y": 1, "z": 2},)],
        [({"x": 1, "mask": 3},), ({"mask": None},)],
    ),
    "get, there": (
        lambda b: b.get("x", 5) + 1,
        ({"x": 1, "y": 1},),
        [({"x": 1},)],
        [({"x": 2, "y": 1},), ({"y": 1},)],
    ),
    "in dict": (is_there, ({"k": 1, "x": 1},), [({"k": 2},), ({"x": [], "k": None},)], [({"x": 1},), ({},)]),
    "not in dict": (is_there, ({"x": 1},), [({"x": 2},), ({},), ({"y": 1, "z": 2},)], [({"k": 1},)]),
    "in set": (
        membership,
        ({"fast", "a"},),
        [({"fast"},), ({"b", "fast", "c"},)],
        [({"a"},), (set(),)],
    ),
    "index": (lambda h: h[0] + 1, ([1, 2, 3],), [([1, 5],), ([1],), ([1, [], {}, None],)], [([2, 2, 3],)]),
    "last": (lambda h: h[-1] + 1, ([1, 2, 3],), [([3],), ([5, 3],), ([9, 9, 9, 9, 3],)], [([1, 2, 4],)]),
    "last twice": (looks_twice, ([1, 2, 3],), [([3],), ([5, 3],)], [([1, 2, 4],), ([1],)]),
    "both ends": (both_ends, ([1, 2, 3],), [([1, 3],), ([1, 7, 8, 9, 3],)], [([1, 2, 4],), ([0, 2, 3],)]),
    "length": (lambda h: len(h) + 1, ([1, 2],), [([3, 4],), ([None, "a"],)], [([1],), ([],)]),
    "truth of list": (lambda h: 1 if h else 2, ([1],), [([2, 3],), ([[]],)], [([],)]),
    "truth of dict": (lambda h: 1 if not h else 2, ({},), [({},)], [({"a": 1},)]),
    "tuple item": (lambda p: p[0] + 1, ((1, 2),), [((1, "b"),), ((1, []),)], [((2, 2),)]),
    "unpacked": (pick, ((1, 2),), [((1, "b"),), ((1, None),)], [((2, 2),)]),
    "named tuple": (lambda p: p.x + 1, (Pair(1, 2),), [(Pair(1, "b"),)], [(Pair(2, 2),)]),
    "dataclass": (
        lambda b: b.x + 1,
        (Batch(1, 2, [3]),),
        [(Batch(1, "b", None),), (Batch(1),)],
        [(Batch(2, 2, [3]),)],
    ),
    "ordered": (
        lambda b: b["x"] + 1,
        (collections.OrderedDict(x=1, y=2),),
        [(collections.OrderedDict(y=5, x=1),)],
        [(collections.OrderedDict(x=2, y=2),), ({"x": 1},)],
    ),
    "three deep": (
        three_deep,
        ({"a": {"b": {"c": 1, "d": 2}, "e": []}},),
        [({"a": {"b": {"c": 1}}},), ({"z": 1, "a": {"b": {"c": 1, "d": [1]}, "e": {}}},)],
        [({"a": {"b": {"c": 2}}},), ({"a": {"b": collections.OrderedDict(c=1)}},)],
    ),
    "rest": (lambda x, *rest: x + 1, (1, 2, 3), [(1, "a", [])], [(2, 2, 3)]),
    "passed on": (passes_on, (1, 2), [(1, "a"), (1, [])], [(2, 2)]),
    "spread": (
        spread,
        ({"x": 1, "y": 2},),
        [({"x": 1, "y": "b"},), ({"x": 1, "y": [4]},)],
        [({"x": 2, "y": 2},), ({"x": 1},)],
    ),
    "iteration": (
        lambda h: [x + 1 for x in h],
        ([1, 2],),
        [([1, 2],)],
        [([1, 3],), ([1],), ([1, 2, 3],)],
    ),
    "sum": (lambda h: sum(h), ([1, 2],), [([1, 2],)], [([1, 3],), ([1],), ([0, 1, 2],)]),
    "items": (by_items, ({"a": 1, "b": 2},), [({"a": 1, "b": 2},)], [({"b": 2, "a": 1},), ({"a": 1},)]),
    "equality": (
        lambda a: a == [1, [2]],
        ([1, [2]],),
        [([1, [2]],)],
        [([1, [3]],), ([1, [2], 3],), ([0, [2]],)],
    ),
    "text": (lambda a: str(a), ({"a": [1]},), [({"a": [1]},)], [({"a": [2]},)]),
    "type only": (
        lambda a: isinstance(a, list) and type(a) is list,
        ([1, 2],),
        [([],), (["a", 5, 6],)],
        [((1, 2),), ({},)],
    ),
    "first items": (lambda h: h[:2], ([1, 2, 3],), [([1, 2],), ([1, 2, 9, 9],)], [([0, 2, 3],), ([1],)]),
    "last items": (lambda h: h[-2:], ([1, 2, 3],), [([2, 3],), ([9, 9, 2, 3],)], [([1, 2, 4],), ([3],)]),
    "all but one": (
        lambda h: h[:-1],
        ([1, 2, 3],),
        [([1, 2, 3],)],
        [([1, 2],), ([1, 2, 3, 4],), ([5, 2, 3],)],
    ),
    "keys": (
        lambda d: [k * 2 for k in d],
        ({"a": 1, "b": 2},),
        [({"a": [], "b": None},)],
        [({"b": 1, "a": 2},), ({"a": 1},)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_reads(name: str) -> None:
    function, first, alike, different = CASES[name]
    for order in (alike, alike[::-1]):
        compiled = capture.Compiled(function, limit=8)
        assert repr(compiled(*copy.deepcopy(first))) == repr(function(*copy.deepcopy(first)))
        assert compiled.breaks == []
        assert len(compiled.entries) == 1
        for arguments in order:
            assert repr(compiled(*copy.deepcopy(arguments))) == repr(function(*copy.deepcopy(arguments)))
            assert len(compiled.entries) == 1, arguments
    for arguments in different:
        compiled = capture.Compiled(function, limit=8)
        compiled(*copy.deepcopy(first))
        assert repr(compiled(*copy.deepcopy(arguments))) == repr(function(*copy.deepcopy(arguments)))
        assert len(compiled.entries) == 2 or compiled.breaks, arguments


def test_unread_keyword() -> None:
    def function(x: int, **named: Any) -> int:
        return x + named["y"]

    compiled = capture.Compiled(function)
    for i in range(10):
        assert compiled(1, y=2, note=i) == 3
    assert compiled(1, y=3, note=0) == 4
    assert len(compiled.entries) == 2


def test_growing_list() -> None:
    def function(history: list[int]) -> int:
        history.append(history[-1] + 1)
        return history[-1]

    compiled = capture.Compiled(function)
    plain, captured = [7], [7]
    for _ in range(3):
        assert compiled(captured) == function(plain)
        assert captured == plain
        captured[-1] = plain[-1] = 7
    assert len(compiled.entries) == 1


def test_append_reads_nothing() -> None:
    def function(history: list[Any], x: int) -> int:
        history.append(x)
        return x

    compiled = capture.Compiled(function)
    history: list[Any] = []
    for _ in range(20):
        compiled(history, 3)
    assert history == [3] * 20
    assert len(compiled.entries) == 1


def test_written_keys_are_the_callers() -> None:
    def function(batch: dict[str, Any]) -> None:
        batch["y"] = batch["x"] + 1

    compiled = capture.Compiled(function)
    for other in (None, [1], "text"):
        batch = {"x": 1, "id": other}
        compiled(batch)
        assert batch == {"x": 1, "id": other, "y": 2}
        assert list(batch) == ["x", "id", "y"]
    assert len(compiled.entries) == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda x, extra: extra,
        lambda x, extra: (x + 1, extra),
        lambda x, extra: [extra, extra],
        lambda x, *rest: rest[0],
        lambda x, extra: ignores(x) and extra,
    ],
)
def test_what_is_returned_unread_is_the_callers_own(function: Callable[..., Any]) -> None:
    compiled = capture.Compiled(function)
    for extra in ([1], {"a": 1}, object(), "text", None, 5, 1.5, [2, 3]):
        result, wanted = compiled(1, extra), function(1, extra)
        assert result == wanted
        own = result if not isinstance(wanted, list | tuple) or wanted is extra else result[-1]
        assert own is extra
    if "ignores" not in function.__code__.co_names:
        assert len(compiled.entries) == 1


def test_nested_parts_are_returned_by_path() -> None:
    compiled = capture.Compiled(lambda batch: batch["meta"])
    for meta in ([1], {"a": 2}, "x", None):
        assert compiled({"meta": meta, "x": 1}) is meta
    assert len(compiled.entries) == 1


def test_stored_parts_are_the_callers_own() -> None:
    holder = Plain(last=None)

    def function(batch: dict[str, Any]) -> None:
        holder.last = batch["meta"]

    compiled = capture.Compiled(function)
    for meta in ([1], [2, 3], []):
        compiled({"meta": meta})
        assert holder.last is meta
    assert len(compiled.entries) == 1


def test_aliasing_of_what_is_read() -> None:
    def function(a: list[int], b: list[int]) -> int:
        a.append(1)
        return len(b)

    compiled = capture.Compiled(function)
    for _ in range(3):
        for shared in (False, True):
            first, second = [5], [6]
            again = first if shared else second
            assert compiled(first, again) == (2 if shared else 1)


def test_aliasing_of_what_is_unread() -> None:
    def function(a: list[int], b: list[int]) -> Any:
        a.append(1)
        return b

    compiled = capture.Compiled(function)
    for shared in (False, True, False):
        first, second = [5], [6]
        again = first if shared else second
        assert compiled(first, again) is again
        assert (first, second) == ([5, 1], [6])
    assert len(compiled.entries) == 1


def test_identity() -> None:
    def function(a: Any, b: Any) -> tuple[bool, bool]:
        return a is b, a is None

    compiled = capture.Compiled(function, limit=20)
    one, two = [1], (1, [2])
    for a, b in ((one, one), (one, [1]), (two, two), (two, (1, [2])), (None, None), (None, one), (one, one)):
        assert compiled(a, b) == function(a, b)


def test_closures_and_generators_over_arguments() -> None:
    def function(x: int, y: Any) -> Any:
        def inner(z: int) -> int:
            return z + x

        return [inner(i) for i in range(3)], tuple(i * x for i in range(2)), max([1, 2], key=lambda i: -i * x)

    compiled = capture.Compiled(function)
    for y in (1, "a", [2]):
        assert compiled(3, y) == function(3, y)
    assert len(compiled.entries) == 1
    assert compiled(4, None) == function(4, None)


def test_returned_closure_keeps_what_the_call_brought() -> None:
    def function(x: int, y: Any) -> Any:
        return lambda: y

    compiled = capture.Compiled(function)
    for y in ([1], "a", None):
        assert compiled(1, y)() is y


def test_caught_errors_of_reads() -> None:
    def function(batch: dict[str, int], items: list[int]) -> Any:
        try:
            return batch["x"]
        except KeyError:
            pass
        try:
            return items[3]
        except IndexError:
            return len(batch)

    compiled = capture.Compiled(function, limit=20)
    for batch in ({}, {"a": 1}, {"x": 2}):
        for items in ([], [1, 2, 3, 4], [0]):
            assert compiled(dict(batch), list(items)) == function(batch, items)


def test_c_code_sees_nothing_unread() -> None:
    def function(batch: dict[str, Any]) -> Any:
        return sorted(batch.values()), list(map(str, batch)), max(batch["x"], *batch["y"])

    compiled = capture.Compiled(function, limit=20)
    for x, y in ((1, 2), (1, 3), (2, 2)):
        for extra in (7, 8):
            batch = {"x": x, "z": y, "y": (extra, 0)}
            batch["y"] = y  # type: ignore[assignment]
            with pytest.raises(TypeError):
                function(batch)
            with pytest.raises(TypeError):
                compiled(batch)


@pytest.mark.parametrize("depth", [3, 300, 20_000])
def test_nested_deeply(depth: int) -> None:
    def function(x: Any) -> int:
        levels = 0
        while isinstance(x, list):
            x = x[0]
            levels += 1
        return levels

    def nested() -> Any:
        value: Any = 1
        for _ in range(depth):
            value = [value]
        return value

    compiled = capture.Compiled(function)
    for _ in range(2):
        assert compiled(nested()) == depth
    ignoring = capture.Compiled(lambda x, y: y)
    for _ in range(3):
        assert ignoring(nested(), 1) == 1
    assert len(ignoring.entries) == 1


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: any([a, b]),
        lambda a, b: all((a, b)),
        lambda a, b: list(map(len, [a, b])),
        lambda a, b: [len(x) for x in [a, b]],
        lambda a, b: list(filter(None, [a, b])),
        lambda a, b: sorted([a, b]),
        lambda a, b: [a, b] == [[], []],
        lambda a, b: str([a, b]),
        lambda a, b: sum([a, b], []),  # noqa: RUF017
        lambda a, b: a + b,
        lambda a, b: [*a, *b],
        lambda a, b: max(a, b),
        lambda a, b: a in [b],
        lambda a, b: f"{a} {b!r}",
        lambda a, b: "%s" % (a,),  # noqa: UP031
        lambda a, b: {1: a, 2: b} == {1: [], 2: b},
        lambda a, b: tuple(a) in {tuple(b): 1},
        lambda a, b: list(zip(a, b, strict=False)),
        lambda a, b: (a and 1, b or 2),
        lambda a, b: not a,
        lambda a, b: dict(enumerate(a)),
        lambda a, b: a.copy(),
        lambda a, b: a.count(1) + len(b),
        lambda a, b: a * 2,
        lambda a, b: list(reversed(a)),
    ],
)
def test_c_code_over_containers_of_arguments(function: Callable[..., Any]) -> None:
    compiled = capture.Compiled(function, limit=64)
    values: list[list[int]] = [[], [1], [1, 2], [2, 1], [0], [1]]
    for a in values:
        for b in values:
            assert repr(compiled(list(a), list(b))) == repr(function(list(a), list(b))), (a, b)


def many_kinds() -> list[Any]:
    """What stands in the places of a frame: anything."""

    def numbers() -> Any:
        yield 1

    generator = numbers()
    next(generator)
    return [
        None,
        5,
        "text",
        [1],
        {"a": 1},
        {1, 2},
        (1, [2]),
        iter([1, 2]),
        generator,
        enumerate([3]),
        ValueError("no"),
        collections,
        many_kinds,
        lambda: 1,
        Plain(a=1),
        Plain,
        len,
        [].append,
        1.5,
        b"b",
        ...,
        collections.deque([1]),
        range(3),
        memoryview(b"c"),
    ]


SINK = Plain(last=None, items=[], table={})
LAST: Any = None


def stores_attribute(x: int, value: Any) -> None:
    SINK.last = value


def stores_global(x: int, value: Any) -> None:
    global LAST
    LAST = value


def stores_item(x: int, value: Any) -> None:
    SINK.table["k"] = value


def appends(x: int, value: Any) -> None:
    SINK.items.append(value)


def builds(x: int, value: Any) -> Any:
    return [value, (value, {"v": value, x: [value]})], {"a": value}


def through_calls(x: int, value: Any) -> Any:
    def inner(*rest: Any, **named: Any) -> Any:
        return rest[0], named["v"]

    return inner(value, v=value)


def through_cells(x: int, value: Any) -> Any:
    def set_it() -> None:
        nonlocal value
        value = (value,)

    set_it()
    return value


def not_none(x: int, value: Any) -> Any:
    return value if value is not None else [value]


@pytest.mark.parametrize(
    "function",
    [
        stores_attribute,
        stores_global,
        stores_item,
        appends,
        builds,
        through_calls,
        through_cells,
        lambda x, v: [v, v][x],
        lambda x, v: {"k": v}["k"],
        lambda x, v: (lambda a, b=v: b)(x),
    ],
)
def test_values_of_any_kind_pass_through(function: Callable[..., Any]) -> None:
    compiled = capture.Compiled(function)

    def state(result: Any) -> Any:
        return [result, SINK.last, SINK.table.get("k"), SINK.items[-1:], LAST]

    for value in many_kinds():
        ours, plain = state(compiled(1, value)), state(function(1, value))
        assert repr(ours) == repr(plain)
        assert ids(ours) == ids(plain)
    assert compiled.breaks == []
    assert len(compiled.entries) == 1, [entry["guards"] for entry in compiled.entries]


def ids(value: Any) -> Any:
    """Containers of the function's own by what they hold, anything else by its identity."""
    if isinstance(value, list | tuple) and not any(value == other for other in ([1], (1, [2]))):
        return [ids(item) for item in value]
    if type(value) is dict and value != {"a": 1}:
        return {key: ids(item) for key, item in value.items()}
    return id(value)


def test_asked_whether_it_is_none() -> None:
    compiled = capture.Compiled(not_none)
    for value in many_kinds():
        assert repr(compiled(1, value)) == repr(not_none(1, value))
    assert len(compiled.entries) == 2


@pytest.mark.parametrize(
    "function",
    [
        lambda x, value: [value],
        lambda x, value: SINK.items.append(value),
        lambda x, value: SINK.table.__setitem__("k", value),
    ],
)
def test_stored_values_are_read_where_they_are_used(function: Callable[..., Any]) -> None:
    def reads(x: int, value: Any) -> Any:
        made = function(x, value)
        found = [made, SINK.items[-1:], SINK.table.get("k")]
        return [len(v) if isinstance(v, list) else v for v in found], repr(found), sum(map(bool, found))

    compiled = capture.Compiled(reads, limit=40)
    for value in [3, [1], [], "a", [1], 3, 4, {"b": 1}, (1,), None]:
        SINK.items, SINK.table = [], {}
        ours = compiled(1, value)
        SINK.items, SINK.table = [], {}
        assert ours == reads(1, value)


@pytest.mark.parametrize(
    ("function", "alike"),
    [
        (lambda h: h.append(1), [[], [1], [1, 2], [None] * 50]),
        (lambda h: h.extend([1, 2]), [[], [1], [1, 2], [None] * 50]),
        (lambda h: h.__iadd__([1]), [[], [1], [1, 2]]),
        (lambda h: h.__setitem__(1, 7), [[1, 2], [3, 4, 5], [None] * 9]),
        (lambda h: h.insert(0, 7), [[1, 2], [3, 4], [None, {}]]),
        (lambda h: h.pop(0), [[1, 2], [3, 4], [None, {}]]),
        (lambda h: h.pop(), [[1, 2], [3, 4], [None, {}]]),
        (lambda h: h.reverse(), [[1, 2], [3, 4], [None, {}]]),
        (lambda h: h.clear(), [[1, 2], [3, 4], [None, {}]]),
        (lambda h: (h.append(3), h[-1]), [[], [1], [2, 3]]),
        (lambda b: b.__setitem__("y", 1), [{}, {"x": 1}, {"y": 2, "x": 1}]),
        (lambda b: b.update(y=1) or b.get("z"), [{"x": 1}, {"x": []}, {"x": None}]),
        (lambda b: b.pop("x"), [{"x": 1, "id": 2}, {"x": [], "id": 3}, {"x": None, "id": {}}]),
        (lambda b: b.__delitem__("x"), [{"x": 1, "id": 2}, {"x": [], "id": 3}]),
        (lambda b: b.setdefault("x", 5), [{"x": 1, "id": 2}, {"x": [], "z": 3}, {"x": "t"}]),
        (lambda b: setattr(b, "x", 5), [Batch(1, 2), Batch([], "id"), Batch(None)]),
        (lambda b: b.meta.append(1), [Batch(1, 2, []), Batch([], "id", [4]), Batch(None, 0, [5, 6])]),
        (lambda s: s.add("new"), [{"a"}, {"b", "c"}, set()]),
    ],
)
def test_writes_guard_no_more_than_they_need(function: Callable[..., Any], alike: list[Any]) -> None:
    compiled = capture.Compiled(function)
    for given in alike + alike[::-1]:
        ours, plain = copy.deepcopy(given), copy.deepcopy(given)
        assert repr(compiled(ours)) == repr(function(plain))
        assert repr(ours) == repr(plain)
    assert compiled.breaks == []
    assert len(compiled.entries) == 1, [entry["guards"] for entry in compiled.entries]


def test_pushed_out_items_with_finalizers() -> None:
    class Dies:
        def __del__(self) -> None:
            log.append("dead")

    log: list[str] = []

    def function(items: list[Any]) -> int:
        items[0] = 1
        return len(log)

    compiled = capture.Compiled(function)
    for _ in range(2):
        before = len(log)
        assert compiled([Dies()]) == before + 1


@pytest.mark.parametrize("make", [list, tuple])
@pytest.mark.parametrize(
    "reader", [lambda h: sum(h), lambda h: h[5] * 3 + sum(h), lambda h: [x + 1 for x in h]]
)
def test_long_sequences(make: Callable[[Any], Any], reader: Callable[[Any], Any]) -> None:
    """Many constants that were all read are compared as one block."""
    size = 1_000
    first = list(range(1_000_000, 1_000_000 + size))
    compiled = capture.Compiled(reader, limit=40)
    for _ in range(2):
        assert compiled(make(list(first))) == reader(first)
    assert len(compiled.entries) == 1
    for index, value in ((0, 5), (size // 2, 6), (size - 1, 7), (5, 1_000_005.0), (5, True)):
        items: list[Any] = list(first)
        items[index] = value
        assert repr(compiled(make(items))) == repr(reader(items))
    for items in (first[:-1], [*first, 1], [0] * 6, []):
        results = []
        for run in (compiled, reader):
            try:
                results.append(repr(run(make(items))))
            except IndexError as error:
                results.append(repr(error))
        assert results[0] == results[1]
