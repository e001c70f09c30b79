"""Shapes and strides of tracers in odd layouts: nothing in a dimension, ones, channels last, no batch."""

import itertools
from collections.abc import Callable, Iterator

import pytest
import torch.nn.functional as F

import stator._torch as st
import torch

Operator = Callable[[torch.Tensor], torch.Tensor]


def laid_out(sizes: tuple[int, ...]) -> Iterator[torch.Tensor]:
    """A tensor of these sizes in each layout that it can have."""
    plain = torch.randn(sizes)
    yield plain
    yield plain.transpose(0, -1).contiguous().transpose(0, -1)
    if len(sizes) == 4:
        yield plain.contiguous(memory_format=torch.channels_last)
    if len(sizes) == 5:
        yield plain.contiguous(memory_format=torch.channels_last_3d)
    if sizes[0] > 1:
        yield plain[:1].expand(sizes)


def compare(operator: Operator, x: torch.Tensor) -> bool:
    """Whether eager took it; if so, the tracer of the result must look like eager's result."""
    try:
        expected = operator(x)
    except Exception:
        return False
    seen: list[torch.Tensor] = []

    def traced(x: torch.Tensor) -> torch.Tensor:
        result = operator(x)
        seen.append((tuple(result.shape), result.stride(), result.dtype))  # type: ignore[arg-type]
        return result

    st.trace(traced, [x])
    assert seen == [(tuple(expected.shape), expected.stride(), expected.dtype)], (x.shape, x.stride())
    return True


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
@pytest.mark.parametrize(("pairs", "rank"), [(1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (3, 5)])
def test_padding(mode: str, pairs: int, rank: int) -> None:
    compared = 0
    for sizes in itertools.product((1, 3), repeat=rank):
        for x in laid_out(sizes):
            for pad in ((1, 1), (0, 0), (1, -1), (-1, 0)):
                compared += compare(lambda x, pad=pad: F.pad(x, pad * pairs, mode=mode), x)
    assert compared > 20


OPERATORS: dict[str, Operator] = {
    "add number": lambda x: x + 1,
    "add": lambda x: x + x,
    "exp": torch.exp,
    "clone": torch.clone,
    "contiguous": lambda x: x.contiguous(),
    "channels last": lambda x: x.contiguous(memory_format=torch.channels_last),
    "empty_like": torch.empty_like,
    "sum": lambda x: x.sum(1),
    "cat": lambda x: torch.cat([x, x], 1),
    "stack": lambda x: torch.stack([x, x]),
    "softmax": lambda x: x.softmax(1),
    "double": lambda x: x.double(),
    "where": lambda x: torch.where(x > 0, x, x),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "group_norm": lambda x: F.group_norm(x, 1),
    "flip": lambda x: x.flip(1),
    "roll": lambda x: x.roll(1, 1),
    "cumsum": lambda x: x.cumsum(1),
    "sort": lambda x: x.sort(1)[0],
    "interpolate": lambda x: F.interpolate(x, scale_factor=2),
    "avg_pool2d": lambda x: F.avg_pool2d(x, 2),
    "adaptive_avg_pool2d": lambda x: F.adaptive_avg_pool2d(x, 1),
    "conv2d": lambda x: F.conv2d(x, torch.ones(2, x.shape[1], 1, 1)),
    "linear": lambda x: F.linear(x, torch.ones(3, x.shape[-1])),
    "matmul": lambda x: x @ x.transpose(-1, -2),
    "reshape": lambda x: x.reshape(-1, x.shape[-1]),
    "index": lambda x: x[:, [0]],
    "repeat": lambda x: x.repeat(1, 2, 1, 1),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x, 1),
}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.filterwarnings("ignore")
def test_nothing_in_a_dimension(name: str) -> None:
    compared = 0
    for sizes in itertools.product((0, 1, 2), repeat=4):
        for x in laid_out(sizes):
            compared += compare(OPERATORS[name], x)
    assert compared > 15
