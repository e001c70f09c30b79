"""Keeps the outcomes of plain runs, by Python version and module, for later comparisons."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from stator.conformance.child_process import EVERY_TEST, Choice, run_module
from stator.conformance.outcome import Run
from stator.conformance.python import Python

PASS_LIMIT = 60.0  # seconds that a plain run of a module may take to belong to the whole
_FORMAT = 1


@dataclass
class PlainRuns:
    """Runs modules plainly, or takes what an earlier call found; `directory` may be None."""

    python: Python
    directory: Path | None
    match: str = "*"  # the tests that are of interest; others' outcomes are dropped

    def _file(self, module: str) -> Path | None:
        if self.directory is None:
            return None
        return self.directory / self.python.version / f"{module}.json"

    def _read(self, module: str) -> list[Run]:
        file = self._file(module)
        if file is None or not file.exists():
            return []
        data = json.loads(file.read_text())
        return [Run.from_json(run) for run in data["runs"]] if data["format"] == _FORMAT else []

    def _write(self, module: str, runs: list[Run]) -> None:
        file = self._file(module)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            partial = file.with_suffix(f".{os.getpid()}")
            partial.write_text(json.dumps({"format": _FORMAT, "runs": [run.to_json() for run in runs]}))
            partial.rename(file)

    def get(self, module: str, *, limit: float, only_ending: bool) -> list[Run]:
        """Two plain runs; only one if it does not end in time and `only_ending` is asked for."""
        runs = self._read(module)
        chosen = EVERY_TEST if self.directory else Choice(self.match)
        while len(runs) < 2:
            if runs and only_ending and not ends_in_time(runs[0]):
                break
            most = PASS_LIMIT if only_ending else limit
            runs.append(run_module(self.python, module, limit=most, choice=chosen))
            self._write(module, runs)
        for run in runs:
            run.outcomes = {
                name: result for name, result in run.outcomes.items() if fnmatchcase(name, self.match)
            }
        return runs


def ends_in_time(run: Run) -> bool:
    """Whether a run tested something and ended well within the time that modules have."""
    return not run.broken and run.seconds <= PASS_LIMIT and run.tested
