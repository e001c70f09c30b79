"""Stator and TorchDynamo in one process: each inside the other, in any order, in threads, until its end.

Where both call each other forever a process never ends, so the programs (two_engines.py) run in processes
of their own, and each process must also come to its end.
"""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).with_name("two_engines.py")
GROUPS = {
    "nested": "torch_inside_stator stator_inside_torch nested_in_every_order breaks_between",
    "calls": "generators_and_callbacks wrapped_otherwise",
    "modules": "modules gradients optimizers bound_methods",
    "operators": "operators_with_functions flex_attention",
    "leaving": "exceptions reset_between resets_inside hook_is_gone_afterwards",
    "each its own": "dynamo_still_captures callees_of_a_broken_function disabled_code interpreted",
    "threads": "threads",
}


def run(*names: str) -> str:
    done = subprocess.run(
        [sys.executable, str(PROGRAMS), *names], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("group", GROUPS)
def test_programs(group: str) -> None:
    names = GROUPS[group].split()
    assert run(*names).split() == [word for name in names for word in ("done", name)]


def test_every_program_is_in_a_group() -> None:
    defined = [line.split()[1].split("(")[0] for line in _after_marks()]
    assert sorted(defined) == sorted(" ".join(GROUPS.values()).split())


def _after_marks() -> list[str]:
    lines = PROGRAMS.read_text().splitlines()
    return [lines[i + 1] for i, line in enumerate(lines) if line == "@program"]


EXITS = {
    "stator first": "own(f)(x); dynamo(f)(x)",
    "torch first": "dynamo(f)(x); own(f)(x)",
    "torch inside": "own(lambda x: dynamo(f)(x))(x)",
    "stator inside": "dynamo(lambda x: g(x))(x)",
    "at exit": "atexit.register(lambda: own(lambda x: dynamo(f)(x) * float(x.numpy().sum()))(x))",
    "thread": "threading.Thread(target=both).start()",
    "daemon": "threading.Thread(target=lambda: [both() for _ in range(9999)], daemon=True).start()",
    "finalizer": "h.append(F())",
}


def test_processes_end() -> None:
    """All at once: starting torch is what takes time."""
    script = (
        "import atexit, functools, sys, threading, torch, stator\n"
        "own = functools.partial(stator.compile, backend='native')\n"
        "dynamo = functools.partial(torch.compile, backend='eager')\n"
        "f, x, h = (lambda x: torch.sin(x) + 1), torch.ones(3), []\n"
        "g = own(f)\n"
        "def both(): return own(lambda x: dynamo(f)(x))(x)\n"
        "class F:\n"
        "    def __del__(self): own(lambda x: dynamo(f)(x))(x)\n"
    )
    running = {
        name: subprocess.Popen([sys.executable, "-c", script + ending], stderr=subprocess.PIPE, text=True)
        for name, ending in EXITS.items()
    }
    failed = {}
    for name, process in running.items():
        try:
            _, errors = process.communicate(timeout=300)
            if process.returncode != 0:
                failed[name] = errors[-2000:]
        except subprocess.TimeoutExpired:
            process.kill()
            failed[name] = "never ended"
    assert not failed, failed


BEFORE_TORCH_LAYER = """
import sys, torch, stator
x = torch.arange(6.0)
def inner(x): return torch.sin(x) * 2
theirs = torch.compile(inner, backend="eager")
def f(x): return theirs(x) + sum(map(theirs, [x + 1])) + inner(x)
run = stator.interpret(f)
inside = torch.compile(lambda x: run(x) + 1, backend="eager")
expected = inner(x) * 2 + inner(x + 1)
for _ in range(3):
    torch.testing.assert_close(run(x), expected)
    torch.testing.assert_close(inside(x), expected + 1)
assert "stator._torch" not in sys.modules
compiled = stator.compile(f, backend="native")
for _ in range(3):
    torch.testing.assert_close(compiled(x), expected)
    torch.testing.assert_close(inside(x), expected + 1)
assert sum(entry.hits for entry in stator.cache_entries(compiled)) >= 2
"""


def test_before_the_torch_layer_is_loaded() -> None:
    """Dynamo puts its evaluator above ours before torch's library is known to us."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BEFORE_TORCH_LAYER],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
