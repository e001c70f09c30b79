"""Unchanged programs on Stator: install(), STATOR=1, `python -m stator run`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import stator

PROGRAMS = Path(__file__).with_name("dropin_programs.py")
GROUPS = {
    "compile": "decorators arguments modules errors backends around_a_compilation",
    "dynamo": "dynamo_entries stances marks sizes settings error_regions substitutes",
    "told": "counted_breaks ignored_functions",
    "inside": "compile_within_captured_code transforms_of_compiled_functions_are_named",
    "torch itself": "torch_itself wrapped_by_others undone",
}


def python(*words: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("group", GROUPS)
def test_programs(group: str) -> None:
    names = GROUPS[group].split()
    output = python("-m", "stator", "run", str(PROGRAMS), *names)
    assert output.split() == [word for name in names for word in ("done", name)]


def test_every_program_is_in_a_group() -> None:
    lines = PROGRAMS.read_text().splitlines()
    defined = [lines[i + 1].split()[1].split("(")[0] for i, line in enumerate(lines) if line == "@program"]
    assert sorted(defined) == sorted(" ".join(GROUPS.values()).split())


SCRIPT = """
import sys
assert "torch" not in sys.modules
import torch
assert "torch._dynamo" not in sys.modules and "sympy" not in sys.modules
f = torch.compile(lambda x: x + 1, backend="native")
m = torch.nn.Linear(2, 2)
m.compile(backend="native")
m(torch.ones(1, 2)), f(torch.ones(2)), f(torch.ones(2))
print(type(f).__module__, type(m._compiled_call_impl).__module__, *sys.argv[1:], __name__)
print([name for name in ("torch._dynamo", "torch._inductor", "sympy") if name in sys.modules])
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "train_program.py").write_text(SCRIPT)
    return str(tmp_path / "train_program.py")


def test_environment_variable(script: str) -> None:
    used = "stator._capture stator._capture --epochs 3 __main__\n[]\n"
    assert python(script, "--epochs", "3", STATOR="1") == used
    assert python("-m", "stator", "run", script, "--epochs", "3") == used
    folder = str(Path(script).parent)
    assert python("-m", "stator", "run", "-m", "train_program", "--epochs", "3", PYTHONPATH=folder) == used
    assert "stator" not in python("-c", "import torch; print(type(torch.compile(lambda x: x)))", STATOR="0")


def test_the_environment_variable_costs_nothing_without_torch() -> None:
    code = "import sys; print([name for name in sys.modules if name.startswith(('stator', 'torch'))])"
    assert python("-c", code, STATOR="1") == "['stator_startup']\n"
    assert python("-c", code) == "[]\n"


def test_processes_that_the_program_starts_use_it_too(tmp_path: Path) -> None:
    (tmp_path / "starts.py").write_text(
        "import subprocess, sys\n"
        "code = 'import torch; print(type(torch.compile(lambda x: x, backend=\"eager\")).__module__)'\n"
        "print(subprocess.run([sys.executable, '-c', code], capture_output=True, text=True).stdout)\n"
    )
    assert python("-m", "stator", "run", str(tmp_path / "starts.py")).strip() == "stator._capture"


def test_before_torch() -> None:
    code = (
        "import sys, stator; stator.install(); assert 'torch' not in sys.modules; import torch\n"
        "print(type(torch.compile(lambda x: x, backend='native')).__module__)\n"
        "print('torch._dynamo' in sys.modules)\n"
        "stator.uninstall(); print('stator' in torch.compile.__module__)"
    )
    assert python("-c", code).split() == ["stator._capture", "False", "False"]


def test_a_stator_that_cannot_be_used_is_said_once(tmp_path: Path) -> None:
    """STATOR=1 must not keep a program from running."""
    (tmp_path / "stator.py").write_text("raise ImportError('too old')\n")
    done = subprocess.run(
        [sys.executable, "-c", "import torch; print(torch.__name__)"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        cwd=tmp_path,  # searched first
        env={**os.environ, "STATOR": "1"},
    )
    assert done.stdout == "torch\n"
    assert done.stderr.count("STATOR=1 has no effect: ImportError: too old") == 1


def test_help_and_version() -> None:
    assert "run script.py" in python("-m", "stator")
    assert python("-m", "stator", "--version") == f"stator {stator.__version__}\n"
    wrong = subprocess.run(
        [sys.executable, "-m", "stator", "run"], capture_output=True, text=True, timeout=60, check=False
    )
    assert wrong.returncode == 2
    assert "needs a script" in wrong.stderr
