"""A layer cannot include what is above it: the compiler does not find the file."""

import importlib.util
import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "cp311"


def _compile(layer: str, program: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """Compile `program` with the very command that builds a C++ file of the layer."""
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    prefix = str(ROOT / "src" / layer) + "/"
    entry = next(e for e in commands if e["file"].startswith(prefix) and e["file"].endswith(".cpp"))
    source = directory / "probe.cpp"
    source.write_text(program)
    command = entry["command"].replace(entry["file"], str(source))
    arguments = shlex.split(re.sub(r" -o \S+", " -fsyntax-only", command))
    if "-include" in arguments:  # The precompiled header would bring in torch before the probe speaks.
        where = arguments.index("-include")
        del arguments[where : where + 2]
    return subprocess.run(arguments, cwd=directory, capture_output=True, text=True, check=False)


def _header(layer: str) -> str:
    """Some header of the layer, as an include line."""
    header = min(path for path in (ROOT / "src" / layer).rglob("*.h"))
    return f'#include "{header.relative_to(ROOT / "src")}"\n'


@pytest.mark.parametrize(
    ("layer", "forbidden"),
    [
        ("core", "#include <Python.h>\n"),
        ("core", _header("capture")),
        ("core", "#include <ATen/ATen.h>\n"),
        ("capture", "#include <ATen/ATen.h>\n"),
        ("capture", "#include <torch/library.h>\n"),
        ("capture", _header("torch")),
    ],
)
def test_forbidden_include_is_a_build_error(layer: str, forbidden: str, tmp_path: Path) -> None:
    done = _compile(layer, forbidden, tmp_path)
    assert done.returncode != 0
    assert "No such file or directory" in done.stderr


@pytest.mark.parametrize(
    ("layer", "allowed"),
    [("core", _header("core")), ("capture", "#include <Python.h>\n" + _header("core"))],
)
def test_what_is_below_is_found(layer: str, allowed: str, tmp_path: Path) -> None:
    done = _compile(layer, allowed, tmp_path)
    assert done.returncode == 0, done.stderr


def test_includes_are_written_from_the_layer_root() -> None:
    """A path relative to the including file would slip past the include roots."""
    wrong = []
    for path in (ROOT / "src").rglob("*.*"):
        if path.suffix in {".h", ".c", ".cpp", ".inc"}:
            for included in re.findall(r'^\s*#\s*include\s+"([^"]+)"', path.read_text(), re.MULTILINE):
                if (path.parent / included).exists():
                    wrong.append(f"{path.relative_to(ROOT)}: {included}")
    assert not wrong


def test_no_header_of_ours_hides_one_of_torch() -> None:
    """src/torch answers to "torch/...", as do torch's own headers, which must stay reachable."""
    torch = importlib.util.find_spec("torch")
    assert torch is not None
    assert torch.origin is not None
    include = Path(torch.origin).parent / "include"
    ours = {path.relative_to(ROOT / "src") for path in (ROOT / "src" / "torch").rglob("*.h")}
    assert ours
    roots = (include, include / "torch" / "csrc" / "api" / "include")
    assert not [path for path in ours if any((root / path).exists() for root in roots)]


def folders_included() -> dict[str, set[str]]:
    """For each folder of src/capture, or file beside them, the others that it includes."""
    capture = ROOT / "src" / "capture"
    found: dict[str, set[str]] = {}
    for path in capture.rglob("*.*"):
        if path.suffix not in {".h", ".c", ".cpp", ".inc", ".def"}:
            continue
        here = path.relative_to(capture).parts[0].removesuffix(".cpp").removesuffix(".h")
        included = re.findall(r'^\s*#\s*include\s+"capture/([^"]+)"', path.read_text(), re.MULTILINE)
        # The opcode table is a list of names, in which the tables of each Python are written.
        headers = [name for name in included if name != "bytecode/opcodes.def"]
        others = {name.split("/")[0].removesuffix(".h") for name in headers}
        found.setdefault(here, set()).update(others - {here})
    return found


def test_folders_of_the_capture_layer_form_no_circle() -> None:
    """A folder that is part of a circle can neither be read nor changed by itself."""
    left = folders_included()
    assert {"interpreter", "recording", "objects", "program"} <= set(left)
    while True:
        lowest = {name for name, others in left.items() if not others & set(left)}
        if not lowest:
            break
        left = {name: others for name, others in left.items() if name not in lowest}
    assert not left, f"these folders include each other: {left}"
