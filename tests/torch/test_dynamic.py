"""Sizes, ints and floats that change from call to call: two captures, equal results, guards that hold."""

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from comparison import assert_alike

import stator
import torch
from stator.support import load_torch_extension

load_torch_extension()
from stator._capture import Compiled  # noqa: E402

F = torch.nn.functional
SIZES = range(2, 10)


def sweep(function: Callable[..., Any], calls: list[tuple[Any, ...]], captures: int = 2) -> Any:
    compiled = Compiled(function)
    for arguments in calls:
        assert_alike(compiled(*arguments), function(*arguments))
    assert compiled.breaks == []
    assert len(compiled.entries) == captures, compiled.misses
    return compiled


def of_sizes(*shape: int) -> list[tuple[torch.Tensor]]:
    return [(torch.randn(n, *shape),) for n in SIZES]


# --- functions of one tensor of shape (n, 4, 6) whose first size changes ---

RECURRENT = [
    torch.nn.LSTM(6, 3, num_layers=2, batch_first=True),
    torch.nn.GRU(6, 3, bidirectional=True, batch_first=True),
    torch.nn.RNN(6, 3),
]
ATTENTION = torch.nn.MultiheadAttention(6, 2, batch_first=True).eval()
ENCODERS = [
    torch.nn.TransformerEncoderLayer(6, 2, 8, batch_first=True, norm_first=first).eval()
    for first in (False, True)
]

