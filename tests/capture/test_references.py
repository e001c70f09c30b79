"""tests/capture/test_references.py: ten thousand calls of each opcode family leave nothing behind.

A debug CPython counts every reference (sys.gettotalrefcount); any other counts blocks, objects and pages.
"""

from __future__ import annotations

import gc
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from differential import IDENTITY, PROGRAMS, interpret, reset_statistics, statistics

FAMILIES = runpy.run_path(str(PROGRAMS / "references.py"))["FAMILIES"]
CALLS = 10_000
WARM = 500
HAS_TOTAL = hasattr(sys, "gettotalrefcount")


def resident() -> int:
    """Resident size in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def counts() -> tuple[int, int, int]:
    """References (0 where they are not counted), allocated blocks, objects that the collector tracks."""
    gc.collect()
    total: int = sys.gettotalrefcount() if HAS_TOTAL else 0
    return total, sys.getallocatedblocks(), len(gc.get_objects())


def gained(subject: Callable[[], Any], calls: int) -> tuple[int, int, int, int]:
    """What many calls leave behind: references, blocks, objects, bytes."""
    before, size = counts(), resident()
    for _ in range(calls):
        subject()
    after = counts()
    return after[0] - before[0], after[1] - before[1], after[2] - before[2], resident() - size


@pytest.mark.parametrize("instructions", [-1, 7], ids=["whole", "handed over"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_nothing_is_kept(family: Callable[[], Any], instructions: int) -> None:
    """The interpreter may fill a cache once, never per call: under 0.02 of anything a call."""
    subject = interpret(family, instructions)
    calls = CALLS if instructions < 0 else CALLS // 5
    for _ in range(WARM):
        subject()
    reset_statistics()
    # The first round may still grow tables that CPython keeps; only what grows again is a leak.
    for attempt in range(3):
        references, blocks, objects, size = gained(subject, calls)
        if max(references, blocks, objects) < calls // 50 and size < 1 << 20:
            break
        assert attempt < 2, {"references": references, "blocks": blocks, "objects": objects, "bytes": size}
    counted = statistics()
    assert IDENTITY or counted["frames"] >= calls


def test_a_leak_is_seen() -> None:
    """The measure itself: one kept object a call must show."""
    kept: list[Any] = []
    references, blocks, objects, _ = gained(lambda: kept.append([1]), 2_000)
    assert blocks >= 2_000
    assert objects >= 2_000
    assert not HAS_TOTAL or references >= 2_000
