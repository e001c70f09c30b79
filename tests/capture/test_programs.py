"""tests/capture/test_programs.py: every program does what it does under CPython, handed over or not."""

from __future__ import annotations

import pytest
from differential import IDENTITY, Program, differences, programs, reset_statistics, statistics

PROGRAMS = programs()
CONTIGUOUS = 60
FARTHEST = 20_000


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_interpreted(program: Program) -> None:
    """One full run; every frame that no tool takes runs to its end in the interpreter."""
    plain = program.run(None)
    reset_statistics()
    ours = program.run(-1)
    counted = statistics()
    assert not (found := differences(plain, ours)), found
    if IDENTITY:
        return
    assert counted["frames"] >= 1
    if program.setting("whole", True):
        assert counted["finished"] >= 1
        assert counted["handed_over"] == 0, counted["handover_reasons"]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_handed_over_at_each_instruction(program: Program) -> None:
    """Every frame goes to CPython after N instructions, for every N until no frame is that long."""
    farthest = program.setting("sweep", FARTHEST)
    plain = program.run(None, formatted=False)
    instructions = 0
    while instructions <= farthest:
        reset_statistics()
        ours = program.run(instructions, formatted=False)
        found = differences(plain, ours)
        assert not found, f"after {instructions} instructions\n{found}"
        if statistics()["handed_over"] == 0:
            break
        # Long programs repeat themselves: the steps grow, and stay odd to meet every phase of a loop.
        instructions += 1 if instructions < CONTIGUOUS else 1 + 2 * (instructions // 40)
