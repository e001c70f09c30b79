"""benchmarks/breaks.py: programs with breaks under Stator and torch.compile, side by side.

    python benchmarks/breaks.py [program ...] [--engines stator dynamo] [--json FILE]

For each program (benchmarks/break_programs.py) and engine, in a fresh process: the share of eager's operators
that run inside graphs in a warm call, graphs run in it, the time of the first two calls with a backend that
compiles nothing, and the time of a warm call against eager's. Graphs are counted with a backend in Python,
the same for both; in times Stator runs `native`, whose share of operators stands in brackets.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

ENGINES = ("stator", "dynamo")
CALLS = 10


def quietly(call: Callable[[], Any]) -> Any:
    """Standard output goes to memory; what is a stream of Python's own stays one."""
    with contextlib.redirect_stdout(io.StringIO()):
        return call()


def outside_operators(call: Callable[[], Any]) -> tuple[int, int]:
    """Operators that the profiler sees below no graph, and all of them."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]) as seen:
        call()
    return sum(1 for event in seen.events() if event.name.startswith("aten::") and not inside(event)), 0


def inside(event: Any) -> bool:
    while event is not None:
        if event.name in ("graph", "Stator graph"):
            return True
        event = event.cpu_parent
    return False


def measure(name: str, engine: str) -> dict[str, Any]:
    import torch._dynamo

    import torch

    torch.set_num_threads(1)
    from break_programs import PROGRAMS

    function, arguments = PROGRAMS[name]()
    graphs: list[Any] = []

    def backend(module: Any, inputs: list[Any]) -> Callable[..., Any]:
        graphs.append(module)

        def run(*args: Any) -> Any:
            run_counts.append(1)
            with torch.profiler.record_function("graph"):
                return module.forward(*args)

        return run

    run_counts: list[int] = []

    def compiled(kind: Any) -> Callable[..., Any]:
        if engine == "stator":
            import stator

            return stator.compile(function, backend=kind)
        return torch.compile(function, backend=kind)

    call = compiled(backend)
    for _ in range(CALLS):
        quietly(lambda: call(*arguments))
    run_counts.clear()
    outside, _ = quietly(lambda: outside_operators(lambda: call(*arguments)))
    runs = len(run_counts)
    everything, _ = quietly(lambda: outside_operators(lambda: function(*arguments)))

    fresh, _ = PROGRAMS[name]()
    function = fresh
    light = compiled("native" if engine == "stator" else "eager")
    begin = time.perf_counter()
    quietly(lambda: light(*arguments))
    quietly(lambda: light(*arguments))
    first = time.perf_counter() - begin
    for _ in range(CALLS):
        quietly(lambda: light(*arguments))
    outside_light, _ = quietly(lambda: outside_operators(lambda: light(*arguments)))

    def timed(what: Callable[..., Any]) -> float:
        begin = time.perf_counter()
        for _ in range(10):
            what(*arguments)
        return (time.perf_counter() - begin) / 10

    with contextlib.redirect_stdout(io.StringIO()):
        pairs = [(timed(light), timed(fresh)) for _ in range(15)]
    mine, eager = (statistics.median(column) for column in zip(*pairs, strict=True))
    return {
        "graphs": runs,
        "outside": outside,
        "outside_native": outside_light if engine == "stator" else None,
        "operators": everything,
        "first_ms": first * 1e3,
        "call_us": mine * 1e6,
        "eager_us": eager * 1e6,
    }


def in_process(name: str, engine: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", name, engine]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        return {"error": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "died"}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def share(result: dict[str, Any], which: str = "outside") -> float:
    return 100.0 * (1 - result[which] / max(result["operators"], 1))


def shares(result: dict[str, Any]) -> str:
    native = "" if result["outside_native"] is None else f" ({share(result, 'outside_native'):.0f})"
    return f"{share(result):.0f}{native}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", nargs=2, metavar=("PROGRAM", "ENGINE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(*options.one)))
        return 0
    from break_programs import PROGRAMS

    columns = "in graphs %   graphs   first two ms   call us (eager)"
    titles = {"stator": "Stator: ", "dynamo": "torch.compile: "}
    print(f"{'':22}" + "".join(f"{titles[engine] + columns:68}" for engine in options.engines))
    results: dict[str, dict[str, Any]] = {}
    for name in options.programs or PROGRAMS:
        results[name] = {engine: in_process(name, engine) for engine in options.engines}
        cells = [
            result["error"][:58]
            if "error" in result
            else f"{shares(result):>11} {result['graphs']:9d} {result['first_ms']:12.1f}"
            f" {result['call_us']:10.0f} ({result['eager_us']:.0f})"
            for result in results[name].values()
        ]
        print(f"{name:22}" + "".join(f"{cell:68}" for cell in cells).rstrip(), flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    stators = [r["stator"] for r in results.values() if "stator" in r]
    whole = [r for r in stators if "error" not in r]
    above = [sum(share(r, which) > 95 for r in whole) for which in ("outside", "outside_native")]
    print(f"above 95 %: {above[0]} of {len(results)} programs, under `native` {above[1]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
