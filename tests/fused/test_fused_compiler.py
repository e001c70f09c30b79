"""Compiling: once for equal kernels, never a crash where llvmlite is missing or breaks."""

import subprocess
import sys

import pytest

import stator
import torch
from stator.backends.fused import compiler

PROGRAM = """
import sys, warnings
sys.modules["llvmlite"] = None
import torch, stator
with warnings.catch_warnings(record=True) as told, torch.no_grad():
    warnings.simplefilter("always")
    f = stator.compile(lambda x: (x * 2 + 1).tanh(), backend="fused")
    x = torch.randn(5)
    assert torch.equal(f(x), (x * 2 + 1).tanh()) and torch.equal(f(x + 1), ((x + 1) * 2 + 1).tanh())
    g = stator.compile(lambda x: x + 1, backend="fused")
    g(x)
print([str(w.message) for w in told if "stator[fused]" in str(w.message)])
"""


def test_without_llvmlite_the_extra_is_named_once() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout.count("pip install stator[fused]") == 1


def test_equal_layers_are_compiled_once() -> None:
    stator.reset()
    layers = [
        torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU(), torch.nn.LayerNorm(8)) for _ in range(9)
    ]
    model = torch.nn.Sequential(*layers).eval()
    before = dict(compiler.counts)
    with torch.no_grad():
        stator.compile(model, backend="fused")(torch.randn(4, 8))
    assert compiler.counts["uses"] - before["uses"] == 9
    assert compiler.counts["kernels"] - before["kernels"] == 1


def test_what_llvm_refuses_runs_natively(monkeypatch: pytest.MonkeyPatch) -> None:
    stator.reset()

    def refuse(*_: object) -> None:
        raise RuntimeError("no such instruction")

    monkeypatch.setattr(compiler.Compiler, "compile", refuse)
    x = torch.randn(5, 3)
    with torch.no_grad(), pytest.warns(UserWarning, match="no such instruction"):
        assert torch.equal(stator.compile(lambda x: x * 3.25 + 1, backend="fused")(x), x * 3.25 + 1)


@pytest.mark.parametrize("needs", [False, True])
def test_no_memory_is_torchs_error(needs: bool) -> None:
    stator.reset()
    call = stator.compile(lambda x: x.expand(1 << 46) * 2, backend="fused")
    with pytest.raises(RuntimeError, match="can't allocate memory"):
        call(torch.ones(1, requires_grad=needs))


def test_options_are_refused() -> None:
    with pytest.raises(TypeError, match="takes no mode"):
        stator.compile(torch.sin, backend="fused", mode="max-autotune")


def test_it_is_listed() -> None:
    assert "fused" in stator.list_backends()
