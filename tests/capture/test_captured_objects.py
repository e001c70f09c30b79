"""Which object is which, and which live: captures copy, keep and compare objects without being noticed."""

import abc
import collections.abc
import functools
import gc
import importlib
import inspect
import operator
import pickle
import signal
import sqlite3
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

capture = importlib.import_module("stator._capture")


@pytest.mark.parametrize("same", [lambda a, b: a is b, operator.is_, lambda a, b: not operator.is_not(a, b)])
@pytest.mark.parametrize("value", ["".join(["a", "long one"]), 10**20, 1.5, b"bytes", 1j])
def test_equal_constants_may_be_one_object_or_two(same: Callable[[Any, Any], bool], value: object) -> None:
    def program(a: object, b: object) -> bool:
        return same(a, b)

    compiled = capture.Compiled(program)
    other = pickle.loads(pickle.dumps(value))
    assert other is not value
    for a, b in [(value, value), (value, other), (other, other), (other, value)]:
        assert compiled(a, b) is (a is b)


def test_constants_that_exist_once_are_compared_in_a_capture() -> None:
    seven, letter = 7, "a"

    def program(mode: str, n: int, flag: bool | None) -> list[bool]:
        return [mode is None, n is seven, flag is True, mode is n, mode is letter]

    compiled = capture.Compiled(program)
    assert compiled("a", 7, None) == compiled("a", 7, None) == [False, True, False, False, True]
    assert compiled.breaks == []


def test_identities_of_constants() -> None:
    value = 1.5
    other = pickle.loads(pickle.dumps(value))
    box = SimpleNamespace(a=value, b=value, last=id(value))
    arguments = capture.Compiled(lambda a, b: (id(a) == id(b), id(a) == box.last))
    attributes = capture.Compiled(lambda: (id(box.a) == id(box.b), id(box.a) == box.last), fullgraph=True)
    for a, b in [(value, value), (value, other), (other, other), (other, value)]:
        box.a, box.b = a, b
        for _ in range(2):
            assert arguments(a, b) == attributes() == (a is b, a is value)
    assert sum(entry["hits"] for entry in attributes.entries) == 4


def test_equal_constants_on_a_class_are_known_as_the_objects_they_are() -> None:
    class Base:
        rate = float("0.1")

    class Config(Base):
        calls = 0

    config = Config()
    config.other = Base.rate  # type: ignore[attr-defined]

    def program(counts: bool) -> tuple[bool, ...]:
        if counts:
            Config.calls += 1
        copied = vars(config)["other"]
        return config.rate is copied, Config.rate is config.other, getattr(Base, "rate") is copied  # type: ignore[attr-defined] # noqa: B009

    compiled = capture.Compiled(program, fullgraph=True)
    for counts in (False, True):
        assert compiled(counts) == compiled(counts) == (True,) * 3
        hits = sum(entry["hits"] for entry in compiled.entries)
        assert compiled(counts) == (True,) * 3
        assert sum(entry["hits"] for entry in compiled.entries) == hits + (not counts)
    another = float("0.1")
    assert another is not Base.rate
    Base.rate = another
    assert compiled(False) == (False,) * 3
    assert compiled(False) == (False,) * 3
    config.other = another  # type: ignore[attr-defined]
    assert compiled(False) == (True,) * 3
    Config.rate = float("0.1")  # hides that of the base
    assert compiled(False) == (False, False, True)


def test_a_class_attribute_that_the_program_writes_keeps_its_identity() -> None:
    class Config:
        rate = float("0.1")
        best = rate

    def program(swap: bool) -> tuple[bool, bool]:
        before = Config.rate is Config.best
        if swap:
            Config.rate = Config.best
        return before, Config.rate is Config.best

    compiled = capture.Compiled(program)
    assert compiled(True) == compiled(True) == (True, True)
    Config.rate = float("0.1")
    assert compiled(True) == (False, True)
    Config.best = float("0.1")
    assert compiled(False) == (False, False)
    assert compiled(True) == (False, True)
    assert compiled(False) == (True, True)


