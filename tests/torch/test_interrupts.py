"""KeyboardInterrupt anywhere in functions with breaks: it is raised in the program, which stays whole."""

from __future__ import annotations

import ctypes
import gc
import itertools
import logging
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import stator
import torch
from torch import Tensor

break_here = stator.disable(lambda: None)


class World:
    """What the program writes to."""

    def __init__(self) -> None:
        self.begun = 0
        self.written = torch.zeros(4)
        self.kept: dict[int, Tensor] = {}
        self.entered: list[str] = []

    def __enter__(self) -> None:
        self.entered.append("in")

    def __exit__(self, *error: object) -> None:
        self.entered.append("out")

    def is_whole(self) -> bool:
        """As it may stand between two lines of the program."""
        numbers = set(self.written.tolist())
        left, come = self.entered.count("out"), self.entered.count("in")
        return (
            len(numbers) == 1
            and numbers <= {self.begun - 1, self.begun}
            and come - 1 <= left <= come <= self.begun
            and len(self.kept) <= left
        )


def parts(y: Tensor) -> Iterator[Tensor]:
    for i in range(3):
        y = y + i
        break_here()
        yield y


def callee(y: Tensor, i: int) -> Tensor:
    y = y * 2
    break_here()
    try:
        y = y + i
        break_here()
        return y - 1
    finally:
        break_here()


def program(x: Tensor, world: World) -> Tensor:
    y = x
    for i in range(4):
        world.begun += 1
        world.written.add_(1)
        with world:
            y = y + 1
            break_here()
            y = callee(y, i)
        world.kept[i] = y
        if y.sum() > 100:
            y = y * 2
        for v in parts(y):
            y = y + v
    return y


class Interrupter:
    """Raises an error after some time; counts how often it did."""

    def __init__(self) -> None:
        self.raised = 0
        self.dropped = 0  # by CPython, in a finalizer or callback of others
        self.kind: type[BaseException] = KeyboardInterrupt

    def __call__(self, *_: Any) -> None:
        self.raised += 1
        raise self.kind(self.raised)

    def call(self, function: Any, after: float, *arguments: Any) -> Any:
        """The result; None: it was interrupted, by nothing but what was raised meanwhile, once."""
        result, before = None, self.raised - self.dropped
        arrived: BaseException | None = None
        try:
            try:
                signal.setitimer(signal.ITIMER_REAL, after)
                result = function(*arguments)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except self.kind as error:
            arrived = error
        assert self.raised - self.dropped == before + (arrived is not None)
        assert arrived is None or arrived.args == (self.raised,)
        return result if arrived is None else None

    def note_dropped(self, unraisable: Any) -> None:
        """What CPython prints and goes on: that is Stator's fault where the code is Stator's."""
        module = getattr(unraisable.object, "__module__", None) or "stator"
        if isinstance(unraisable.exc_value, self.kind) and not module.startswith("stator"):
            self.dropped += 1
        else:
            sys.__unraisablehook__(unraisable)


@pytest.fixture
def interrupter() -> Iterator[Interrupter]:
    found = Interrupter()
    before, hook = signal.signal(signal.SIGALRM, found), sys.unraisablehook
    sys.unraisablehook = found.note_dropped
    yield found
    signal.signal(signal.SIGALRM, before)
    sys.unraisablehook = hook


def test_the_program_stays_whole(interrupter: Interrupter) -> None:
    choose = random.Random(1)
    x = torch.ones(4)
    expected = program(x, World())
    compiled = stator.compile(program, backend="native")
    for number in range(400):
        if number % 10 == 0:
            stator.reset()
        world = World()
        longest = 2e-2 if number % 10 == 0 else 1e-3
        result = interrupter.call(compiled, choose.uniform(1e-6, longest), x, world)
        assert world.is_whole()
        assert result is None or torch.equal(result, expected)
        if number % 20 == 0:
            assert torch.equal(compiled(x, World()), expected)
    assert interrupter.raised > 50


