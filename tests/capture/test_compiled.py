"""Captures of Python without tensors: reads are guarded, writes are never repeated wrongly."""

import builtins
import importlib
import os
import signal
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
    compiled = capture.Compiled(lambda: os.getloadavg(), fullgraph=True)
    with pytest.raises(RuntimeError, match=r"unknown-function: posix\.getloadavg"):
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