def test_a_capture_serves_only_where_its_frames_would_fit() -> None:
    def program(depth: int) -> int:
        return 1 + program(depth - 1) if depth else 0

    def below(levels: int, depth: int) -> int:
        return below(levels - 1, depth) if levels else compiled(depth)

    compiled = capture.Compiled(program)
    assert compiled(150) == compiled(150) == 150
    assert [entry["hits"] for entry in compiled.entries] == [1]
    left = sys.getrecursionlimit() - len(inspect.stack(0))
    assert below(left - 300, 150) == 150
    with pytest.raises(RecursionError):
        below(left - 100, 150)


def test_captures_keep_no_class_alive() -> None:
    """A class leads to its functions, and those to all of their module."""
    space: dict[str, Any] = {}
    exec(
        """
class Payload: pass
class Held:
    factor = 2
    def __init__(self, value): self.value = value
    def scaled(self): return self.value * self.factor
    @property
    def both(self): return self.scaled(), self.value
    @classmethod
    def made(cls): return cls(3)
    @staticmethod
    def one(): return 1
held = Held(4)
kept = Payload()
""",
        space,
    )
    compiled = capture.Compiled(lambda held: (held.both, held.scaled(), held.made().value, held.one()))
    held = space["held"]
    assert compiled(held) == compiled(held) == ((8, 4), 8, 3, 1)
    assert [entry["hits"] for entry in compiled.entries] == [1]
    kept = weakref.ref(space["kept"])
    del held, space
    gc.collect()
    assert kept() is None


def test_captures_keep_no_class_of_instances_alive() -> None:
    def program(held: Any) -> int:
        return int(held.value + 1)

    def serve() -> "weakref.ref[type]":
        class Held:
            def __init__(self, value: int) -> None:
                self.value = value

        for _ in range(4):
            assert compiled(Held(1)) == 2
        return weakref.ref(Held)

    compiled = capture.Compiled(program)
    gone = serve()
    gc.collect()
    assert gone() is None
    assert all(isinstance(text, str) for entry in compiled.entries for text in entry["guards"])


def test_captures_keep_no_key_alive() -> None:
    table: dict[object, Any] = {}

    def make() -> Callable[[], None]:
        return lambda: None

    def program() -> Any:
        return table[key]

    key = make()
    table[key] = 4
    compiled = capture.Compiled(program)
    assert compiled() == compiled() == 4
    assert [entry["hits"] for entry in compiled.entries] == [1]
    gone = weakref.ref(key)
    key = make()
    table.clear()
    table[key] = 5
    assert gone() is None
    assert compiled() == 5


def test_the_last_words_of_what_dies_are_none_of_a_capture_s(capsys: pytest.CaptureFixture[str]) -> None:
    """Objects and generators die in the middle of functions that are captured, __del__ itself among them."""
    made: list[None] = []
    gone: list[None] = []
    ended: list[object] = []

    def waits() -> Iterator[None]:
        try:
            yield
        finally:
            ended.append(signal.getsignal(signal.SIGALRM))

    class Last(list[Any]):
        def __init__(self, items: list[Any]) -> None:
            self[:] = items
            made.append(None)

        def __del__(self) -> None:
            gone.append(None)
            begun = waits()
            next(begun)

    def nest() -> None:
        x: Any = Last([])
        for _ in range(5):
            x = [Last([x])]

    capture.capture_everything(True)
    try:
        for _ in range(20):
            nest()
    finally:
        capture.capture_everything(False)
    assert len(made) == len(gone) == len(ended) == 120
    assert capsys.readouterr().err == ""


def test_objects_that_c_code_fills_are_not_made_again() -> None:
    """They come from object.__new__ as well, with fields of their own."""

    def program(box: SimpleNamespace) -> None:
        box.made = sqlite3.Connection.__new__(sqlite3.Connection)

    compiled = capture.Compiled(program)
    for _ in range(2):
        box = SimpleNamespace()
        compiled(box)
        assert type(box.made) is sqlite3.Connection


class Plain:
    def __init__(self, value: int) -> None:
        self.value = value


