"""tests/capture/test_processes.py: what could take the process down runs in a process of its own, twice."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from differential import IDENTITY, ROOT

PROGRAMS = Path(__file__).parent / "programs" / "processes"

START = """
import os, runpy, sys
path, interpreted = sys.argv[1], sys.argv[2] == "1"
sys.path.append({root!r})
source = open(path).read()
space = {{"__name__": "__main__", "__file__": path}}
exec(compile(source, path, "exec"), space)
main = space["main"]
if interpreted:
    from stator import _capture
    main = _capture.interpret(main)
main()
if interpreted:
    assert _capture.statistics()["frames"] > 0
"""


def run(path: Path, interpreted: bool) -> tuple[int, str, str]:
    """Exit status, stdout and stderr, the last without addresses and thread ids."""
    done = subprocess.run(
        [sys.executable, "-c", START.format(root=str(ROOT)), str(path), "1" if interpreted else "0"],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONFAULTHANDLER": ""},
        check=False,
    )
    return done.returncode, done.stdout, re.sub(r"0x[0-9a-f]+", "0x", done.stderr)


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.py")), ids=lambda path: path.stem)
def test_process(path: Path) -> None:
    """Status and output are those of CPython. A program may say `# only: interpreted` and judge itself."""
    only = "# only: interpreted" in path.read_text()
    if only and IDENTITY:
        pytest.skip("CPython itself need not survive this")
    ours = run(path, not IDENTITY)
    if only:
        assert ours[0] == 0, ours
        assert ours[1].endswith("fine\n"), ours
        return
    plain = run(path, False)
    assert ours == plain
