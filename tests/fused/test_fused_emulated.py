"""Kernels for CUDA and what plans do for CUDA alone, run on the CPU (cuda_emulator.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import cuda_emulator
import pytest
from fused_checks import difference
from graph_fuzzer import failure
from test_fused_cuda import PROGRAMS, uniform

import stator
import torch
from stator import _torch

F = torch.nn.functional
pytestmark = pytest.mark.skipif(not cuda_emulator.available(), reason="needs g++")


@pytest.fixture(autouse=True)
def emulator() -> Iterator[None]:
    with cuda_emulator.emulated():
        yield


def check(fn: Callable[..., Any], *inputs: Any, kernels: int, ulps: float = 16) -> None:
    before = cuda_emulator.compiled
    text = difference(fn, inputs, ulps=ulps, coarsest=torch.float32)
    assert not text, text
    assert cuda_emulator.compiled - before == kernels


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    fn, arguments = PROGRAMS[name]
    text = difference(fn, arguments, ulps=64, coarsest=torch.float32)
    assert not text, text


@pytest.mark.parametrize("start", range(0, 40, 20))
def test_random_programs(start: int) -> None:
    texts = {seed: failure(seed) for seed in range(start, start + 20)}
    assert not any(texts.values()), texts


def graph_of(fn: Callable[..., Any], *inputs: Any) -> str:
    compiled = stator.compile(fn, backend="native", fullgraph=True)
    with torch.no_grad():
        compiled(*inputs)
    return str(compiled.entries[0]["graph"])


def texts_of(fn: Callable[..., Any], *inputs: Any) -> list[str]:
    return [text for text, _, _ in _torch.fused_kernels(graph_of(fn, *inputs), "cuda")]


# -- Vectors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("columns", [8, 12, 31, 96, 1000, 4096])
def test_rows_of_any_length(columns: int, dtype: torch.dtype) -> None:
    def fn(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x * 2, (columns,), w) + x

    check(fn, uniform(7, columns, dtype=dtype), uniform(columns, dtype=dtype), kernels=1, ulps=64)


def test_vectors_are_as_wide_as_memory_allows() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        return x * 2 + 1

    assert "stator_vector<unsigned short, 8>" in texts_of(fn, uniform(6, 64, dtype=torch.bfloat16))[0]
    assert "stator_vector<float, 4>" in texts_of(fn, uniform(6, 64))[0]
    assert "stator_vector<float, 2>" in texts_of(fn, uniform(3, 6))[0]
    assert "stator_vector<" not in texts_of(fn, uniform(3, 7))[0]
    # Every second row, and a part that does not begin at a vector.
    assert "stator_vector<float, 4>" in texts_of(lambda x: x[::2] * 2, uniform(6, 64))[0]
    text = texts_of(lambda x: x[:, 3:35] * 2, uniform(6, 64))[0]
    assert "*(const stator_vector" not in text


@pytest.mark.parametrize("first", [0, 1, 3, 4])
def test_memory_that_is_not_aligned(first: int) -> None:
    x = uniform(4 * 64 + 8)
    argument = x[first : first + 4 * 64].view(4, 64)
    compiled = stator.compile(lambda x: F.softmax(x * 2, -1) + x, backend="fused")
    with torch.no_grad():
        for _ in range(2):
            torch.testing.assert_close(compiled(argument), F.softmax(argument * 2, -1) + argument)
    compiled = stator.compile(lambda x: torch.relu(x[:, 1:33]) + x[:, 8:40], backend="fused")
    with torch.no_grad():
        torch.testing.assert_close(compiled(argument), torch.relu(argument[:, 1:33]) + argument[:, 8:40])


def test_transposed_and_strided_memory() -> None:
    check(lambda x: (x.transpose(0, 1) + 1).contiguous() * 2, uniform(32, 64), kernels=1)
    check(lambda x: x[:, ::2] + x[:, 1::2], uniform(32, 64), kernels=1)
    check(lambda x, y: x.transpose(1, 2) * y, uniform(4, 16, 24), uniform(4, 24, 16), kernels=1)
    check(lambda x: x.transpose(1, 2).sum(-1), uniform(4, 16, 24), kernels=1)


# -- Putting together and copying ----------------------------------------------------------------------------


def rotated(x: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), -1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("width", [64, 6, 24])
def test_a_rotary_embedding_is_one_kernel(width: int, dtype: torch.dtype) -> None:
    def fn(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        x = x.transpose(1, 2)
        return x * cos + rotated(x) * sin

    cos, sin = uniform(5, width, dtype=dtype), uniform(5, width, dtype=dtype)
    check(fn, uniform(2, 5, 3, width, dtype=dtype), cos, sin, kernels=1)


def test_parts_along_any_dimension() -> None:
    x, y = uniform(4, 6, 8), uniform(4, 2, 8)
    check(lambda x, y: torch.cat([x, y, x * 2], 1) + 1, x, y, kernels=1)
    check(lambda x, y: torch.cat([y, y.exp()], 0).sum(-1), x, y, kernels=1)
    check(lambda x, y: torch.cat([x[:, :1], y, x.new_zeros(4, 1, 8) + 2], 1), x, y, kernels=1)
    # A broadcast operand of what is put together; a part that others read too.
    check(lambda x, y: torch.cat([x + x[:1, :1], y * x[..., :1].sum(1, keepdim=True)], 1), x, y, kernels=2)
    check(lambda x, y: (torch.cat([a := x.tanh(), y], 1), a + 1), x, y, kernels=2)
    # A part that is not a tensor of the result's type, and one without elements, are torch's.
    check(lambda x, y: torch.cat([x, y.double()], 1), x, y, kernels=1)
    check(lambda x, y: torch.cat([x, y[:, :0]], 1) + 1, x, y, kernels=1)


def test_parts_do_not_read_beyond_their_memory() -> None:
    nan = torch.full((3, 8), float("nan"))
    memory = torch.cat([nan, uniform(3, 8), nan])
    compiled = stator.compile(lambda x: torch.cat([x, x * 2, x], -1) * 1, backend="fused")
    x = memory[3:6]
    with torch.no_grad():
        assert torch.equal(compiled(x), torch.cat([x, x * 2, x], -1))


@pytest.mark.parametrize("times", [1, 2, 3, 16])
def test_repeated_heads(times: int) -> None:
    def repeated(x: torch.Tensor) -> torch.Tensor:
        batch, heads, length, width = x.shape
        x = x[:, :, None].expand(batch, heads, times, length, width)
        return x.reshape(batch, heads * times, length, width)

    x = uniform(2, 5, 3, 8)
    check(lambda x: repeated(x.transpose(1, 2)), x, kernels=0 if times == 1 else 1)
    # In the kernel that computes what is repeated, if it is repeated a few times.
    check(lambda x: repeated(torch.tanh(x) * 2), x, kernels=1 if times <= 8 else 2)
    check(lambda x: (repeated(y := torch.tanh(x) * 2), y), x, kernels=1 if times <= 8 else 2)


def test_a_reshape_that_copies() -> None:
    check(lambda x: (x + 1).transpose(1, 2).reshape(4, -1) * 2, uniform(4, 6, 8), kernels=3)
    check(lambda x: x.transpose(0, 1).reshape(-1), uniform(4, 6), kernels=1)


# -- Windows -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("sizes", [(2, 3, 9, 11), (1, 8, 16, 16), (2, 5, 3, 2), (2, 1, 4, 7)])
@pytest.mark.parametrize(
    "window",
    [(3, 2, 1, 1, False), (2, 2, 0, 1, False), (2, 2, 0, 1, True), (3, 1, 1, 1, False), (2, 1, 1, 2, False)],
)
def test_greatest_of_windows(window: tuple[Any, ...], sizes: tuple[int, ...], dtype: torch.dtype) -> None:
    size, step, padding, dilation, ceils = window

    def fn(x: torch.Tensor) -> torch.Tensor:
        return F.max_pool2d(x, size, step, padding, dilation, ceils) + 1

    x = uniform(*sizes, dtype=dtype)
    x[0, 0, 1, 1] = float("nan")
    x[-1, -1, :2] = -float("inf")
    check(fn, x, kernels=1)
    check(fn, x.contiguous(memory_format=torch.channels_last), kernels=1)


def test_windows_that_torch_looks_at() -> None:
    check(lambda x: F.max_pool2d(x, 5) + 1, uniform(2, 3, 10, 10), kernels=1)
    check(lambda x: F.max_pool2d(x * 2, 2), uniform(3, 10, 10), kernels=1)
    check(lambda x: F.max_pool2d(x, (2, 3), (1, 2)), uniform(2, 3, 10, 10), kernels=1)
    check(lambda x: F.max_pool2d(x, 2, return_indices=True)[0] * 2, uniform(2, 3, 10, 10), kernels=1)


# -- Writes --------------------------------------------------------------------------------------------------


class Residual(torch.nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm2d(channels)
        self.second = torch.nn.Conv2d(channels, channels, 1)
        self.relu = torch.nn.ReLU(inplace=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.second(self.relu(self.norm(self.first(x))))
        y += x
        return self.relu(y)


def images(*layers: torch.nn.Module, dtype: torch.dtype = torch.float32) -> torch.nn.Module:
    torch.manual_seed(1)
    model = torch.nn.Sequential(*layers)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
    return model.eval().to(dtype)


def test_writes_to_own_memory() -> None:
    check(lambda x: torch.relu_(x * 2 + 1).add_(x) * 3, uniform(8, 8), kernels=1)
    check(lambda x: (x * 2).mul_(x).div_(3.0).sigmoid_().clamp_(0.3, 0.6) + 1, uniform(8, 8), kernels=1)

    def keeps_a_name(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        z = y + 1
        y.add_(z)
        return y * z

    check(keeps_a_name, uniform(8, 8), kernels=1)


def test_writes_that_somebody_sees() -> None:
    def returned(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x * 2
        z = y.relu_()
        return y, z

    def viewed(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        row = y[1]
        y.relu_()
        return row + 1

    def argument(x: torch.Tensor) -> torch.Tensor:
        return x.relu_() + 1

    def promoted(x: torch.Tensor) -> torch.Tensor:
        return (x.half() * 2).add_(x) + 1

    for fn in (returned, viewed, argument, promoted):
        assert not difference(fn, (uniform(8, 8),), ulps=16, coarsest=torch.float16)


# -- Layout of images ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_images_between_convolutions(dtype: torch.dtype) -> None:
    model = images(
        torch.nn.Conv2d(3, 16, 3, stride=2),
        torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(inplace=True),
        torch.nn.MaxPool2d(3, 2, 1),
        Residual(16),
        Residual(16),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(16, 10),
        dtype=dtype,
    )
    x = uniform(2, 3, 32, 32, dtype=dtype)
    texts = [text for text in texts_of(lambda x: model(x), x) if "rsqrt" in text]
    assert len(texts) == 3
    # Channels lie behind each other: what belongs to a channel is read as vectors.
    assert all("*(const stator_vector" in text for text in texts)
    text = difference(lambda x: model(x), (x,), ulps=64, coarsest=dtype)
    assert not text, text


@pytest.mark.parametrize(
    "tail",
    [
        torch.nn.Identity(),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.AvgPool2d(2),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.AdaptiveAvgPool2d(2),
        torch.nn.Upsample(scale_factor=2),
        torch.nn.PixelShuffle(2),
        torch.nn.GroupNorm(2, 8),
        torch.nn.Softmax(1),
        torch.nn.Softmax(-1),
    ],
    ids=lambda module: type(module).__name__,
)
def test_results_lie_as_in_eager_code(tail: torch.nn.Module) -> None:
    convolutions = images(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3))

    def fn(x: torch.Tensor) -> Any:
        y = convolutions(x)
        return tail(y), tail(torch.relu(y)) * 2, y.mean((2, 3)), torch.cat([y, y.relu()], 1)

    text = difference(fn, (uniform(2, 3, 13, 13),), ulps=64)
    assert not text, text


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("groups", [1, 4, 16])
def test_norms_of_groups(groups: int, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    first, second = torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.Conv2d(16, 8, 3)
    norm = torch.nn.GroupNorm(groups, 16)
    torch.nn.init.normal_(norm.weight)
    torch.nn.init.normal_(norm.bias)
    model = torch.nn.ModuleList([first, norm, second]).to(dtype).eval()

    def block(x: torch.Tensor) -> torch.Tensor:
        y = first(x)
        return second(F.silu(norm(y)) + y)

    def others(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = torch.cat([x, x.relu()], 1)
        z = norm(y) * 2
        return (
            norm(y.contiguous(memory_format=torch.channels_last)),
            z,
            F.group_norm(y, groups),
            norm(y.flatten(2)),
        )

    assert model
    texts = texts_of(lambda x: block(x), uniform(2, 3, 12, 10, dtype=dtype))
    assert sum("rsqrt" in text for text in texts) == 1
    for fn, channels in ((block, 3), (others, 8)):
        text = difference(lambda x, fn=fn: fn(x), (uniform(2, channels, 12, 10, dtype=dtype),), 64, dtype)
        assert not text, text


def test_grouped_convolutions_keep_their_layout() -> None:
    model = images(torch.nn.Conv2d(4, 8, 3), torch.nn.ReLU(), torch.nn.Conv2d(8, 8, 3, groups=8))
    assert not difference(lambda x: model(x), (uniform(2, 4, 13, 13),), ulps=64)


# -- Products ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [1001, 260, 264])
def test_rows_of_an_odd_length(columns: int) -> None:
    x, w = uniform(3, 5, 16, dtype=torch.bfloat16), uniform(columns, 16, dtype=torch.bfloat16)
    kernels = int(columns % 8 != 0)
    check(lambda x, w: F.linear(x, w), x, w, kernels=kernels)
    check(lambda x, w: F.linear(x, w) * 2, x, w, kernels=1)
    check(lambda x, w: F.linear(x.transpose(0, 1), w), x, w, kernels=0)


def test_a_bias_is_added_by_the_kernel_behind() -> None:
    x, w, b = uniform(6, 16), uniform(24, 16), uniform(24)
    check(lambda x, w, b: F.gelu(F.linear(x, w, b)), x, w, b, kernels=1)
    check(lambda x, w, b: torch.addmm(b, x, w.t()) + 1, x, w, b, kernels=1)
    check(lambda x, w, b: torch.addmm(b, x, w.t(), beta=2), x, w, b, kernels=0)
    texts = texts_of(lambda x, w, b: F.layer_norm(F.linear(x, w, b), (24,)), x, w, b)
    assert len(texts) == 1
    assert "p1" in texts[0]


def test_a_bias_of_convolutions_is_added_behind() -> None:
    first, second = images(torch.nn.Conv2d(3, 8, 3)), images(torch.nn.Conv2d(8, 8, 1))
    x = uniform(2, 3, 9, 9)
    check(lambda x: F.silu(first(x)) * 2, x, kernels=3)  # its input and weight with channels last
    assert not difference(lambda x: (second(first(x)), first(x)), (x,), ulps=64)
    first.bfloat16(), second.bfloat16()
    assert not difference(lambda x: second(first(x)).relu(), (x.bfloat16(),), 64, torch.bfloat16)


def test_large_results_are_made_outside_of_recordings() -> None:
    def fn(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.linear(F.layer_norm(x * 2, (16,)).relu() + 1, w)

    x, w = uniform(1100, 16, dtype=torch.bfloat16), uniform(2001, 16, dtype=torch.bfloat16)
    _torch.emulate_cuda_graphs(True)
    try:
        compiled = stator.compile(fn, backend="fused", mode="reduce-overhead")
        with torch.no_grad():
            wanted = fn(x, w)
            before = _torch.cuda_graph_replays()
            results = [compiled(x, w) for _ in range(5)]
            assert _torch.cuda_graph_replays() > before
        for result in results:
            assert result.stride() == wanted.stride()
            torch.testing.assert_close(result, wanted, rtol=2e-2, atol=0.2)
        assert len({result.data_ptr() for result in results}) == 5
    finally:
        _torch.emulate_cuda_graphs(False)


# -- Masks of attention --------------------------------------------------------------------------------------


def layers_of_attention(x: torch.Tensor, mask: torch.Tensor, layers: int = 3) -> torch.Tensor:
    for _ in range(layers):
        x = F.scaled_dot_product_attention(x, x * 0.5, x, attn_mask=mask)
    return x


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_mask_is_converted_once(dtype: torch.dtype) -> None:
    x = uniform(2, 3, 8, 16, dtype=dtype)
    mask = torch.ones(8, 8, dtype=torch.bool).tril()
    for given in (mask, mask.expand(2, 1, 8, 8), ~mask):  # the last one has a row without a key
        text = difference(layers_of_attention, (x, given), ulps=64, coarsest=dtype)
        assert not text, text


def test_conversions_are_shared_among_equal_layers() -> None:
    def conversions(fn: Callable[..., Any], *inputs: Any) -> int:
        compiled = stator.compile(fn, backend="fused")
        with torch.no_grad():
            compiled(*inputs)
            with torch.profiler.profile() as profile:
                compiled(*inputs)
        return [event.name for event in profile.events()].count("aten::where")

    x, mask = uniform(2, 3, 8, 16), torch.ones(8, 8, dtype=torch.bool).tril()
    assert conversions(layers_of_attention, x, mask) == 1
    assert conversions(lambda x, mask: layers_of_attention(layers_of_attention(x, mask), ~mask), x, mask) == 2

    def written(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        mask = mask & True
        x = layers_of_attention(x, mask, 1)
        mask.logical_not_()
        return layers_of_attention(x, mask, 1)

    assert not difference(written, (x, mask), ulps=64)
