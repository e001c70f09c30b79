"""Three programs captured by Stator and by torch.compile, side by side: capture, cost of a call, results.

    python examples/demo.py [--calls N] [--page FILE]          (or: make demo)

Both sides run the captured graph unchanged (`native` here, `eager` there): what differs is the capture.
"""

import argparse
import logging
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from demo_programs import Program, programs

import stator
import torch

ROOT = Path(__file__).resolve().parent.parent


class Measured(NamedTuple):
    """One way to run a program."""

    first: float
    """Seconds of the first call."""
    call: float
    """Seconds of a later call, the median."""
    operators: int
    graphs: int
    results: list[torch.Tensor]
    """Of every call."""


def seconds(run: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure(fn: Callable[..., Any], program: Program, calls: int, count: Callable[[], Any]) -> Measured:
    """The first call, then `calls` later ones."""
    results: list[torch.Tensor] = []

    def call() -> None:
        results.append(fn(*program.arguments).detach())

    with torch.set_grad_enabled(program.needs_grad):
        first = seconds(call)
        later = statistics.median(seconds(call) for _ in range(calls))
    return Measured(first, later, *count(), results)


def eager_side(program: Program, calls: int) -> Measured:
    """The plain program."""
    return measure(program.make(), program, calls, lambda: (0, 0))


def stator_side(program: Program, calls: int) -> tuple[Measured, Any]:
    """Stator, and its compiled function."""
    compiled = stator.compile(program.make(), backend="native")

    def count() -> tuple[int, int]:
        nodes = [entry.nodes for entry in stator.cache_entries(compiled) if entry.nodes]
        return sum(nodes), len(nodes)

    return measure(compiled, program, calls, count), compiled


def torch_side(program: Program, calls: int) -> Measured:
    """torch.compile."""
    counts: list[int] = []

    def counted(gm: torch.fx.GraphModule, inputs: Any) -> Any:
        counts.append(sum(node.op.startswith("call_") for node in gm.graph.nodes))
        return gm.forward

    torch.compiler.reset()
    fn = torch.compile(program.make(), backend=counted)
    return measure(fn, program, calls, lambda: (sum(counts), len(counts)))


def same(one: Measured, other: Measured) -> str:
    """Whether every call gave the same bits."""
    pairs = zip(one.results, other.results, strict=True)
    return "same bits" if all(torch.equal(a, b) for a, b in pairs) else "DIFFERENT"


def rows_of(eager: Measured, ours: Measured, theirs: Measured) -> list[tuple[str, ...]]:
    """A table of one program."""

    def ms(value: float) -> str:
        return f"{1e3 * value:,.2f} ms"

    return [
        ("", "eager", "Stator (native)", "torch.compile (eager)"),
        ("first call", ms(eager.first), ms(ours.first), ms(theirs.first)),
        ("a later call", ms(eager.call), ms(ours.call), ms(theirs.call)),
        ("operators in graphs", "", str(ours.operators), str(theirs.operators)),
        ("graphs", "", str(ours.graphs), str(theirs.graphs)),
        ("results", "", same(ours, eager), same(theirs, eager)),
    ]


def show(rows: list[tuple[str, ...]], title: str) -> None:
    """Print a table, with rich where it is installed."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        print(title)
        for row in rows:
            print("  " + " ".join(f"{cell:24}" for cell in row))
        return
    table = Table(*rows[0], title=title, title_justify="left", title_style="bold")
    for column in table.columns[1:]:
        column.justify = "right"
    for row in rows[1:]:
        table.add_row(*row)
    Console().print(table, "")


def main() -> int:
    """Measure all programs, compare with eager, and exit with 1 when a result differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=100, help="later calls of each program")
    parser.add_argument("--page", type=Path, default=ROOT / "build/demo.html", help="the page of explain")
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # torch.compile warns of what the tables show
    logging.disable(logging.WARNING)
    print(f"torch {torch.__version__}, one thread; the same weights and inputs on every side\n")
    compiled_ones, different = [], False
    for program in programs():
        eager = eager_side(program, given.calls)
        ours, compiled = stator_side(program, given.calls)
        theirs = torch_side(program, given.calls)
        rows = rows_of(eager, ours, theirs)
        show(rows, program.title)
        different |= "DIFFERENT" in rows[-1][2]
        compiled_ones.append(compiled)
    print(f"What was captured, with breaks and guards: {write_page(given.page, compiled_ones)}")
    return int(different)


def write_page(path: Path, compiled: list[Any]) -> Path:
    """The page of explain for all three programs."""
    from stator.report.page import page

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page([stator.ExplainOutput.of(each) for each in compiled], "Stator: the demonstration"))
    return path


if __name__ == "__main__":
    sys.exit(main())
