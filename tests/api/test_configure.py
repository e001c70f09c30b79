"""CMake refuses a Python or a torch that Stator does not fit, and says which it does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def _configure(tmp_path: Path, modules: Path) -> str:
    """What CMake prints for a Python that sees `modules` first; it must fail."""
    environment = dict(os.environ, PYTHONPATH=str(modules))
    command = [
        "cmake",
        "-S",
        str(ROOT),
        "-B",
        str(tmp_path / "build"),
        f"-DPython_EXECUTABLE={sys.executable}",
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    return " ".join(done.stderr.split())


@pytest.mark.parametrize("version", [(3, 10, 4), (3, 14, 0)])
def test_other_python(version: tuple[int, ...], tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.version_info = {version}\n")
    message = _configure(tmp_path, tmp_path)
    assert "Stator supports CPython 3.11, 3.12 and 3.13 (with the GIL)" in message
    assert f"is cpython 3.{version[1]}" in message


def test_other_torch(tmp_path: Path) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").touch()
    (tmp_path / "torch-2.9.1.dist-info").mkdir()
    metadata = "Metadata-Version: 2.1\nName: torch\nVersion: 2.9.1\n"
    (tmp_path / "torch-2.9.1.dist-info" / "METADATA").write_text(metadata)
    message = _configure(tmp_path, tmp_path)
    assert "Stator supports torch 2.11, 2.12 and 2.13" in message
    assert "is torch 2.9.1" in message
