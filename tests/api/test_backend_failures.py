"""What users see when a backend fails or takes long."""

import io
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import stator
import torch
from stator.backends import progress


def refuses(gm: Any, example_inputs: Any) -> Any:
    raise NotImplementedError("no sine here")


def f(x: torch.Tensor) -> torch.Tensor:
    return x.sin() + 1


def test_the_error_shows_the_graph_and_the_cause() -> None:
    with pytest.raises(
        stator.BackendFailed, match="'refuses' raised NotImplementedError: no sine here"
    ) as caught:
        stator.compile(f, backend=refuses)(torch.ones(2))
    assert isinstance(caught.value.__cause__, NotImplementedError)
    assert "aten.sin.default" in str(caught.value)
    assert "STATOR_REPRO=after_capture" in str(caught.value)
    assert caught.value.graph_module.graph is not None


def test_a_long_graph_is_shortened() -> None:
    def long(x: torch.Tensor) -> torch.Tensor:
        for _ in range(200):
            x = x + 1
        return x

    with pytest.raises(stator.BackendFailed) as caught:
        stator.compile(long, backend=refuses)(torch.ones(2))
    assert str(caught.value).count("\n") < 60
    assert "lines (the whole is .graph_module)" in str(caught.value)


def test_what_fake_tensors_cannot_do_runs_natively() -> None:
    calls = []

    def cannot(gm: Any, example_inputs: Any) -> Any:
        from torch._subclasses.fake_tensor import DynamicOutputShapeException

        calls.append(gm)
        raise DynamicOutputShapeException(torch.ops.aten.nonzero.default)

    compiled = stator.compile(f, backend=cannot)
    for _ in range(3):
        assert torch.equal(compiled(torch.ones(2)), f(torch.ones(2)))
    assert calls
    with pytest.raises(stator.CaptureError, match="backend"):
        stator.compile(f, backend=cannot, fullgraph=True)(torch.ones(2))


def test_an_index_out_of_range_is_the_programs() -> None:
    def finds(gm: Any, example_inputs: Any) -> Any:
        raise IndexError("dimension out of range")

    with pytest.raises(IndexError, match="dimension out of range") as caught:
        stator.compile(f, backend=finds)(torch.ones(2))
    assert not isinstance(caught.value, stator.BackendFailed)


def test_suppressed_errors_run_natively() -> None:
    with stator.config.patch(suppress_errors=True):
        assert torch.equal(stator.compile(f, backend=refuses)(torch.ones(2)), f(torch.ones(2)))


BACKEND = """
def refuses(gm, example_inputs):
    if any(node.target is __import__("torch").ops.aten.sin.default for node in gm.graph.nodes):
        raise NotImplementedError("no sine here")
    return gm.forward
"""
PROGRAM = """
import torch, stator
from some_backend import refuses

def f(x, n, flag):
    y = torch.cat([x, x.sin()], dim=-1).sum(-1, dtype=torch.float64)
    with torch.no_grad():
        z = y * torch.tensor([1.5, 2.5, 3.5]) + float("inf")
    return y.to(torch.float32), z[:, None] if flag else z, x.new_zeros(n)

stator.compile(f, backend=refuses)(torch.randn(3, 2, 4).transpose(0, 1).requires_grad_(), 3, True)
"""


@pytest.mark.parametrize(
    ("variable", "value"), [("STATOR_REPRO", "after_capture"), ("TORCHDYNAMO_REPRO_AFTER", "dynamo")]
)
def test_reproduction(variable: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file fails as the program did, and gives the graph's results once the backend is mended."""
    monkeypatch.setenv(variable, value)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "some_backend.py").write_text(BACKEND)
    (tmp_path / "program.py").write_text(PROGRAM)

    def run(file: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, file]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)

    failed = run("program.py")
    (file,) = tmp_path.glob("stator_repro_*.py")
    assert f"A file that does the same: {file}" in failed.stderr
    again = run(file.name)
    assert again.returncode == 1
    assert again.stderr.strip().endswith("NotImplementedError: no sine here")
    (tmp_path / "some_backend.py").write_text(BACKEND.replace("aten.sin", "aten.cos"))
    mended = run(file.name)
    assert mended.returncode == 0, mended.stderr
    assert "torch.float64" in mended.stdout or "inf" in mended.stdout


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("patience", "stream", "told"),
    [(0.001, Terminal, True), (60.0, Terminal, False), (0.001, io.StringIO, False)],
    ids=["long", "short", "no terminal"],
)
def test_progress(
    patience: float, stream: type[io.StringIO], told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = stream()
    monkeypatch.setattr(progress, "PATIENCE", patience)
    monkeypatch.setattr(sys, "stderr", said)

    def patient(gm: Any, example_inputs: Any) -> Any:
        while told and not said.getvalue():
            time.sleep(0.001)
        return gm.forward

    stator.compile(f, backend=patient)(torch.ones(2))
    assert ("stator: backend 'patient' compiles a graph of 4 nodes …" in said.getvalue()) == told
    assert said.getvalue().endswith(" s\n") == told
