"""Breaks by the names that programs catch from TorchDynamo, while Stator is installed."""

from collections.abc import Iterator

import pytest

import stator
import torch


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    stator.install()
    yield
    stator.uninstall()
    stator.reset()


class Point:
    def __init__(self, x: torch.Tensor) -> None:
        self.x = x


@stator.allow_in_graph
def of_point(point: Point) -> torch.Tensor:
    return point.x + 1


@stator.allow_in_graph
def to_point(x: torch.Tensor) -> Point:
    return Point(x)


def test_what_a_function_in_the_graph_is_given() -> None:
    import torch._dynamo.exc as theirs

    with pytest.raises(theirs.Unsupported, match="Invalid input type"):
        torch.compile(lambda x: of_point(Point(x)), backend="eager", fullgraph=True)(torch.ones(2))
    with pytest.raises(theirs.Unsupported, match="Unsupported output type"):
        torch.compile(lambda x: to_point(x).x + 1, backend="eager", fullgraph=True)(torch.ones(2))


def test_branches_of_cond() -> None:
    import torch._dynamo.exc as theirs

    def other_structure(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: x.clone(), lambda x: (x.clone(), x.clone()), [x])

    def other_arguments(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x, y: x.clone(), lambda x: x.clone(), [x])

    with pytest.raises(theirs.TorchRuntimeError, match="Unmatched output spec"):
        torch.compile(other_structure, backend="eager", fullgraph=True)(torch.ones(2))
    with pytest.raises(theirs.UncapturedHigherOrderOpError, match=r"Higher Order Operator: torch\.cond"):
        torch.compile(other_arguments, backend="eager", fullgraph=True)(torch.ones(2))
