"""cases.md `threads`: many threads call and compile at once. None sees a capture half done."""

import collections
import sys
import threading
import warnings
from collections.abc import Callable, Iterator

import pytest

import stator
import torch
from torch import nn

THREADS = 32


@pytest.fixture(autouse=True)
def eager_switches() -> Iterator[None]:
    """Threads take turns as often as CPython allows."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], None], beside: Callable[[], None] | None = None) -> None:
    """Every thread begins at the same moment. `beside` is called again and again while they work."""
    errors: list[BaseException] = []
    barrier = threading.Barrier(THREADS + (beside is not None))
    done = threading.Event()

    def guarded(call: Callable[[], None]) -> None:
        try:
            barrier.wait()
            call()
        except BaseException as error:
            errors.append(error)

    def again_and_again() -> None:
        while beside is not None and not done.is_set():
            beside()

    threads = [threading.Thread(target=guarded, args=(lambda i=i: work(i),)) for i in range(THREADS)]
    watcher = threading.Thread(target=guarded, args=(again_and_again,))
    for thread in threads:
        thread.start()
    if beside is not None:
        watcher.start()
    for thread in threads:
        thread.join()
    done.set()
    if beside is not None:
        watcher.join()
    assert not errors, errors


class Busy(nn.Module):
    """Writes to itself between operators and puts everything back."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(5))
        self.table: dict[str, torch.Tensor] = {}
        self.history: list[int] = []
        self.scale: object = 2.0
        self.inside = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.inside = True
        self.scale = x.sum() * 0 + 2.0
        for i, layer in enumerate(self.layers):
            self.table["hidden"] = x
            self.history.append(i)
            x = torch.tanh(layer(x)) * self.scale
        self.history.clear()
        self.scale = 2.0
        self.inside = False
        return x


@pytest.mark.parametrize("round", range(3))
def test_nobody_sees_a_capture_half_done(round: int) -> None:
    torch.manual_seed(round)
    model, plain = Busy(), Busy()
    plain.load_state_dict(model.state_dict())
    inputs = [torch.randn(2 + i % 3, 8) for i in range(THREADS)]
    wanted = [plain(x) for x in inputs]
    compiled = stator.compile(model, backend="native")
    seen: collections.Counter[str] = collections.Counter()

    def work(i: int) -> None:
        for _ in range(4):
            assert torch.equal(compiled(inputs[i]), wanted[i])
            assert not torch.compiler.is_compiling()

    def look() -> None:
        seen["looks"] += 1
        seen["inside"] += model.inside
        seen["scale"] += type(model.scale) is not float
        seen["history"] += bool(model.history)
        seen["flag"] += torch.compiler.is_compiling()
        if (hidden := model.table.get("hidden")) is not None:
            float(hidden.detach().sum())

    at_once(work, look)
    assert seen.pop("looks") > 0
    assert not +seen
    assert sum(entry.hits for entry in stator.cache_entries(compiled)) > 4 * THREADS // 2


def test_each_thread_compiles_its_own() -> None:
    shared = nn.Linear(4, 4)
    numbers = list(range(THREADS))

    def work(i: int) -> None:
        def program(x: torch.Tensor, n: int) -> tuple[torch.Tensor, list[int]]:
            numbers[i] += 1
            return torch.relu(shared(x)) * n, [numbers[i], n]

        compiled = stator.compile(program, backend="native")
        for step in range(1, 6):
            x = torch.full((2 + step, 4), float(i))
            out, kept = compiled(x, i)
            assert torch.equal(out, torch.relu(shared(x)) * i)
            assert kept == [i + step, i]

    at_once(work)
    assert numbers == [i + 5 for i in range(THREADS)]


def test_settings_are_each_threads_own() -> None:
    layer = nn.Linear(4, 4)
    compiled = stator.compile(lambda x: layer(x) * 2, backend="native")
    x = torch.randn(3, 4)
    wanted = layer(x) * 2

    def work(i: int) -> None:
        for _ in range(5):
            with torch.set_grad_enabled(i % 2 == 0), torch.autocast("cpu", enabled=i % 3 == 0):
                out = compiled(x)
                assert torch.is_grad_enabled() == (i % 2 == 0)
                assert torch.is_autocast_enabled("cpu") == (i % 3 == 0)
            assert out.requires_grad == (i % 2 == 0)
            assert out.dtype == (torch.bfloat16 if i % 3 == 0 else torch.float32)
            if i % 3:
                assert torch.equal(out, wanted)

    at_once(work)


def test_breaks_and_resets_meanwhile() -> None:
    layer = nn.Linear(4, 4)

    def inner(x: torch.Tensor) -> torch.Tensor:
        return layer(x).relu()

    def program(x: torch.Tensor) -> torch.Tensor:
        y = inner(x)
        return y * 2 if y.sum() > 0 else inner(y) - 1

    compiled = stator.compile(program, backend="native")
    inputs = [torch.randn(2 + i % 4, 4) for i in range(THREADS)]

    def work(i: int) -> None:
        wanted = program(inputs[i])
        for step in range(4):
            assert torch.equal(compiled(inputs[i]), wanted)
            if i == 0 and step == 1:
                stator.reset()

    at_once(work)


def test_gradients() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    compiled = stator.compile(model, backend="native")
    inputs = [torch.randn(3, 4) for _ in range(THREADS)]

    def gradient(run: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        x = x.clone().requires_grad_()
        (found,) = torch.autograd.grad(run(x).sum(), x)
        return found

    def work(i: int) -> None:
        wanted = gradient(model, inputs[i])
        for _ in range(3):
            assert torch.equal(gradient(compiled, inputs[i]), wanted)

    at_once(work)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_backends_compile_in_threads(backend: str) -> None:
    """What traces a graph in torch keeps its state in the process: compilations must not overlap."""
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 4))
    compiled = stator.compile(model, backend=backend)
    x = torch.randn(3, 4)
    expected = model(x)

    def work(_: int) -> None:
        for _ in range(3):
            result = compiled(x)
            torch.testing.assert_close(result, expected)
            torch.autograd.grad(result.sum(), list(model.parameters()))

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a thread that finds another one at work waits with its capture
        at_once(work)
    entries = stator.cache_entries(compiled)
    # A thread that came while another one captured ran the model, and may have captured what that calls.
    of_model = [entry for entry in entries if entry.begins and entry.begins[2] == "_wrapped_call_impl"]
    assert len([entry for entry in of_model if len(entry.node_stacks) > 1]) == 1
    assert sum(entry.hits for entry in entries) > 0
