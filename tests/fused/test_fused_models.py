"""Whole models through the backend `fused`: results as eager's, up to rounding."""

import sys
from pathlib import Path

import pytest
from fused_checks import tensors

import stator
import torch
from stator.backends.fused.compiler import counts

pytest.importorskip("transformers", reason="transformers is not installed: requirements-models.txt")
sys.path.insert(0, str(Path(__file__).parents[1] / "models"))

from architectures import ARCHITECTURES

NAMES = ("bert", "gpt2", "llama", "t5", "vit", "convnext", "resnet", "whisper", "mamba", "swin")


@pytest.mark.parametrize("name", [name for name in NAMES if name in ARCHITECTURES])
def test_model(name: str) -> None:
    import transformers

    stator.reset()
    torch.manual_seed(0)
    model, inputs = ARCHITECTURES[name].build(transformers)
    model.eval()
    before = counts["uses"]
    with torch.no_grad():
        wanted = tensors(model(**inputs))
        compiled = stator.compile(model, backend="fused")
        for _ in range(2):
            got = tensors(compiled(**inputs))
            for a, b in zip(got, wanted, strict=True):
                torch.testing.assert_close(a, b, rtol=2e-4, atol=2e-5)
                assert a.stride() == b.stride()
    assert counts["uses"] > before
