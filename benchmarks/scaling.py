"""benchmarks/scaling.py: how capture and hit grow with layers, parameters and operators.

    python benchmarks/scaling.py [layers|parameters|operators ...]

A capture must grow linearly; a hit by less than 10 ns for each parameter. One process, backend `empty`, the
best of three captures and the median of many hits. A hit is timed by the clock, with as many threads as torch
has by itself (`--threads`): those of many thousand parameters are looked at by several.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import stator
import torch
from torch import nn

RESULTS = Path(__file__).resolve().parent / "results"
HIT_NS_PER_PARAMETER = 10


class Block(nn.Module):
    """A transformer's layer in small: attention, two linear layers, two norms."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.first_norm, self.second_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.first_norm(x)).chunk(3, -1)
        x = x + self.out(nn.functional.scaled_dot_product_attention(q, k, v))
        return x + self.down(nn.functional.gelu(self.up(self.second_norm(x))))


def layers(count: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return nn.Sequential(*[Block() for _ in range(count)]).eval(), (torch.randn(1, 4, 16),)


class Scales(nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.scales = nn.ParameterList(torch.randn(2) for _ in range(count))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for scale in self.scales:
            x = x + scale
        return x


def parameters(count: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return Scales(count).eval(), (torch.randn(2),)


def operators(count: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def adds(x: torch.Tensor) -> torch.Tensor:
        for _ in range(count):
            x = torch.add(x, 1)
        return x

    return adds, (torch.randn(2),)


QUESTIONS: dict[str, tuple[Callable[[int], tuple[Callable[..., Any], tuple[Any, ...]]], list[int]]] = {
    "layers": (layers, [1, 2, 4, 8, 16, 32, 64, 96]),
    "parameters": (parameters, [10, 30, 100, 300, 1000, 3000, 10_000]),
    "operators": (operators, [10, 30, 100, 300, 1000, 3000, 10_000, 20_000]),
}


def timed(call: Callable[[], Any], clock: Callable[[], float]) -> float:
    begin = clock()
    call()
    return clock() - begin


def measure(build: Callable[[int], Any], count: int) -> dict[str, float]:
    function, args = build(count)
    captures = []
    with torch.no_grad():
        for _ in range(3):
            stator.reset()
            compiled = stator.compile(function, backend="empty", fullgraph=True)
            # A capture has one thread: the time of others, on a machine that has other work, does not count.
            captures.append(timed(lambda: compiled(*args), time.thread_time))  # noqa: B023
        for _ in range(50):
            compiled(*args)
        hits = [
            timed(lambda: [compiled(*args) for _ in range(20)], time.perf_counter) / 20 for _ in range(50)
        ]
        hit = statistics.median(hits)
    return {"count": count, "capture_ms": min(captures) * 1e3, "hit_us": hit * 1e6}


def slope(rows: list[dict[str, float]], key: str) -> float:
    """Of a straight line through the larger half of the points."""
    half = rows[len(rows) // 2 - 1 :]
    return statistics.linear_regression([row["count"] for row in half], [row[key] for row in half]).slope


def judge(question: str, rows: list[dict[str, float]]) -> str:
    per_item = slope(rows, "capture_ms") * 1e3
    hit = slope(rows, "hit_us") * 1e3
    big, middle = rows[-1], rows[len(rows) // 2]
    bent = (big["capture_ms"] / big["count"]) / (middle["capture_ms"] / middle["count"])
    text = f"{question}: capture {per_item:.2f} us each, {bent:.2f}x per item "
    text += f"from {middle['count']:.0f} to {big['count']:.0f} ({'linear' if bent < 1.5 else 'NOT LINEAR'}); "
    text += f"hit {hit:.2f} ns each"
    if question == "parameters":
        text += f" ({'met' if hit < HIT_NS_PER_PARAMETER else 'NOT MET'}: under {HIT_NS_PER_PARAMETER} ns)"
    return text


def show(results: dict[str, list[dict[str, float]]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Growth of captures and hits (backend empty)")
    for column in ("of", "count", "capture ms", "us each", "hit us"):
        table.add_column(column, justify="left" if column == "of" else "right")
    for question, rows in results.items():
        for row in rows:
            each = row["capture_ms"] * 1e3 / row["count"]
            table.add_row(
                question,
                f"{row['count']:,}",
                f"{row['capture_ms']:.2f}",
                f"{each:.2f}",
                f"{row['hit_us']:.2f}",
            )
    Console(width=None if sys.stdout.isatty() else 100).print(table)


def plot(results: dict[str, list[dict[str, float]]], path: Path) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        print("no plot: matplotlib is not installed (requirements-bench.txt)")
        return
    figure, axes = pyplot.subplots(
        2, len(results), figsize=(5 * len(results), 8), squeeze=False, layout="constrained"
    )
    for column, (question, rows) in enumerate(results.items()):
        for row_of_axes, key, label in ((0, "capture_ms", "capture, ms"), (1, "hit_us", "hit, us")):
            axis = axes[row_of_axes][column]
            axis.plot([row["count"] for row in rows], [row[key] for row in rows], marker="o")
            axis.set_xlabel(question)
            axis.set_ylabel(label)
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
    print(f"plot: {path}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("questions", nargs="*", choices=[*QUESTIONS, []], metavar="question")
    parser.add_argument("--json", type=Path, default=RESULTS / "scaling.json")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    results: dict[str, list[dict[str, float]]] = {}
    for question in arguments.questions or QUESTIONS:
        build, counts = QUESTIONS[question]
        results[question] = [measure(build, count) for count in counts]
    show(results)
    for question, rows in results.items():
        print(judge(question, rows))
    RESULTS.mkdir(exist_ok=True)
    arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    plot(results, arguments.json.with_suffix(".png"))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
