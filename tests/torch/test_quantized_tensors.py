"""Quantized tensors run natively: a tracer has no quantizer, and would answer otherwise than they do."""

from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch

pytestmark = pytest.mark.filterwarnings("ignore:.*quantized tensor creation.*")


def quantized() -> torch.Tensor:
    return torch.quantize_per_tensor(torch.tensor([0.5, 1.5]), 0.5, 0, torch.qint8)


PROGRAMS: dict[str, Callable[[torch.Tensor], Any]] = {
    "asked of an argument": lambda q: (q.is_quantized, q.dtype),
    "a branch": lambda q: q.dequantize() + 1 if q.is_quantized else q * 2,
    "its scale": lambda q: (q.q_scale(), q.q_zero_point(), q.int_repr() + 1),
    "made": lambda q: torch.quantize_per_tensor(q.dequantize() * 2, 0.5, 1, torch.quint8).is_quantized,
    "made and read": lambda q: torch.quantize_per_tensor(q.dequantize() * 2, 0.5, 1, torch.qint8).int_repr(),
    "in a list": lambda q: [each.is_quantized for each in [q, q.dequantize()]],
    "a copy": lambda q: q.clone().is_quantized,
}


@pytest.mark.parametrize("backend", ["native", "eager", "openxla"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_eager(name: str, backend: str) -> None:
    stator.reset()
    function = PROGRAMS[name]
    compiled = stator.compile(function, backend=backend)
    wanted = function(quantized())
    for _ in range(3):
        found = compiled(quantized())
        if isinstance(wanted, torch.Tensor):
            assert torch.equal(found, wanted)
        else:
            assert repr(found) == repr(wanted)


def test_the_rest_is_captured() -> None:
    def scale(q: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return x * 2 + q.dequantize() * 3

    stator.reset()
    compiled = stator.compile(scale, backend="native")
    x = torch.ones(2)
    for _ in range(3):
        assert torch.equal(compiled(quantized(), x), scale(quantized(), x))
    assert sum(entry.hits for entry in stator.cache_entries(compiled)) > 0
