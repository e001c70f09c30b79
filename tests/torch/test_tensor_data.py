"""Data that torch reads past its operators: nested lists, tensors inside of lists, indices, item stores.

Each program is run twice, then its data are changed in every place, and it is run again.
"""

from collections.abc import Callable
from typing import Any

import pytest
from comparison import alike

import stator
import torch


class World:
    def __init__(self) -> None:
        self.buffer: Any = torch.tensor(2.0)
        self.index: Any = torch.tensor(1)
        self.row: Any = [1, 0]
        self.nested: Any = [self.row, [1, 1]]
        self.cols: Any = [0, 2]
        self.sizes: Any = [1, 2]
        self.values: Any = [5, 6]


PROGRAMS: dict[str, Callable[[World, torch.Tensor], Any]] = {
    "tensor of tensors": lambda w, x: torch.tensor([w.buffer, w.buffer]) + x[0, 0],
    "tensor of nested tensors": lambda w, x: torch.tensor([[w.buffer], [1.0]]) + x[0, 0],
    "as_tensor of tensors": lambda w, x: torch.as_tensor([w.buffer, 1.0]) + x[0, 0],
    "asarray of tensors": lambda w, x: torch.asarray([w.buffer, 1.0]) + x[0, 0],
    "FloatTensor of tensors": lambda w, x: torch.FloatTensor([w.buffer, 1.0]) + x[0, 0],
    "new_tensor of tensors": lambda w, x: x.new_tensor([w.buffer, 1.0]),
    "new_tensor of a buffer's": lambda w, x: w.buffer.new_tensor([w.buffer, 1.0]) + x[0, 0],
    "tensor of a keyword": lambda w, x: torch.tensor(data=[w.buffer]) + x[0, 0],
    "stack": lambda w, x: torch.stack([w.buffer, w.buffer]) + x[0, 0],
    "tensor of a tensor": lambda w, x: w.buffer.clone() + x,
    "tensor of lists": lambda w, x: torch.tensor(w.nested) + x[0, 0],
    "as_tensor of lists": lambda w, x: torch.as_tensor(w.nested) + x[0, 0],
    "new_tensor of lists": lambda w, x: x.new_tensor(w.nested),
    "Size": lambda w, x: (torch.Size(w.sizes), x + 1),
    "expand": lambda w, x: x[0, 0].expand(w.sizes),
    "sparse": lambda w, x: torch.sparse_coo_tensor(w.nested, [1.0, 2.0], (3, 3)).to_dense() + x[0, 0],
    "columns": lambda w, x: x[:, w.cols],
    "rows and columns": lambda w, x: x[w.nested[0], w.nested[1]],
    "list of lists": lambda w, x: x[[w.row, w.cols]],
    "nested index": lambda w, x: x[:, w.nested],
    "index of tensors": lambda w, x: x[:, [w.index, 0]],
    "index of nested tensors": lambda w, x: x[[[w.index, 0], [0, 1]]],
    "index of a tensor": lambda w, x: x[w.index],
    "store at columns": lambda w, x: stored(x, (slice(None), w.cols), 7.0),
    "store at rows": lambda w, x: stored(x, w.row, 7.0),
    "store of a buffer": lambda w, x: stored(x, 0, w.buffer),
    "store of a sum": lambda w, x: stored(x, 0, float(sum(w.row))),
    "list slice store": lambda w, x: sliced(w, x),
    "map of tensors": lambda w, x: sum(map(torch.neg, [x, w.buffer])),
    "map of lists": lambda w, x: list(map(torch.tensor, w.nested)) + [x + 1],  # noqa: RUF005
    "block": lambda w, x: torch.block_diag(*map(torch.tensor, w.nested)) + x[0, 0],
}


def stored(x: torch.Tensor, key: Any, value: Any) -> torch.Tensor:
    y = x.clone()
    y[key] = value
    return y


def sliced(w: World, x: torch.Tensor) -> Any:
    items = [1, 2, 3]
    items[1:2] = w.values
    return x * items[1], items


CHANGES: dict[str, Callable[[World], Any]] = {
    "buffer": lambda w: w.buffer.add_(3),
    "index": lambda w: w.index.sub_(1),
    "row": lambda w: w.row.__setitem__(0, 0),
    "columns": lambda w: w.cols.__setitem__(1, 1),
    "values": lambda w: w.values.__setitem__(0, 9),
    "sizes": lambda w: w.sizes.__setitem__(0, 3),
    "outer": lambda w: w.nested.__setitem__(1, [0, 0]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_data_is_read_on_each_call(name: str) -> None:
    program = PROGRAMS[name]
    for change in CHANGES.values():
        world = World()
        compiled = stator.compile(lambda x: program(world, x), backend="native")  # noqa: B023
        x = torch.arange(9.0).reshape(3, 3)
        for call in range(4):
            if call == 2:
                change(world)
            assert alike(compiled(x), program(world, x)), (change, call)


# Programs whose data hold no tensors are captured whole, but for sparse tensors and some indices.
BREAKS = ("tensor of a keyword", "sparse", "list of lists", "index of a tensor")
WHOLE = [name for name in PROGRAMS if "tensors" not in name and name not in BREAKS]


@pytest.mark.parametrize("name", [name for name in WHOLE if "buffer's" not in name])
def test_programs_that_are_captured(name: str) -> None:
    world = World()
    compiled = stator.compile(lambda x: PROGRAMS[name](world, x), backend="native", fullgraph=True)
    x = torch.arange(9.0).reshape(3, 3)
    for _ in range(3):
        assert alike(compiled(x), PROGRAMS[name](world, x))
    assert [entry.hits for entry in stator.cache_entries(compiled)] == [2]
