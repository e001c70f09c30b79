"""tests/torch/test_partly_read_arguments.py: tensors and modules among arguments that are read in part."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch


@dataclasses.dataclass
class Batch:
    x: torch.Tensor
    id: Any = None
    extra: Any = None


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, mask: Any = None, **rest: Any) -> torch.Tensor:
        return self.linear(x) * 2


def captures(compiled: Any) -> int:
    return len(stator.cache_entries(compiled))


def others() -> list[Any]:
    """What may stand where nobody looks."""
    return [
        torch.ones(3),
        torch.ones(2, 2, dtype=torch.int64),
        torch.ones(3, requires_grad=True),
        None,
        "text",
        [torch.ones(1)],
        7,
        2.5,
        {"a": torch.ones(2)},
    ]


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize(
    ("function", "wrap"),
    [
        (lambda x, y: x + 1, lambda x, y: (x, y)),
        (lambda b: b["x"] + 1, lambda x, y: ({"x": x, "y": y},)),
        (lambda b: b["x"] + 1, lambda x, y: ({"y": y, "x": x},)),
        (lambda b: b[0] + 1, lambda x, y: ([x, y],)),
        (lambda b: b[-1] + 1, lambda x, y: ([y, y, x],)),
        (lambda b: b[0] + 1, lambda x, y: ((x, y),)),
        (lambda b: b.x + 1, lambda x, y: (Batch(x, y),)),
        (lambda b: b["a"][0].x + 1, lambda x, y: ({"a": (Batch(x, 1, y), y), "b": y},)),
        (lambda x, *rest: x + 1, lambda x, y: (x, y, y)),
    ],
)
def test_unread_parts(function: Callable[..., Any], wrap: Callable[..., Any], backend: str) -> None:
    compiled = stator.compile(function, backend=backend)
    x = torch.randn(4)
    for other in others():
        torch.testing.assert_close(compiled(*wrap(x, other)), x + 1, rtol=0, atol=0)
    assert captures(compiled) == 1
    wide = torch.randn(4, dtype=torch.float64)
    torch.testing.assert_close(compiled(*wrap(wide, None)), wide + 1, rtol=0, atol=0)
    assert captures(compiled) == 2


def test_inputs_of_the_graph_are_what_was_read() -> None:
    seen: list[int] = []

    def backend(graph: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        seen.append(len(inputs))
        return graph.forward

    compiled = stator.compile(lambda x, y, z: z + x, backend=backend)
    for y in others():
        assert compiled(torch.ones(2), y, torch.ones(2)).tolist() == [2, 2]
    assert seen == [2]


def test_modules_pass_on_what_they_are_given() -> None:
    model = Model()
    compiled = stator.compile(model, backend="native")
    x = torch.randn(2, 4)
    for i, other in enumerate(others()):
        torch.testing.assert_close(compiled(x, other, note=i), model(x), rtol=0, atol=0)
    assert captures(compiled) == 1


def test_unpacked_batch() -> None:
    def function(batch: Any) -> torch.Tensor:
        x, _ = batch
        return x * 2

    compiled = stator.compile(function, backend="native")
    x = torch.randn(3)
    for other in others():
        assert torch.equal(compiled((x, other)), x * 2)
    assert captures(compiled) == 1


def test_growing_history_of_tensors() -> None:
    def function(x: torch.Tensor, history: list[torch.Tensor]) -> torch.Tensor:
        y = x + history[-1]
        history.append(y)
        return y

    compiled = stator.compile(function, backend="native")
    plain, captured = [torch.ones(2)], [torch.ones(2)]
    for _ in range(12):
        x = torch.randn(2)
        assert torch.equal(compiled(x, captured), function(x, plain))
    assert all(torch.equal(a, b) for a, b in zip(plain, captured, strict=True))
    assert captures(compiled) == 1


def test_windows_of_history() -> None:
    def function(history: list[torch.Tensor]) -> torch.Tensor:
        return torch.stack(history[-3:]).sum(0)

    compiled = stator.compile(function, backend="native")
    history = [torch.randn(2) for _ in range(3)]
    for _ in range(10):
        assert torch.equal(compiled(history), function(history))
        history.append(torch.randn(2))
    assert captures(compiled) == 1


def test_aliasing_of_tensors() -> None:
    def function(batch: dict[str, Any]) -> Any:
        batch["x"].add_(1)
        return batch["y"] * 1, batch["x"] is batch["y"]

    compiled = stator.compile(function, backend="native")
    for shared in (False, True, False, True):
        x = torch.zeros(2)
        y = x if shared else torch.zeros(2)
        value, same = compiled({"x": x, "y": y})
        assert (value.tolist(), same) == ([1.0, 1.0] if shared else [0.0, 0.0], shared)


def test_results_that_nobody_read() -> None:
    compiled = stator.compile(lambda x, y: (x + 1, y), backend="native")
    for other in others():
        value, own = compiled(torch.ones(2), other)
        assert value.tolist() == [2, 2]
        assert own is other
    assert captures(compiled) == 1


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad])
def test_first_read_inside_of_a_mode(mode: Any) -> None:
    def function(x: torch.Tensor, w: torch.Tensor) -> Any:
        with mode():
            y = x * 2
        return y.sum() + (w * x).sum()

    compiled = stator.compile(function, backend="native")
    for _ in range(2):
        x, w = torch.randn(3), torch.randn(3, requires_grad=True)
        got, wanted = compiled(x, w), function(x, w)
        assert torch.equal(got, wanted)
        assert got.requires_grad == wanted.requires_grad
        got.backward()
        assert torch.equal(w.grad, x)  # type: ignore[arg-type]


def test_first_read_inside_of_a_transform() -> None:
    def function(x: torch.Tensor, w: torch.Tensor) -> Any:
        return torch.vmap(lambda row: (row * w).sum())(x)

    compiled = stator.compile(function, backend="native")
    x, w = torch.randn(4, 3), torch.randn(3)
    assert torch.equal(compiled(x, w), function(x, w))
    assert torch.equal(compiled(x + 1, w), function(x + 1, w))


def test_lists_as_data_and_index() -> None:
    def function(x: torch.Tensor, rows: Any, data: Any) -> torch.Tensor:
        y = x[rows] + torch.tensor(data)
        y[rows] = 5
        return y[:, rows]

    compiled = stator.compile(function, backend="native")
    x = torch.randn(3, 3)
    for rows, data in (
        ([0, 1, 2], [[1.0]]),
        ([0, 2, 1], [[1.0]]),
        ([0, 1, 2], [[2.0]]),
        ([0, 1, 2], [[1.0]]),
    ):
        assert torch.equal(compiled(x, rows, data), function(x, rows, data))


def test_a_large_argument_costs_nothing() -> None:
    class Counting(list):  # type: ignore[type-arg]
        pass

    compiled = stator.compile(lambda x, items: x + 1, backend="native")
    x = torch.ones(2)
    for items in ([1] * 100_000, [None] * 5, Counting([1]), range(3)):
        compiled(x, items)
    assert captures(compiled) == 1


def in_items(a: Any, b: Any) -> int:
    return 3 if "eq" in a or "eq" in b else 1


def by_length(a: Any, b: Any) -> int:
    return 2 * len(a) + len(b)


def by_loop(a: Any, b: Any) -> int:
    return sum(2 for _ in a) + sum(1 for _ in b)


def by_truth(a: Any, b: Any) -> int:
    return 5 if a or b else 4


def by_comparison(a: Any, b: Any) -> int:
    return 5 if a == ("eq",) or b == ("eq",) else 4


def by_text(a: Any, b: Any) -> int:
    return len(f"{b}") * 100 + len(f"{a}")


@pytest.mark.parametrize("reader", [in_items, by_length, by_loop, by_truth, by_comparison, by_text])
@pytest.mark.parametrize("breaks", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_empty_tuples_are_arguments_of_their_own(
    reader: Callable[[Any, Any], int], breaks: bool, nested: bool
) -> None:
    """There is one empty tuple in the process, for both arguments."""
    break_here = stator.disable(lambda: None)

    def function(x: torch.Tensor, a: Any, b: Any) -> torch.Tensor:
        x = x + 1
        if breaks:
            break_here()
        a, b = (a[0], b[0]) if nested else (a, b)
        return x * reader(a, b)

    compiled = stator.compile(function, backend="native")
    x = torch.ones(2)
    for _ in range(2):
        for a, b in [((), ()), ((), ("eq",)), (("eq",), ()), (("eq",), ("eq",)), ((), (1, 2))]:
            given = ([a], [b]) if nested else (a, b)
            assert torch.equal(compiled(x, *given), function(x, *given)), (a, b)
