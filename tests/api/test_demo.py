"""`make demo` works, with and without rich and transformers, and notices a difference."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PLAIN = "import sys; sys.modules.update(dict.fromkeys(['rich', 'rich.console', 'transformers'])); "
DIFFERENT = "import torch; torch.equal = lambda one, other: False; "
RUN = (
    "import runpy, sys; sys.path.insert(0, 'examples'); "
    "sys.argv = ['demo.py', '--calls', '3', '--page', {!r}]; "
    "runpy.run_path('examples/demo.py', run_name='__main__')"
)


@pytest.mark.parametrize(
    ("before", "status", "shown"),
    [("", 0, "same bits"), (PLAIN + DIFFERENT, 1, "DIFFERENT")],
    ids=["as installed", "plain, different"],
)
def test_demo(before: str, status: int, shown: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    command = [sys.executable, "-c", before + RUN.format(str(page))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    assert done.stdout.count(shown) >= 3, done.stdout
    assert "os.getloadavg()" in page.read_text()
