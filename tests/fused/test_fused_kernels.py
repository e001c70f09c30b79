"""Kernels by family: every operator that has a rule, over types, layouts and sizes."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch.nn.functional as F
from fused_checks import check

import stator
import torch

FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)

UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "neg": torch.neg,
    "abs": torch.abs,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "trunc": torch.trunc,
    "exp": torch.exp,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "sigmoid": torch.sigmoid,
    "log": lambda x: torch.log(x.abs()),
    "sqrt": lambda x: torch.sqrt(x.abs()),
    "rsqrt": lambda x: torch.rsqrt(x.abs() + 1),
    "reciprocal": lambda x: torch.reciprocal(x.abs() + 1),
    "square": torch.square,
    "pow": lambda x: x.pow(2) + x.pow(3),
    "root": lambda x: (x.abs() + 1).pow(0.5) + (x.abs() + 1).pow(-0.5) + (x.abs() + 1).pow(-1),
    "relu": F.relu,
    "relu6": F.relu6,
    "leaky relu": lambda x: F.leaky_relu(x, 0.2),
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu by tanh": lambda x: F.gelu(x, approximate="tanh"),
    "hardtanh": lambda x: F.hardtanh(x, -0.5, 0.75),
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "clamp": lambda x: x.clamp(-0.5, 0.25),
    "clamp below": lambda x: x.clamp_min(0.1),
    "clamp above": lambda x: x.clamp(max=0.1),
    "reversed subtraction": lambda x: 1 - x,
    "scaled": lambda x: torch.add(x, x, alpha=3) * 0.125 - 2,
}
ROWS: dict[str, Callable[[torch.Tensor], Any]] = {
    "softmax": lambda x: F.softmax(x, -1),
    "log softmax": lambda x: F.log_softmax(x, -1),
    "layer norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "rms norm": lambda x: F.rms_norm(x, x.shape[-1:], eps=1e-6),
    "sum": lambda x: x.sum(-1),
    "mean": lambda x: x.mean(-1, keepdim=True),
    "largest": lambda x: x.amax(-1),
    "smallest": lambda x: x.amin(-1, keepdim=True),
    "variance": lambda x: ((x - x.mean(-1, keepdim=True)) ** 2).mean(-1, keepdim=True),
    "with prologue and epilogue": lambda x: (x * 2).softmax(-1) * 3 + x,
    "two results": lambda x: two_results(x + 1),
}


def two_results(x: torch.Tensor) -> Any:
    return x, F.layer_norm(x, x.shape[-1:])


def values(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(7)
    if dtype is torch.bool:
        return torch.rand(shape, generator=generator) > 0.5
    if dtype.is_floating_point:
        return (torch.randn(shape, generator=generator) * 3).to(dtype)
    return torch.randint(0 if dtype is torch.uint8 else -9, 10, shape, generator=generator, dtype=dtype)


def norm_of_unequal(x: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(x + torch.arange(x.shape[-1]), x.shape[-1:])


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "transposed": lambda x: x.transpose(-1, -2),
    "sliced": lambda x: x[:, 1:, ::2],
    "expanded": lambda x: x[:1].expand(3, -1, -1),
    "expanded inside": lambda x: x[..., :1].expand(-1, -1, 6),
    "offset": lambda x: x[1],
    "flattened": lambda x: x.flatten(),
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_functions(name: str, dtype: torch.dtype) -> None:
    check(UNARY[name], values(5, 37, dtype=dtype))


@pytest.mark.parametrize("name", [*ROWS])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_rows(name: str, dtype: torch.dtype) -> None:
    check(ROWS[name], values(3, 5, 37, dtype=dtype), ulps=16)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 16, 31, 64, 257, 5000])
def test_lengths_of_rows(size: int) -> None:
    check(lambda x: (F.gelu(x), F.softmax(x, -1), x.sum(-1)), values(3, size), kernels=None, ulps=32)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["softmax", "layer norm", "sum", "gelu", "scaled"])
def test_layouts(name: str, layout: str) -> None:
    function = {**UNARY, **ROWS}[name]
    if name == "layer norm":  # equal elements have no variance, and rounding decides what comes out
        function = norm_of_unequal
    check(lambda x: function(LAYOUTS[layout](x)), values(3, 8, 6), kernels=None, ulps=16)
    # As an argument, strides are the caller's.
    check(function, LAYOUTS[layout](values(3, 8, 6)), kernels=None, ulps=16)


@pytest.mark.parametrize("format", [torch.channels_last, torch.contiguous_format], ids=str)
def test_formats_of_images(format: torch.memory_format) -> None:
    x = values(2, 4, 5, 6).to(memory_format=format)
    check(lambda x, w: F.silu(x * w.view(1, -1, 1, 1) + 1), x, values(4))
    check(lambda x: F.layer_norm(x.permute(0, 2, 3, 1), (4,)), x, ulps=16)
    check(lambda x: x.contiguous(memory_format=torch.channels_last) + 1, x, kernels=None)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers(dtype: torch.dtype) -> None:
    a, b = values(4, 9, dtype=dtype), values(9, dtype=dtype)
    check(lambda a, b: a * b + 3 - b, a, b)
    check(lambda a, b: (a & b) | (a ^ b), a, b)
    check(lambda a, b: torch.maximum(a, b).clamp(1, 5), a, b)
    check(lambda a: a.sum(-1), a)
    check(lambda a: a.amax(-1) - a.amin(-1), a, kernels=None)
    check(lambda a, b: torch.where(a > b, a, b), a, b)
    check(lambda a: a.to(torch.float32) * 0.5, a)


def test_booleans() -> None:
    a, b = values(4, 9, dtype=torch.bool), values(9, dtype=torch.bool)
    check(lambda a, b: (a & b) | ~a, a, b)
    check(lambda a, b: torch.logical_and(a, b).logical_or(a).logical_not(), a, b)
    check(lambda a, x: x.masked_fill(a, float("-inf")), a, values(4, 9))
    check(lambda a, x: torch.where(a, x, -1.0), a, values(4, 9))
    check(lambda a: a.float() * 2, a)
    check(lambda a: a + a * True, a)


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons(name: str) -> None:
    compare = getattr(torch, name)
    x = values(4, 9)
    x[0, 0] = float("nan")
    check(lambda a, b: compare(a, b), x, x.flip(0))
    check(lambda a: compare(a, 0.5), x)
    check(lambda a: compare(a * 1.0078125, 0.5), x.bfloat16())
    check(lambda a: compare(a, 3), values(4, 9, dtype=torch.int8))


def test_special_values() -> None:
    x = torch.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1e-40, -1e-40, 3e38, -3e38, 88.7])
    for function in (torch.exp, torch.tanh, torch.erf, torch.sigmoid, torch.log, torch.abs, F.relu):
        check(function, x)
    check(lambda x: torch.maximum(x, x.flip(0)), x)
    check(lambda x: x.amax(-1), x.view(2, 5))
    check(lambda x: F.softmax(x, -1), x.view(2, 5))
    check(lambda x: x.to(torch.bfloat16), x)
    check(lambda x: x.to(torch.float16), x)
    check(lambda x: x.to(torch.bool), x)


@pytest.mark.parametrize(
    ("function", "bound"),
    [(torch.exp, 1.5), (torch.tanh, 3), (torch.erf, 3), (torch.log, 1.5), (F.gelu, 3), (F.silu, 4)],
)
def test_rounding_of_functions(function: Callable[[torch.Tensor], torch.Tensor], bound: float) -> None:
    """In units of the last place, against float64, on every scale."""
    import stator

    x = torch.cat([torch.linspace(-20, 20, 40001), torch.logspace(-30, 4, 20001)])
    if function is torch.log:
        x = x.abs() + 1e-38
    with torch.no_grad():
        got = stator.compile(function, backend="fused")(x).double()
    exact = function(x.double())
    usable = exact.isfinite() & (exact.abs() > 1e-37) & (exact.abs() < 3e38)
    unit = torch.exp2(exact.abs().log2().floor() - 23)
    if function in (F.gelu, F.silu):  # what cancels is as exact as its operands
        unit = torch.maximum(unit, 1.2e-7 * x.double().abs() * 2.0**-2)
    assert ((got - exact).abs() / unit)[usable].max().item() < bound


def test_promotion() -> None:
    x, h, i = values(4, 9), values(4, 9).bfloat16(), values(4, 9, dtype=torch.int32)
    check(lambda x, h: x + h * 2, x, h, kernels=None)
    check(lambda x, i: x * i - i, x, i)
    check(lambda i: i / 3, i)
    check(lambda x: x * torch.tensor(2.5, dtype=torch.float64), x, kernels=None)
    check(lambda i: i * 2.5, i)
    check(lambda h: h.float().mean(-1, keepdim=True).to(torch.bfloat16) + h, h)


def test_precision_where_the_program_asks_for_it() -> None:
    """A conversion rounds, also between operators of one kernel."""
    check(lambda x: (x * 1.01).to(torch.bfloat16).float() - x, values(4, 33), ulps=1)
    check(lambda x: (x * 1.01).to(torch.float16).float() - x, values(4, 33), ulps=1)
    # So does promotion. In steps of the 16-bit type, a product that is not rounded would show.
    check(lambda x, h: x + h * 1.01, torch.zeros(4, 33), values(4, 33).bfloat16(), ulps=1, exactly=True)


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize(
    "shape", [(3, 4, 5, 6), (1, 4, 5, 6), (4, 1, 5, 6), (5, 5, 5, 5), (3, 4), (4, 4), (3, 4, 7)]
)
def test_batch_norm(shape: tuple[int, ...], affine: bool) -> None:
    kind = {2: torch.nn.BatchNorm1d, 3: torch.nn.BatchNorm1d, 4: torch.nn.BatchNorm2d}[len(shape)]
    norm = kind(shape[1], affine=affine).eval()
    for tensor in (*norm.parameters(), norm.running_mean, norm.running_var):
        tensor.data = values(shape[1]).abs() + 0.1
    x = values(*shape)
    check(lambda x: torch.relu(norm(x) + x), x, ulps=64)
    if len(shape) == 4:
        check(lambda x: norm(x).relu(), x.to(memory_format=torch.channels_last), ulps=64)
        check(lambda x: norm(x).mean((-1, -2)), x, kernels=None, ulps=64)


def test_batch_norm_of_a_batch_is_torchs() -> None:
    norm = torch.nn.BatchNorm2d(4)
    check(lambda x: norm(x).relu(), values(3, 4, 5, 6), kernels=None, ulps=64)


SIGNS_OF_ZERO = {
    "relu": F.relu,
    "relu6": F.relu6,
    "clamp": lambda x: x.clamp(0, 1),
    "clamp_max": lambda x: x.clamp(max=0),
    "hardtanh": F.hardtanh,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "sqrt": torch.sqrt,
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", SIGNS_OF_ZERO)
def test_signs_of_zeros(name: str, dtype: torch.dtype) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return 1 / SIGNS_OF_ZERO[name](x)

    compiled = stator.compile(program, backend="fused", fullgraph=True)
    x = torch.tensor([-0.0, 0.0, -0.0, 1.0, -0.0] * 7, dtype=dtype)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), program(x))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("exponent", [0.5, -0.5, 2, 3, -1, -2])
def test_powers_of_special_values(dtype: torch.dtype, exponent: float) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return x.pow(exponent) * 1

    x = torch.tensor([-math.inf, math.inf, math.nan, -0.0, 0.0, 4.0] * 6, dtype=dtype)
    with torch.no_grad():
        result = stator.compile(program, backend="fused", fullgraph=True)(x)
        torch.testing.assert_close(result, program(x), equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_operands_are_rounded_to_a_16_bit_result(dtype: torch.dtype) -> None:
    """Bit for bit: numbers, and tensors without dimensions of wider types, which the result's type does not
    hold. A product reads the second operand as what it was.
    """
    x = torch.tensor([0.4, 1000.0, 3.0, 2049.0, -7.0, 65504.0, -3.3, 12.6]).to(dtype)
    for value in [2049.3, 1 / 3, -7.7, 65519.0, -2051.0, 70000.0]:
        others = [torch.tensor(value), torch.tensor(int(value) or 7), torch.tensor([int(value) or 7])]

        def program(x: torch.Tensor, *others: torch.Tensor, value: float = value) -> list[torch.Tensor]:
            results = [x + value, value - x, x - value, x * value, x / value]
            for other in others:
                results += [x + other, other + x, x - other, other - x, x * other, other * x, x / other]
            return results

        stator.reset()
        got = stator.compile(program, backend="fused")(x, *others)
        for i, (a, b) in enumerate(zip(got, program(x, *others), strict=True)):
            assert a.dtype == b.dtype
            assert torch.equal(a, b), (value, i, a, b)
