"""jaxlib and torch in one process: orders of import, threads, forks, missing and old runtimes, exits."""

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).with_name("processes.py")
NAMES = [
    "torch_first",
    "jaxlib_first",
    "after_fork",
    "exit_after_fork",
    "in_threads",
    "compiling_in_threads",
    "memory_stays",
    "behind_torch_compile",
    "without_jaxlib",
    "old_jaxlib",
    "jax_is_not_imported",
    "compile_error_shows_what_to_do",
]


@pytest.mark.parametrize("name", NAMES)
def test_process(name: str) -> None:
    command = [sys.executable, str(PROGRAMS), name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.endswith("done\n")


def test_stablehlo_is_logged_on_request() -> None:
    command = [sys.executable, str(PROGRAMS), "torch_first"]
    environment = {"STATOR_LOGS": "stablehlo", "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "stablehlo.reduce" in done.stderr