FUNCTIONS: dict[str, Callable[[torch.Tensor], Any]] = {
    "pointwise": lambda x: torch.relu(x * 2 + 1).sigmoid(),
    "shape": lambda x: x.shape,
    "size returned": lambda x: (x.size(0), x.shape[0] * 3 + 1, x.numel(), x.shape[:2]),
    "sum": lambda x: (x.sum(), x.sum(0), x.sum(-1, keepdim=True), x.mean((0, 1))),
    "view": lambda x: x.view(x.size(0), -1),
    "view of a product": lambda x: x.view(-1, 6),
    "reshape": lambda x: x.reshape(x.shape[0] * 2, 2, 6),
    "flatten": lambda x: x.flatten(1).unsqueeze(0).squeeze(0),
    "transpose": lambda x: x.transpose(0, 1).contiguous().permute(2, 0, 1),
    "matmul": lambda x: x @ torch.ones(6, 3),
    "batched matmul": lambda x: torch.bmm(x, x.transpose(1, 2)),
    "einsum": lambda x: torch.einsum("bij,bkj->bik", x, x),
    "linear": lambda x: F.linear(x, torch.ones(5, 6)),
    "softmax": lambda x: F.softmax(x, dim=-1) + F.log_softmax(x, dim=0),
    "layer norm": lambda x: F.layer_norm(x, (6,)),
    "slices": lambda x: (x[1:], x[:, 1:3], x[:-1], x[..., ::2], x[0], x[-1]),
    "slice by size": lambda x: x[: x.shape[0] // 2],
    "arange": lambda x: torch.arange(x.shape[0]) * 2,
    "factories": lambda x: (torch.zeros(x.shape[0], 3), torch.ones_like(x), x.new_full((x.size(0),), 2.0)),
    "expand": lambda x: torch.ones(1, 4, 1).expand(x.shape[0], -1, 2),
    "repeat": lambda x: x.repeat(1, 2, 1),
    "cat": lambda x: torch.cat([x, x[:1]], 0),
    "stack": lambda x: torch.stack([x, x], 1),
    "split": lambda x: x.split(2, dim=1),
    "chunk": lambda x: x.chunk(2, dim=-1),
    "size in arithmetic": lambda x: x * x.shape[0] + x.size(0) / 2,
    "length": lambda x: (x * len(x), torch.ones(len(x), 2), len(x) > 1, len(x[0])),
    "mean by hand": lambda x: x.sum(0) / x.shape[0],
    "comparison of sizes": lambda x: x + 1 if x.shape[0] >= 2 else x - 1,
    "where": lambda x: torch.where(x > 0, x, torch.zeros_like(x)),
    "masked fill": lambda x: x.masked_fill(x > 0, 0.5),
    "gather": lambda x: x.gather(1, torch.zeros(x.shape[0], 2, 6, dtype=torch.int64)),
    "index select": lambda x: x.index_select(0, torch.arange(x.shape[0])),
    "topk": lambda x: x.topk(2, dim=-1),
    "sort": lambda x: x.sort(dim=1),
    "cumsum": lambda x: x.cumsum(0),
    "triangular": lambda x: torch.tril(torch.ones(x.shape[0], x.shape[0])),
    "pad": lambda x: F.pad(x, (1, 2)),
    "convolution": lambda x: F.conv1d(x, torch.ones(3, 4, 2)),
    "resampling": lambda x: (F.interpolate(x, scale_factor=2), F.interpolate(x, size=9, mode="linear")),
    "resampled images": lambda x: (
        F.interpolate(x.unsqueeze(1), scale_factor=(2, 1.5), mode="bilinear"),
        F.interpolate(x.unsqueeze(1), size=(3, 4), mode="bicubic", antialias=True),
        F.interpolate(x.view(-1, 2, 2, 2, 3), scale_factor=2, mode="trilinear"),
    ),
    "resampling of the size that changes": lambda x: F.interpolate(x.movedim(0, -1), scale_factor=3),
    "instance norm": lambda x: F.instance_norm(x) + F.instance_norm(x, weight=torch.ones(4)),
    "short Fourier transforms": lambda x: (
        torch.stft(x.flatten(1), 8, window=torch.hann_window(8), return_complex=True),
        torch.stft(
            x.flatten(1), 8, 3, window=torch.ones(8), center=False, onesided=False, return_complex=True
        ),
    ),
    "recurrent layers": lambda x: [layer(x) for layer in RECURRENT],
    "in place": lambda x: x.clone().add_(1).mul_(2),
    "dtype": lambda x: x.to(torch.float64).half(),
    "min and max": lambda x: (max(x.shape[0], 2), x[: min(x.shape[0], 100)]),
    "is an int": lambda x: (isinstance(x.shape[0], int), type(x.shape[0]) is int, int(x.shape[0]) + 1),
    "embedding": lambda x: F.embedding(torch.zeros(x.shape[0], 3, dtype=torch.int64), torch.ones(4, 5)),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "norm": lambda x: x.norm(dim=-1) + x.std(0).sum(),
    "any and all": lambda x: ((x > 0).any(), (x > 0).all(0)),
    "unbind": lambda x: x.unbind(1),
    "movedim": lambda x: x.movedim(0, -1),
    "roll": lambda x: x.roll(1, 0),
    "flip": lambda x: x.flip(0),
    "outer product": lambda x: x[:, 0, 0].unsqueeze(1) * x[:, 0, 0].unsqueeze(0),
    "clamp": lambda x: x.clamp(min=0, max=1),
    "losses of classes": lambda x: (
        F.cross_entropy(x[:, 0], torch.ones(x.shape[0], dtype=torch.int64)),
        F.nll_loss(x[:, 0], torch.ones(x.shape[0], dtype=torch.int64), reduction="none"),
        F.multi_margin_loss(x[:, 0], torch.ones(x.shape[0], dtype=torch.int64)),
    ),
    "losses of pairs": lambda x: (
        F.triplet_margin_loss(x[:, 0], x[:, 1], x[:, 2]),
        F.pairwise_distance(x[:, 0], x[:, 1]),
    ),
    "order statistics": lambda x: (x.kthvalue(2, 1), x.cummax(0), x.cummin(1)),
    "taken along": lambda x: torch.take_along_dim(x, torch.zeros(x.shape[0], 2, 6, dtype=torch.int64), 1),
    "matrices": lambda x: [
        function(x[:, :3, :3] @ x[:, :3, :3].mT + 4 * torch.eye(3))
        for function in (
            torch.linalg.inv,
            torch.linalg.cholesky,
            torch.linalg.det,
            torch.linalg.eigvalsh,
            torch.linalg.slogdet,
        )
    ],
    "gates and norms": lambda x: (F.glu(x), F.rms_norm(x, (6,)), F.rms_norm(x, (6,), torch.ones(6))),
    "samples of images": lambda x: F.grid_sample(
        x.unsqueeze(1), torch.ones(x.shape[0], 3, 3, 2), align_corners=False
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_changing_batch_is_captured_twice(name: str) -> None:
    sweep(FUNCTIONS[name], of_sizes(4, 6))


def test_the_first_capture_is_static_and_the_second_is_not() -> None:
    compiled = sweep(lambda x: x + 1, of_sizes(3))
    assert "symbol" not in compiled.entries[0]["graph"]
    assert 'symbol s0 = 3 in [2, 1048576]  # L["x"].size(0)' in compiled.entries[1]["graph"]
    assert compiled.entries[1]["hits"] == len(SIZES) - 2


def test_zero_and_one_are_captured_by_themselves() -> None:
    calls = [(torch.randn(n, 3),) for n in (4, 5, 6, 1, 0, 7, 1, 0)]
    sweep(lambda x: (x * 2, x.sum(0)), calls, captures=4)


def test_dynamic_from_the_first_call() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x.reshape(-1) * x.shape[1]

    compiled = Compiled(function, dynamic=True)
    for n in SIZES:
        x = torch.randn(n, n + 3)
        assert_alike(compiled(x), function(x))
    assert compiled.breaks == []
    assert len(compiled.entries) == 1


def test_never_dynamic() -> None:
    compiled = Compiled(lambda x: x + 1, dynamic=False)
    for n in range(2, 6):
        assert_alike(compiled(torch.ones(n)), torch.ones(n) + 1)
    assert len(compiled.entries) == 4
    assert all("symbol" not in entry["graph"] for entry in compiled.entries)


def test_two_sizes_that_change() -> None:
    calls = [(torch.randn(n, m, 8),) for n, m in [(2, 5), (3, 5), (3, 6), (4, 9), (7, 7), (2, 2)]]
    sweep(lambda x: (x.transpose(0, 1).reshape(-1, 8), x.view(x.shape[0], -1), x @ x.mT), calls, captures=3)


def test_a_condition_on_a_size() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] > 5:
            return x.sum(0)
        return x + 1

    compiled = sweep(function, of_sizes(3), captures=3)
    assert any(".size(0) <= 5" in guard for guard in compiled.entries[1]["guards"])
    assert ".size(0) <= 5" in compiled.misses[-1]


def test_sizes_that_must_agree() -> None:
    calls = [(torch.randn(n, 3), torch.randn(n, 3)) for n in SIZES]
    compiled = sweep(lambda x, y: x + y, calls)
    assert any(guard.count(".size(0)") == 2 and " == " in guard for guard in compiled.entries[1]["guards"])
    x, y = torch.randn(4, 3), torch.randn(1, 3)
    assert_alike(compiled(x, y), x + y)
    with pytest.raises(RuntimeError, match="must match the size"):
        compiled(torch.randn(4, 3), torch.randn(5, 3))


def test_what_c_code_makes_of_a_size_is_guarded() -> None:
    def function(x: torch.Tensor) -> tuple[str, int, torch.Tensor]:
        table = {2: 20, 3: 30, 4: 40}
        for _ in range(x.shape[0]):
            x = x + 1
        return f"{x.shape[0]}", table[x.shape[0]], x

    sweep(function, [(torch.randn(n, 3),) for n in (2, 3, 4, 2, 3, 4)], captures=3)


def test_strides_follow_sizes() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return (x + 1).relu()

    calls = [(torch.randn(3, n, 4).transpose(0, 1),) for n in SIZES]
    compiled = sweep(function, calls)
    other = torch.randn(5, 3, 4)  # contiguous: the strides are not those of the captures
    assert_alike(compiled(other), function(other))
    assert len(compiled.entries) == 3


def test_a_tensor_given_twice() -> None:
    compiled = Compiled(lambda x, y: x * 2 + y)
    for n in SIZES:
        x = torch.randn(n)
        assert_alike(compiled(x, x), x * 2 + x)
    assert len(compiled.entries) == 2


def test_gradients_through_symbolic_sizes() -> None:
    weight = torch.nn.Parameter(torch.randn(6, 5))

    def function(x: torch.Tensor) -> torch.Tensor:
        return (x.view(-1, 6) @ weight).view(x.shape[0], -1).sum(1)

    compiled = Compiled(function)
    for n in SIZES:
        x = torch.randn(n, 4, 6, requires_grad=True)
        gradients = []
        for call in (compiled, function):
            result = call(x)
            gradients.append((result, *torch.autograd.grad(result.sum(), (x, weight))))
        for got, wanted in zip(*gradients, strict=True):
            assert torch.equal(got, wanted)
    assert compiled.breaks == []
    assert len(compiled.entries) == 2


def test_marked_sizes() -> None:
    compiled = Compiled(lambda x: x + 1)
    for n in (3, 4, 5):
        x = torch.randn(n, 2)
        x._dynamo_dynamic_indices = {0}  # type: ignore[attr-defined]  # what torch._dynamo.mark_dynamic leaves
        assert_alike(compiled(x), x + 1)
    assert len(compiled.entries) == 1


# --- ints and floats ---


def test_an_int_argument() -> None:
    compiled = sweep(lambda x, n: (x * n, x + n // 2, n + 1, x[:n]), [(torch.randn(9, 3), n) for n in SIZES])
    assert "symbol s0" in compiled.entries[1]["graph"]


def test_a_float_argument() -> None:
    def function(x: torch.Tensor, scale: float) -> tuple[torch.Tensor, torch.Tensor, float]:
        return x * scale, torch.add(x, x, alpha=scale * 0.1), -scale / 3

    compiled = sweep(function, [(torch.randn(4), 0.5 + 0.1 * i) for i in range(8)])
    assert "float = input L__scale__" in compiled.entries[1]["graph"]


def test_floats_are_not_ints() -> None:
    compiled = Compiled(lambda x, n: x * n)
    x = torch.arange(3)
    for n in (2.5, 3.5, 4.5, 3, 4, 5, True, 2.5):
        assert_alike(compiled(x, n), x * n)


def test_a_condition_on_a_float() -> None:
    def function(x: torch.Tensor, p: float) -> torch.Tensor:
        return x * p if p > 0.75 else x - p

    sweep(function, [(torch.randn(4), 0.1 * i) for i in range(1, 12)], captures=3)


def test_division_by_a_number_that_becomes_zero() -> None:
    compiled = Compiled(lambda x, n: x * (1 / n))
    for n in (2.0, 4.0, 8.0):
        assert_alike(compiled(torch.ones(2), n), torch.ones(2) * (1 / n))
    with pytest.raises(ZeroDivisionError):
        compiled(torch.ones(2), 0.0)


def test_numbers_of_python() -> None:
    def function(x: torch.Tensor, n: int, f: float) -> list[Any]:
        return [
            n * 2, 7 - n, n // 3, n % 3, -n, abs(-n), n**2, n / 4, divmod(n, 4), n > 3, n == 4, not n,
            f + 1, 2 - f, f * n, f / 2, f**2.0, -f, abs(f), f > 2, f"{n:03d} {f:.1f}", int(f), round(f, 1),
            hash(n), float(n), n & 3, n << 1, [0] * n, str(n), n.bit_length(), isinstance(f, float), bool(n),
            x[n % 2],
        ]  # fmt: skip

    compiled = Compiled(function)
    x = torch.randn(3, 2)
    for n in range(2, 12):
        got, wanted = compiled(x, n, n * 0.7), function(x, n, n * 0.7)
        assert [type(value) for value in got] == [type(value) for value in wanted]
        assert_alike(got, wanted)


def test_numbers_in_containers() -> None:
    def function(options: dict[str, Any], pair: tuple[int, float]) -> tuple[torch.Tensor, dict[str, int]]:
        return options["x"] * pair[1] + options["n"], {"n": options["n"] + pair[0]}

    sweep(function, [({"x": torch.ones(3), "n": n}, (n + 1, n / 8)) for n in SIZES])


# --- numbers that are not arguments ---


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.scale = 0.5
        self.options = {"lr": 0.1, "step": 3}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x) * self.scale - self.options["lr"] * x + self.options["step"]


def test_numbers_in_attributes_and_dictionaries() -> None:
    model, x = Scaled(), torch.randn(2, 4)
    compiled = Compiled(model)
    for i in range(8):
        model.scale = 0.5 + i
        model.options["lr"] = 0.1 / (i + 1)
        model.options["step"] = 3 + i
        assert_alike(compiled(x), model(x))
        assert (type(model.scale), type(model.options["step"])) == (float, int)
    assert compiled.breaks == []
    assert len(compiled.entries) == 2, compiled.misses


RATE = 0.1


def test_a_global_number() -> None:
    global RATE
    compiled = Compiled(lambda x: x * RATE)
    for i in range(6):
        RATE = 0.1 * i + 0.05
        assert_alike(compiled(torch.ones(3)), torch.ones(3) * RATE)
    assert len(compiled.entries) == 2, compiled.misses


class Counter(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 5

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * self.calls


def test_a_counter_that_is_written() -> None:
    model = Counter()
    compiled = Compiled(model)
    for i in range(8):
        assert_alike(compiled(torch.ones(2)), torch.ones(2) * (6 + i))
        assert model.calls == 6 + i
        assert type(model.calls) is int
    assert compiled.breaks == []
    assert len(compiled.entries) == 2, compiled.misses


# --- models ---


def test_a_transformer_with_changing_batch_and_length() -> None:
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    compiled = Compiled(model)
    with torch.no_grad():
        model.train()  # the fast path of eval is another operator
        for batch, length in [(2, 5), (3, 5), (4, 6), (5, 7), (2, 9), (8, 3)]:
            x = torch.randn(batch, length, 16)
            assert_alike(compiled(x), model(x))
    assert compiled.breaks == []
    assert len(compiled.entries) <= 3, compiled.misses


def test_methods_of_numbers() -> None:
    for function in (
        lambda x: (
            x,
            ~x.shape[0],
            x.shape[0].bit_length(),
            x.shape[0].to_bytes(2, "big"),
            x.shape[0].conjugate(),
        ),
        lambda x: (x, (x.shape[0] * 0.5).is_integer(), (x.shape[0] * 0.5).hex()),
    ):
        sweep(function, of_sizes(2), captures=len(SIZES))


def test_what_is_called_outside_of_a_capture_gets_numbers() -> None:
    """And keeps nothing but numbers: in a cache, or in the constant that it returns."""
    given: list[type] = []

    @stator.assume_constant_result
    def constant(n: int, *, more: tuple[int, ...]) -> tuple[int, int]:
        given.extend([type(n), type(more[0])])
        return n, more[0]

    @functools.lru_cache
    def cached(n: int, k: int) -> int:
        given.extend([type(n), type(k)])
        return n * k

    def program(x: torch.Tensor) -> Any:
        n = x.shape[0]
        return x * cached(n, 2), constant(n, more=(n, 1)), cached(n, k=n)

    sweep(program, of_sizes(2), captures=len(SIZES))
    assert set(given) == {int}


def test_sizes_as_keys_are_numbers() -> None:
    def told() -> tuple[Callable[[torch.Tensor], Any], Callable[[], str]]:
        table: dict[Any, int] = {}
        groups: defaultdict[Any, list[int]] = defaultdict(list)
        ordered: OrderedDict[int, int] = OrderedDict()
        seen: set[Any] = set()

        def program(x: torch.Tensor) -> Any:
            n = x.shape[0]
            before = n in table, (n, "a") in table
            table[n] = n
            table[n, "a"] = 1
            table.setdefault(n * 0.5, 2)
            groups[n].append(n)
            ordered[n] = n
            seen.add(n)
            return before, {n: n}, {n}, [n, (n,)]

        def left() -> str:
            return repr(
                [[(type(k), k) for k in one] for one in (table, groups, ordered, seen)] + [groups, table]
            )

        return program, left

    (program, left), (ours, left_of_ours) = told(), told()
    compiled = Compiled(ours)
    for (x,) in of_sizes(2) * 2:
        assert_alike(compiled(x), program(x))
        assert left_of_ours() == left()
    assert compiled.breaks == []


@torch.no_grad()
def test_the_fast_paths_of_attention_in_a_changing_batch() -> None:
    """torch has kernels of their own for them, where no gradient is wanted."""
    mask = torch.zeros(4, 4, dtype=torch.bool)
    mask[0, 1] = True
    sweep(lambda x: [layer(x) for layer in ENCODERS], of_sizes(4, 6))
    sweep(lambda x: [layer(x, src_mask=mask) for layer in ENCODERS], of_sizes(4, 6))
    for options in ({}, {"need_weights": False}, {"average_attn_weights": False}, {"attn_mask": mask}):
        sweep(lambda x, options=options: ATTENTION(x, x, x, **options), of_sizes(4, 6))
