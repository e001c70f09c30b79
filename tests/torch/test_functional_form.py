"""The functional form replayed by torch's kernels: a selection of `make functional`."""

import warnings

import pytest

pytest.importorskip("torch")

from functional_replay import check, differences, operators

import torch

# In-place operators of every kind: pointwise, comparisons, scatters, products, other names, refused ones.
NAMES = [
    "add",
    "mul",
    "clamp",
    "eq",
    "logical_not",
    "pow",
    "floor_divide",
    "lerp",
    "addcmul",
    "masked_fill",
    "index_add",
    "index_fill",
    "index_copy",
    "scatter",
    "scatter_add",
    "addmm",
    "baddbmm",
    "tril",
    "copysign",
    "nn.functional.relu",
    "nn.functional.hardswish",
    "nn.functional.softplus",
    "nn.functional.mish",
    "nn.functional.threshold",
    "xlogy",
    "sinc",
    "logaddexp",
    "isfinite",
    "fill",
    "cumsum",
]


@pytest.mark.parametrize("name", NAMES)
def test_operator(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = operators([name], 2, (torch.float32, torch.int64, torch.bfloat16))
    wrong = {row["name"]: differences(row) for row in rows if differences(row)}
    assert not wrong
    assert any("agreed" in row for row in rows)


def test_writes_through_views_of_views() -> None:
    def program(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        rows = x.view(2, 2, 3)
        first, second = rows.unbind(1)
        first.mul_(2)
        second.t()[1].add_(first.sum())
        x.permute(1, 0)[:2].diagonal().fill_(7)
        y.narrow(0, 1, 2).copy_(x[0, :2])
        return rows * 1, first + second, y[::2] * 2

    assert check(program, ((torch.randn(4, 3), torch.zeros(4)), {})) is None


def test_what_changes_more_than_elements_is_refused() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return (x * 2).squeeze_(0) + 1

    assert check(program, ((torch.randn(1, 3),), {})) == "refused: the operator aten::squeeze_.dim"


def test_a_difference_is_noticed() -> None:
    calls = []

    def drifting(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return x * len(calls)

    assert check(drifting, ((torch.ones(3),), {})) == "values differ"
