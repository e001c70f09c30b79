"""Prints comparisons: a line per module, each difference, and the share of interpreted frames."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from stator.conformance.compare import Comparison, Difference, share

LEAST_SHARE = 0.95
_COMMON_REASONS = 12
_SHOWN_LINES = 40


def _difference(difference: Difference, verbose: int) -> list[str]:
    lines = [f"    {difference.test}: {difference.plain} -> {difference.interpreted}"]
    ended = difference.interpreted.startswith(("crash", "hang", "exit", "ended"))
    if difference.text and (verbose > 1 or ended):
        text = difference.text.strip().splitlines()
        lines += [f"        {line}" for line in text[:_SHOWN_LINES]]
    return lines


def _reasons(reasons: Counter[str]) -> list[str]:
    return [f"    {count:9,} x {reason}" for reason, count in reasons.most_common(_COMMON_REASONS)]


def module_lines(result: Comparison, verbose: int) -> list[str]:
    """What to print of one module."""
    if result.left_out:
        return [f"{result.module}: left out: {result.left_out}"] if verbose else []
    counts = [f"{result.same} same", f"{len(result.differences)} different"]
    if result.listed:
        counts.append(f"{len(result.listed)} listed as unequal")
    line = f"{result.module}: {', '.join(counts)}"
    if verbose:
        times = f"{result.plain_seconds:.1f} s plain, {result.interpreted_seconds:.1f} s interpreted"
        line += f"  [{share(result.statistics):.1%} of frames; {times}]"
    lines = [line]
    for difference in result.differences:
        lines += _difference(difference, verbose)
    lines += [f"    {name}: left out, the plain runs differ" for name in result.unstable]
    if verbose:
        lines += _reasons(result.reasons)
    return lines


def total_lines(
    results: Iterable[Comparison], verbose: int, mode: str = "interpret"
) -> tuple[list[str], bool]:
    """The summary, and whether everything is as it should be."""
    results = list(results)
    compared = [result for result in results if not result.left_out]
    statistics: Counter[str] = sum((result.statistics for result in compared), Counter())
    reasons: Counter[str] = sum((result.reasons for result in compared), Counter())
    differing = [result for result in compared if not result.good]
    tests = sum(result.same for result in compared)
    different = sum(len(result.differences) for result in compared)
    unstable = sum(len(result.unstable) for result in compared)
    passing = sum(result.passes for result in compared)
    part = share(statistics)
    lines = [
        f"{len(compared)} modules ({passing} pass plainly), {tests} tests same, {different} different"
        f" (in {len(differing)} modules), {unstable} left out because the plain runs differ"
    ]
    left_out = len(results) - len(compared)
    if left_out:
        lines.append(f"{left_out} modules left out: plainly they do not end in time or test nothing")
    if mode == "capture":
        captures, served, stops, unrestored = (
            statistics[key] for key in ("captures", "served", "stops", "unrestored")
        )
        lines.append(
            f"{captures:,} functions captured, {served:,} calls served, {stops:,} captures given up,"
            f" {unrestored:,} objects not as they were after a roll-back"
        )
        return lines, not differing and served > 0 and unrestored == 0
    finished, passed, handed = (statistics[key] for key in ("finished", "passed", "handed_over"))
    lines.append(
        f"{part:.2%} of the frames were interpreted to their end"
        f" ({finished:,} finished, {handed:,} handed over, {passed:,} passed on)"
    )
    if part < LEAST_SHARE:
        lines.append(f"that is less than {LEAST_SHARE:.0%}")
    if verbose:
        lines += ["most common reasons of a hand-over:", *_reasons(reasons)]
    return lines, not differing and part >= LEAST_SHARE and bool(compared)


def write_json(results: Iterable[Comparison], file: Path) -> None:
    """Write every comparison to `file`."""
    data = {
        result.module: {
            "same": result.same,
            "different": [vars(difference) for difference in result.differences],
            "unstable": result.unstable,
            "listed": result.listed,
            "left_out": result.left_out,
            "plain_seconds": round(result.plain_seconds, 2),
            "interpreted_seconds": round(result.interpreted_seconds, 2),
            "statistics": dict(result.statistics),
            "handover_reasons": dict(result.reasons),
        }
        for result in results
    }
    file.write_text(json.dumps(data, indent=1, sort_keys=True) + "\n")
