"""CPython's own tests, a selection of them, are alike with and without Stator."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from stator.conformance import lists
from stator.conformance.python import Python, default_executable

LEAST_MODULES = 40
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.timeout(1200)
def test_the_fast_selection() -> None:
    modules = set(Python.ask(default_executable()).all_modules())
    present = [name for name in lists.selection("fast") if name in modules]
    if not present:
        pytest.skip(f"{default_executable()} comes without CPython's tests")
    assert len(present) >= LEAST_MODULES
    command = [sys.executable, "-m", "stator.conformance", "--selection", "fast", "--timeout", "120"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-20000:]
