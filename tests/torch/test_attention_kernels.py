"""tests/torch/test_attention_kernels.py: `torch.nn.attention.sdpa_kernel`, in captured code and around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from torch.nn.attention import SDPBackend, _cur_sdpa_kernel_backends, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

import stator
import torch

BACKENDS = ("native", "eager", "aot_eager")


@pytest.fixture(autouse=True)
def _kernels_stay() -> Iterator[None]:
    before = _cur_sdpa_kernel_backends(with_priority=True)
    dtype = torch.get_default_dtype()
    yield
    assert _cur_sdpa_kernel_backends(with_priority=True) == before
    torch.set_default_dtype(dtype)


def attend(x: torch.Tensor) -> torch.Tensor:
    return scaled_dot_product_attention(x, x, x)


def one_kernel(x: torch.Tensor) -> torch.Tensor:
    with sdpa_kernel(SDPBackend.MATH):
        return attend(x) + 1


def in_order(x: torch.Tensor) -> torch.Tensor:
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], set_priority=True):
        y = attend(x)
        with sdpa_kernel([SDPBackend.FLASH_ATTENTION]):
            y = attend(y)
    return y + attend(x)


def by_setting(x: torch.Tensor) -> torch.Tensor:
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        if torch._C._get_mem_efficient_sdp_enabled():
            return x
        return attend(x) * len(_cur_sdpa_kernel_backends())


def query(seed: int) -> torch.Tensor:
    torch.manual_seed(seed)
    return torch.randn(2, 3, 16, 8, requires_grad=True)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [one_kernel, in_order, by_setting])
def test_kernels_chosen_inside(function: Any, backend: str) -> None:
    compiled: Any = stator.compile(function, backend=backend, fullgraph=True)
    for seed in range(3):
        mine, its = query(seed), query(seed)
        expected, result = function(mine), compiled(its)
        assert torch.equal(result, expected)
        expected.sum().backward()
        result.sum().backward()
        assert torch.equal(mine.grad, its.grad)  # type: ignore[arg-type]
    assert len(compiled.entries) == 1


def test_kernel_that_attention_used() -> None:
    """Without gradients, the two kernels differ in their bits."""
    torch.manual_seed(0)
    x = torch.randn(2, 3, 64, 64)
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        flash = attend(x)
    with sdpa_kernel(SDPBackend.MATH):
        plain = attend(x)
    assert not torch.equal(flash, plain), "otherwise this test says nothing"
    compiled: Any = stator.compile(lambda x: one_kernel(x) - 1, backend="native", fullgraph=True)
    for _ in range(2):
        assert torch.equal(compiled(x), (plain + 1) - 1)


def test_caller_chooses() -> None:
    compiled: Any = stator.compile(attend, backend="aot_eager", fullgraph=True)
    torch.manual_seed(0)
    x = torch.randn(2, 3, 64, 64)
    for kernel in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION, SDPBackend.MATH):
        with sdpa_kernel(kernel):
            assert torch.equal(compiled(x), attend(x))
    assert len(compiled.entries) == 2
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], set_priority=True):
        assert torch.equal(compiled(x), attend(x))
    assert len(compiled.entries) == 3


def test_order_is_seen_and_guarded() -> None:
    def first(x: torch.Tensor) -> torch.Tensor:
        return x * torch._C._get_sdp_priority_order()[0]

    compiled: Any = stator.compile(first, backend="native", fullgraph=True)
    x = torch.ones(2)
    assert torch.equal(compiled(x), first(x))
    with sdpa_kernel([SDPBackend.CUDNN_ATTENTION], set_priority=True):
        assert torch.equal(compiled(x), first(x))
    assert torch.equal(compiled(x), first(x))


def test_capture_that_is_given_up() -> None:
    def gives_up(x: torch.Tensor) -> torch.Tensor:
        with sdpa_kernel(SDPBackend.MATH):
            seen.append(len(_cur_sdpa_kernel_backends()))
            factor: Any = x.sum().tolist()
            return torch.mul(attend(x), factor)

    seen: list[int] = []
    compiled: Any = stator.compile(gives_up, backend="native")
    for seed in range(2):
        assert torch.equal(compiled(query(seed)), gives_up(query(seed)))
    assert compiled.breaks
    assert seen == [1] * 4


def test_error_of_a_run() -> None:
    def raises(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        with sdpa_kernel(SDPBackend.MATH):
            return attend(x)[i]

    compiled: Any = stator.compile(raises, backend="native")
    x = query(0)
    assert torch.equal(compiled(x, torch.tensor([1])), raises(x, torch.tensor([1])))
    with pytest.raises(IndexError):
        compiled(x, torch.tensor([7]))


@pytest.mark.parametrize("backend", BACKENDS)
def test_setting_that_outlives_the_call(backend: str) -> None:
    def turns_off(x: torch.Tensor) -> torch.Tensor:
        torch.backends.cuda.enable_flash_sdp(False)
        torch.set_default_dtype(torch.float64)
        return x + torch.ones(2)

    compiled: Any = stator.compile(turns_off, backend=backend)
    for _ in range(3):
        assert compiled(torch.ones(2)).dtype == torch.float64
        assert not torch._C._get_flash_sdp_enabled()
        assert torch.get_default_dtype() == torch.float64
        torch.backends.cuda.enable_flash_sdp(True)
        torch.set_default_dtype(torch.float32)


def test_autocast_that_outlives_the_call() -> None:
    def turns_on(x: torch.Tensor) -> torch.Tensor:
        torch.set_autocast_enabled("cpu", True)
        return x @ x

    compiled: Any = stator.compile(turns_on, backend="native")
    for _ in range(2):
        assert compiled(torch.ones(2, 2)).dtype == torch.bfloat16
        assert torch.is_autocast_enabled("cpu")
        torch.set_autocast_enabled("cpu", False)
