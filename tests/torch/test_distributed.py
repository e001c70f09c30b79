"""DistributedDataParallel and FSDP2 on two processes of this machine train as without Stator."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch.distributed

PROGRAMS = Path(__file__).with_name("distributed_programs.py")

pytestmark = pytest.mark.skipif(
    not torch.distributed.is_available() or not torch.distributed.is_gloo_available(),
    reason="this torch has no gloo",
)


def run(name: str, folder: Path) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAMS), name, str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


@pytest.mark.parametrize("name", ["data_parallel", "fully_sharded"])
def test_trains_as_without(name: str, tmp_path: Path) -> None:
    found = run(name, tmp_path)
    assert len(found) == 6
    assert set(found.values()) == {"(True, True)"}, found  # equal to the bit; and served by captures


def test_hooks_of_fsdp_are_not_captured(tmp_path: Path) -> None:
    assert run("hooks_of_fsdp", tmp_path) == {"captured": "True", "of fsdp": "False"}


def test_gradients_are_sent_while_the_backward_goes_on(tmp_path: Path) -> None:
    found = run("buckets", tmp_path)
    assert found["parts"] == found["whole"] == "True"
    assert "bp" in found["order of parts"], found
    assert found["order of whole"].lstrip("p") == "b" * found["order of whole"].count("b"), found
    assert found["order of whole"].count("p") == 1
    assert found["order of whole"].count("b") > 1
