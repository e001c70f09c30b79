"""Output, clocks and random numbers are nodes under `native`: called in each run, in their places."""

from __future__ import annotations

import contextlib
import gc
import io
import random
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stator
import torch

Program = Callable[[torch.Tensor], Any]


def constants(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    print("a", 1, 2.5, None, True, [1, "b"], {"k": (1,)}, sep="|", end="!\n", flush=True)
    return y * 2


def tensors(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    print(y, [y.sum()], {"y": y.mean()}, x.shape, y.dtype)
    return y * 2


def values_of_their_place(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    print("before", y)
    y.mul_(3)
    print("after", y)
    return y


def numbers(x: torch.Tensor) -> torch.Tensor:
    mean = x.mean().item()
    print("mean", mean, mean * 2)
    return x * mean


def on_errors(x: torch.Tensor) -> torch.Tensor:
    print("to errors", file=sys.stderr)
    print("to output", file=sys.stdout)
    return x + 1


def written(x: torch.Tensor) -> Any:
    y = x + 1
    count = sys.stdout.write("some text\n")
    sys.stdout.flush()
    sys.stderr.write("an error\n")
    write = sys.stdout.write
    write("more\n")
    return y * count


PRINTING: list[Program] = [constants, tensors, values_of_their_place, numbers, on_errors, written]


def outcome(function: Program, x: torch.Tensor) -> tuple[Any, str, str]:
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        result = function(x)
    return result, output.getvalue(), errors.getvalue()


@pytest.mark.parametrize("program", PRINTING, ids=lambda program: program.__name__)
def test_prints_in_one_graph(program: Program) -> None:
    compiled = stator.compile(program, backend="native", fullgraph=True)
    for call in range(4):
        x = torch.arange(6.0).reshape(2, 3) * (call + 1)
        ours, theirs = outcome(compiled, x), outcome(program, x)
        assert ours[1:] == theirs[1:]
        assert torch.equal(ours[0], theirs[0])
    # Streams that are named are known by identity, and these are new in each call.
    assert program in (on_errors, written) or len(stator.cache_entries(compiled)) == 1


class Output:
    stream: Any = None


def write_named(x: torch.Tensor) -> torch.Tensor:
    Output.stream.write("w")
    return x + 1


def write_bound(x: torch.Tensor) -> torch.Tensor:
    write = Output.stream.write
    write("w")
    return x + 1


def print_named(x: torch.Tensor) -> torch.Tensor:
    print("p", file=Output.stream)
    return x + 1


def new_stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), write_through=True)


def shown(stream: Any) -> bytes:
    return bytes(stream.buffer.getvalue())


def outputs_of_changing_streams(function: Any) -> list[bytes]:
    """Of a stream that was standard output once, of the next one, and of one at the address of the first."""
    x, named, other = torch.ones(2), new_stream(), new_stream()
    Output.stream = named
    try:
        with contextlib.redirect_stdout(named):
            for _ in range(3):
                function(x)
        with contextlib.redirect_stdout(other):
            function(x)
            found = [shown(named), shown(other)]
            address, Output.stream = id(named), None
            del named
            gc.collect()
            rest = []
            for _ in range(1000):
                rest.append(new_stream())
                if id(rest[-1]) == address:
                    break
            Output.stream = rest[-1]
            function(x)
            return [*found, shown(other), shown(Output.stream)]
    finally:
        Output.stream = None


@pytest.mark.parametrize("program", [write_named, write_bound, print_named])
def test_a_stream_is_the_one_that_the_program_names(program: Any) -> None:
    """Whatever standard output is by then, and also where another stream lies where it was."""
    compiled = stator.compile(program, backend="native")
    assert outputs_of_changing_streams(compiled) == outputs_of_changing_streams(program)
    assert any(entry.hits for entry in stator.cache_entries(compiled))


def test_a_stream_of_the_programs_is_a_break() -> None:
    class Stream(io.StringIO):
        def write(self, text: str) -> int:
            seen.append(len(seen))
            return super().write(text)

    seen: list[int] = []

    def program(x: torch.Tensor) -> torch.Tensor:
        y = x + len(seen)
        print("x")
        return y + len(seen)

    compiled = stator.compile(program, backend="native")
    with contextlib.redirect_stdout(io.StringIO()):  # a capture without the break
        compiled(torch.zeros(2))
    for function in (program, compiled, compiled, compiled):
        seen.clear()
        with contextlib.redirect_stdout(Stream()):
            assert function(torch.zeros(2)).tolist() == [2.0, 2.0]


def test_an_object_of_the_programs_is_a_break() -> None:
    class Loud:
        def __str__(self) -> str:
            shown.append(1)
            return "loud"

    shown: list[int] = []

    def program(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        print(Loud())
        return y + len(shown)

    compiled = stator.compile(program, backend="native")
    for function in (program, compiled, compiled):
        shown.clear()
        result, output, _ = outcome(function, torch.zeros(2))
        assert (result.tolist(), output) == ([2.0, 2.0], "loud\n")


def test_output_before_an_error() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        print("first")
        y = x[torch.tensor([9])]
        print("never")
        return y

    compiled = stator.compile(program, backend="native")
    for function in (program, compiled, compiled):
        output = io.StringIO()
        with contextlib.redirect_stdout(output), pytest.raises(IndexError):
            function(torch.ones(3))
        assert output.getvalue() == "first\n"


@pytest.mark.parametrize("clock", [time.time, time.perf_counter, time.monotonic, time.process_time])
def test_clocks(clock: Callable[[], float]) -> None:
    def program(x: torch.Tensor) -> tuple[torch.Tensor, float, float]:
        begin = clock()
        y = x * 2
        return y, begin, clock() - begin

    compiled = stator.compile(program, backend="native", fullgraph=True)
    last = 0.0
    for _ in range(4):
        before = clock()
        _, begin, took = compiled(torch.ones(2))
        assert type(begin) is type(took) is float
        assert before <= begin <= clock()
        assert 0 <= took < 10
        assert begin >= last
        last = begin
    assert len(stator.cache_entries(compiled)) == 1


def test_random_numbers() -> None:
    def program(x: torch.Tensor) -> tuple[torch.Tensor, float]:
        return x * random.random(), random.random() + 1

    compiled = stator.compile(program, backend="native", fullgraph=True)

    def stream(function: Any) -> list[Any]:
        random.seed(4)
        return [*((y.tolist(), n) for y, n in (function(torch.ones(2)) for _ in range(4))), random.random()]

    assert stream(compiled) == stream(program)
    assert len(stator.cache_entries(compiled)) == 1


DRAWS: dict[str, Callable[[], Any]] = {
    "uniform": lambda: random.uniform(-1, 2.5),
    "gauss": lambda: random.gauss(0, sigma=1) + random.gauss(),
    "triangular": lambda: random.triangular(high=4),
    "betavariate": lambda: random.betavariate(1, 2),
    "numpy_rand": lambda: np.random.rand(),
    "numpy_normal": lambda: np.random.normal(1.0, 2),
    "numpy_uniform": lambda: np.random.uniform(low=1, high=3),
}
# Their results are no floats, or depend on what is drawn.
BREAKING_DRAWS: dict[str, Callable[[], Any]] = {
    "randint": lambda: random.randint(1, 6),
    "choice": lambda: random.choice([1, 2.5]),
    "sample": lambda: random.sample(range(9), 2)[1],
    "shuffle": lambda: random.shuffle(CARDS) or CARDS[0],
    "getrandbits": lambda: random.getrandbits(70) % 5,
    "numpy_randint": lambda: int(np.random.randint(0, 9)),
    "numpy_choice": lambda: float(np.random.choice([1.0, 2.0])),
    "numpy_array": lambda: float(np.random.rand(2).sum()),
    "of_another_generator": lambda: GENERATOR.uniform(0, 1),
    "refused": lambda: caught(lambda: random.randint(3, 1)),
    "refused_by_numpy": lambda: caught(lambda: np.random.normal(0, -1)),
}
CARDS = [1, 2, 3, 4]
GENERATOR = random.Random(5)


def caught(draw: Callable[[], Any]) -> int:
    try:
        return int(draw())
    except ValueError as error:
        return len(str(error))


def streams(function: Any) -> list[Any]:
    """What each call gives, and what the generators give behind it."""
    random.seed(4)
    GENERATOR.seed(4)
    np.random.seed(4)
    CARDS[:] = [1, 2, 3, 4]
    given = [function(torch.ones(2) * i) for i in range(5)]
    return [
        *((tensor.tolist(), number, type(number)) for tensor, number in given),
        (random.random(), GENERATOR.random(), np.random.rand(), CARDS[:]),
    ]


@pytest.mark.parametrize("name", [*DRAWS, *BREAKING_DRAWS])
@pytest.mark.parametrize("backend", ["native", "eager"])
def test_draws(name: str, backend: str) -> None:
    draw = {**DRAWS, **BREAKING_DRAWS}[name]

    def program(x: torch.Tensor) -> tuple[torch.Tensor, Any]:
        y = x + 1
        number = draw()
        return y * number + draw(), number

    is_node = name in DRAWS and backend == "native"
    compiled = stator.compile(program, backend=backend, fullgraph=is_node)
    assert streams(compiled) == streams(program)
    if is_node:
        (entry,) = stator.cache_entries(compiled)
        assert entry.hits == 4


def test_draws_of_a_range_that_changes() -> None:
    def program(x: torch.Tensor, low: float) -> tuple[torch.Tensor, float]:
        return x * random.uniform(low, 9), random.uniform(0, 1)

    compiled = stator.compile(program, backend="native")

    def stream(function: Any) -> list[Any]:
        random.seed(4)
        given = [function(torch.ones(2), low) for low in (0.5, 1.5, 2.5, 0.5, 3.5)]
        return [*((y.tolist(), n) for y, n in given), random.random()]

    assert stream(compiled) == stream(program)


def test_a_replaced_draw_is_called() -> None:
    """The functions are those that the library binds, not whatever stands under their names."""

    def program(x: torch.Tensor) -> torch.Tensor:
        return x * random.uniform(0, 1)

    compiled = stator.compile(program, backend="native")
    compiled(torch.ones(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(random, "uniform", lambda low, high: 7.0)
        assert compiled(torch.ones(2)).tolist() == [7.0, 7.0]
    assert compiled(torch.ones(2)).tolist() != [7.0, 7.0]
