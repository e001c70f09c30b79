"""The documents name files, targets and names that exist."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import stator

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PLACES = ("src/", "stator/", "tests/", "docs/", "cmake/", "benchmarks/", "examples/", ".ci/")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_paths_exist(document: Path) -> None:
    text = document.read_text()
    named = [name for name in re.findall(r"`([^`\s]+)`", text) if name.startswith(PLACES)]
    linked = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    missing = [name for name in named if not _exists(name)]
    missing += [name for name in linked if not (document.parent / name).exists()]
    assert not missing


def _exists(name: str) -> bool:
    """A pattern such as py3XX or <family> stands for at least one file."""
    return any(ROOT.glob(re.sub(r"<\w+>|XX", "*", name).rstrip("/")))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_targets_exist(document: Path) -> None:
    named = set(re.findall(r"(?:^|`)(?:\w+=\S+ )?make ([a-z][a-z-]*)", document.read_text(), re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text()
    assert not [target for target in named if not re.search(rf"^{target}:", makefile, re.MULTILINE)]


def test_names_of_the_interface_exist() -> None:
    readme = (ROOT / "README.md").read_text()
    named = set(re.findall(r"`stator\.(\w+)\(", readme))
    assert named
    assert named <= set(stator.__all__)


def test_the_samples_of_the_migration_page_run(tmp_path: Path) -> None:
    """Each in a process of its own: the first one changes what torch.compile is."""
    page = (ROOT / "docs/migrating.md").read_text()
    samples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(samples) >= 4
    running = []
    for i, sample in enumerate(samples):
        (tmp_path / f"sample{i}.py").write_text(sample)
        command = [sys.executable, str(tmp_path / f"sample{i}.py")]
        running.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
    for process in running:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors


def test_names_of_the_migration_page_exist() -> None:
    page = (ROOT / "docs/migrating.md").read_text()
    named = set(re.findall(r"`stator\.(\w+)", page))
    assert "compile" in named
    assert named <= {*stator.__all__, "config"}


def test_the_example_of_the_readme_runs() -> None:
    readme = (ROOT / "README.md").read_text()
    example = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
    assert example is not None
    space: dict[str, Any] = {}
    exec(compile(example[1], "README.md", "exec"), space)
    assert [entry.hits for entry in stator.cache_entries(space["compiled"])] == [1]
