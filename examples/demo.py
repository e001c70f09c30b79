"""A transformer captured by Stator and by torch.compile, side by side: capture time, cost of a call, results.

    python examples/demo.py          (or: make demo)

Both sides run the captured graph as it is (`native` here, `eager` there): what differs is the capture itself.
"""

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import stator
import torch
from torch import nn

CALLS = 200


class Block(nn.Module):
    """Attention and a small network, as every transformer has them."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.network = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.queries(self.before(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.network(self.between(x))


class Transformer(nn.Module):
    """A language model of a few layers with random weights."""

    def __init__(self, words: int = 1000, width: int = 64, layers: int = 12, heads: int = 4) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Embedding(64, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.words.weight.t()


class Measured(NamedTuple):
    """One way to run the model."""

    first: float
    again: float
    call: float
    output: torch.Tensor


def seconds(run: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure(
    compiled: Callable[[torch.Tensor], torch.Tensor], forget: Callable[[], object], ids: Any
) -> Measured:
    """The first capture, a capture in a warm process, and a call that hits."""
    first = seconds(lambda: compiled(ids))
    forget()
    again = seconds(lambda: compiled(ids))
    call = statistics.median(seconds(lambda: compiled(ids)) for _ in range(CALLS))
    return Measured(first, again, call, compiled(ids))


def show(rows: list[tuple[str, ...]], title: str, notes: list[str]) -> None:
    """Print a table, with rich where it is installed."""
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        print(title)
        for row in rows:
            print("  " + " ".join(f"{cell:24}" for cell in row))
        print("\n".join(notes))
        return
    table = Table(*rows[0], title=title)
    for row in rows[1:]:
        table.add_row(*row)
    console = Console()
    console.print(table)
    for note in notes:
        console.print(note, markup=False, highlight=False)


def main() -> int:
    """Measure both, compare with eager, and exit with 1 when a result differs."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model, ids = Transformer().eval(), torch.randint(0, 1000, (2, 16))
    with torch.no_grad():
        wanted = model(ids)
        eager = statistics.median(seconds(lambda: model(ids)) for _ in range(CALLS))
        ours = stator.compile(model, backend="native")
        stator_side = measure(ours, stator.reset, ids)
        (entry,) = stator.cache_entries(ours)
        torch_side = measure(torch.compile(model, backend="eager"), torch.compiler.reset, ids)
    sides = (stator_side, torch_side)
    same = [bool(torch.equal(side.output, wanted)) for side in sides]
    times = [tuple(f"{1e3 * value:,.2f} ms" for value in side[:3]) for side in sides]
    rows = [
        ("", "eager", "Stator (native)", "torch.compile (eager)"),
        ("first call", "", times[0][0], times[1][0]),
        ("capture again, warm", "", times[0][1], times[1][1]),
        ("a call that hits", f"{eager * 1e3:.2f} ms", times[0][2], times[1][2]),
        ("result", "", *("same" if equal else "DIFFERENT" for equal in same)),
    ]
    title = f"A transformer of {len(model.blocks)} layers, torch {torch.__version__}, one thread"
    notes = [
        f"Stator's graph: {entry.nodes} operators, {len(entry.guards)} guards. The beginning:",
        *[line for line in entry.graph.splitlines() if " = input " not in line][:4],
        "  …",
    ]
    show(rows, title, notes)
    return int(not all(same))


if __name__ == "__main__":
    sys.exit(main())
