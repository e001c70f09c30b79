"""Generated operands of odd layouts and types: looks of results, as captured code sees them.

TensorIterator chooses strides by those of the operands, after it has converted some of them; other operators
make their results like an operand. Programs that read strides, or reshape by them, see every choice.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch.nn.functional as F

import stator
import torch

Tensor = torch.Tensor
UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    name: getattr(torch, name)
    for name in [
        "abs",
        "angle",
        "clone",
        "erf",
        "i0",
        "isfinite",
        "isinf",
        "isnan",
        "isposinf",
        "isreal",
        "lgamma",
        "logit",
        "nan_to_num",
        "neg",
        "relu",
        "round",
        "sigmoid",
        "sign",
        "signbit",
        "sin",
        "sinc",
        "sqrt",
        "tril",
        "trunc",
    ]
} | {
    "add_int": lambda x: x + 1,
    "add_float": lambda x: x + 1.5,
    "argmax": lambda x: x.argmax(0),
    "amax": lambda x: x.amax(-1),
    "celu": lambda x: F.celu(x.float()),
    "clamp": lambda x: x.clamp(1, 3),
    "contiguous": lambda x: x.contiguous(),
    "cumprod": lambda x: x.cumprod(-1),
    "cumsum": lambda x: x.cumsum(0),
    "diff": lambda x: x.float().diff(dim=0),
    "divide": lambda x: x / 2,
    "flip": lambda x: x.flip(0),
    "from_number": lambda x: 1.5 - x,
    "full_like": lambda x: torch.full_like(x, 3),
    "gather": lambda x: x.gather(0, torch.zeros_like(x, dtype=torch.long)),
    "gelu": lambda x: F.gelu(x.float()),
    "glu": lambda x: F.glu(x.float(), -1),
    "greater": lambda x: x > 1.5,
    "hardswish": lambda x: F.hardswish(x.float()),
    "hardtanh": F.hardtanh,
    "index": lambda x: x[torch.tensor([0])],
    "layer_norm": lambda x: F.layer_norm(x.float(), x.shape[-1:]),
    "leaky_relu": lambda x: F.leaky_relu(x.float()),
    "logcumsumexp": lambda x: x.float().logcumsumexp(0),
    "logsigmoid": lambda x: F.logsigmoid(x.float()),
    "logsumexp": lambda x: x.float().logsumexp(-1, keepdim=True),
    "mean": lambda x: x.float().mean((0, -1)),
    "mish": lambda x: F.mish(x.float()),
    "norm": lambda x: x.float().norm(dim=0, keepdim=True),
    "normalize": lambda x: F.normalize(x.float(), dim=0),
    "number_to_power": lambda x: torch.pow(2, x),
    "poisson": lambda x: torch.poisson(x.float()),
    "prelu": lambda x: F.prelu(x.float(), torch.ones(1)),
    "relu6": F.relu6,
    "repeat": lambda x: x.repeat(*([2] * x.dim())),
    "rms_norm": lambda x: F.rms_norm(x.float(), x.shape[-1:]),
    "roll": lambda x: x.roll(1, 0),
    "rrelu": lambda x: F.rrelu(x.float(), training=True),
    "selu": lambda x: F.selu(x.float()),
    "softmax": lambda x: torch.softmax(x.float(), -1),
    "softmin": lambda x: F.softmin(x.float(), 0),
    "softsign": lambda x: F.softsign(x.float()),
    "sort": lambda x: x.sort(0)[0],
    "standard_gamma": lambda x: torch._standard_gamma(x.float()),
    "stack": lambda x: torch.stack([x, x]),
    "std": lambda x: x.float().std(0),
    "sum": lambda x: x.sum(-1, keepdim=True),
    "tanhshrink": lambda x: F.tanhshrink(x.float()),
    "threshold": lambda x: F.threshold(x.float(), 0.5, 2),
    "var": lambda x: x.float().var(-1, keepdim=True),
    "zeros_like": torch.zeros_like,
}
BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    name: getattr(torch, name)
    for name in [
        "add",
        "atan2",
        "copysign",
        "div",
        "eq",
        "float_power",
        "floor_divide",
        "fmax",
        "fmin",
        "fmod",
        "gcd",
        "heaviside",
        "hypot",
        "igamma",
        "isclose",
        "lcm",
        "logical_and",
        "logical_xor",
        "lt",
        "maximum",
        "mul",
        "nextafter",
        "polar",
        "pow",
        "remainder",
        "rsub",
        "sub",
        "xlogy",
    ]
} | {
    "addcdiv": lambda x, y: torch.addcdiv(x, y, y),
    "addcmul": lambda x, y: torch.addcmul(x, y, y),
    "add_scaled": lambda x, y: torch.add(x.float(), y.float(), alpha=2),
    "binary_cross_entropy": lambda x, y: F.binary_cross_entropy(x, y, reduction="none"),
    "bce_with_logits": lambda x, y: F.binary_cross_entropy_with_logits(x, y, reduction="none"),
    "cat": lambda x, y: torch.cat([x, x.to(y.dtype)]),
    "clamp": lambda x, y: torch.clamp(x, min=y),
    "cosine": lambda x, y: F.cosine_similarity(x.float(), y.float(), dim=0),
    "distance": lambda x, y: F.pairwise_distance(x.float(), y.float(), keepdim=True),
    "huber": lambda x, y: F.huber_loss(x, y, reduction="none"),
    "kl": lambda x, y: F.kl_div(x, y, reduction="none"),
    "l1": lambda x, y: F.l1_loss(x, y, reduction="none"),
    "lerp": lambda x, y: torch.lerp(x.float(), y.float(), 0.3),
    "logaddexp": lambda x, y: torch.logaddexp(x.float(), y.float()),
    "masked_fill": lambda x, y: x.masked_fill(y > 0, 1),
    "mse": lambda x, y: F.mse_loss(x, y, reduction="none"),
    "shift": lambda x, y: x << y,
    "smooth_l1": lambda x, y: F.smooth_l1_loss(x, y, reduction="none"),
    "to": lambda x, y: x.to(y.dtype),
    "truncated": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "where": lambda x, y: torch.where(y != 0, x, y),
    "zeta": torch.special.zeta,
}
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.int64, torch.int32, torch.bool, torch.uint8]


def operand(draw: random.Random, shape: list[int]) -> Tensor:
    """Dense, transposed, with gaps, expanded, and with any strides where a size is 1."""
    strides, stride = [0] * len(shape), 1
    for d in draw.sample(range(len(shape)), len(shape)):
        strides[d] = stride
        if draw.random() < 0.15:
            strides[d] = 0
            continue
        stride *= shape[d] if shape[d] != 1 or draw.random() < 0.5 else draw.choice([1, 2, 3])
        if draw.random() < 0.1:
            stride *= 2
    strides = [
        draw.choice([0, 1, 2, 7]) if n == 1 and draw.random() < 0.3 else s
        for n, s in zip(shape, strides, strict=True)
    ]
    dtype = draw.choice(DTYPES)
    if draw.random() < 0.25:
        return torch.ones(shape, dtype=dtype)
    reach = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    return torch.ones(reach, dtype=dtype).as_strided(shape, strides)


def case_of(seed: int) -> tuple[str, Callable[..., Any], tuple[Tensor, ...]]:
    draw = random.Random(seed)
    rank = draw.randint(1, 5) if draw.random() < 0.5 else 4
    shape = [draw.choice([1, 1, 2, 3]) for _ in range(rank)]
    other = [1 if draw.random() < 0.25 else n for n in shape]
    if draw.random() < 0.2:
        other = other[draw.randint(0, rank) :]
    x, y = operand(draw, shape), operand(draw, other)
    if draw.random() < 0.2 and len(other) == rank:
        x, y = y, x
    if draw.random() < 0.4:
        name = draw.choice(list(UNARY))
        return name, UNARY[name], (x,)
    name = draw.choice(list(BINARY))
    return name, BINARY[name], (x, y)


@pytest.mark.parametrize("start", range(0, 4000, 1000))
@pytest.mark.filterwarnings("ignore")
def test_as_eager(start: int) -> None:
    compared = served = 0
    for seed in range(start, start + 1000):
        name, operator, operands = case_of(seed)

        def function(*given: Tensor, operator: Callable[..., Any] = operator) -> Any:
            result = operator(*given)
            return result, result.stride(), tuple(result.shape), result.dtype

        try:
            wanted = function(*operands)
        except (RuntimeError, IndexError, ValueError):
            continue  # types that the operator refuses
        stator.reset()
        compiled = stator.compile(function, backend="native")
        compiled(*operands)
        got = compiled(*operands)
        looks = [(t.dtype, tuple(t.shape), t.stride()) for t in operands]
        assert got[1:] == wanted[1:], f"{name} of {looks}: captured code sees {got[1:]}"
        assert got[0].stride() == wanted[1], f"{name} of {looks}"
        compared += 1
        served += sum(entry.hits for entry in stator.cache_entries(compiled))
    assert compared > 800
    assert served > 0.9 * compared
