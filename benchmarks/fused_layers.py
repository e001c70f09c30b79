"""benchmarks/fused_layers.py: how the first call under `fused` grows with equal layers, 1 to 96.

    python benchmarks/fused_layers.py [--json FILE] [count ...]

A layer is a norm, two products with a gelu between them, and an addition. Milliseconds of processor time,
capture included, the best of three; without kernels on disk, with one thread. `training`: forward and
backward. Exit status 1 if a layer needs kernels of its own, or if the time bends upwards.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import stator
import torch
from stator.backends.fused.compiler import counts

REPEATS = 3
MOST_BENT = 2.0
"""The cost of a layer beside that of the layers before: a straight line has 1."""


class Layer(torch.nn.Module):
    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(width)
        self.up, self.down = torch.nn.Linear(width, 2 * width), torch.nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def first_call(layers: int, trains: bool) -> tuple[float, float]:
    """Milliseconds, and kernels that were compiled."""
    model = torch.nn.Sequential(*[Layer() for _ in range(layers)])
    x = torch.randn(8, 64)
    stator.reset()
    call = stator.compile(model, backend="fused", fullgraph=True)
    before, begin = counts["kernels"], time.process_time()
    with torch.set_grad_enabled(trains):
        result = call(x)
        if trains:
            result.sum().backward()
    return (time.process_time() - begin) * 1e3, counts["kernels"] - before


def measured(layers: int, trains: bool) -> dict[str, float]:
    calls = [first_call(layers, trains) for _ in range(REPEATS)]
    return {"layers": layers, "ms": min(ms for ms, _ in calls), "kernels": calls[0][1]}


def is_straight(rows: list[dict[str, float]]) -> bool:
    """Whether the last layers cost what those before them did."""
    if len(rows) < 3:
        return True
    first, middle, last = rows[0], rows[-2], rows[-1]
    before = (middle["ms"] - first["ms"]) / (middle["layers"] - first["layers"])
    after = (last["ms"] - middle["ms"]) / (last["layers"] - middle["layers"])
    return after < MOST_BENT * max(before, 0.1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--json", type=Path)
    parser.add_argument("counts", nargs="*", type=int, default=[1, 2, 6, 12, 24, 48, 96])
    options = parser.parse_args()
    os.environ["STATOR_CACHE"] = "0"
    torch.set_num_threads(1)
    fine = True
    results: dict[str, list[dict[str, float]]] = {}
    for name, trains in (("inference", False), ("training", True)):
        first_call(1, trains)  # what a process does once
        rows = results[name] = [measured(count, trains) for count in sorted(options.counts)]
        for row in rows:
            print(f"{name}: {row['layers']:4} layers {row['ms']:7.1f} ms {row['kernels']:3} kernels")
        # The first layer and the last may differ from those between them.
        constant = all(row["kernels"] == rows[-1]["kernels"] for row in rows if row["layers"] > 2)
        fine = fine and constant and is_straight(rows)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    print("kernels are those of one layer, time is linear" if fine else "NOT constant, or NOT linear")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
