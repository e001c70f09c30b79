"""What one run of one test module gave: the outcome of each test, and how the process ended."""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_VOLATILE = (
    (re.compile(r"0x[0-9a-fA-F]{6,}"), "0x…"),
    (re.compile(r"@test_\d+_tmp"), "@test_…_tmp"),
    (re.compile(r"test_python_worker_\w+"), "test_python_worker_…"),
    (re.compile(r"\b(pid|PID)[ =:]*\d+"), r"\1 …"),
)


def settled(text: str, directory: str = "") -> str:
    """`text` without what differs between any two runs: addresses, process ids, directories."""
    if directory:
        text = text.replace(directory, "…")
    for pattern, replacement in _VOLATILE:
        text = pattern.sub(replacement, text)
    return text


@dataclass(frozen=True)
class Outcome:
    """What a test gave: its events (ok, fail, error, skip, …), each with its detail."""

    events: tuple[tuple[str, str], ...]
    text: str = field(default="", compare=False)
    seconds: float = field(default=0.0, compare=False)

    @property
    def passed(self) -> bool:
        return all(kind in ("ok", "skip", "expected failure") for kind, _ in self.events)

    @property
    def skipped(self) -> bool:
        return all(kind == "skip" for kind, _ in self.events)

    def __str__(self) -> str:
        return "; ".join(f"{kind} ({detail})" if detail else kind for kind, detail in self.events)


@dataclass
class Run:
    """One run of one module."""

    outcomes: dict[str, Outcome] = field(default_factory=dict)
    seconds: float = 0.0
    broken: str = ""  # how the process ended when it did not end well: a signal, a time limit
    broken_in: str = ""  # the test that ran then
    stack: str = ""  # what faulthandler and the end of the output say about that
    statistics: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    load_failures: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether the module passes: some test ran, none failed, and the process ended well."""
        results = self.outcomes.values()
        return self.tested and not self.broken and all(result.passed for result in results)

    @property
    def tested(self) -> bool:
        """Whether any test came out well that was not skipped."""
        return any(result.passed and not result.skipped for result in self.outcomes.values())

    def why_not_passed(self) -> str:
        if self.broken:
            return f"{self.broken} in {self.broken_in or 'no test'}"
        for name, result in self.outcomes.items():
            if not result.passed:
                return f"{name}: {result}"
        if not self.outcomes:
            return "no tests"
        return f"all skipped: {next(iter(self.outcomes.values()))}"

    def to_json(self) -> dict[str, Any]:
        return {
            "seconds": round(self.seconds, 3),
            "broken": self.broken,
            "broken_in": self.broken_in,
            "stack": self.stack,
            "outcomes": {
                name: {"events": result.events, "text": result.text, "seconds": result.seconds}
                for name, result in self.outcomes.items()
            },
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Run:
        outcomes = {
            name: Outcome(
                tuple((kind, detail) for kind, detail in result["events"]),
                result["text"],
                result["seconds"],
            )
            for name, result in data["outcomes"].items()
        }
        return cls(outcomes, data["seconds"], data["broken"], data["broken_in"], data["stack"])


def read_record(path: Path, directory: str) -> tuple[dict[str, Outcome], str, bool]:
    """The outcomes in a record, the test that was running at its end, and whether it is complete."""
    outcomes: dict[str, Outcome] = {}
    running = ""
    complete = False
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:  # the process died in the middle of a line
            continue
        if "start" in entry:
            running = entry["start"]
        elif "test" in entry:
            events = tuple((kind, settled(detail, directory)) for kind, detail in entry["events"])
            outcomes[entry["test"]] = Outcome(events, "\n".join(entry["texts"]), entry["seconds"])
            running = ""
        elif "end" in entry:
            complete = True
    return outcomes, running, complete


def read_statistics(path: Path, run: Run) -> None:
    """Add up the last counts of every process of a run."""
    by_process: dict[int, dict[str, Any]] = {}
    lines = path.read_text(errors="replace").splitlines() if path.exists() else []
    for line in lines:
        try:
            entry = ast.literal_eval(line)
        except (ValueError, SyntaxError):
            continue
        if "failed" in entry:
            run.load_failures.append(entry["failed"])
        else:
            by_process[entry.pop("pid")] = entry
    for entry in by_process.values():
        run.reasons.update(entry.pop("handover_reasons", {}))
        run.statistics.update({key: value for key, value in entry.items() if isinstance(value, int)})
