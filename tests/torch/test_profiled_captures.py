"""A profiler of torch's that records shapes around a capture."""

from typing import Any

import stator
import torch


def f(x: torch.Tensor, y: torch.Tensor) -> Any:
    a, b = torch.broadcast_tensors(x, y)
    return a * b + torch.stack([x + 1, y]).sum(0)


def test_capture_under_a_profiler() -> None:
    """Lists of tensors with symbolic sizes ended the program with an internal error of the profiler's."""
    compiled = stator.compile(f, backend="eager", dynamic=True)
    for size in (3, 4, 5):
        x, y = torch.randn(size), torch.randn(size)
        with torch.profiler.profile(record_shapes=True) as profile:
            result = compiled(x, y)
            torch.sin(x)
        assert torch.equal(result, f(x, y))
        assert any(event.name == "aten::sin" for event in profile.events())


def test_operators_of_the_capture_are_not_recorded() -> None:
    with torch.profiler.profile() as profile:
        stator.compile(lambda x: torch.relu(x) + 1, backend="native")(torch.ones(3))
        torch.sin(torch.ones(2))
    names = [event.name for event in profile.events()]
    assert names.count("aten::relu") == 1  # of the run
    assert names.count("aten::sin") == 1
