"""tests/capture/test_generated_captured.py: generated programs, with every function captured and served.

Each program's main is called four times, so that later calls meet the captures of earlier ones, and whatever
those changed. Three of four programs also break at instructions that are drawn: one of 3, 8 or 25.
STATOR_GENERATED_CAPTURED sets how many programs (240 by default), STATOR_GENERATED_SEED where they start.
"""

from __future__ import annotations

import linecache
import os
import random
from typing import Any

import pytest
from differential import IDENTITY, Outcome, observe
from grammar_program import Grammar
from test_generated import BEGINNING, NAME, SEED, compare

from stator import _capture

SHARDS = 8
PROGRAMS = int(os.environ.get("STATOR_GENERATED_CAPTURED", "240"))
CALLS = 4
ONE_IN = (0, 3, 8, 25)


def program(seed: int) -> str:
    drawn = random.Random(seed)
    return Grammar(lambda n: drawn.randrange(n) if drawn.random() < 0.9 else 0).program()


def outcomes(source: str, code: Any, captured: bool, seed: int) -> list[Outcome]:
    """What each call of the program's main shows."""
    space: dict[str, Any] = {"__name__": "generated"}
    linecache.cache[NAME] = (len(source), None, source.splitlines(True), NAME)
    exec(BEGINNING, space)

    def whole(log: list[Any]) -> Any:
        if "main" not in space:
            exec(code, space)
        try:
            return space["main"](log)
        finally:
            log.append(space["log"])
            log.append(space["budget"])

    found = []
    for _ in range(CALLS):
        _capture.break_at_random(ONE_IN[seed % len(ONE_IN)], seed)
        _capture.capture_everything(captured)
        try:
            found.append(observe(whole, [3, 1, 2], formatted=False))
        finally:
            _capture.capture_everything(False)
            _capture.break_at_random(0)
    return found


@pytest.mark.skipif(IDENTITY, reason="about captures")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("shard", range(SHARDS))
def test_captured(shard: int) -> None:
    before = _capture.capture_statistics()
    for seed in range(SEED + shard, SEED + PROGRAMS, SHARDS):
        source = program(seed)
        code = compile(source, NAME, "exec")
        plain, ours = (outcomes(source, code, captured, seed) for captured in (False, True))
        for call, (expected, found) in enumerate(zip(plain, ours, strict=True)):
            different = compare(expected, found)
            assert not different, f"seed {seed}, call {call}\n{source}\n{different}"
    after = _capture.capture_statistics()
    assert after["served"] > before["served"]
    assert after["unrestored"] == before["unrestored"]
