"""The named cases of behaviour: errors, effects, stale captures, random streams, threads, memory, tools."""

import cProfile
import gc
import random
import resource
import sys
import threading
import traceback
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar

import numpy
import pytest

import stator
import torch

BACKENDS = ["native", "eager"]


class OwnError(Exception):
    pass


def raises_own(x: torch.Tensor) -> torch.Tensor:
    if x.shape[0] > 2:
        raise OwnError("too many")
    return x


def raises_in_kernel(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros(2)[x.long() + 5]


def raises_shape(x: torch.Tensor) -> torch.Tensor:
    return x @ torch.ones(7, 7)


def raises_key(x: torch.Tensor) -> torch.Tensor:
    return x + {"a": 1}["b"]


def raises_chained(x: torch.Tensor) -> torch.Tensor:
    try:
        return raises_key(x)
    except KeyError as error:
        raise OwnError("wrapped") from error


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "program",
    [raises_own, raises_in_kernel, raises_shape, raises_key, raises_chained],
    ids=lambda f: f.__name__,
)
def test_exception_type(program: Callable[..., Any], backend: str) -> None:
    def rows(function: Callable[..., Any], wrapped: bool) -> Any:
        def guarded(x: torch.Tensor) -> Any:
            try:
                return function(x)
            except (OwnError, IndexError, RuntimeError, KeyError) as error:
                return "caught", type(error), str(error)

        try:
            (stator.compile(guarded, backend=backend) if wrapped else guarded)(torch.ones(4))
            function(torch.ones(4))
        except Exception as error:
            mine = [row for row in traceback.extract_tb(error.__traceback__) if row.name == program.__name__]
            return type(error), str(error), type(error.__cause__), [(row.lineno, row.line) for row in mine]
        return None

    compiled = stator.compile(program, backend=backend)
    expected = rows(program, wrapped=False)
    assert expected is not None
    for _ in range(3):
        assert rows(compiled, wrapped=True) == expected


COUNT = 0


class Registry:
    entries: ClassVar[list[int]] = []
    table: ClassVar[dict[str, int]] = {}
    calls = 0


def effects(
    x: torch.Tensor, log: list[str], seen: set[int], recent: "deque[int]", holder: Any
) -> torch.Tensor:
    global COUNT
    COUNT += 1
    Registry.entries.append(COUNT)
    Registry.calls += 1
    Registry.table[f"k{COUNT % 3}"] = COUNT
    log.append(f"call {COUNT}")
    log.insert(0, "first")
    seen.add(COUNT)
    recent.append(COUNT)
    holder.value = x * 2
    holder.count = COUNT
    log[-1] += "!"
    if len(log) > 6:
        del log[1:3]
    return x + COUNT


class Holder:
    value: Any = None
    count = 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_lost_effects(backend: str) -> None:
    def state(function: Callable[..., Any], calls: int) -> Any:
        global COUNT
        COUNT = 0
        Registry.entries, Registry.table, Registry.calls = [], {}, 0
        log: list[str] = []
        seen: set[int] = set()
        recent: deque[int] = deque(maxlen=4)
        holder = Holder()
        given = [function(torch.ones(2), log, seen, recent, holder).tolist() for _ in range(calls)]
        assert torch.equal(holder.value, torch.full((2,), 2.0))
        registry = (Registry.entries, Registry.table, Registry.calls)
        return given, log, seen, list(recent), holder.count, COUNT, registry

    compiled = stator.compile(effects, backend=backend)
    assert state(compiled, 8) == state(effects, 8)


@pytest.mark.parametrize("backend", BACKENDS)
def test_lost_effects_before_an_exception(backend: str) -> None:
    log: list[str] = []

    def program(x: torch.Tensor) -> torch.Tensor:
        log.append("before")
        if x.shape[0] > 1:
            raise OwnError
        return x

    compiled = stator.compile(program, backend=backend)
    for i in range(3):
        with pytest.raises(OwnError):
            compiled(torch.ones(2))
        assert len(log) == i + 1


FLAG = 1.0


