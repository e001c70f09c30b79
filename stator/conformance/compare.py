"""Compares the outcomes of two plain runs and an interpreted run of a module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

from stator.conformance.outcome import Outcome, Run


@dataclass
class Difference:
    """A test whose interpreted outcome is not the plain one."""

    test: str
    plain: str
    interpreted: str
    text: str = ""


@dataclass
class Comparison:
    """A module's tests, compared."""

    module: str
    same: int = 0
    differences: list[Difference] = field(default_factory=list)
    unstable: list[str] = field(default_factory=list)  # differ between the two plain runs
    listed: list[str] = field(default_factory=list)  # stand in the list of what cannot be equal
    statistics: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    plain_seconds: float = 0.0
    interpreted_seconds: float = 0.0
    passes: bool = False  # plainly
    left_out: str = ""  # why the module was not compared

    @property
    def good(self) -> bool:
        return not self.differences


def _told(outcome: Outcome | None) -> str:
    return "not run" if outcome is None else str(outcome)


def compare(
    module: str,
    plain: tuple[Run, Run],
    interpreted: Run,
    breaks: Collection[Run],
    unequal: Collection[str] = (),
) -> Comparison:
    """Compare test by test; what the plain runs do not agree on is left out."""
    first, second = plain
    result = Comparison(
        module,
        statistics=interpreted.statistics,
        reasons=interpreted.reasons,
        plain_seconds=first.seconds,
        interpreted_seconds=interpreted.seconds,
        passes=first.passed and second.passed,
    )
    broke_in = {run.broken_in: run for run in breaks}
    lost = 0
    for name in dict.fromkeys((*first.outcomes, *second.outcomes)):
        expected = first.outcomes.get(name)
        found = interpreted.outcomes.get(name)
        if expected is None or expected != second.outcomes.get(name):
            result.unstable.append(name)
        elif name in unequal:
            result.listed.append(name)
        elif found == expected:
            result.same += 1
        elif name in broke_in:
            pass  # told below
        elif found is None and breaks:
            lost += 1
        else:
            text = found.text if found else ""
            result.differences.append(Difference(name, _told(expected), _told(found), text))
    known = {*first.outcomes, *second.outcomes}
    for name, found in interpreted.outcomes.items():
        if name not in known and name not in unequal and name not in broke_in:
            result.differences.append(Difference(name, "not run", str(found), found.text))
    plainly_broken = first.broken or second.broken
    for run in breaks:
        if run.broken_in not in unequal and not plainly_broken:
            name = run.broken_in if not run.broken_in.startswith("(") else f"{module} {run.broken_in}"
            result.differences.append(Difference(name, "ends well", run.broken, run.stack))
    if lost:
        reason = f"{lost} tests not run after that"
        result.differences.append(Difference(f"{module} (rest)", "run", reason))
    if interpreted.load_failures and not interpreted.statistics:
        reason = interpreted.load_failures[0]
        result.differences.append(Difference(f"{module} (start)", "", f"not interpreted: {reason}"))
    return result


def share(statistics: Counter[str]) -> float:
    """The share of the frames that Stator ran to their end."""
    finished = statistics["finished"]
    every = finished + statistics["passed"] + statistics["handed_over"]
    return finished / every if every else 0.0
