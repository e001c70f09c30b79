"""`stator.interpret` and `stator.statistics` as a user meets them."""

import dataclasses
import inspect
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import stator

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _fresh_counts() -> Iterator[None]:
    stator.reset_statistics()
    yield
    stator.reset_statistics()


def _square(number: int, *, plus: int = 0) -> int:
    """A square."""
    return number * number + plus


def test_the_result_is_the_function_s_own() -> None:
    assert stator.interpret(_square)(7, plus=1) == 50


def test_it_looks_like_the_function() -> None:
    interpreted = stator.interpret(_square)
    assert interpreted.__wrapped__ is _square
    assert (interpreted.__name__, interpreted.__qualname__) == ("_square", "_square")
    assert (interpreted.__doc__, interpreted.__module__) == ("A square.", __name__)
    assert inspect.signature(interpreted) == inspect.signature(_square)


def test_it_binds_as_a_method() -> None:
    class Counter:
        def __init__(self) -> None:
            self.count = 0

        @stator.interpret
        def add(self, number: int) -> int:
            self.count += number
            return self.count

    counter = Counter()
    assert (counter.add(2), counter.add(3), Counter.add(counter, 4)) == (2, 5, 9)


def test_exceptions_and_their_tracebacks_are_the_function_s_own() -> None:
    def outer(number: int) -> float:
        return inner(number)

    def inner(number: int) -> float:
        return 1 / number

    with pytest.raises(ZeroDivisionError) as caught:
        stator.interpret(outer)(0)
    assert [entry.name for entry in caught.traceback][1:] == ["outer", "inner"]


def test_what_is_not_callable_is_refused() -> None:
    with pytest.raises(TypeError, match="callable"):
        stator.interpret(7)  # type: ignore[arg-type]


def test_frames_are_counted() -> None:
    def outer() -> int:
        return sum(map(_square, range(10)))

    assert stator.interpret(outer)() == 285
    counted = stator.statistics()
    assert counted.frames == counted.finished == 11
    assert counted.handed_over == 0
    assert dict(counted.handover_reasons) == {}


def test_nothing_is_counted_outside() -> None:
    _square(3)
    assert stator.statistics().frames == 0


def test_statistics_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        stator.statistics().frames = 3  # type: ignore[misc]


def test_interpret_everything_covers_every_thread() -> None:
    def work() -> None:
        for number in range(100):
            _square(number)

    stator.interpret_everything(True)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        stator.interpret_everything(False)
    assert stator.statistics().finished >= 101
    before = stator.statistics().frames
    work()
    assert stator.statistics().frames == before


def test_the_types_of_the_extension_are_true() -> None:
    """_capture.pyi against the module itself."""
    command = [sys.executable, "-m", "mypy.stubtest", "stator._capture"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
