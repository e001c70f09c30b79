"""Attributes of classes that captured code reads and writes."""

import importlib
import threading
from collections.abc import Callable
from typing import Any

import pytest

capture = importlib.import_module("stator._capture")


def world() -> Any:
    class Meta(type):
        def __setattr__(cls, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            type.__setattr__(cls, "log", [*cls.log, name][-2:])  # type: ignore[attr-defined]

    class Watched(metaclass=Meta):
        log: list[str] = []  # noqa: RUF012
        value = 0

    class Base:
        flag: Any = None
        total = 1
        cache: dict[str, Any] = {}  # noqa: RUF012

        @classmethod
        def put(cls, key: str, value: Any) -> int:
            cls.cache[key] = value
            cls.size = len(cls.cache)  # type: ignore[attr-defined]
            return int(cls.size)  # type: ignore[attr-defined]

    class Derived(Base):
        def act(self) -> Any:
            return "act"

    Base.cache = {}
    return Derived(), Base, Watched


def flag(w: Any, n: int) -> Any:
    w[1].flag = [n]
    return w[1].flag, w[0].flag, type(w[0]).flag is w[1].flag


def counter(w: Any, n: int) -> Any:
    type(w[0]).total += n
    return w[0].total, w[1].total, "total" in vars(type(w[0]))


def counter_of_base(w: Any, n: int) -> Any:
    w[1].total += n
    return w[0].total, type(w[0]).total


def through_class_method(w: Any, n: int) -> Any:
    return type(w[0]).put("a", n) + w[0].put("b", [n]), w[1].cache, type(w[0]).size


def by_name(w: Any, n: int) -> Any:
    setattr(w[1], "na" + "me", n)
    return w[0].name, getattr(w[1], "name"), hasattr(w[1], "na" + "me")  # noqa: B009


def metaclass(w: Any, n: int) -> Any:
    w[2].value = n
    return w[2].value, w[2].log


def in_dictionary(w: Any, n: int) -> Any:
    before = w[1].__dict__["total"]
    w[1].total = n
    return before, w[1].__dict__["total"]


def twice(w: Any, n: int) -> Any:
    w[1].flag = 1
    w[1].flag = w[1].flag + n
    return w[1].flag


PROGRAMS = [flag, counter, counter_of_base, through_class_method, by_name, metaclass, in_dictionary, twice]


def state(w: Any) -> str:
    plain = (int, list, dict, type(None))
    return repr(
        [[(k, v) for k, v in vars(c).items() if isinstance(v, plain)] for c in (type(w[0]), w[1], w[2])]
    )


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_writes_to_classes(program: Callable[..., Any]) -> None:
    one, other = world(), world()
    compiled = capture.Compiled(program)
    for n in (3, 3, 3, 4):
        assert repr(compiled(one, n)) == repr(program(other, n))
        assert state(one) == state(other)
    assert compiled.breaks == []
    assert compiled.entries


def test_a_write_does_not_depend_on_what_is_there() -> None:
    w = world()
    compiled = capture.Compiled(flag)
    for _ in range(6):
        compiled(w, 3)
        w[1].flag = object()
    assert [entry["hits"] for entry in compiled.entries] == [5]
    w[0].act.__func__.__name__ = "other"  # of no interest
    w[1].flag = property(lambda self: 1)
    assert repr(compiled(w, 3)) == repr(flag(world(), 3))


def test_what_was_read_before_it_was_written_is_guarded() -> None:
    _, base, _ = w = world()

    def program(n: int) -> Any:
        old = base.flag
        base.flag = n
        return old

    compiled = capture.Compiled(program)
    assert [compiled(1), compiled(1), compiled(1)] == [None, 1, 1]
    base.flag = "changed"
    assert compiled(1) == "changed"
    del base.flag
    with pytest.raises(AttributeError):
        compiled(1)
    assert w[1] is base


def test_other_changes_of_a_written_class_are_seen() -> None:
    derived, base, _ = world()

    def program(n: int) -> Any:
        base.flag = n
        return derived.act()

    compiled = capture.Compiled(program)
    assert [compiled(1), compiled(1)] == ["act", "act"]
    type(derived).act = lambda self: "other"
    assert [compiled(1), compiled(1)] == ["other", "other"]
    base.act = lambda self: "base"
    assert compiled(1) == "other"
    del type(derived).act
    assert compiled(1) == "base"
    assert base.flag == 1


def test_a_capture_that_is_given_up_leaves_the_class() -> None:
    w = world()
    before = state(w), list(vars(w[1]))

    def program(n: int) -> None:
        for each in (flag, counter, by_name, metaclass):
            each(w, n)
        if n:
            raise KeyError(n)  # nothing is captured, and all is done by the function itself

    def stops(n: int) -> None:
        flag(w, n)
        open("/dev/null").close()
        raise KeyError(n)

    compiled = capture.Compiled(stops)
    old = w[1].flag
    with pytest.raises(KeyError):
        compiled(3)
    w[1].flag = old
    assert (state(w), list(vars(w[1]))) == before
    assert capture.capture_statistics()["unrestored"] == 0
    with pytest.raises(KeyError):
        capture.Compiled(program)(3)
    assert w[1].flag == [3]


def test_a_class_that_changes_for_ever_is_served() -> None:
    class Counted:
        last = 0

    def program(n: int) -> int:
        Counted.last = n
        return n + 1

    compiled = capture.Compiled(program)
    for _ in range(3000):  # from 3.12 on a class gets a thousand versions
        assert compiled(7) == 8
    assert [entry["hits"] for entry in compiled.entries] == [2999]
    Counted.extra = 1  # type: ignore[attr-defined]
    assert compiled(7) == 8


def test_special_names_are_left_to_python() -> None:
    class Shown:
        pass

    def program(n: int) -> str:
        Shown.__repr__ = lambda self: "shown"  # type: ignore[method-assign]
        return repr(Shown())

    assert [capture.Compiled(program)(1) for _ in range(2)] == ["shown", "shown"]


def test_an_object_that_counts_its_deaths_is_not_made_by_a_capture() -> None:
    class Counted:
        alive = 0

        def __new__(cls) -> Any:
            cls.alive += 1
            return object.__new__(cls)

        def __del__(self) -> None:
            type(self).alive -= 1

    make = capture.Compiled(Counted.__new__)
    kept = [make(Counted) for _ in range(3)]
    assert Counted.alive == len(kept)
    kept.clear()
    assert Counted.alive == 0


def test_a_dictionary_that_changes_while_it_is_looked_up() -> None:
    class Key:
        remove: Any = None

        def __init__(self, value: int) -> None:
            self.value = value

        def __hash__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            if Key.remove:
                table, key = Key.remove
                Key.remove = None
                del table[key]
            return isinstance(other, Key) and self.value == other.value

    first, second = Key(1), Key(2)
    table = {first: 1}
    Key.remove = (table, first)
    compiled = capture.Compiled(Key.__eq__)
    Key.__eq__ = lambda self, other: compiled(self, other)  # type: ignore[method-assign]
    table[second] = 2
    assert table == {second: 2}


def test_a_loop_that_waits_for_another_thread_is_given_up() -> None:
    running, started, left = [True], [False], [0]

    def wait(started: list[bool], running: list[bool], left: list[int]) -> None:
        tries = 50_000_000
        started[0] = True
        while running[0] and tries:
            tries -= 1
        left[0] = tries

    thread = threading.Thread(target=capture.Compiled(wait), args=(started, running, left))
    thread.start()
    while not started[0]:
        pass
    running[0] = False
    thread.join()
    assert left[0] > 0
