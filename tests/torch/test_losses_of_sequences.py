"""tests/torch/test_losses_of_sequences.py: `ctc_loss`, whose kernel looks at lengths; packed sequences."""

from __future__ import annotations

from typing import Any

import pytest
from torch.nn import functional
from torch.nn.functional import log_softmax
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import stator
import torch

ctc_loss: Any = functional.ctc_loss

TARGETS = torch.tensor([[1, 2, 1], [2, 1, 0]])


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("zero_infinity", [False, True])
@pytest.mark.parametrize("as_tensors", [False, True])
def test_ctc_loss(reduction: str, zero_infinity: bool, as_tensors: bool) -> None:
    def loss(x: torch.Tensor, lengths: Any, target_lengths: Any) -> Any:
        probabilities = log_softmax(x, -1)
        return ctc_loss(
            probabilities,
            TARGETS,
            lengths,
            target_lengths,
            reduction=reduction,
            zero_infinity=zero_infinity,
        )

    compiled: Any = stator.compile(loss, backend="native", fullgraph=True)
    for seed, (lengths, target_lengths) in enumerate([((6, 5), (3, 2)), ((4, 6), (2, 2)), ((1, 6), (3, 2))]):
        torch.manual_seed(seed)
        mine = torch.randn(6, 2, 3, requires_grad=True)
        its = mine.detach().clone().requires_grad_()
        given: Any = [lengths, target_lengths]
        if as_tensors:
            given = [torch.tensor(each) for each in given]
        wanted, got = loss(mine, *given), compiled(its, *given)
        assert torch.equal(got, wanted)
        assert got.dtype == wanted.dtype
        wanted.sum().backward()
        got.sum().backward()
        assert torch.equal(mine.grad, its.grad) or bool(mine.grad.isnan().any())  # type: ignore[arg-type, union-attr]
    if as_tensors:
        assert len(compiled.entries) == 1


def test_ctc_loss_without_a_batch() -> None:
    def loss(x: torch.Tensor) -> Any:
        return ctc_loss(log_softmax(x, -1), TARGETS[0][:2], (5,), (2,), reduction="none")

    compiled: Any = stator.compile(loss, backend="native", fullgraph=True)
    x = torch.randn(6, 3)
    assert torch.equal(compiled(x), loss(x))
    assert compiled(x).shape == loss(x).shape


def test_ctc_loss_that_raises() -> None:
    def loss(x: torch.Tensor, lengths: torch.Tensor) -> Any:
        try:
            return ctc_loss(log_softmax(x, -1), TARGETS, lengths, torch.tensor([3, 2]))
        except RuntimeError:
            return "too long"

    compiled: Any = stator.compile(loss, backend="native")
    x = torch.randn(6, 2, 3)
    assert torch.equal(compiled(x, torch.tensor([6, 5])), loss(x, torch.tensor([6, 5])))
    assert compiled(x, torch.tensor([6, 9])) == "too long"


def test_ctc_loss_of_a_compiler() -> None:
    def loss(x: torch.Tensor) -> Any:
        return ctc_loss(log_softmax(x, -1), TARGETS, (6, 5), (3, 2))

    compiled: Any = stator.compile(loss, backend="aot_eager")
    x = torch.randn(6, 2, 3)
    assert torch.equal(compiled(x), loss(x))
    assert "data-dependent-operator" in compiled.breaks[0]


@pytest.mark.parametrize("as_tensor", [False, True])
def test_packed_sequences_break(as_tensor: bool) -> None:
    torch.manual_seed(0)
    recurrent = torch.nn.LSTM(3, 4, batch_first=True)

    def function(x: torch.Tensor, lengths: Any) -> torch.Tensor:
        packed = pack_padded_sequence(x * 2, lengths, batch_first=True)
        return pad_packed_sequence(recurrent(packed)[0], batch_first=True)[0]

    compiled: Any = stator.compile(function, backend="native")
    for lengths in ([5, 3], [4, 4]):
        x = torch.randn(2, 5, 3)
        given = torch.tensor(lengths) if as_tensor else lengths
        assert torch.equal(compiled(x, given), function(x, given))
    assert "data-dependent-operator" in compiled.breaks[0]
