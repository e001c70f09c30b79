"""DDP and FSDP2 on two gloo processes train as without Stator, and their models are captured."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from two_processes import RESULT

import torch

PROGRAM = Path(__file__).with_name("two_processes.py")


def free_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


@pytest.mark.skipif(not torch.distributed.is_gloo_available(), reason="torch is built without gloo")
@pytest.mark.parametrize("backend", ["native", "aot_eager"])
@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_training(kind: str, backend: str) -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), kind, backend, free_port()],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert RESULT in done.stdout
