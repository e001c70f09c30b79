"""mypy --strict on a program of a user's."""

import subprocess
import sys
from pathlib import Path


def test_signatures_are_kept() -> None:
    """An unneeded `type: ignore` in the program is an error, too: what it marks is refused."""
    program = Path(__file__).with_name("typed_program.py")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(program)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=program.parents[2],
    )
    assert done.returncode == 0, done.stdout + done.stderr
