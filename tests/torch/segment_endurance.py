"""tests/torch/segment_endurance.py: functions with breaks under threads and forks, and over many calls.

    python tests/torch/segment_endurance.py threads --seconds 60
    python tests/torch/segment_endurance.py forks --times 1000
    python tests/torch/segment_endurance.py leaks --calls 100000

test_segment_endurance.py runs each for seconds.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]

from segment_programs import PROGRAMS  # noqa: E402

import stator  # noqa: E402
import torch  # noqa: E402

# Those that write to nothing that calls share.
ALONE = (
    "prints_between",
    "reads_a_number_for_a_branch",
    "branches_on_data",
    "prints_in_a_loop",
    "prints_under_a_mode",
    "prints_three_calls_deep",
    "collects_in_a_loop",
    "comprehends",
    "loops_on_data",
    "enumerates",
    "consumes_a_generator",
)


class Nowhere:
    """A standard output that keeps nothing."""

    def write(self, text: str) -> int:
        """Forget it."""
        return len(text)

    def flush(self) -> None:
        """Do nothing."""


def shown(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.tolist()
    return [*map(shown, value)] if isinstance(value, list | tuple) else value


def outcome(function: Callable[..., Any], x: torch.Tensor) -> Any:
    try:
        return shown(function(x))
    except Exception as error:
        return type(error).__name__, str(error)


def threads(seconds: float, count: int = 32) -> int:
    """All threads call, compile and reset at once. Gives the number of calls; raises where one differs."""
    inputs = [torch.linspace(-1, 1, 12).reshape(3, 4), torch.ones(3, 4)]
    programs = [PROGRAMS[name][0] for name in ALONE]
    expected = {
        (p, i): outcome(program, x) for p, program in enumerate(programs) for i, x in enumerate(inputs)
    }
    shared = [stator.compile(program, backend="native") for program in programs]
    end = time.monotonic() + seconds
    wrong: list[Any] = []
    calls = [0] * count

    def work(number: int) -> None:
        choose = random.Random(number)
        while time.monotonic() < end and not wrong:
            p, i = choose.randrange(len(programs)), choose.randrange(len(inputs))
            what = choose.random()
            if what < 0.02:
                stator.reset()
            function = stator.compile(programs[p], backend="native") if 0.02 < what < 0.05 else shared[p]
            found = outcome(function, inputs[i])
            if found != expected[p, i]:
                wrong.append((programs[p].__name__, found, expected[p, i]))
            calls[number] += 1

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            wrong.append(error)

    workers = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    sys.setswitchinterval(before)
    if wrong:
        raise AssertionError(wrong[0])
    return sum(calls)


def forks(times: int) -> int:
    """The process is forked between two segments, and both halves finish the function."""

    def program(x: torch.Tensor) -> tuple[list[float], int]:
        y = x.sin() + 1
        child = os.fork()
        z = y * 2
        for _ in range(2):
            z = z + y
            torch._dynamo.graph_break()
        return z.tolist(), child

    import torch._dynamo

    torch.set_num_threads(1)
    x = torch.linspace(0, 1, 5)
    expected = ((x.sin() + 1) * 4).tolist()
    compiled = stator.compile(program, backend="native")
    for _ in range(times):
        found, child = compiled(x)
        if child == 0:
            os._exit(0 if found == expected else 1)
        _, status = os.waitpid(child, 0)
        if found != expected or status != 0:
            raise AssertionError((found, expected, status))
    return times


def leaks(calls: int) -> dict[str, int]:
    """Blocks of memory that Python has more after so many calls of each program than after a while."""
    grown = {}
    x = torch.linspace(-1, 1, 12).reshape(3, 4)
    for name, (program, _) in PROGRAMS.items():
        compiled = stator.compile(program, backend="native")
        for _ in range(max(200, calls // 10)):
            outcome(compiled, x)
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(calls):
            outcome(compiled, x)
        gc.collect()
        grown[name] = sys.getallocatedblocks() - before
    return grown


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["threads", "forks", "leaks"])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--times", type=int, default=1000)
    parser.add_argument("--calls", type=int, default=100_000)
    options = parser.parse_args()
    out = sys.stdout
    with contextlib.redirect_stdout(Nowhere()):  # type: ignore[type-var]
        if options.what == "threads":
            text = f"{threads(options.seconds)} calls"
        elif options.what == "forks":
            text = f"{forks(options.times)} forks"
        else:
            grown = leaks(options.calls)
            text = "\n".join(f"{blocks:8d} {name}" for name, blocks in grown.items())
            if any(blocks > 100 for blocks in grown.values()):
                print(text, file=out)
                return 1
    print(text, file=out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