@pytest.fixture
def without_strangers() -> Iterator[None]:
    """Without Python code that nobody calls and that swallows interrupts, or does not bear them.

    Up to 3.12 logging takes locks in Python code: an interrupt behind that leaves them taken for good.
    CPython drops what is raised in callbacks of the collector (hypothesis has one) and of weak references
    (TorchDynamo, once it was used, has one of each module, so of each graph).
    """
    logging.disable()
    stator.compile(program, backend="eager")(torch.ones(4), World())  # each logger knows it then
    gc.collect()
    callbacks = list(gc.callbacks)
    gc.callbacks.clear()
    tracker = getattr(sys.modules.get("torch._dynamo.mutation_guard"), "GenerationTracker", None)
    with pytest.MonkeyPatch.context() as patch:
        if tracker is not None:
            patch.setattr(tracker, "tag", lambda module: None)
        yield
    gc.callbacks[:] = callbacks
    logging.disable(logging.NOTSET)


FORMS: dict[str, Callable[[Any], Any]] = {
    "native": lambda function: stator.compile(function, backend="native"),
    "eager": lambda function: stator.compile(function, backend="eager"),
    "interpreted": stator.interpret,
}


@pytest.mark.usefixtures("without_strangers")
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("form", list(FORMS))
def test_each_one_arrives_once(interrupter: Interrupter, form: str, kind: type[BaseException]) -> None:
    """Wherever it was raised: in the program, in the engine's Python code, in a backend."""
    choose = random.Random(form)
    x = torch.ones(4)
    expected = program(x, World())
    interrupter.kind = kind
    run = FORMS[form](program)
    run(x, World())
    stator.reset()
    start = time.perf_counter()
    run(x, World())
    to_capture = time.perf_counter() - start
    for number in range(300):
        world = World()
        if number % 2 == 0:
            stator.reset()
        after = choose.uniform(1e-6, to_capture if number % 2 == 0 else to_capture / 20)
        result = interrupter.call(run, after, x, world)
        # Between two operators of a Python backend's function, some of a segment's writes have happened.
        assert form == "eager" or world.is_whole()
        assert result is None or torch.equal(result, expected)
    assert interrupter.raised > 100 > 20 * interrupter.dropped
    for _ in range(3):
        assert torch.equal(run(x, World()), expected)


class Worker(threading.Thread):
    """Runs the program until it is told to stop; counts what interrupts it."""

    def __init__(self, run: Any) -> None:
        super().__init__()
        self.run_program = run
        self.done = False
        self.rounds = self.caught = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        x = torch.ones(4)
        expected = program(x, World())
        try:
            while not self.done:
                try:
                    while not self.done:
                        self.rounds += 1
                        if self.rounds % 2 == 0:
                            stator.reset()
                        assert torch.equal(self.run_program(x, World()), expected)
                except KeyboardInterrupt:
                    self.caught += 1
        except BaseException as error:
            self.error = error

    def wait(self, name: str, number: int) -> None:
        end = time.monotonic() + 60
        while getattr(self, name) < number:
            assert self.is_alive(), self.error
            assert time.monotonic() < end, f"{name} stays {getattr(self, name)}"
            time.sleep(1e-4)


@pytest.mark.usefixtures("without_strangers")
@pytest.mark.parametrize("form", list(FORMS))
def test_what_another_thread_raises_arrives_once(form: str) -> None:
    choose = random.Random(form)
    worker = Worker(FORMS[form](program))
    worker.start()
    try:
        for number in range(60):
            worker.wait("rounds", worker.rounds + 2)
            time.sleep(choose.uniform(0, 1e-2))
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(worker.ident or 0), ctypes.py_object(KeyboardInterrupt)
            )
            worker.wait("caught", number + 1)
        worker.wait("rounds", worker.rounds + 3)
    finally:
        worker.done = True
        worker.join()
    assert worker.error is None
    assert worker.caught == 60


