"""tests/capture/test_generated.py: programs drawn from a grammar do what they do under CPython.

STATOR_GENERATED_PROGRAMS sets how many (4,000 by default), STATOR_GENERATED_SEED where they start.
"""

from __future__ import annotations

import dataclasses
import linecache
import os
import sys
import warnings
from collections import Counter
from typing import Any

import pytest
from differential import IDENTITY, Outcome, differences, interpret, observe, reset_statistics, statistics
from grammar_prelude import PRELUDE
from grammar_program import Grammar
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

SHARDS = 8
PROGRAMS = int(os.environ.get("STATOR_GENERATED_PROGRAMS", "4000"))
SEED = int(os.environ.get("STATOR_GENERATED_SEED", "0"))
NAME = "<generated>"
BEGINNING = compile(PRELUDE, "<prelude>", "exec")


def program(drawn: bytes) -> tuple[str, frozenset[str]]:
    """A program's text and the productions it used.

    One byte a decision, and the simplest one when they are used up: hypothesis draws and shrinks bytes much
    faster than a thousand separate numbers.
    """
    rest = iter(drawn)
    grammar = Grammar(lambda n: next(rest, 0) % n)
    return grammar.program(), frozenset(grammar.used)


def outcome(source: str, code: Any, instructions: int | None) -> Outcome:
    """Run the module and its main in a namespace of their own, as one interpreted call."""
    space: dict[str, Any] = {"__name__": "generated"}
    linecache.cache[NAME] = (len(source), None, source.splitlines(True), NAME)

    def whole(log: list[Any]) -> Any:
        exec(BEGINNING, space)
        exec(code, space)
        try:
            return space["main"](log)
        finally:
            log.append(space["log"])
            log.append(space["budget"])

    subject = whole if instructions is None else interpret(whole, instructions)
    return observe(subject, [3, 1, 2], formatted=instructions == -1 or instructions is None)


def forgiving(described: Any) -> Any:
    """CPython 3.11 places an UnboundLocalError by how warm the code is (superinstructions): drop it."""
    if not isinstance(described, dict):
        return described
    kept = {key: forgiving(value) for key, value in described.items()}
    kept["members"] = [forgiving(member) for member in described["members"] or ()]
    if described["type"] == "UnboundLocalError" and kept["trace"]:
        kept["trace"] = [*kept["trace"][:-1], kept["trace"][-1][:2]]
    return kept


def compare(plain: Outcome, ours: Outcome) -> str:
    """The differences that count."""
    found = differences(plain, ours)
    if found and sys.version_info < (3, 12) and "UnboundLocalError" in repr(plain.exception):
        plain, ours = (
            dataclasses.replace(o, exception=forgiving(o.exception), formatted="") for o in (plain, ours)
        )
        found = differences(plain, ours)
    return found


def check(source: str, instructions: int) -> Outcome:
    """Plain, interpreted, and handed over after some instructions: three equal outcomes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code = compile(source, NAME, "exec")
    plain = outcome(source, code, None)
    reset_statistics()
    ours = outcome(source, code, -1)
    counted = statistics()
    found = compare(plain, ours)
    assert not found, f"{found}\n\n{source}"
    if not IDENTITY:
        assert counted["finished"] > 1, counted
        assert counted["handed_over"] == 0, f"{counted['handover_reasons']}\n\n{source}"
    handed = outcome(source, code, instructions)
    found = compare(dataclasses.replace(plain, formatted=""), handed)
    assert not found, f"after {instructions} instructions\n{found}\n\n{source}"
    return plain


@pytest.mark.parametrize("shard", range(SHARDS))
def test_generated_programs(shard: int) -> None:
    ends: Counter[str] = Counter()
    productions: Counter[str] = Counter()
    distinct: set[str] = set()
    failing: list[str] = []
    wanted = -(-PROGRAMS // SHARDS)

    @seed(SEED + shard)
    @settings(
        max_examples=2 * wanted,  # hypothesis draws some programs twice
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    @given(st.binary(min_size=300, max_size=1000).map(program), st.integers(0, 120))
    def run(made: tuple[str, frozenset[str]], instructions: int) -> None:
        source, used = made
        # While hypothesis shrinks a failure, every program is run again.
        if not failing and (source in distinct or len(distinct) >= wanted):
            return
        failing.append(source)
        end = check(source, instructions)
        failing.pop()
        ends[end.exception["type"] if end.exception else "returned"] += 1
        productions.update(used)
        distinct.add(source)

    run()
    # A grammar that has lost its variety would pass whatever the interpreter does.
    assert len(distinct) >= wanted
    assert len(productions) >= 40, sorted(productions)
    assert ends["returned"] >= 0.1 * len(distinct), ends
    assert len(ends) >= 5, ends
