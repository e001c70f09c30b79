"""Views of tensors whose sizes change, against eager: values, sizes, strides, offsets, on each backend."""

from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch

BACKENDS = ["native", "eager", "aot_eager"]
SIZES = [5, 8, 17, 3, 2, 1, 0, 8, 6]
Function = Callable[[torch.Tensor], Any]

VIEWS: dict[str, Function] = {
    # slices with open, negative and symbolic ends
    "all": lambda x: x[:, :],
    "from 1": lambda x: x[:, 1:],
    "from 3": lambda x: x[:, 3:],
    "last": lambda x: x[:, -1:],
    "last two": lambda x: x[:, -2:],
    "last of the last dimension": lambda x: x.transpose(1, 2)[..., -1:],
    "but the last": lambda x: x[:, :-1],
    "but the last three": lambda x: x[:, :-3],
    "inner": lambda x: x[:, 1:-1],
    "inner from the end": lambda x: x[:, -4:-1],
    "to 2": lambda x: x[:, :2],
    "beyond": lambda x: x[:, :100],
    "from beyond": lambda x: x[:, 100:],
    "from far before": lambda x: x[:, -100:],
    "to far before": lambda x: x[:, :-100],
    "largest end": lambda x: x[:, 1 : 2**63 - 1],
    "end past 64 bits": lambda x: x[:, 1 : 2**70],
    "lowest start": lambda x: x[:, -(2**63) :],
    "start before 64 bits": lambda x: x[:, -(2**70) :],
    "start -2**62": lambda x: x[:, -(2**62) :],
    "end -2**62": lambda x: x[:, : -(2**62)],
    "half": lambda x: x[:, x.shape[1] // 2 :],
    "first half": lambda x: x[:, : x.shape[1] // 2],
    "middle half": lambda x: x[:, x.shape[1] // 4 : 3 * x.shape[1] // 4],
    "minus half": lambda x: x[:, -(x.shape[1] // 2) :],
    "to the size": lambda x: x[:, 1 : x.shape[1]],
    "to the size less 2": lambda x: x[:, : x.shape[1] - 2],
    "from the size less 2": lambda x: x[:, x.shape[1] - 2 :],
    "from the size": lambda x: x[:, x.shape[1] :],
    "from twice the size": lambda x: x[:, 2 * x.shape[1] :],
    "from minus the size": lambda x: x[:, -x.shape[1] :],
    "min of the size": lambda x: x[:, : min(x.shape[1], 4)],
    "max of the size": lambda x: x[:, max(x.shape[1] - 4, 0) :],
    "rest of the size": lambda x: x[:, x.shape[1] % 3 :],
    "root of the size": lambda x: x[:, : int(x.shape[1] ** 0.5)],
    # steps
    "every second": lambda x: x[:, ::2],
    "every second from 1": lambda x: x[:, 1::2],
    "every third of the last": lambda x: x[:, -5::3],
    "every third but the last": lambda x: x[:, :-1:3],
    "step past the end": lambda x: x[:, ::1000],
    "largest step": lambda x: x[:, :: 2**62],
    "step of the size": lambda x: x[:, :: x.shape[1] + 1],
    "half every second": lambda x: x[:, x.shape[1] // 2 :: 2],
    # several at once
    "two": lambda x: x[1:, -2:],
    "slice of a slice": lambda x: x[:, 1:][:, -2:],
    "slice of a half": lambda x: x[:, x.shape[1] // 2 :][:, :-1],
    "with none": lambda x: x[:, None, -2:],
    "with an ellipsis": lambda x: x[..., -2:, 0],
    "slice and index": lambda x: x[1, -2:],
    # narrow, select
    "narrow": lambda x: x.narrow(1, 0, x.shape[1] // 2),
    "narrow from the end": lambda x: x.narrow(1, -min(2, x.shape[1]), min(2, x.shape[1])),
    "narrow half": lambda x: x.narrow(1, x.shape[1] // 2, x.shape[1] - x.shape[1] // 2),
    "first": lambda x: x[:, 0] if x.shape[1] else x,
    "last index": lambda x: x[:, -1] if x.shape[1] else x,
    "middle index": lambda x: x[:, x.shape[1] // 2] if x.shape[1] else x,
    "index of the size less 1": lambda x: x.select(1, x.shape[1] - 1) if x.shape[1] else x,
    "minus the size": lambda x: x.select(1, -x.shape[1]) if x.shape[1] else x,
    # parts
    "unfold": lambda x: x.unfold(1, 2, 1) if x.shape[1] >= 2 else x,
    "unfold with steps": lambda x: x.unfold(1, 3, 2) if x.shape[1] >= 3 else x,
    "unfold half": lambda x: x.unfold(1, x.shape[1] // 2 + 1, 1) if x.shape[1] else x,
    "chunk": lambda x: x.chunk(3, 1),
    "chunk 2": lambda x: x.chunk(2, 1)[-1],
    "split": lambda x: x.split(2, 1),
    "split at half": lambda x: x.split([x.shape[1] // 2, x.shape[1] - x.shape[1] // 2], 1),
    "split by half": lambda x: x.split(max(x.shape[1] // 2, 1), 1),
    "tensor_split": lambda x: x.tensor_split(3, 1),
    "tensor_split at": lambda x: x.tensor_split([1, -1], 1),
    "tensor_split at the half": lambda x: x.tensor_split((x.shape[1] // 2,), 1),
    "tensor_split beyond": lambda x: x.tensor_split([2, 100, -100], 1),
    "unbind": lambda x: x.unbind(1),
    "hsplit": lambda x: x[:, : x.shape[1] // 2 * 2].hsplit(2),
    # moved
    "roll": lambda x: x.roll(1, 1),
    "roll back": lambda x: x.roll(-1, 1),
    "roll half": lambda x: x.roll(x.shape[1] // 2, 1),
    "roll far": lambda x: x.roll(-1000, 1),
    "flip": lambda x: x.flip(1),
    "flip both": lambda x: x[:, 1:].flip(1, 2),
    "diff": lambda x: x.diff(dim=1),
    "diff twice": lambda x: x.diff(n=2, dim=1),
    "take last of flip": lambda x: x.flip(1)[:, -1:],
    "diagonal": lambda x: x[0].diagonal(),
    "diagonal offset": lambda x: x[0].diagonal(-1),
    "diagonal of the size": lambda x: x[0].diagonal(-(x.shape[1] // 2)),
    "tril": lambda x: x[0].tril(x.shape[1] - 3),
    "as_strided": lambda x: x.as_strided((x.shape[1] // 2, 2), (1, 1)),
    # used further
    "mean of the last two": lambda x: x[:, -2:].sum(1) / max(x[:, -2:].shape[1], 1),
    "shifted difference": lambda x: x[:, 1:] - x[:, :-1],
    "cat of halves": lambda x: torch.cat([x[:, x.shape[1] // 2 :], x[:, : x.shape[1] // 2]], 1),
    "sizes of views": lambda x: (x[:, -2:].shape, x[:, 1:].numel(), x[:, ::2].stride(), x[:, -3:-1].shape[1]),
    "written": lambda x: _written(x),
    "pad and cut": lambda x: torch.nn.functional.pad(x, (0, 0, 2, 0))[:, : -2 if x.shape[1] else None],
    "movedim": lambda x: x.movedim(1, 0)[-2:],
    "swapped": lambda x: x.mT[..., -3:],
    "expanded": lambda x: x[:, -2:, :, None].expand(-1, -1, -1, 3),
    "flattened": lambda x: x[:, -2:].flatten(1),
    "reshaped": lambda x: x[:, x.shape[1] // 2 :].reshape(x.shape[0], -1),
}


def _written(x: torch.Tensor) -> torch.Tensor:
    x = x.clone()
    x[:, -2:] += 1
    x[:, x.shape[1] // 2 :] *= 2
    x[:, :1] = 0
    return x


def shown(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return (value.tolist(), tuple(value.shape), value.stride(), value.storage_offset(), value.dtype)
    if isinstance(value, tuple | list):
        return type(value).__name__, [shown(item) for item in value]
    return type(value).__name__, value


def outcome(function: Function, x: torch.Tensor) -> Any:
    try:
        return shown(function(x))
    except (IndexError, RuntimeError, ValueError) as error:
        return type(error).__name__, str(error).split("\n")[0]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str, backend: str) -> None:
    stator.reset()
    function = VIEWS[name]
    compiled = stator.compile(function, backend=backend)
    for n in SIZES:
        x = torch.arange(float(2 * n * 4)).reshape(2, n, 4)
        assert outcome(compiled, x) == outcome(function, x), f"size {n}"


@pytest.mark.parametrize("name", VIEWS)
def test_views_of_transposed_tensors(name: str) -> None:
    stator.reset()
    function = VIEWS[name]
    compiled = stator.compile(function, backend="native")
    for n in SIZES:
        x = torch.arange(float(2 * n * 4)).reshape(4, n, 2).transpose(0, 2)
        assert outcome(compiled, x) == outcome(function, x), f"size {n}"


SERVED_BY_FEW = ["last two", "half", "but the last", "every second", "slice of a half", "shifted difference"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", SERVED_BY_FEW)
def test_one_capture_serves_many_sizes(name: str, backend: str) -> None:
    stator.reset()
    function = VIEWS[name]
    compiled = stator.compile(function, backend=backend)
    for n in range(8, 40):
        x = torch.randn(2, n, 4)
        assert torch.equal(compiled(x), function(x))
    assert len(stator.cache_entries(compiled)) <= 3
