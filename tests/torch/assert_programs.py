"""Programs with assert statements, in a file that pytest does not rewrite."""

import torch


def asserts(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    assert (y > 0).all(), "must be positive"
    assert y.sum() < 100
    return y * 2


def handled(x: torch.Tensor) -> torch.Tensor:
    try:
        assert (x > 0).all()
    except AssertionError:
        return x - 1
    return x + 1


def branches(x: torch.Tensor) -> torch.Tensor:
    if (x > 0).all():
        return x + 1
    return x - 1
