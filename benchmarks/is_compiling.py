"""benchmarks/is_compiling.py: the architectures of models.py with each setting of config.is_compiling.

    python benchmarks/is_compiling.py [--device cuda] [--settings False auto True] [architecture ...]

For each setting: how many are captured whole, how many results and training steps have eager's bits, how many
run eager's kernels (operators on the CPU), capture and hit times; then the architectures whose rows differ.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import models


def attention(kernels: dict[str, int]) -> str:
    """The attention kernels among them."""
    marks = ("attention", "fmha", "flash", "cutlassF", "softmax")
    found = {name for name in kernels if any(mark in name for mark in marks)}
    return " ".join(sorted(name.removeprefix("aten::")[:60] for name in found))


def same_kernels(row: dict[str, Any]) -> bool:
    return bool(row["kernels"] == row["eager_kernels"])


def summary(setting: str, rows: list[dict[str, Any]]) -> list[str]:
    good = [row for row in rows if "error" not in row]
    trained = [row["training"] for row in good if "training" in row]
    told = Counter(
        "asked not" if not row["told"] or row["told"][0] is None else str(row["told"][0]) for row in good
    )
    return [
        setting,
        f"{sum(map(models.is_whole, good))} of {len(rows)}",
        str(sum(len(row["breaks"]) for row in good)),
        str(sum(row["equal"] for row in good)),
        f"{sum(t['equal'] for t in trained)} of {len(trained)}",
        f"{sum(t['graphs'] == 1 and not t['breaks'] for t in trained)}",
        str(sum(map(same_kernels, good))),
        f"{statistics.median(row['second_ms'] for row in good):.1f}",
        f"{statistics.median(row['run_us'] / row['eager_us'] for row in good):.2f}",
        ", ".join(f"{name} {count}" for name, count in sorted(told.items())),
    ]


COLUMNS = [
    "setting",
    "whole",
    "breaks",
    "bits",
    "training bits",
    "training whole",
    "kernels",
    "capture ms",
    "hit / eager",
    "told",
]


OUTCOME = ["capture", "bits", "training", "kernels", "ms", "hit us (eager)", "break"]


def outcome(row: dict[str, Any]) -> list[str]:
    if "error" in row:
        return ["FAILED", "", "", "", "", "", row["error"][:90]]
    training = row.get("training")
    return [
        "whole" if models.is_whole(row) else f"{len(row['breaks'])} breaks",
        "equal" if row["equal"] else "DIFFERENT",
        "" if training is None else "equal" if training["equal"] else "DIFFERENT",
        "eager's" if same_kernels(row) else attention(row["kernels"]) or "other",
        f"{row['second_ms']:.1f}",
        f"{row['run_us']:.0f} ({row['eager_us']:.0f})",
        (row["breaks"] or [""])[0][:90],
    ]


def table(header: list[str], rows: list[list[str]]) -> None:
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(cell.replace("|", "/") for cell in row) + " |")
    print()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="architecture")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--settings", nargs="+", default=["False", "auto", "True"])
    parser.add_argument("--limit", type=float, default=60, help="seconds for one architecture")
    parser.add_argument("--json", type=Path, default=models.RESULTS / "is_compiling.json")
    arguments = parser.parse_args()
    from architectures import ARCHITECTURES

    names = arguments.names or list(ARCHITECTURES)
    ways = {
        setting: models.examined(names, arguments.limit, models.settings_of(setting, arguments.device))
        for setting in arguments.settings
    }
    arguments.json.parent.mkdir(exist_ok=True)
    arguments.json.write_text(json.dumps(ways, indent=1) + "\n")
    table(COLUMNS, [summary(setting, rows) for setting, rows in ways.items()])
    found = {setting: {row["name"]: row for row in rows} for setting, rows in ways.items()}
    different = []
    for name in names:
        outcomes = {setting: outcome(rows[name]) for setting, rows in found.items()}
        first = next(iter(outcomes.values()))
        good = first[:1] == ["whole"] and "DIFFERENT" not in first and first[3] == "eager's"
        if not good or any(each[:4] != first[:4] for each in outcomes.values()):
            different += [[name, setting, *cells] for setting, cells in outcomes.items()]
    table(
        [
            "architecture",
            "setting",
            "capture",
            "bits",
            "training",
            "kernels",
            "ms",
            "hit us (eager)",
            "break",
        ],
        different,
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
