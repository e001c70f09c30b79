"""tests/torch/test_changing_strides.py: tensors of one size whose strides differ from call to call."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import stator
import torch

Function = Callable[[torch.Tensor], torch.Tensor]


def last_column(i: int) -> torch.Tensor:
    """Of a sequence that grows."""
    return torch.randn(2, 4 + i)[:, -1:]


def first_columns(i: int) -> torch.Tensor:
    """Of what was padded to another length."""
    return torch.randn(3, 5 + i)[:, :4]


def turned(i: int) -> torch.Tensor:
    return torch.randn(4, 3 + i)[:, :3].t()


def growing(i: int) -> torch.Tensor:
    """Sizes and strides at once."""
    return torch.randn(3 + i, 6 + 2 * i)[:, :4]


FUNCTIONS: dict[str, Function] = {
    "adds": lambda x: x + 1,
    "is_returned": lambda x: x,
    "copies": lambda x: x.contiguous() * 2,
    "keeps_layout": lambda x: torch.zeros_like(x) + x,
    "reshapes": lambda x: x.reshape(-1),
    "turns": lambda x: x.transpose(0, 1),
    "multiplies": lambda x: x @ x.t(),
    "joins": lambda x: torch.cat([x, x], -1),
    "reads_stride": lambda x: x * x.stride(0),
    "makes_like": lambda x: torch.empty_strided(x.size(), x.stride()).fill_(2),
    "decides": lambda x: x + 1 if x.is_contiguous() else x - 1,
    "as_integers": lambda x: x.view(torch.int32),
    "as_halves": lambda x: x.contiguous().view(torch.int16),
}


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("make", [last_column, first_columns, turned, growing])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_changing_strides(name: str, make: Callable[[int], torch.Tensor], backend: str) -> None:
    function = FUNCTIONS[name]
    compiled = stator.compile(function, backend=backend)
    for i in range(8):
        x = make(i)
        expected, found = function(x), compiled(x)
        assert torch.equal(found, expected)
        assert (found.stride(), found.storage_offset()) == (expected.stride(), expected.storage_offset())
    assert len(stator.cache_entries(compiled)) <= 3


def test_a_stride_is_named() -> None:
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.stride(0) < 9 else x * 3

    compiled = stator.compile(scaled, backend="native")
    for i in range(8):
        x = last_column(i)
        assert torch.equal(compiled(x), scaled(x))
    guards = [str(guard) for entry in stator.cache_entries(compiled) for guard in entry.guards]
    assert any("stride(0)" in guard for guard in guards)


def test_refused_views() -> None:
    """What torch refuses is refused with its words, whatever the strides are."""
    compiled = stator.compile(lambda x: x.view(-1), backend="native")
    for i in range(4):
        x = first_columns(i)
        with pytest.raises(RuntimeError, match="view size is not compatible") as eager:
            x.view(-1)
        with pytest.raises(RuntimeError, match="view size is not compatible") as captured:
            compiled(x)
        assert str(captured.value) == str(eager.value)
