"""What a user reads when the Python, the torch or the extension module does not fit."""

import subprocess
import sys
from pathlib import Path

import pytest

from stator import support

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13)])
def test_supported_pythons_pass(version: tuple[int, ...]) -> None:
    support.require_python("cpython", version)


@pytest.mark.parametrize(
    ("implementation", "version", "gil"),
    [
        ("cpython", (3, 10), True),
        ("cpython", (3, 14), True),
        ("pypy", (3, 11), True),
        ("cpython", (3, 13), False),
    ],
)
def test_other_pythons_are_told_which_are_supported(
    implementation: str, version: tuple[int, ...], gil: bool
) -> None:
    with pytest.raises(ImportError, match=r"supports CPython 3\.11, 3\.12 and 3\.13") as caught:
        support.require_python(implementation, version, gil)
    assert f"{implementation} {version[0]}.{version[1]}" in str(caught.value)


@pytest.mark.parametrize("version", ["2.11.0", "2.12.1", "2.13.0+cpu", "2.13.0a0+git1234"])
def test_supported_torches_pass(version: str) -> None:
    support.require_torch(version)


@pytest.mark.parametrize("version", ["2.10.0", "2.14.0", "2.1.0", "3.0.0", "1.13.1"])
def test_other_torches_are_told_which_are_supported(version: str) -> None:
    with pytest.raises(ImportError, match=rf"supports torch 2\.11, 2\.12 and 2\.13; this is torch {version}"):
        support.require_torch(version)


def test_missing_torch_is_said() -> None:
    with pytest.raises(ImportError, match=r"needs torch 2\.11, 2\.12 and 2\.13, and torch is not installed"):
        support.require_torch(None)


def test_packages_are_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """`compile` is called for every layer of some models; what is on disk is read the first time only."""
    pytest.importorskip("torch")
    support.load_torch_extension()
    monkeypatch.setattr("importlib.metadata.version", None)
    assert support.load_torch_extension().__name__ == "stator._torch"


def test_missing_extension_says_what_to_run(tmp_path: Path) -> None:
    """A clone that was never built: the Python files are there, the extension modules are not."""
    (tmp_path / "stator").mkdir()
    for file in (ROOT / "stator").glob("*.py"):
        (tmp_path / "stator" / file.name).write_bytes(file.read_bytes())
    (tmp_path / "CMakeLists.txt").touch()
    done = _python("import stator", cwd=tmp_path)
    assert done.returncode == 1
    assert f"run `make build` in {tmp_path}" in done.stderr.splitlines()[-1]


def test_import_does_not_import_torch() -> None:
    done = _python("import stator, sys; print('torch' in sys.modules, stator.interpret(len)('ab'))", cwd=ROOT)
    assert (done.stdout, done.returncode) == ("False 2\n", 0), done.stderr


def _python(program: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], cwd=cwd, capture_output=True, text=True, check=False
    )
