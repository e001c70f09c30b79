"""mypy --strict on programs of users."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def check(program: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", str(program)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_signatures_are_kept() -> None:
    """An unneeded `type: ignore` in the program is an error, too: what it marks is refused."""
    check(Path(__file__).with_name("typed_program.py"))


def test_the_sample_of_the_readme(tmp_path: Path) -> None:
    sample = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert sample is not None
    (tmp_path / "sample.py").write_text(sample[1])
    check(tmp_path / "sample.py")
