"""The whole OpInfo list against eager: `make opinfo`.

python tests/torch/opinfo_whole.py [--jobs N] [--quick]
Every operator on all its float32 samples. Those that agree there also on integer, bool, complex and bfloat16
samples, and each sample transposed, channels last and expanded. Exit status 1 on a wrong answer, on a break
that opinfo_breaks.txt does not list, on an entry of that list which does not break, and on a crash.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import time
import warnings
from typing import Any

import opinfo

import stator._torch as st
import torch

MORE_DTYPES = [torch.float32, torch.int64, torch.bool, torch.complex64, torch.bfloat16]

# Parts into which the list is cut: a crash costs its part only, and the memory of a process stays small.
PARTS = 24

Row = dict[str, Any]


def row_of(info: Any, quick: bool) -> Row:
    first = opinfo.run_info(info, [torch.float32], ("plain",), 10**9)
    reports = [first]
    if first.good and not quick:
        reports.append(opinfo.run_info(info, MORE_DTYPES, opinfo.LAYOUTS, 10**9))
    reasons: collections.Counter[str] = collections.Counter()
    for report in reports:
        reasons.update(report.reasons)
    return {
        "name": first.name,
        "float32": first.samples,
        "agrees": first.good,
        "ruled": first.inferred > 0 and first.dispatched == first.meta == 0,
        "undispatched": first.inferred > 0 and first.dispatched == 0,
        "samples": sum(report.samples for report in reports),
        "agreed": sum(report.agreed for report in reports),
        "wrong": sum(count for why, count in reasons.items() if not why.startswith("break: ")),
        "reasons": reasons.most_common(6),
    }


def run_part(part: int, quick: bool) -> None:
    """Prints one JSON row per operator of the part."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    for info in opinfo.chosen([])[part::PARTS]:
        print(json.dumps(row_of(info, quick)), flush=True)


def start_part(part: int, quick: bool) -> tuple[list[Row], str]:
    command = [sys.executable, __file__, "--part", str(part), *(["--quick"] if quick else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    failed = f"part {part} ended with {done.returncode}: {done.stderr[-500:]}" if done.returncode else ""
    return rows, failed


def problems_of(rows: list[Row], quick: bool) -> list[str]:
    listed = opinfo.listed_breaks()
    problems = []
    for row in rows:
        breaks = row["agreed"] + row["wrong"] < row["samples"]
        if row["wrong"]:
            problems.append(f"{row['name']}: {row['wrong']} samples with a wrong answer")
        if breaks and row["name"] not in listed:
            problems.append(f"{row['name']}: breaks and is not listed")
        if not quick and row["samples"] and not breaks and row["name"] in listed:
            problems.append(f"{row['name']}: listed, and every sample agrees")
    names = {row["name"] for row in rows}
    problems += [f"{name}: listed, and no operator of the list" for name in listed if name not in names]
    return problems


def show(rows: list[Row]) -> None:
    listed = opinfo.listed_breaks()
    plain = [row for row in rows if row["float32"]]
    print(f"{'reason of a break':48} operators")
    for reason, count in collections.Counter(listed.values()).most_common():
        print(f"{reason:48} {count}")
    print()
    print(f"shape rules: {len(st.rules())} overloads")
    print(f"operators that their rules answer alone: {sum(row['ruled'] for row in plain)}")
    print(f"operators without a dispatched meta kernel: {sum(row['undispatched'] for row in plain)}")
    print(f"samples: {sum(row['agreed'] for row in rows)} of {sum(row['samples'] for row in rows)} agree")
    print(f"{sum(row['agrees'] for row in plain)} of {len(plain)} operators agree on all float32 samples")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--quick", action="store_true", help="float32 samples as they are, nothing else")
    parser.add_argument("--part", type=int, default=-1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part >= 0:
        run_part(options.part, options.quick)
        return 0
    start = time.perf_counter()
    rows: list[Row] = []
    problems: list[str] = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for found, failed in pool.map(lambda part: start_part(part, options.quick), range(PARTS)):
            for row in found:
                rows.append(row)
                if row["agreed"] < row["samples"]:
                    print(f"{row['name']}: {row['agreed']} of {row['samples']} samples", flush=True)
                    for reason, count in row["reasons"]:
                        print(f"    {count} x {reason}", flush=True)
            if failed:
                problems.append(failed)
                print(f"*** {failed}", flush=True)
    problems += problems_of(rows, options.quick)
    print()
    show(rows)
    print(f"{time.perf_counter() - start:.0f} s")
    for problem in problems:
        print(f"*** {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
