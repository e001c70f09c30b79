"""NumPy functions of plain numbers are computed once; of anything else, and where NumPy would warn, not."""

from typing import Any

import numpy as np
import pytest

import stator
import torch

WIDTH = 64


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * np.sqrt(WIDTH) + np.log(np.add(WIDTH, 0.5)) - x / np.exp2(1)


@pytest.mark.parametrize("backend", ["native", "eager"])
def test_functions_of_numbers(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = stator.compile(scaled, backend=backend)
    x = torch.randn(3)
    for width in (64, 64, 256, 256):
        monkeypatch.setitem(
            globals(), "WIDTH", width
        )  # the second width makes it symbolic, and NumPy asks for the number
        got, expected = compiled(x), scaled(x)
        assert torch.equal(got, expected)
        assert got.dtype == expected.dtype
    assert [entry.hits for entry in stator.cache_entries(compiled)] == [1, 1]


def warns(x: torch.Tensor) -> Any:
    return x + np.log(WIDTH - 64)


def test_where_numpy_would_warn_it_does_so_on_every_call() -> None:
    compiled = stator.compile(warns, backend="native")
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            assert torch.isinf(compiled(torch.ones(2))).all()
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        compiled(torch.ones(2))
