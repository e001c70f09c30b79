"""What a freshly installed wheel must do; run by .ci/make-wheel, outside of the source tree."""

import os
import subprocess
import sys
from pathlib import Path

import stator

assert "torch" not in sys.modules
assert Path(stator.__file__).is_relative_to(sys.prefix), stator.__file__

import torch  # noqa: E402  (stator must come first once)


def f(x: torch.Tensor, n: int) -> torch.Tensor:
    for _ in range(n):
        x = torch.relu(x) + 1
        os.getloadavg()
    return x


def main() -> None:
    """Capture with and without a break, the page, and torch.compile by the environment."""
    x = torch.randn(4)
    for backend in ("native", "eager"):
        compiled = stator.compile(f, backend=backend)
        for _ in range(3):
            assert torch.equal(compiled(x, 2), f(x, 2))
        assert sum(entry.hits for entry in stator.cache_entries(compiled)) > 0
    assert "os.getloadavg()" in stator.explain(f)(x, 1).html()
    program = "import torch; print(type(torch.compile(lambda x: x, backend='eager')).__module__)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "STATOR": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "stator._capture", done.stdout + done.stderr
    print(
        f"stator {stator.__version__} works on Python {sys.version.split()[0]} with torch {torch.__version__}"
    )


main()
