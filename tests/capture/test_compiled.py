"""Captures of Python without tensors: reads are guarded, writes are never repeated wrongly."""

import builtins
import gc
import importlib
import inspect
import operator
import pickle
import signal
import sqlite3
import sys
import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

capture = importlib.import_module("stator._capture")

LIMIT = 5
SETTINGS: dict[str, Any] = {"a": 1, "items": [1, 2, 3]}


class Box:
    scale = 2

    def __init__(self, value: int) -> None:
        self.value = value

    @property
    def twice(self) -> int:
        return self.value * self.scale

    def add(self, n: int, *, k: int = 1) -> int:
        return self.twice + n + k

    def __getattr__(self, name: str) -> int:
        if name == "lazy":
            return self.value + 100
        raise AttributeError(name)


BOX = Box(3)


def program(n: int, flag: bool = True) -> dict[str, Any]:
    total = LIMIT
    for i in range(n):
        total += i
    for item in SETTINGS["items"]:
        total += item
    pairs = dict(zip("ab", [1, 2], strict=True))
    total += pairs.get("a", 0) + BOX.add(n, k=3) + BOX.lazy
    try:
        [][1]
    except IndexError as error:
        total += len(str(error))
    return {"total": total, "flag": flag, "box": Box(total)}


@pytest.fixture
def restored() -> Iterator[None]:
    saved = dict(Box.__dict__)
    value, items, limit = dict(vars(BOX)), list(SETTINGS["items"]), LIMIT
    yield
    globals()["LIMIT"] = limit
    SETTINGS.clear()
    SETTINGS.update(a=1, items=items)
    vars(BOX).clear()
    vars(BOX).update(value)
    for name in ("scale", "add", "twice", "__init__"):
        setattr(Box, name, saved[name])


def same(compiled: Callable[..., Any], *arguments: Any) -> bool:
    got, wanted = compiled(*arguments), program(*arguments)
    return bool(got["total"] == wanted["total"] == got["box"].value and type(got["box"]) is Box)


def test_a_capture_serves_later_calls() -> None:
    compiled = capture.Compiled(program)
    assert same(compiled, 4)
    assert same(compiled, 4)
    assert compiled.breaks == []
    assert [entry["hits"] for entry in compiled.entries] == [1]
    assert same(compiled, 5)
    assert len(compiled.entries) == 2
    assert compiled(4)["box"] is not compiled(4)["box"]


CHANGES: dict[str, Callable[[], None]] = {
    "global": lambda: globals().update(LIMIT=6),
    "list item": lambda: SETTINGS["items"].append(9),
    "another list": lambda: SETTINGS.update(items=[7]),
    "attribute": lambda: setattr(BOX, "value", 7),
    "class attribute": lambda: setattr(Box, "scale", 5),
    "method": lambda: setattr(Box, "add", lambda self, n, *, k=1: 0),
    "property": lambda: setattr(Box, "twice", property(lambda self: 11)),
    "attribute that was absent": lambda: vars(BOX).update(lazy=5),
    "builtin shadowed by a global": lambda: globals().update(len=lambda _: 1000),
    "constructor": lambda: setattr(Box, "__init__", lambda self, value: vars(self).update(value=value)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen(change: str, restored: None) -> None:
    compiled = capture.Compiled(program)
    assert same(compiled, 4)
    assert same(compiled, 4)
    try:
        CHANGES[change]()
        assert same(compiled, 4)
        assert compiled.misses.__len__() == 1
    finally:
        globals().pop("len", None)


def test_code_and_defaults_are_guarded() -> None:
    space = SimpleNamespace()
    exec("def inner(n, k=1): return n + k\ndef outer(n): return inner(n)", space.__dict__)
    compiled = capture.Compiled(space.outer)
    assert (compiled(1), compiled(1)) == (2, 2)
    space.inner.__defaults__ = (10,)
    assert compiled(1) == 11
    space.inner.__code__ = (lambda n, k=1: n * k).__code__
    assert compiled(1) == 10


def test_exceptions_are_the_programs_own() -> None:
    def divide(n: int) -> int:
        return 1 // n

    compiled = capture.Compiled(divide)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError) as caught:
            compiled(0)
        assert [entry.name for entry in caught.traceback][-1] == "divide"


def test_generators_of_the_run() -> None:
    def squares() -> list[int]:
        def each() -> Iterator[int]:
            for i in range(4):
                yield i * i

        return [*each(), sum(value for value in each())]

    compiled = capture.Compiled(squares)
    assert compiled() == compiled() == [0, 1, 4, 9, 14]
    assert compiled.breaks == []
    assert compiled() is not compiled()


def test_too_many_captures_end_in_one_warning() -> None:
    compiled = capture.Compiled(lambda n: n + "!", limit=3)
    for n in "abc":
        assert compiled(n) == n + "!"
    with pytest.warns(RuntimeWarning, match=r"3 captures of one function.*L\[.n.\] == 'c'"):
        assert compiled("d") == "d!"
    assert compiled("e") == "e!"


def test_a_whole_capture_or_an_error() -> None:
    compiled = capture.Compiled(lambda: print("x"), fullgraph=True)
    with pytest.raises(RuntimeError, match="unknown-function: print"):
        compiled()


def test_argument_containers_are_compared_by_structure() -> None:
    compiled = capture.Compiled(lambda items, named: sum(items) + named["k"])
    assert compiled([1, 2], {"k": 3}) == 6
    assert compiled([1, 2], {"k": 3}) == 6
    assert compiled.entries[0]["hits"] == 1
    assert compiled([1, 5], {"k": 3}) == 9
    assert compiled([1, 2], {"k": 4}) == 7


def test_what_is_set_and_reset_is_no_effect() -> None:
    class Flag:
        on = False

    flag = Flag()

    def inner(n: int) -> int:
        return n + 1 if flag.on else n

    def outer(n: int) -> int:
        before = flag.on
        flag.on = True
        try:
            return inner(n)
        finally:
            flag.on = before

    flag.on = False
    compiled = capture.Compiled(outer)
    assert [compiled(1), compiled(1)] == [2, 2]
    assert flag.on is False
    assert compiled.breaks == []
    assert compiled.entries[0]["hits"] == 1
    flag.on = True
    assert compiled(1) == 2
    assert flag.on is True


def test_a_counter_counts() -> None:
    class Counter:
        def __init__(self) -> None:
            self.n = 0

    counter = Counter()

    def count(by: int) -> int:
        counter.n += by
        return counter.n

    compiled = capture.Compiled(count)
    assert [compiled(2), compiled(2), compiled(3)] == [2, 4, 7]
    assert counter.n == 7
    assert compiled.breaks == []


def test_a_signal_reaches_its_handler_once_and_ends_a_capture() -> None:
    seen: list[int] = []

    def program(n: int) -> int:
        total = 0
        while not seen and total < n:
            total += 1
        return min(total, 1)

    before = signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        assert capture.Compiled(program)(1 << 40) in (0, 1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen == [signal.SIGALRM]


def test_a_replaced_import_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def program() -> Any:
        import math

        return math

    compiled = capture.Compiled(program)
    plain = program()
    assert compiled() is plain
    assert compiled() is plain
    assert compiled.breaks == []
    assert [entry["hits"] for entry in compiled.entries] == [1]
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "__import__", lambda *arguments: 5)
        assert compiled() == 5
    assert compiled() is plain


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
