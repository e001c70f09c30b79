"""benchmarks/interpreter.py: how much slower the interpreter is than CPython on the same functions.

Plain and interpreted runs alternate in one process; the figure is the best processor time of each side.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import platform
import statistics
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1]))

from interpreter_functions import FUNCTIONS

from stator import _capture

TARGET = 2.5


def timed(function: Callable[[int], Any], n: int) -> float:
    begin = time.process_time()
    function(n)
    return time.process_time() - begin


def repetitions(function: Callable[[int], Any], seconds: float) -> int:
    """An argument with which one plain run takes about so long."""
    n = 1
    while (taken := timed(function, n)) < seconds / 4:
        n = max(n * 2, int(n * seconds / 3 / taken) if taken > 1e-4 else n * 8)
    return max(1, int(n * seconds / taken))


def measure(function: Callable[[int], Any], rounds: int, seconds: float) -> dict[str, float]:
    """Best and median of alternating runs."""
    interpreted = _capture.interpret(function)
    if function(3) != interpreted(3):
        raise SystemExit(f"{function.__name__}: the results differ")
    n = repetitions(function, seconds)
    plain, ours = [], []
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            plain.append(timed(function, n))
            ours.append(timed(interpreted, n))
    finally:
        gc.enable()
    return {
        "n": n,
        "plain": min(plain),
        "interpreted": min(ours),
        "ratio": min(ours) / min(plain),
        "median_ratio": statistics.median(ours) / statistics.median(plain),
    }


def frames_of_nobody(n: int) -> None:
    def frame() -> None:
        pass

    for _ in range(n):
        frame()


def passing_on(rounds: int, seconds: float) -> dict[str, float]:
    """Nanoseconds for a frame of a thread that wants nothing: without the hook, and while another thread
    has it installed. (Under any hook CPython itself calls no function without its evaluator.)"""
    n = repetitions(frames_of_nobody, seconds)
    done = threading.Event()
    interpreting = threading.Thread(target=_capture.interpret(done.wait))
    plain = min(timed(frames_of_nobody, n) for _ in range(rounds))
    interpreting.start()
    try:
        hooked = min(timed(frames_of_nobody, n) for _ in range(rounds))
    finally:
        done.set()
        interpreting.join()
    return {"plain": plain / n * 1e9, "hooked": hooked / n * 1e9}


def build() -> dict[str, Any]:
    """Which CPython this is: a ratio says nothing without it."""
    return {
        "version": sys.version,
        "compiler": platform.python_compiler(),
        "flags": sysconfig.get_config_var("PY_CFLAGS"),
        "configured": sysconfig.get_config_var("CONFIG_ARGS"),
        "machine": platform.processor() or platform.machine(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--rounds", type=int, default=7, help="alternations per function")
    parser.add_argument("--seconds", type=float, default=0.05, help="length of one plain run")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="measure only these")
    parser.add_argument("--check", action="store_true", help=f"exit with 1 above {TARGET}x")
    options = parser.parse_args()

    about = build()
    print(f"CPython {about['version']}\n  compiler {about['compiler']}\n  flags {about['flags']}")
    print(f"  configured with {about['configured']}\n")
    print(f"{'function':<24}{'CPython ms':>12}{'Stator ms':>12}{'ratio':>8}{'median':>8}")
    figures = {}
    for function in FUNCTIONS:
        if options.only and function.__name__ not in options.only:
            continue
        found = figures[function.__name__] = measure(function, options.rounds, options.seconds)
        print(
            f"{function.__name__:<24}{found['plain'] * 1e3:>12.2f}{found['interpreted'] * 1e3:>12.2f}"
            f"{found['ratio']:>8.2f}{found['median_ratio']:>8.2f}",
            flush=True,
        )
    mean = math.exp(statistics.fmean(math.log(f["ratio"]) for f in figures.values()))
    print(f"\ngeometric mean {mean:.2f}x over {len(figures)} functions (target: at most {TARGET}x)")
    passed = passing_on(options.rounds, options.seconds)
    print(f"a frame that nobody wants: {passed['plain']:.0f} ns, {passed['hooked']:.0f} ns under the hook")
    counted = _capture.statistics()
    print(f"frames {counted['frames']}, finished {counted['finished']}, handed over {counted['handed_over']}")
    if options.json:
        options.json.write_text(
            json.dumps(
                {"python": about, "geometric_mean": mean, "functions": figures, "passed_on": passed}, indent=2
            )
            + "\n"
        )
    return 1 if options.check and mean > TARGET else 0


if __name__ == "__main__":
    raise SystemExit(main())