class Scaled(torch.nn.Module):
    factor = 2.0

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.enabled = True

    def helper(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1

    def forward(self, x: torch.Tensor, shift: float = 0.5) -> torch.Tensor:
        x = self.linear(x.to(self.linear.weight.dtype)) * self.factor * FLAG + shift
        return self.helper(x) if self.enabled else x


def other_forward(self: Any, x: torch.Tensor, shift: float = 0.25) -> torch.Tensor:
    return self.linear(x.to(self.linear.weight.dtype)) - shift


STALE: dict[str, Callable[[Scaled, pytest.MonkeyPatch], object]] = {
    "a class attribute": lambda m, patch: patch.setattr(Scaled, "factor", 3.0),
    "an instance attribute over it": lambda m, patch: setattr(m, "factor", 4.0),
    "code": lambda m, patch: patch.setattr(Scaled.forward, "__code__", other_forward.__code__),
    "a default": lambda m, patch: patch.setattr(Scaled.forward, "__defaults__", (0.75,)),
    "a global": lambda m, patch: patch.setitem(globals(), "FLAG", 2.0),
    "a flag": lambda m, patch: setattr(m, "enabled", False),
    "a method": lambda m, patch: patch.setattr(Scaled, "helper", lambda self, x: x - 1),
    "a method of the instance": lambda m, patch: setattr(m, "helper", lambda x: x * 3),
    "half": lambda m, patch: m.half(),
    "double": lambda m, patch: m.double(),
    "a parameter": lambda m, patch: setattr(m.linear, "weight", torch.nn.Parameter(torch.ones(3, 3))),
    "a parameter's data": lambda m, patch: setattr(m.linear.weight, "data", torch.ones(3, 3)),
    "a submodule": lambda m, patch: setattr(m, "linear", torch.nn.Linear(3, 3, bias=False)),
    "a hook": lambda m, patch: m.linear.register_forward_hook(lambda module, args, out: out * 5),
    "torch's function": lambda m, patch: patch.setattr(torch.nn.functional, "linear", lambda x, w, b: x * 9),
    "the class": lambda m, patch: setattr(m.linear, "__class__", torch.nn.Identity),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("change", STALE)
def test_stale_guard(change: str, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Scaled().eval()
    compiled = stator.compile(model, backend=backend)
    x = torch.randn(2, 3)
    with torch.no_grad():
        for _ in range(2):
            assert torch.equal(compiled(x), model(x))
        STALE[change](model, monkeypatch)
        for _ in range(2):
            assert torch.equal(compiled(x), model(x))


@pytest.mark.parametrize("backend", BACKENDS)
def test_rng(backend: str) -> None:
    def program(x: torch.Tensor, generator: torch.Generator) -> Any:
        noise = torch.randn(3) + torch.rand_like(x) + torch.bernoulli(torch.full((3,), 0.5))
        dropped = torch.nn.functional.dropout(x, 0.5) + torch.randint(0, 9, (3,))
        own = torch.randn(3, generator=generator) + torch.randperm(3)
        return noise, dropped, own, random.random(), float(numpy.random.rand())

    def stream(function: Callable[..., Any]) -> Any:
        random.seed(3)
        numpy.random.seed(3)
        torch.manual_seed(3)
        generator = torch.Generator().manual_seed(4)
        given = [function(torch.ones(3), generator) for _ in range(5)]
        return given, torch.randn(2), random.random(), float(numpy.random.rand())

    compiled = stator.compile(program, backend=backend)
    expected = stream(program)
    for _ in range(2):
        torch.testing.assert_close(stream(compiled), expected, rtol=0, atol=0)


def test_threads() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).eval()
    shared = stator.compile(model, backend="native")
    wrong: list[str] = []
    start = threading.Barrier(32)

    def work(number: int) -> None:
        mine = stator.compile(lambda x: model(x) + number, backend="native")
        start.wait()
        for size in range(1, 6):
            x = torch.randn(size, 8)
            with torch.set_grad_enabled(number % 2 == 0):
                for _ in range(3):
                    if not torch.equal(shared(x), model(x)):
                        wrong.append(f"shared {number} {size}")
                    out = mine(x)
                    if not torch.equal(out, model(x) + number) or out.requires_grad != (number % 2 == 0):
                        wrong.append(f"own {number} {size}")
            if torch.is_grad_enabled() is not True:
                wrong.append(f"grad mode {number}")

    threads = [threading.Thread(target=work, args=(i,)) for i in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def test_leak() -> None:
    def program(x: torch.Tensor, log: list[int]) -> dict[str, torch.Tensor]:
        log.append(1)
        log.clear()
        return {"out": x * 2 + 1}

    compiled = stator.compile(program, backend="native")
    x, log = torch.ones(4), []  # type: ignore[var-annotated]
    for _ in range(20_000):
        compiled(x, log)
    gc.collect()
    grown = []
    for _ in range(3):  # the system takes pages and gives them back; a leak is there each time
        blocks, size = sys.getallocatedblocks(), resident()
        for _ in range(100_000):
            compiled(x, log)
        gc.collect()
        assert sys.getallocatedblocks() - blocks < 100
        grown.append(resident() - size)
        if grown[-1] < 2 << 20:
            return
    raise AssertionError(f"memory grew by {grown}")


@pytest.mark.parametrize("backend", BACKENDS)
def test_leak_of_tensors(backend: str) -> None:
    """What a call made dies when the caller lets go of it, arguments and models too."""
    model = torch.nn.Linear(4, 4)
    compiled = stator.compile(model, backend=backend)
    for _ in range(3):
        x = torch.randn(2, 4)
        out = compiled(x)
        gone = [weakref.ref(x), weakref.ref(out)]
        del x, out
        assert [each() for each in gone] == [None, None]
    alive = weakref.ref(model)
    del model, compiled
    gc.collect()
    assert alive() is None


def observed(x: torch.Tensor) -> torch.Tensor:
    x = observed_inner(x)
    return x + 1


def observed_inner(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def test_dev_tools() -> None:
    compiled = stator.compile(observed, backend="native")
    x = torch.ones(2)
    for _ in range(2):
        compiled(x)

    lines: list[tuple[str, str]] = []

    def trace(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code.co_filename == __file__:
            lines.append((frame.f_code.co_name, event))
        return trace

    def events(function: Callable[..., Any], switch: Callable[[Any], None]) -> list[tuple[str, str]]:
        lines.clear()
        switch(trace)
        try:
            function(x)
        finally:
            switch(None)
        return [each for each in lines if each[0].startswith("observed")]

    before = sys.gettrace()
    for switch in (sys.settrace, sys.setprofile):
        expected = events(observed, switch)
        assert events(compiled, switch) == expected
        assert expected
    sys.settrace(before)

    profile = cProfile.Profile()
    profile.enable()
    compiled(x)
    profile.disable()
    names = {entry.code.co_name for entry in profile.getstats() if not isinstance(entry.code, str)}
    assert {"observed", "observed_inner"} <= names
    assert torch.equal(compiled(x), observed(x))


def deep(x: torch.Tensor, levels: int) -> torch.Tensor:
    return x if levels == 0 else deep(x + 1, levels - 1)


@pytest.mark.parametrize("backend", BACKENDS)
def test_recursion(backend: str) -> None:
    compiled = stator.compile(deep, backend=backend)
    x = torch.zeros(1)
    for _ in range(2):
        assert compiled(x, 50).item() == 50
        with pytest.raises(RecursionError):
            compiled(x, 10**6)


def test_checkpoint_keys() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))
    compiled = stator.compile(model, backend="native")
    compiled(torch.randn(4, 3))
    assert list(compiled.state_dict()) == list(model.state_dict())
    assert [name for name, _ in compiled.named_parameters()] == [name for name, _ in model.named_parameters()]
    saved = {name: value.clone() for name, value in compiled.state_dict().items()}
    plain = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))
    plain.load_state_dict(saved)
    again = stator.compile(
        torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3)), backend="native"
    )
    again.load_state_dict(plain.state_dict())
    x = torch.randn(4, 3)
    again.eval(), model.eval()
    assert torch.equal(again(x), model(x))
