"""Audit hooks run while code is captured, and are no part of it."""

import subprocess
import sys

PROGRAM = """
import sys

import stator

SEEN = []
STATE = {"calls": 0}


def hook(event, arguments, *, state=STATE):
    if event == "code.__new__":
        state["calls"] += 1
        SEEN.append(event)


def inner(n):
    return n + 1


def function(n):
    # Each of the two is an audited event.
    return inner(n) + len(inner.__code__.replace(co_name="other").co_name)


sys.addaudithook(hook)
plain = function(1)
alone = len(SEEN)
compiled = stator.compile(function, backend="native")
for _ in range(3):
    before = len(SEEN)
    assert compiled(1) == plain
    assert len(SEEN) >= before + alone, "what a hook wrote during a capture is lost"
assert STATE["calls"] == len(SEEN)
print("done")
"""


def test_what_a_hook_writes_stays() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "done", done.stdout + done.stderr
