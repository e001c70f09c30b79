"""The documents name files, targets and names that exist, and their samples run."""

import ast
import dataclasses
import doctest
import importlib
import operator
import re
import subprocess
import sys
from pathlib import Path

import pytest

import stator
from stator.api import logs

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


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_named_without_a_folder_exist(document: Path) -> None:
    named = set(re.findall(r"`([\w<>]+\.(?:h|cpp|def))`", document.read_text()))
    assert not [name for name in named if not any((ROOT / "src").rglob(re.sub(r"<\w+>|XX", "*", name)))]


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


WITH_SAMPLES = [document for document in DOCUMENTS if "```python" in document.read_text()]


@pytest.mark.parametrize("document", WITH_SAMPLES, ids=lambda path: path.name)
def test_samples_run(document: Path, tmp_path: Path) -> None:
    """All samples of a page, one after the other, in a process of their own: some change torch.compile.

    They stand in their lines of the page, so an error names the line there.
    """
    page = document.read_text()
    lines = [""] * page.count("\n")
    for sample in re.finditer(r"```python\n(.*?)```", page, re.DOTALL):
        first = page.count("\n", 0, sample.start(1))
        source = sample[1].splitlines()
        lines[first : first + len(source)] = source
    script = tmp_path / f"sample_{document.stem}.py"  # no module of this name is hidden
    script.write_text("\n".join(lines))
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr


def test_the_guide_has_samples() -> None:
    """A page without any would pass the test above."""
    guide = "getting-started migrating debugging-a-break explain-page backends training dynamic-shapes"
    wanted = {*guide.split(), "numpy", "settings", "writing-a-backend", "README"}
    assert wanted <= {document.stem for document in WITH_SAMPLES}


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs/README.md").read_text()
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert not [page for page in pages if f"({page})" not in index]


DOCTESTED = [
    "stator.api.explain",
    "stator.api.interpreter",
    "stator.api.compile",
    "stator.api.contexts",
    "stator.api.cache",
    "stator.api.marks",
]
DOCTESTED += ["stator.api.stance", "stator.api.numpy_functions", "stator.backends.registry", "stator.config"]
DOCTESTED += ["stator.api.logs", "stator.api.compiling", "stator.export.front", "stator.dropin.installation"]


@pytest.mark.parametrize("name", DOCTESTED)
def test_docstrings_tell_the_truth(name: str) -> None:
    module = importlib.import_module(name)
    outcome = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert outcome.attempted
    assert not outcome.failed


GUIDE = ["getting-started", "migrating", "debugging-a-break", "explain-page", "backends", "training"]
GUIDE += ["dynamic-shapes", "numpy", "settings", "limits"]


@pytest.mark.parametrize("page", GUIDE)
def test_names_in_the_guide_exist(page: str) -> None:
    text = (ROOT / f"docs/{page}.md").read_text()
    loggers = {"breaks"}  # `stator.breaks` is the name of one
    for name in set(re.findall(r"`stator\.([\w.]*\w)", text)) - loggers:
        operator.attrgetter(name)(stator)


def test_every_public_name_is_documented() -> None:
    named = {name: getattr(stator, name) for name in stator.__all__ if name != "__version__"}
    assert not [name for name, each in named.items() if not getattr(each, "__doc__", None)]


def test_every_setting_is_in_its_table() -> None:
    """With its default, but for what the environment decides."""
    page = (ROOT / "docs/settings.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", page, re.MULTILINE))
    fields = {field.name: field.default for field in dataclasses.fields(type(stator.config))}
    assert rows.keys() == fields.keys()
    assert {name: ast.literal_eval(text) for name, text in rows.items()} == {**fields, "disable": False}


def test_every_log_is_in_its_table() -> None:
    page = (ROOT / "docs/settings.md").read_text()
    assert not [name for name in logs.NAMES if not re.search(rf"\b{name}\b", page)]
