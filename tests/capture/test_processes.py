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


FIRST = """
import collections, copy
from stator._capture import Compiled
Pair = collections.namedtuple("Pair", "first second")
recent = collections.deque([1, 2])
class Box: pass
box = Box()
box.items = [1]
compiled = Compiled(Pair, fullgraph=True)  # its frame has no builtins
assert compiled(1, [2]) == compiled(1, [2]) == (1, [2])
def program(n):
    made = collections.defaultdict(list)
    made["a"].append(n)
    return list(recent), made["a"], isinstance([], collections.abc.Sequence), copy.copy(box).items
whole = Compiled(program, fullgraph=True)
for _ in range(4):
    assert whole(3) == ([1, 2], [3], True, [1])
assert [entry["hits"] for entry in whole.entries] == [0, 2]
box.items = [2]
assert whole(3)[3] == [2]
"""


def test_the_first_frame_that_is_captured_has_no_builtins() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST], capture_output=True, text=True, cwd=ROOT, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
