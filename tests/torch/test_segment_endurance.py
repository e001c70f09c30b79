"""Functions with breaks under threads and forks, and over many calls, for a few seconds each.

Processes of their own: one that dies or hangs is told of. tests/torch/segment_endurance.py runs longer.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("segment_endurance.py")


@pytest.mark.parametrize(
    "arguments",
    [["threads", "--seconds", "3"], ["forks", "--times", "20"], ["leaks", "--calls", "300"]],
    ids=lambda arguments: arguments[0],
)
def test_endures(arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
