"""`make demo` works, with and without rich, and notices a difference."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

WITHOUT_RICH = "import sys; sys.modules['rich'] = None; sys.modules['rich.console'] = None; "
DIFFERENT = "import torch; torch.equal = lambda one, other: False; "
RUN = "import runpy; runpy.run_path('examples/demo.py', run_name='__main__')"


@pytest.mark.parametrize(
    ("before", "status", "shown"),
    [("", 0, "same"), (WITHOUT_RICH, 0, "same"), (DIFFERENT, 1, "DIFFERENT")],
    ids=["rich", "plain", "different"],
)
def test_demo(before: str, status: int, shown: str) -> None:
    command = [sys.executable, "-c", before + RUN]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    assert shown in done.stdout
    assert "aten::embedding" in done.stdout
