"""torch._check of numbers that are read off tensors, for backends in Python."""

from typing import Any

import pytest

import stator
import torch


@pytest.fixture(autouse=True)
def symbols() -> Any:
    with stator.config.patch(capture_scalar_outputs=True):
        yield


def ranges(x: torch.Tensor) -> torch.Tensor:
    n = x.item()
    torch._check(n >= 0)
    torch._check(n < 100, lambda: "too many")
    return torch.arange(0, n) if n >= 0 else x


def differs(x: torch.Tensor) -> torch.Tensor:
    a, b = x.tolist()
    torch._check(a != b)
    return x + 1 if a != b else x


def negated(x: torch.Tensor) -> torch.Tensor:
    n = int(x.item())
    torch._check(torch.sym_not(n < 2))
    return x * n


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_checks_are_nodes(backend: str) -> None:
    for function, inputs, refused in (
        (ranges, [3, 4], 100),
        (differs, [[1, 2], [5, 3]], [2, 2]),
        (negated, [2, 7], 1),
    ):
        compiled = stator.compile(function, backend=backend, fullgraph=True)
        for each in inputs:
            x = torch.tensor(each)
            torch.testing.assert_close(compiled(x), function(x))
        assert len(stator.cache_entries(compiled)) == 1
        with pytest.raises(RuntimeError):
            compiled(torch.tensor(refused))


def test_a_branch_still_breaks() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        n = x.item()
        torch._check(n >= 0)
        return x + 1 if n > 3 else x

    with pytest.raises(stator.CaptureError, match="read off a tensor"):
        stator.compile(function, backend="eager", fullgraph=True)(torch.tensor(2))
    compiled = stator.compile(function, backend="eager")
    for n in (2, 5):
        assert compiled(torch.tensor(n)).item() == function(torch.tensor(n)).item()