def test_what_arrives_while_a_segment_is_compiled_is_raised(interrupter: Interrupter) -> None:
    x = torch.ones(4)
    expected = program(x, World())
    for stop_at in range(8):
        compilations = itertools.count()

        def compiles(module: Any, _: Any, numbers: Iterator[int] = compilations, at: int = stop_at) -> Any:
            if next(numbers) == at:
                signal.raise_signal(signal.SIGALRM)
            return module.forward

        compiled = stator.compile(program, backend=compiles)
        with pytest.raises(KeyboardInterrupt):
            compiled(x, World())
        assert interrupter.raised == stop_at + 1
        for _ in range(2):
            assert torch.equal(compiled(x, World()), expected)
        assert next(compilations) > 8


def test_what_arrives_while_a_segment_runs_is_raised(interrupter: Interrupter) -> None:
    """In a backend's function, which has written nothing yet: no warning tells of it as of a fault."""
    runs = itertools.count()

    def compiles(module: Any, _: Any) -> Any:
        def run(*inputs: Any) -> Any:
            if next(runs) == 20:
                signal.raise_signal(signal.SIGALRM)
            return module.forward(*inputs)

        return run

    def pure(x: Tensor) -> Tensor:
        for _ in range(4):
            x = callee(x + 1, 2)
        return x

    x = torch.ones(4)
    compiled = stator.compile(pure, backend=compiles)
    results = [interrupter.call(compiled, 100, x) for _ in range(8)]
    assert interrupter.raised == sum(result is None for result in results) == 1
    assert torch.equal(compiled(x), pure(x))


def test_a_signal_whose_handler_returns_ends_no_capture_for_good(interrupter: Interrupter) -> None:
    """What is captured when it arrives runs natively, and is captured the next time; also as a whole."""
    seen = []
    signal.signal(signal.SIGALRM, lambda *_: seen.append(1))

    def asked(x: Tensor) -> Tensor:
        for i in range(200):
            x = x + i
        return x

    compiled = stator.compile(asked, backend="native", fullgraph=True)
    x = torch.ones(3)
    compiled(x)
    for number in range(60):
        stator.reset()
        signal.setitimer(signal.ITIMER_REAL, 1e-4 * (1 + number % 20))
        assert torch.equal(compiled(x), asked(x))
        while len(seen) <= number:
            time.sleep(1e-4)
        assert torch.equal(compiled(x), asked(x))
        assert len(stator.cache_entries(compiled)) == 1


def test_what_the_program_raises_itself_is_raised_once(interrupter: Interrupter) -> None:
    """No interrupt: a capture is taken back, and the program raises it, or catches it."""
    caught = []

    def leaves(x: Tensor, kind: type[BaseException]) -> Tensor:
        y = x + 1
        try:
            caught.append("tried")
            raise kind("own")
        except SystemExit:
            caught.append("caught")
        return y * 2

    compiled = stator.compile(leaves, backend="native")
    x = torch.ones(3)
    for _ in range(3):
        assert torch.equal(compiled(x, SystemExit), (x + 1) * 2)
        with pytest.raises(KeyboardInterrupt, match="own"):
            compiled(x, KeyboardInterrupt)
    assert caught == ["tried", "caught", "tried"] * 3
    time.sleep(0.01)


class Interrupts(logging.Handler):
    """What tells of a capture is interrupted."""

    def emit(self, _: logging.LogRecord) -> None:
        signal.raise_signal(signal.SIGALRM)


def test_what_arrives_in_a_log_record_is_raised(interrupter: Interrupter) -> None:
    log, handler = logging.getLogger("stator"), Interrupts()

    def callee_of(x: Tensor, n: int) -> Tensor:
        return x * n

    def outer(x: Tensor, n: int) -> Tensor:
        x = x + 1
        break_here()
        return callee_of(x, n) * 2

    compiled = stator.compile(outer, backend="native", dynamic=False)
    level = log.level
    log.setLevel(logging.INFO)
    try:
        compiled(torch.ones(3), 2)
        log.addHandler(handler)
        with pytest.raises(KeyboardInterrupt):
            compiled(torch.ones(3), 3)
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
    assert interrupter.raised > 0
    assert torch.equal(compiled(torch.ones(3), 3), outer(torch.ones(3), 3))
