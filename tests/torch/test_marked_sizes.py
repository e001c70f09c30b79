"""Sizes that mark_dynamic has marked: a program that fixes one is an error, as in torch.compile."""

from collections.abc import Callable

import pytest
from torch.fx.experimental.symbolic_shapes import ConstraintViolationError

import stator
import torch


def fixes(x: torch.Tensor) -> torch.Tensor:
    return x.sin() if x.shape[0] == 3 else x.cos()


def fixes_from_both_sides(x: torch.Tensor) -> torch.Tensor:
    if x.shape[0] > 3:
        return x.cos()
    return x * 2 if x.shape[0] < 3 else x.sin()


def leaves_open(x: torch.Tensor) -> torch.Tensor:
    return x.sin() if x.shape[0] > 2 else x.cos()


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("program", [fixes, fixes_from_both_sides])
def test_a_program_that_fixes_a_size(program: Callable[..., torch.Tensor], backend: str) -> None:
    x = torch.ones(3, 2)
    stator.mark_dynamic(x, 0)
    with pytest.raises(ConstraintViolationError, match="fixes it to 3"):
        stator.compile(program, backend=backend)(x)
    y = torch.ones(3, 2)
    stator.maybe_mark_dynamic(y, 0)
    assert torch.equal(stator.compile(program, backend=backend)(y), program(y))


def test_a_size_that_stays_open() -> None:
    compiled = stator.compile(leaves_open, backend="native", fullgraph=True)
    x = torch.ones(3, 2)
    stator.mark_dynamic(x, 0, min=3, max=9)
    assert torch.equal(compiled(x), leaves_open(x))
    assert torch.equal(compiled(torch.ones(7, 2)), leaves_open(torch.ones(7, 2)))
    assert len(stator.cache_entries(compiled)) == 1


def test_a_size_outside_of_its_range() -> None:
    x = torch.ones(8, 2)
    stator.mark_dynamic(x, 0, min=2, max=5)
    with pytest.raises(ConstraintViolationError, match="between 2 and 5"):
        stator.compile(leaves_open, backend="native")(x)
