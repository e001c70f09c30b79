"""Numbers at the edges of their types, and shapes at the edges of theirs, through XLA against eager."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch.nn.functional as F
from agreement import check

import stator
import torch

NAN, INF = float("nan"), float("inf")
FLOATS = torch.tensor([NAN, INF, -INF, 0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 1e30, -1e30])
INTS = torch.tensor([-7, -3, -1, 0, 1, 3, 7, 2**31, -(2**31) - 5, 2**40, -(2**62), 2**63 - 1])
BYTES = torch.tensor([0, 1, 5, 127, 128, 255], dtype=torch.uint8)
SMALL = torch.tensor([-128, -5, -1, 0, 1, 5, 127], dtype=torch.int8)
MATRIX = torch.tensor(
    [[1.0, NAN, 3.0, NAN], [2.0, 2.0, -1.0, 2.0], [INF, -INF, INF, 0.0], [-0.0, 0.0, -0.0, 0.0]]
)

# As functions of one tensor, of floats and of integers.
UNARY = [
    "abs",
    "neg",
    "sign",
    "sgn",
    "floor",
    "ceil",
    "round",
    "trunc",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "rsqrt",
    "reciprocal",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
    "asin",
    "acos",
    "atan",
    "asinh",
    "acosh",
    "atanh",
    "erf",
    "erfc",
    "sigmoid",
    "relu",
    "isnan",
    "isinf",
    "isfinite",
    "isposinf",
    "isneginf",
    "signbit",
    "square",
    "digamma",
    "lgamma",
    "sinc",
    "deg2rad",
    "rad2deg",
    "logical_not",
]
OF_FLOATS = ["frac", "nan_to_num", "logit"]
ACTIVATIONS = [
    "hardswish",
    "hardsigmoid",
    "softplus",
    "mish",
    "elu",
    "selu",
    "celu",
    "silu",
    "relu6",
    "leaky_relu",
    "logsigmoid",
    "softsign",
    "tanhshrink",
    "hardshrink",
    "softshrink",
    "hardtanh",
]
BINARY = [
    "add",
    "sub",
    "mul",
    "div",
    "floor_divide",
    "remainder",
    "fmod",
    "pow",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "atan2",
    "hypot",
    "copysign",
    "nextafter",
    "logaddexp",
    "logaddexp2",
    "xlogy",
    "eq",
    "lt",
    "heaviside",
    "logical_xor",
]
OF_INTS = [
    "add",
    "sub",
    "mul",
    "div",
    "floor_divide",
    "remainder",
    "fmod",
    "maximum",
    "minimum",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "eq",
    "lt",
]


@pytest.fixture(autouse=True)
def _fresh() -> None:
    stator.reset()
    torch.manual_seed(0)


def pairs(values: torch.Tensor, others: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    first, second = torch.meshgrid(values, others, indexing="ij")
    return first.reshape(-1).clone(), second.reshape(-1).clone()


def test_functions_of_floats() -> None:
    functions = [getattr(torch, name) for name in (*UNARY, *OF_FLOATS)]
    check(lambda x: [f(x) for f in functions], FLOATS)


def test_functions_of_integers() -> None:
    functions = [getattr(torch, name) for name in UNARY]
    for values in (INTS, SMALL, BYTES):
        check(lambda x: [f(x) for f in functions], values)


def test_activations() -> None:
    functions = [getattr(F, name) for name in ACTIVATIONS]
    check(lambda x: [f(x) for f in functions], FLOATS)


def test_functions_of_two_floats() -> None:
    functions = [getattr(torch, name) for name in BINARY]
    check(lambda x, y: [f(x, y) for f in functions], *pairs(FLOATS, FLOATS))
    check(lambda x, y: torch.div(x, y, rounding_mode="trunc"), *pairs(FLOATS, FLOATS))


def test_functions_of_two_integers() -> None:
    functions = [getattr(torch, name) for name in OF_INTS]
    for values in (INTS, SMALL, BYTES):
        x, y = pairs(values, values[values != 0])
        fits = ~((x == torch.iinfo(x.dtype).min) & (y == -1)) if x.dtype.is_signed else x == x
        check(lambda x, y: [f(x, y) for f in functions], x[fits], y[fits])


def every(*functions: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *inputs: [function(*inputs) for function in functions]


SPECIAL: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "shifts": (lambda x, y: (x << y, x >> y, x << 2, x >> 1), (INTS, torch.arange(12) * 6)),
    "powers of integers": (lambda x, y: (x**y, x**5, x.abs() ** 0.5, 2**y), (INTS, torch.arange(12))),
    "negative powers": (
        lambda x, y: x**y,
        (torch.tensor([1, -1, 2, -3, 0]), torch.tensor([-1, -2, -1, -3, 1])),
    ),
    "booleans times what is not finite": (
        lambda x, y: ((x > y) * y, (x > y).double() * y, (x > y) // 0.0, x.isnan().float() * x),
        (torch.tensor([1.0, 2.0, math.nan, math.inf]), torch.tensor([math.inf, -math.inf, 1.0, math.nan])),
    ),
    "logarithms of powers that overflow": (
        lambda x: (x.exp().log(), x.exp().log2(), x.exp() * x.neg().exp(), x.exp() / x.exp(), x.exp() ** 0.1),
        (torch.tensor([1.0, 200.0, -200.0, 0.0]),),
    ),
    "logarithms of powers of the base": (
        lambda x: ((2**x).log2().floor(), (2**x).half().log2().floor(), (2**x).exp2().log2()),
        (torch.arange(1.0, 8.0),),
    ),
    "signs of zeros": (
        lambda x: (1 / x.sign(), 1 / x.sgn(), 1 / -x, 1 / x.abs(), 1 / x.trunc()),
        (torch.tensor([0.0, -0.0, 2.0, -3.0, math.inf]),),
    ),
    "half to even": (
        lambda x: (x.round(), x.round(decimals=1), x.round(decimals=-1)),
        (torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5, 0.25, 15.0, 25.0, 1e10]),),
    ),
    "floats as integers": (
        lambda x: (x.to(torch.int8), x.to(torch.uint8), x.to(torch.int16), x.long(), x.int(), x.bool()),
        (torch.tensor([0.5, -0.5, 1.9, -1.9, 300.0, -300.0, 70000.0]),),
    ),
    "integers as others": (
        lambda x: (x.to(torch.int8), x.to(torch.uint8), x.int(), x.float(), x.double(), x.half(), x.bool()),
        (INTS,),
    ),
    "bytes wrap": (
        lambda x, y: (x + y, x * y, x - y, x + 1, x - 3, x * 2.0, -x, x // 3),
        (BYTES, BYTES.flip(0)),
    ),
    "small integers wrap": (lambda x: (x + x, x * x, x - 100, x // 3, x % 3, x // -3, x % -3), (SMALL,)),
    "signed with unsigned": (lambda x, y: (x + y, x * y, x < y, torch.maximum(x, y)), (SMALL[:6], BYTES)),
    "booleans": (
        lambda x, y: (x + y, x * y, x ^ y, ~x, x.sum(), x.prod(), x.cumsum(0), x < y, torch.maximum(x, y)),
        (torch.tensor([True, False, True]), torch.tensor([True, True, False])),
    ),
    "a tensor without dimensions does not promote": (
        lambda x, s: (x + s, s + x, x * s, torch.where(x > s, x, s)),
        (torch.ones(3, dtype=torch.float16), torch.tensor(2.5, dtype=torch.float64)),
    ),
    "large numbers": (
        lambda x: (x + 2**40, x == 2**40, x > 2**31, x + 0.5, x > 2**62, x == 2**53 + 1),
        (torch.tensor([2**40, 1, 2**53 + 1, 2**53]),),
    ),
    "comparisons beyond the type": (lambda x: (x < 2**40, x > -(2**40)), (INTS.int(),)),
    "extremes": (
        every(
            lambda x: (x.max(1), x.min(1), x.argmax(1), x.argmin(1), x.amax(1), x.amin(0)),
            lambda x: (x.max(), x.min(), x.argmax(), x.aminmax(dim=1)),
            lambda x: (x.sort(dim=1, stable=True), x.sort(dim=0, descending=True, stable=True)),
            lambda x: (x.cummax(1), x.cummin(1), x.logcumsumexp(1), x.cumsum(1), x.cumprod(1)),
        ),
        (MATRIX,),
    ),
    "extremes of integers": (
        lambda x: (
            x.max(0),
            x.min(0),
            x.argmax(),
            x.sort(0),
            x.cummax(0),
            x.prod(),
            x.sum(),
            x.any(),
            x.all(),
        ),
        (INTS,),
    ),
    "reductions of bytes": (
        lambda x: (
            x.sum(),
            x.prod(),
            x.max(),
            x.argmin(),
            x.sort(),
            x.any(),
            x.all(),
            x.any(0, keepdim=True),
        ),
        (BYTES,),
    ),
    "softmax of infinities": (
        lambda x: (x.softmax(1), x.log_softmax(1), x.logsumexp(1)),
        (torch.tensor([[-INF, -INF], [INF, 1.0], [NAN, 1.0], [1e30, -1e30]]),),
    ),
    "norms": (
        lambda x: (
            x.norm(dim=1),
            x.norm(p=INF, dim=1),
            x.norm(p=1, dim=1),
            x.norm(p=0, dim=0),
            x.norm(p=3, dim=0),
        ),
        (MATRIX,),
    ),
    "clamps": (
        lambda x: (x.clamp(0, 1), x.clamp(min=NAN), x.clamp(2, 1), x.clip(max=torch.tensor(0.0))),
        (torch.tensor([NAN, 1.0, -1.0]),),
    ),
    "no elements": (
        every(
            lambda x: (x.sum(), x.sum(0), x.prod(), x.mean(), x.any(), x.all(), x + 1, x.cumsum(0)),
            lambda x: (x.reshape(3, 0), torch.cat([x, x]), x.var(0), x.norm(), x.std(1), x.softmax(1)),
            lambda x: (x @ torch.ones(3, 2), x.flip(0), x.roll(1, 0)),
        ),
        (torch.randn(0, 3),),
    ),
    "products over nothing": (
        lambda x, y: (x @ y, torch.addmm(torch.ones(2, 2), x, y)),
        (torch.randn(2, 0), torch.randn(0, 2)),
    ),
    "no dimensions": (
        every(
            lambda x: (
                x.sum(),
                x.sum(0),
                x.max(),
                x.max(0),
                x.argmax(0),
                x.sort(),
                x.cumsum(0),
                x.softmax(0),
            ),
            lambda x: (x.unsqueeze(0), x.norm(), x.var(), x.expand(3), x.topk(1), x.squeeze(), x.any()),
        ),
        (torch.tensor(2.5),),
    ),
    "slices": (
        lambda x: (x[::2] * 1, x[1::3, ::2] * 1, x.flip(0)[::2] * 1, x[-3:-1] * 1, x[5:2] * 1, x[2:100] * 1),
        (torch.randn(7, 8),),
    ),
    "scatters to one place": (
        lambda x, i, s: (
            x.scatter_add(0, i, s),
            x.index_add(0, i, s, alpha=2),
            x.index_put((i,), s, accumulate=True),
            x.scatter_reduce(0, i, s, "prod"),
            x.scatter_reduce(0, i, s, "amax"),
            x.put(i, s, accumulate=True),
        ),
        (torch.zeros(4), torch.tensor([0, 1, 0, 2, 0]), torch.randn(5)),
    ),
    "rows": (
        lambda x, i: (x.index_fill(0, i, 3.0), x.index_copy(1, i, x[:, :2]), x.take(i), x.index_select(1, i)),
        (torch.randn(4, 3), torch.tensor([0, 2])),
    ),
    "negative places": (
        lambda x, i: (x[i], x.take(i), x.index_fill(0, i, 0.0), x.index_put((i,), torch.tensor(7.0))),
        (torch.randn(4, 3), torch.tensor([-1, -4])),
    ),
    "complex numbers": (
        every(
            lambda z, w: (z + w, z * w, z / w, z.abs(), z.angle(), z.exp(), z.sqrt(), z.log(), z**2, z == w),
            lambda z, w: (z.sum(), z.mean(), z.prod(), z @ w, z.sgn(), z.reciprocal(), -z, 1j * z, z.tanh()),
        ),
        (torch.randn(4, 4, dtype=torch.complex64), torch.randn(4, 4, dtype=torch.complex64)),
    ),
    "pooling of NaN and equals": (
        lambda x: (F.max_pool2d(x, 2, return_indices=True), F.avg_pool2d(x, 2)),
        (torch.tensor([[0.0, NAN], [-INF, 0.0]]).repeat(1, 1, 3, 3),),
    ),
    "products of integers": (
        lambda x, y: (x @ y, torch.mv(x, y[:, 0]), x.addmm(y, y, beta=2, alpha=3)),
        (torch.randint(-(2**40), 2**40, (3, 3)), torch.randint(-9, 9, (3, 3))),
    ),
    "ranges": (
        lambda x: (
            x + torch.arange(3),
            torch.arange(0, 1, 0.1),
            torch.arange(5, 0, -2),
            torch.arange(2**60, 2**60 + 3),
            torch.full((2,), 2**40),
            torch.linspace(0, 1, 7),
        ),
        (torch.randn(3),),
    ),
    "numbers without dimensions": (
        every(
            lambda x: (x.softmax(0), x.log_softmax(0), (x * 0).softmax(0)),
            lambda x: (x / 0).softmax(0),
        ),
        (torch.tensor(NAN),),
    ),
    "roots of half precision": (lambda x: (x**0.5, x**-0.5, x.bfloat16() ** 0.5), (FLOATS[:11].half(),)),
    "reductions by place": (
        lambda x, i, s: [
            x.scatter_reduce(0, i, s, way, include_self=own)
            for way in ("sum", "prod", "mean", "amax", "amin")
            for own in (True, False)
        ],
        (torch.randn(4), torch.tensor([0, 1, 0, 0]), torch.randn(4)),
    ),
    "reductions of integers by place": (
        lambda x, i, s: [x.scatter_reduce(0, i, s, "mean", include_self=own) for own in (True, False)],
        (torch.tensor([-3, 5, 1, 2]), torch.tensor([0, 1, 0, 0]), torch.tensor([-3, 2, 5, -1])),
    ),
    "spread of complex numbers": (
        lambda z: (z.var(), z.std(0), torch.var_mean(z, 1)),
        (torch.randn(4, 4, dtype=torch.complex64),),
    ),
    "a row that is masked": (
        lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m),
        (torch.randn(2, 2, 4, 8), torch.tensor([True, False, True, True])[:, None].expand(4, 4).clone()),
    ),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special(name: str) -> None:
    function, inputs = SPECIAL[name]
    check(function, *inputs)


def quotients(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
    return [
        x / y,
        x / 49,
        (x / 49).floor(),
        x.long() / 49,
        x[:40, None] / y[:8],
        (x.view(-1, 5) / y.view(-1, 5)[:, :1]).trunc(),
        x.round().view(-1, 5).mean(1),
        *(torch.div(x, by, rounding_mode=mode) for by in (y, y[5], 0.3) for mode in ("floor", "trunc")),
        torch.div(x[:40, None], y[:8], rounding_mode="trunc"),
        F.avg_pool2d(x.view(1, 1, -1, 20).round(), 7),
    ]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("unit", [1, 0.3])
def test_quotients_are_rounded_once(dtype: torch.dtype, unit: float) -> None:
    """XLA multiplies by the reciprocal of what is constant or broadcast: 49 / 49 would be less than 1."""
    x = torch.arange(-200, 200).to(dtype) * unit
    y = (torch.arange(400) % 60 + 1).to(dtype) * unit
    compiled = stator.compile(quotients, backend="openxla_eval")
    with torch.no_grad():
        pairs = list(zip(compiled(x, y), quotients(x, y), strict=True))
    assert [i for i, (got, wanted) in enumerate(pairs) if not torch.equal(got, wanted)] == []


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_constants_stay_apart(dtype: torch.dtype) -> None:
    """XLA adds, and multiplies, constants that follow each other: what the first one rounded away is back."""
    magic = 1.5 * 2.0 ** (23 if dtype is torch.float32 else 52)

    def program(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x + magic) - magic, magic - (x + magic), x * 1e-30 * 1e30, (x * 0.1) * 10, 3 + (x - magic)

    x = torch.linspace(-9, 9, 77, dtype=dtype)
    with torch.no_grad():
        got = stator.compile(program, backend="openxla_eval")(x)
    assert [torch.equal(a, b) for a, b in zip(got, program(x), strict=True)] == [True] * 5


def test_logarithms_of_powers_are_whole() -> None:
    for base, logarithm in ((2, torch.log2), (10, torch.log10)):
        powers = torch.tensor([float(base) ** i for i in range(-12, 13)], dtype=torch.float64)
        with torch.no_grad():
            got = stator.compile(logarithm, backend="openxla_eval")(powers)
        assert got.tolist() == list(range(-12, 13))


def test_statistics_of_a_batch() -> None:
    def normalise(x: torch.Tensor, mean: torch.Tensor, var: torch.Tensor) -> torch.Tensor:
        return F.batch_norm(x, mean, var, None, None, True, 0.3)

    check(normalise, torch.randn(2, 3, 4), torch.randn(3), torch.rand(3))


def test_random_operators_draw_as_eager_code_does() -> None:
    def draw(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (
            F.dropout(x * 2, 0.5),
            torch.rand(3),
            torch.randn(2, 2) + 1,
            torch.randint(5, (4,)),
            torch.bernoulli(x),
        )

    check(draw, torch.rand(20))


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8])
def test_large_exponents_of_integers(dtype: torch.dtype) -> None:
    exponents = torch.tensor([0, 1, 2, 31, 33, 63, 64, 65, 100, 127], dtype=dtype)
    bases = torch.tensor([3, -1, 2, 5, 7, -3, 3, 5, -7, 3]).to(dtype)
    check(lambda e: (3**e, 2**e), exponents)
    check(torch.pow, bases, exponents)
    check(lambda b: (b**64, b**65, b**100), bases)


MIXED: list[Callable[[Any, Any], Any]] = [
    torch.add,
    torch.sub,
    torch.rsub,
    torch.mul,
    torch.true_divide,
    torch.fmod,
    torch.remainder,
    torch.atan2,
    lambda x, y: torch.addcmul(x, x, y) if isinstance(y, torch.Tensor) else x * y,
]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("operator", MIXED, ids=lambda f: f.__name__)
def test_operands_are_rounded_to_a_16_bit_result(operator: Any, dtype: torch.dtype) -> None:
    """Numbers, and tensors without dimensions of wider types, which the result's type does not hold."""
    x = torch.tensor([0.4, 1000.0, 3.0, 2049.0, -7.0, 65504.0, -3.3, 12.6]).to(dtype)
    for value in [2049.3, 1 / 3, -7.7, 65519.0, -2051.0, 70000.0]:
        numbers = [value, torch.tensor(value), torch.tensor(int(value) or 7), torch.tensor([int(value) or 7])]
        for number in numbers:
            if operator is not torch.atan2 or isinstance(number, torch.Tensor):
                check(lambda x, number=number: operator(x, number), x)
            if isinstance(number, torch.Tensor) and operator is not MIXED[-1]:
                check(lambda x, number=number: operator(number, x), x)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.uint8, torch.int64])
def test_nothing_of_integers_where_floats_are_computed(dtype: torch.dtype) -> None:
    """Kernels for floats refuse integers, unless there is nothing to be computed."""
    empty = torch.zeros(2, 0, dtype=dtype)
    check(lambda x: (F.softmax(x, -2), (x.float() + 1).log()), empty)
    check(lambda x: F.softmin(x, 0), empty)
    check(lambda x: F.nll_loss(x.float(), torch.zeros(2, dtype=torch.int64), ignore_index=0), empty)
