"""benchmarks/capture.py: Stator and torch.compile on the programs of the Speed table, side by side.

    python benchmarks/capture.py [case ...]

Every measurement runs in a fresh process with one thread. A capture is timed on a call that also runs the
result; a hit with a backend that answers from memory, so that what remains is the engine's own cost. The last
columns are what is asked of Stator, and whether it was met in this run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]

from speed_cases import CASES, Program  # noqa: E402

RESULTS = Path(__file__).resolve().parent / "results"
ENGINES = ("stator", "dynamo")
OTHERS = ("import_time", "first_call")
FIRST_CALL_MS, IMPORT_MS, FX_NODE_US = 60, 50, 60


def timed(call: Callable[[], Any]) -> float:
    """Processor time of this thread: the machine may have other work."""
    begin = time.thread_time()
    call()
    return time.thread_time() - begin


def batched(call: Callable[[], Any]) -> tuple[Callable[[], None], int]:
    """So many calls in one go that they take long enough for the clock."""
    batch = max(1, int(50e-6 / max(min(timed(call) for _ in range(5)), 1e-7)))

    def run() -> None:
        for _ in range(batch):
            call()

    return run, batch


def medians(calls: list[Callable[[], Any]], rounds: int) -> list[float]:
    """The machine may be slower at one time than at another, so what is compared is called in turn."""
    batches = [batched(call) for call in calls]
    for _ in range(max(2, rounds // 10)):
        for run, _ in batches:
            run()
    times = [[timed(run) / count for run, count in batches] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def median(call: Callable[[], Any], rounds: int) -> float:
    return medians([call], rounds)[0]


def rounds_for(seconds: float) -> int:
    """Enough of them for a steady median, in about a second."""
    return max(5, min(500, int(1 / max(seconds, 1e-6))))


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def prepare(name: str) -> Program:
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    sys.setrecursionlimit(10_000)
    return CASES[name].build()


class FromMemory:
    """A backend that answers with the outputs of its first call. Optimizer steps must run: what they write is
    what the next one reads."""

    def __init__(self, program: Program) -> None:
        self.runs = program.grad
        self.nodes: list[int] = []
        self.ran = 0.0  # seconds

    def __call__(self, module: Any, inputs: list[Any]) -> Callable[..., Any]:
        self.nodes.append(len(module.graph.nodes))
        known: list[Any] = []

        def run(*values: Any) -> Any:
            if self.runs:
                return module.forward(*values)
            if not known:
                self.ran += timed(lambda: known.append(module.forward(*values)))
            return known[0]

        return run


def time_engine(
    program: Program, compiled: Callable[[], Any], replayed: Callable[[], Any], reset: Callable[[], None]
) -> dict[str, Any]:
    """Of a function that `compiled` makes with a backend that answers from memory, and of the one that
    `replayed` makes."""
    args, kwargs = program.args, program.kwargs
    program()
    rounds = rounds_for(timed(program))
    before = peak_mb()
    function = compiled()
    first = timed(lambda: function(*args, **kwargs))
    reset()
    function = compiled()
    second = timed(lambda: function(*args, **kwargs))
    hit = median(lambda: function(*args, **kwargs), 300)
    memory = peak_mb() - before
    running = replayed()
    running(*args, **kwargs)
    eager, replay = medians([program, lambda: running(*args, **kwargs)], rounds)
    return {
        "eager_us": eager * 1e6,
        "first_ms": first * 1e3,
        "capture_ms": second * 1e3,
        "hit_us": hit * 1e6,
        "replay_us": replay * 1e6,
        "memory_mb": memory,
    }


def measure_stator(name: str) -> dict[str, Any]:
    import stator
    import torch
    from stator.api.cache import compiled_forms

    program = prepare(name)
    made: list[Any] = []

    def compiled() -> Any:
        made.append(stator.compile(program.function, backend="native" if program.grad else "empty"))
        return made[-1]

    with torch.set_grad_enabled(program.grad):
        times = time_engine(
            program, compiled, lambda: stator.compile(program.function, backend="native"), stator.reset
        )
        entries = stator.cache_entries(made[-1])
        backend = FromMemory(program)
        for _ in range(2):  # the first one imports what a conversion needs
            backend.nodes.clear()
            backend.ran = 0
            through_fx = stator.compile(program.function, backend=backend)
            fx = timed(Program(through_fx, program.args, program.kwargs)) - backend.ran
    return {
        **times,
        # None: what torch.fx cannot express was not captured.
        "fx_node_us": (fx * 1e6 - times["capture_ms"] * 1e3) / sum(backend.nodes) if backend.nodes else None,
        "breaks": [text for form in compiled_forms(made[-1]) for text in form.breaks],
        "is_model": isinstance(program.function, torch.nn.Module),
        "graphs": len(entries),
        "nodes": sum(entry.nodes for entry in entries),
    }


def measure_dynamo(name: str) -> dict[str, Any]:
    import logging
    import warnings

    import torch._dynamo

    import torch

    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    program = prepare(name)
    backend = FromMemory(program)
    seen: list[int] = []

    def replayed() -> Any:
        seen.extend(backend.nodes)
        torch._dynamo.reset()
        return torch.compile(program.function, backend="eager")

    def reset() -> None:
        torch._dynamo.reset()
        backend.nodes.clear()

    with torch.set_grad_enabled(program.grad):
        times = time_engine(
            program, lambda: torch.compile(program.function, backend=backend), replayed, reset
        )
    return {**times, "graphs": len(seen), "nodes": sum(seen)}


def measure_import(engine: str) -> dict[str, Any]:
    """After `import torch`."""
    import importlib

    import torch  # noqa: F401

    name = "stator" if engine == "stator" else "torch._dynamo"
    return {"first_ms": timed(lambda: importlib.import_module(name)) * 1e3}


def measure(engine: str, case: str) -> dict[str, Any]:
    if case == "import_time":
        return measure_import(engine)
    if case == "first_call":
        case = "bert"
    return measure_stator(case) if engine == "stator" else measure_dynamo(case)


def in_fresh_process(engine: str, case: str, limit: float) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", engine, case]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=environment)
    except subprocess.TimeoutExpired:
        return {"error": f"took longer than {limit:.0f} s"}
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("{"):
            return dict(json.loads(line))
    return {"error": (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]}


def judge(case: str, ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    """What is asked for, as text, and whether each wish is met (None: could not be measured)."""
    met: dict[str, bool | None] = {}
    if case == "import_time":
        must = f"import under {IMPORT_MS} ms"
        met["import"] = None if "error" in ours else ours["first_ms"] < IMPORT_MS
    elif case == "first_call":
        must = f"first capture under {FIRST_CALL_MS} ms"
        met["first"] = None if "error" in ours else ours["graphs"] == 1 and ours["first_ms"] < FIRST_CALL_MS
    else:
        wish = CASES[case].must
        both = "error" not in ours and "error" not in theirs
        must = f"capture {wish.capture:.0f}x"
        met["capture"] = (
            ours["graphs"] == 1 and theirs["capture_ms"] / ours["capture_ms"] >= wish.capture
            if both
            else None
        )
        if wish.hit is not None:
            must += f", hit {wish.hit:g} us"
            met["hit"] = None if "error" in ours else ours["graphs"] == 1 and ours["hit_us"] <= wish.hit
        if case == "tiny_fn":
            must += ", faster than eager"
        met["replay"] = None if "error" in ours else ours["replay_us"] <= ours["eager_us"]
        fx_node_us = ours.get("fx_node_us")
        met["fx"] = None if fx_node_us is None else fx_node_us <= FX_NODE_US
    return {"must": must, "met": met}


def row_of(case: str, result: dict[str, Any]) -> list[str]:
    ours, theirs = result["stator"], result["dynamo"]

    def pair(key: str, form: str, scale: float = 1) -> str:
        values = [format(side[key] * scale, form) if key in side else "-" for side in (ours, theirs)]
        return " / ".join(values)

    ratio = ours.get("capture_ms") and theirs.get("capture_ms") and theirs["capture_ms"] / ours["capture_ms"]
    speedup = ours.get("replay_us") and ours["eager_us"] / ours["replay_us"]
    words = {True: "met", False: "NOT MET", None: "?"}
    verdict = ", ".join(f"{name} {words[value]}" for name, value in result["met"].items())
    errors = "; ".join(
        f"{engine}: {result[engine]['error']}" for engine in ENGINES if "error" in result[engine]
    )
    if ours.get("breaks"):
        errors = ours["breaks"][0]
    return [
        case,
        pair("first_ms", ".1f"),
        pair("capture_ms", ".1f"),
        f"{ratio:.0f}x" if ratio else "-",
        pair("hit_us", ".2f"),
        pair("graphs", "d"),
        pair("nodes", "d"),
        pair("memory_mb", ".0f"),
        f"{speedup:.2f}x" if speedup else "-",
        "-" if ours.get("fx_node_us") is None else format(ours["fx_node_us"], ".0f"),
        result["must"],
        errors or verdict,
    ]


COLUMNS = [
    "case",
    "first ms",
    "capture ms",
    "ratio",
    "hit us",
    "graphs",
    "nodes",
    "memory MB",
    "replay",
    "fx us/node",
    "must",
    "",
]


def show(results: dict[str, dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Stator / torch.compile (one thread; replay: eager's time over the native backend's)")
    for column in COLUMNS:
        table.add_column(
            column, justify="left" if column in ("case", "must", "") else "right", overflow="fold"
        )
    for case, result in results.items():
        table.add_row(*row_of(case, result))
    Console(width=None if sys.stdout.isatty() else 190).print(table)
    ratios = [
        result["stator"]["eager_us"] / result["stator"]["replay_us"]
        for case, result in results.items()
        if result["stator"].get("is_model") and case not in OTHERS
    ]
    if ratios:
        mean = statistics.geometric_mean(ratios)
        print(f"replay against eager, geometric mean of {len(ratios)} models: {mean:.2f}x (asked: 1.7x)")


def plot(results: dict[str, dict[str, Any]], path: Path) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        print("no plot: matplotlib is not installed (requirements-bench.txt)")
        return
    names = [
        name for name, result in results.items() if all("hit_us" in result[engine] for engine in ENGINES)
    ]
    if not names:
        return
    figure, axes = pyplot.subplots(2, 1, figsize=(max(8, len(names)), 9), constrained_layout=True)
    for axis, key, label in zip(
        axes, ("capture_ms", "hit_us"), ("second capture, ms", "hit, us"), strict=True
    ):
        for offset, engine, colour in ((-0.2, "stator", "tab:blue"), (0.2, "dynamo", "tab:orange")):
            values = [results[name][engine][key] for name in names]
            bars = axis.bar([i + offset for i in range(len(names))], values, 0.4, label=engine, color=colour)
            axis.bar_label(bars, fmt="%.3g", fontsize=7)
        axis.set_yscale("log")
        axis.set_ylabel(label)
        axis.set_xticks(range(len(names)), names, rotation=30, ha="right")
        axis.legend()
    figure.savefig(path, dpi=120)
    print(f"plot: {path}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="case")
    parser.add_argument("--one", nargs=2, metavar=("ENGINE", "CASE"), help=argparse.SUPPRESS)
    parser.add_argument("--limit", type=float, default=300, help="seconds for one measurement")
    parser.add_argument("--json", type=Path, default=RESULTS / "capture.json")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measure(*arguments.one)))
        return 0
    known = [*CASES, *OTHERS]
    if unknown := set(arguments.cases) - set(known):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    results: dict[str, dict[str, Any]] = {}
    for case in arguments.cases or known:
        result = {engine: in_fresh_process(engine, case, arguments.limit) for engine in ENGINES}
        results[case] = {**result, **judge(case, result["stator"], result["dynamo"])}
        print("  ".join(row_of(case, results[case])), flush=True)
    show(results)
    RESULTS.mkdir(exist_ok=True)
    import torch

    about = {"python": platform.python_version(), "torch": torch.__version__, "machine": platform.processor()}
    arguments.json.write_text(json.dumps({"about": about, "cases": results}, indent=1) + "\n")
    plot(results, arguments.json.with_suffix(".png"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
