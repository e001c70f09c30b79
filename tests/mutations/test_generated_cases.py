"""Reader x place x change: a seeded sample of what `make mutations` runs whole."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

RUNNER = Path(__file__).with_name("mutation_runner.py")
SHARES, CASES = 4, 500


@pytest.mark.parametrize("share", range(SHARES))
def test_no_change_goes_unnoticed(share: int) -> None:
    # A process of its own: one that has started threads should not be forked.
    done = subprocess.run(
        [sys.executable, str(RUNNER), "--cases", str(CASES), "--seed", f"{1000 + share}", "--jobs", "1"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    summary = re.search(r"(\d+) cases, (\d+) served, 0 stale, 0 crashed, 0 tracers", done.stdout)
    assert summary is not None
    made, served = map(int, summary.groups())
    assert made >= CASES
    assert served > made // 3, "captures that never serve prove nothing"