class Named(Plain):
    def __repr__(self) -> str:
        return f"Named {id(self)}"


SHOWN: list[Callable[[Any], object]] = [
    repr,
    str,
    hash,
    lambda it: f"{it} {it!r}",
    lambda it: "%s" % it,  # noqa: UP031
    lambda it: "{}".format(it),  # noqa: UP032
    lambda it: repr([it, {"key": it}]),
    lambda it: repr(it.__init__),
    lambda it: hash((1, it)),
    lambda it: (it.__hash__(), it.__repr__()),
]


@pytest.mark.parametrize("kind", [Plain, Named])
@pytest.mark.parametrize("show", SHOWN)
def test_the_address_of_an_argument_is_its_own(show: Callable[[Any], object], kind: type[Plain]) -> None:
    """Arguments that differ from call to call are known by their contents, and copied for the capture."""

    def program(it: Any) -> object:
        return show(it)

    compiled = capture.Compiled(program)
    for made in [kind(1) for _ in range(5)]:
        assert compiled(made) == show(made)


def test_copies_of_arguments_stay_in_the_capture() -> None:
    @functools.cache
    def remembered(it: object) -> list[object]:
        return [it]

    def program(it: Any) -> object:
        return remembered(it)

    compiled = capture.Compiled(program)
    for made in [Plain(1) for _ in range(5)]:
        assert compiled(made) == [made]
        assert compiled((made,)) == [(made,)]


def test_arguments_with_a_state_in_c_are_not_copied() -> None:
    class Local(threading.local):
        pass

    def program(local: Local) -> int:
        local.value = 3
        return int(local.value)

    compiled = capture.Compiled(program)
    for _ in range(5):
        assert compiled(Local()) == 3


def test_a_class_that_died_is_asked_nothing() -> None:
    def program(nothing: list[int]) -> Any:
        return [kind.factor for kind in table]

    table: list[Any] = []
    compiled = capture.Compiled(program)
    for factor in range(6):
        table[:] = [type("Made", (), {"factor": factor, "more": [factor] * 50})]
        assert compiled([]) == compiled([]) == [factor]
        table.clear()
        gc.collect()


def test_attributes_that_c_code_keeps_elsewhere_are_written_there() -> None:
    class Local(threading.local):
        value = 0

    def program(local: Local, value: int) -> None:
        local.value = value

    compiled = capture.Compiled(program)
    local = Local()
    for value in (1, 1, 2, 1, 2):
        compiled(local, value)
        assert (local.value, vars(local)) == (value, {"value": value})


def test_unions_of_classes() -> None:
    class Left:
        pass

    class Right:
        pass

    space: dict[str, Any] = {"either": Left | Right, "number": int | float, "object": Left()}

    def ask(value: object) -> list[bool]:
        return [isinstance(space["object"], space["either"]), isinstance(value, space["number"])]

    function = capture.Compiled(ask)
    for value in (1, 1, "text", 2.0):
        assert function(value) == ask(value)
    for either in (Left | int, Right | int, Right | None):
        address = id(space["either"])
        space["either"] = None
        space["either"] = either  # where the one before was, perhaps
        assert function(1) == ask(1), address
    assert function.breaks == []


def test_dispatch_by_abstract_classes_follows_their_registries() -> None:
    class Shape(abc.ABC):  # noqa: B024
        pass

    class Square:
        def __len__(self) -> int:
            return 4

    @functools.singledispatch
    def kind(value: object) -> str:
        return "other"

    kind.register(Shape, lambda value: "shape")

    def program() -> str:
        return kind(Square())

    compiled = capture.Compiled(program)
    assert [compiled(), compiled(), program()] == ["other"] * 3
    assert compiled.breaks == []
    assert [entry["hits"] for entry in compiled.entries] == [1]
    Shape.register(Square)
    assert [compiled(), compiled(), program()] == ["shape"] * 3
    kind.register(collections.abc.Sized, lambda value: "sized")
    assert compiled() == compiled() == program()
    kind.register(Square, lambda value: "square")
    assert [compiled(), compiled(), program()] == ["square"] * 3
