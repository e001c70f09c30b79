"""Writes to objects that existed before a capture: made again by every call, in the caller's own objects."""

import copy
import importlib
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

capture = importlib.import_module("stator._capture")

COUNT: Any = 0


class Slotted:
    __slots__ = ("empty", "value")

    def __init__(self) -> None:
        self.value = 1


class Guarded:
    """Writes pass through Python code."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.x = 0

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        if name != "log":
            self.log.append(name)

    @property
    def y(self) -> int:
        return self.x

    @y.setter
    def y(self, value: int) -> None:
        self.x = value * 2


def world() -> SimpleNamespace:
    cell = [0]

    def closure() -> tuple[Callable[[Any], None], Callable[[], Any]]:
        kept: Any = None

        def put(value: Any) -> None:
            nonlocal kept
            kept = value

        return put, lambda: kept

    return SimpleNamespace(
        items=[1, 2],
        table={"a": 1, "b": 2},
        names={1, 2},
        recent=deque([1, 2, 3], maxlen=3),
        ordered=OrderedDict(x=1),
        groups=defaultdict(list, old=[1]),
        slotted=Slotted(),
        guarded=Guarded(),
        closure=closure(),
        cell=cell,
        nested={"deep": [[], {"k": 0}]},
        flag=False,
    )


def state(w: SimpleNamespace) -> Any:
    plain = {k: v for k, v in vars(w).items() if k not in ("slotted", "guarded", "closure", "put")}
    return (
        copy.deepcopy(plain),
        list(w.table),
        w.slotted.value,
        getattr(w.slotted, "empty", "nothing"),
        copy.deepcopy(vars(w.guarded)),
        w.closure[1](),
    )


def append(w: Any, n: int) -> Any:
    w.items.append(n)
    w.items.extend([n, [n]])
    w.items += (n,)


def append_and_look(w: Any, n: int) -> Any:
    w.items.append(n)
    return sum(w.items), len(w.items), w.items[-1], w.items[0]


def set_items(w: Any, n: int) -> Any:
    w.items[0] = n
    w.items[-1] = w.items[0] + 1
    return w.items[0]


def reorder(w: Any, n: int) -> Any:
    w.items.insert(0, n)
    w.items.sort(reverse=True)
    return w.items.pop()


def slices(w: Any, n: int) -> Any:
    w.items[1:] = [n, n]
    del w.items[0]


def keys(w: Any, n: int) -> Any:
    w.table["new"] = n
    w.table["a"] = [n]
    w.table.update({"u": 1, "b": 5})
    w.table.setdefault("a", 7)
    return w.table.setdefault("fresh", []) is w.table["fresh"], list(w.table), "new" in w.table


def remove_keys(w: Any, n: int) -> Any:
    del w.table["a"]
    w.table["a"] = n
    return w.table.pop("b", None), list(w.table.items())


def sets(w: Any, n: int) -> Any:
    w.names.add(n)
    w.names.discard(1)


def deques(w: Any, n: int) -> Any:
    w.recent.append(n)
    w.recent.appendleft((n, n))


def ordered(w: Any, n: int) -> Any:
    w.ordered["y"] = n


def groups(w: Any, n: int) -> Any:
    w.groups["old"].append(n)


def slots(w: Any, n: int) -> Any:
    w.slotted.value += n
    w.slotted.empty = w.slotted.value
    return w.slotted.empty


def setters(w: Any, n: int) -> Any:
    w.guarded.y = n
    return w.guarded.y, len(w.guarded.log)


def cells(w: Any, n: int) -> Any:
    w.closure[0]([n])
    return w.closure[1]()


def global_write(w: Any, n: int) -> Any:
    global COUNT
    COUNT = n + 1
    return COUNT


def attributes(w: Any, n: int) -> Any:
    w.flag = not w.flag
    w.flag = not w.flag
    w.made = [n]
    w.made.append(w.made)
    w.name = f"n{n}"
    return w.made is w.made[1], w.name


def deep(w: Any, n: int) -> Any:
    w.nested["deep"][0].append(w.nested)
    w.nested["deep"][1]["k"] += n
    return w.nested["deep"][1]["k"]


def bound(w: Any, n: int) -> Any:
    w.items = []
    w.put = w.items.append
    w.put(n)
    return len(w.items)


def shared(w: Any, n: int) -> Any:
    made = {"n": n}
    w.items.append(made)
    w.table["made"] = made
    made["late"] = 1
    return w.items[-1] is w.table["made"], made


def sets_and_look(w: Any, n: int) -> Any:
    w.names.add(n)
    w.names.discard(1)
    return sorted(w.names), len(w.names), n in w.names, list(w.names)


def deques_and_look(w: Any, n: int) -> Any:
    w.recent.append(n)
    return list(w.recent), len(w.recent)


def ordered_and_look(w: Any, n: int) -> Any:
    w.ordered["y"] = n
    w.ordered["x"] = n + 1
    return list(w.ordered.items()), len(w.ordered)


def delete_attributes(w: Any, n: int) -> Any:
    del w.flag
    gone = hasattr(w, "flag")
    w.flag = n  # stands behind the others now
    w.made = n
    del w.made
    return gone, list(vars(w)), hasattr(w, "made")


def delete_slot(w: Any, n: int) -> Any:
    old = w.slotted.value
    del w.slotted.value
    gone = hasattr(w.slotted, "value")
    w.slotted.value = old + n
    return gone


PROGRAMS = [
    append, append_and_look, set_items, reorder, slices, keys, remove_keys, sets, deques, ordered,
    groups, slots, setters, cells, global_write, attributes, deep, bound, shared,
    sets_and_look, deques_and_look, ordered_and_look, delete_attributes, delete_slot,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_effects_are_those_of_the_plain_function(program: Callable[..., Any]) -> None:
    one, other = world(), world()
    compiled = capture.Compiled(program)
    for n in (3, 3, 3, 4):
        got, wanted = compiled(one, n), program(other, n)
        assert got == wanted or (program is shared and got[0] == wanted[0])
        assert repr(state(one)) == repr(state(other))
    assert compiled.breaks == []
    assert compiled.entries


@pytest.mark.parametrize("program", [append, deques, sets, ordered, groups, cells, global_write, attributes])
def test_a_write_does_not_depend_on_what_is_there(program: Callable[..., Any]) -> None:
    w = world()
    compiled = capture.Compiled(program)
    for _ in range(6):
        compiled(w, 3)
    assert len(compiled.entries) == 1, compiled.misses
    assert compiled.entries[0]["hits"] == 5


def test_containers_of_the_arguments_are_written_in_place() -> None:
    def program(out: list[Any], table: dict[str, Any], pair: tuple[list[Any], int]) -> Any:
        out.append(pair[1])
        table["k"] = out
        pair[0].append(table)
        return out, pair

    def run(function: Callable[..., Any]) -> Any:
        out: list[Any] = [1]
        table: dict[str, Any] = {}
        pair: Any = ([], 2)
        result = function(out, table, pair)
        assert result[0] is out
        assert result[1] is pair
        assert table["k"] is out
        assert pair[0][0] is table
        return len(out)

    compiled = capture.Compiled(program)
    assert run(program) == run(compiled) == run(compiled)
    assert compiled.entries[0]["hits"] == 1


def test_a_capture_that_is_given_up_leaves_nothing() -> None:
    def program(w: Any, n: int) -> None:
        append(w, n)
        keys(w, n)
        remove_keys(w, n)
        slots(w, n)
        cells(w, n)
        deques(w, n)
        attributes(w, n)
        delete_attributes(w, n)
        delete_slot(w, n)
        w.seen = repr(state(w))  # the state function copies: C code that nobody described
        open("/dev/null").close()

    one, other = world(), world()
    compiled = capture.Compiled(program)
    compiled(one, 3)
    program(other, 3)
    assert compiled.breaks
    assert repr(state(one)) == repr(state(other))


def test_what_a_write_replaced_is_not_guarded_but_what_was_read_is() -> None:
    holder = SimpleNamespace(step=0, last=None)

    def program(n: int) -> int:
        holder.last = n
        return int(holder.step) + n

    compiled = capture.Compiled(program)
    assert compiled(1) == 1
    holder.last = "other"
    assert compiled(1) == 1
    assert holder.last == 1
    assert len(compiled.entries) == 1
    holder.step = 5
    assert compiled(1) == 6
    assert len(compiled.entries) == 2


def test_a_method_of_a_list_made_here_belongs_to_the_list_of_each_call() -> None:
    def program(w: Any) -> None:
        w.items = []
        w.put = w.items.append

    compiled = capture.Compiled(program)
    w = world()
    for _ in range(3):
        compiled(w)
        w.put(1)
        assert w.items == [1]
    assert compiled.entries[0]["hits"] == 2


def test_one_list_that_is_given_twice() -> None:
    def program(a: list[int], b: list[int]) -> tuple[bool, int]:
        a.append(1)
        return a is b, len(b)

    compiled = capture.Compiled(program)
    for _ in range(3):
        same: list[int] = []
        assert compiled([], []) == (False, 0)
        assert compiled(same, same) == (True, 1)
        assert same == [1]


def test_a_write_to_what_another_write_lets_go_of() -> None:
    def program(w: Any, n: int) -> int:
        old = w.table
        w.table = {}
        old["late"] = n
        return len(old)

    for _ in range(3):
        compiled, w = capture.Compiled(program), world()
        for n in range(3):
            assert compiled(w, n) == (3 if n == 0 else 1)
            assert w.table == {}


def test_an_argument_that_contains_itself() -> None:
    def program(items: list[Any]) -> int:
        return len(items[0])

    items: list[Any] = []
    items.append(items)
    compiled = capture.Compiled(program)
    assert [compiled(items), compiled(items)] == [1, 1]
