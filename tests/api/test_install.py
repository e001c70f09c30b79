"""pip installs the package into a fresh environment, with and without torch (`make test-install`)."""

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.install

PROGRAM = """
import stator, stator._capture, sys
def f(n): return sum(i * i for i in range(n))
assert stator.interpret(f)(10) == f(10)
assert stator.statistics().finished >= 1
assert "torch" not in sys.modules
print(stator._capture.__file__)
"""


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A virtual environment with what --no-build-isolation expects to find, and no torch."""
    venv.create(tmp_path / "venv", with_pip=True)
    pins = [line for line in (ROOT / "requirements-test.txt").read_text().splitlines() if "==" in line]
    build = [pin for pin in pins if pin.startswith(("scikit_build_core", "packaging", "pathspec", "ninja"))]
    _run(tmp_path / "venv/bin/pip", "install", "-q", *build)
    return tmp_path / "venv"


def _run(*command: object, cwd: Path = ROOT) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def _add_torch(environment: Path) -> None:
    """Lend the environment the torch of the one that runs the tests; a download takes minutes."""
    site = _run(environment / "bin/python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    (Path(site) / "lent_torch.pth").write_text(sysconfig.get_path("purelib") + "\n")


@pytest.mark.parametrize("editable", [False, True], ids=["copied", "editable"])
def test_without_torch(editable: bool, environment: Path, tmp_path: Path) -> None:
    flags = ["-e"] if editable else []
    _run(environment / "bin/pip", "install", "-q", "--no-build-isolation", *flags, ".")
    module = Path(_run(environment / "bin/python", "-c", PROGRAM, cwd=tmp_path))
    assert module.is_relative_to(environment)
    assert not list(module.parent.glob("_torch*.so"))


@pytest.mark.parametrize("editable", [False, True], ids=["copied", "editable"])
def test_with_torch(editable: bool, environment: Path, tmp_path: Path) -> None:
    _add_torch(environment)
    flags = ["-e"] if editable else []
    _run(environment / "bin/pip", "install", "-q", "--no-build-isolation", *flags, ".")
    assert Path(_run(environment / "bin/python", "-c", PROGRAM, cwd=tmp_path)).is_relative_to(environment)
    torch = "import stator; from stator.support import load_torch_extension as l; print(l().__file__)"
    assert Path(_run(environment / "bin/python", "-c", torch, cwd=tmp_path)).is_relative_to(environment)


def test_same_python_as_the_tests() -> None:
    """The lent torch fits only the Python that it was installed for."""
    assert sys.version_info[:2] == (3, 11)
