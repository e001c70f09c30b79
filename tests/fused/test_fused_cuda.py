"""Kernels for CUDA: their text is compiled wherever there is NVRTC, and run where there is CUDA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch
from stator import _torch
from stator.backends.fused import cuda_compiler

F = torch.nn.functional
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")


def uniform(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    if dtype.is_floating_point:
        return torch.randn(*sizes, generator=generator).to(dtype)
    return torch.randint(-9, 9, sizes, generator=generator).to(dtype)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "pointwise": (lambda x, y: F.gelu(x * 2 + 1) * y, (uniform(8, 33, 70), uniform(70))),
    "strided": (lambda x: torch.relu(x.transpose(0, 2) + 1)[1:] * 2, (uniform(8, 33, 70),)),
    "functions": (
        lambda x: torch.tanh(x) + torch.exp(x) * torch.erf(x) - torch.log(x.abs() + 1) + x.sqrt(),
        (uniform(1000),),
    ),
    "layer norm": (lambda x: F.layer_norm(x + 1, (768,)) * 2, (uniform(20, 768),)),
    "rms norm": (lambda x: F.rms_norm(x, (1000,)).relu(), (uniform(20, 1000),)),
    "softmax of short rows": (lambda x: F.softmax(x * 0.5, -1), (uniform(4, 3, 7, 50),)),
    "softmax of long rows": (lambda x: F.log_softmax(x, -1) + 1, (uniform(3, 20000),)),
    "rows and sums": (lambda x: (x.sum(-1), (x * x).mean(-1, keepdim=True), x.amax(-1)), (uniform(31, 300),)),
    "two dimensions": (lambda x: (x + 1).mean((-1, -2)), (uniform(5, 6, 30, 40).transpose(-1, -2),)),
    "one row": (lambda x: (x * 2).sum(-1), (uniform(5000),)),
    "bf16": (
        lambda x, y: F.silu(x) * y + 1,
        (uniform(40, 768, dtype=torch.bfloat16), uniform(768).bfloat16()),
    ),
    "f16": (lambda x: F.layer_norm(x, (300,)).relu(), (uniform(40, 300, dtype=torch.float16),)),
    "f64": (lambda x: F.softmax(torch.tanh(x), -1), (uniform(40, 300, dtype=torch.float64),)),
    "mixed": (lambda x, y: x.float() * y, (uniform(40, 30, dtype=torch.bfloat16), uniform(30))),
    "integers": (lambda x: ((x + 1) * 3 - x).abs().maximum(x) & 7, (uniform(40, 50, dtype=torch.int16),)),
    "sums of integers": (lambda x: (x * 2).sum(-1), (uniform(40, 500, dtype=torch.int64),)),
    "masks": (
        lambda x, y: torch.where((x > 0) & (y > 0) | (x != y), x, -y).masked_fill(x < 0.5, -1e9).amin(-1),
        (uniform(40, 5000), uniform(5000)),
    ),
    "not a number": (
        lambda x: (x.maximum(x.flip(0)).amax(-1), x.clamp(-1, 1)),
        (torch.tensor([[1.0, float("nan"), 2.0], [float("inf"), -float("inf"), 0.0]]),),
    ),
}


def graph_of(fn: Any, arguments: tuple[Any, ...]) -> str:
    compiled = stator.compile(fn, backend="native", fullgraph=True)
    with torch.no_grad():
        compiled(*arguments)
    return str(compiled.entries[0]["graph"])


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_has_kernels(name: str) -> None:
    kernels = _torch.fused_kernels(graph_of(*PROGRAMS[name]), "cuda")
    assert kernels
    for text, threads, per_block in kernels:
        assert "__global__" in text
        assert threads % 32 == 0
        assert per_block >= 1


def test_texts_compile() -> None:
    try:
        compiler = cuda_compiler.Compiler(cuda_compiler.find_nvrtc(), None)
    except OSError as error:
        pytest.skip(f"no NVRTC: {error}")
    for program in PROGRAMS.values():
        for text, _, _ in _torch.fused_kernels(graph_of(*program), "cuda"):
            assert compiler.compile(_torch.fused_prelude("cuda") + text, "90")


@needs_cuda
@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_eager(name: str, mode: str | None) -> None:
    fn, arguments = PROGRAMS[name]
    inputs = [x.cuda() for x in arguments]
    compiled = stator.compile(fn, backend="fused", mode=mode)
    before = cuda_compiler.counts["uses"]
    with torch.no_grad():
        for _ in range(4):
            inputs = [x.clone() for x in inputs]
            # Eager code rounds to 16 bits in between.
            loose = {"rtol": 2e-2, "atol": 2e-2} if inputs[0].dtype.itemsize == 2 else {}
            torch.testing.assert_close(compiled(*inputs), fn(*inputs), equal_nan=True, **loose)
    assert cuda_compiler.counts["uses"] > before


@needs_cuda
def test_sizes_that_change() -> None:
    def fn(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.softmax(x * 2 + y, -1) + x.mean(-1, keepdim=True)

    compiled = stator.compile(fn, backend="fused")
    with torch.no_grad():
        for n, m in ((3, 40), (4, 40), (5, 41), (900, 42), (7, 3000), (8, 2)):
            x, y = torch.randn(n, 6, m, device="cuda"), torch.randn(m, device="cuda")
            torch.testing.assert_close(compiled(x, y), fn(x, y))
    assert len(compiled.entries) <= 3


@needs_cuda
def test_streams_and_threads() -> None:
    import threading

    def fn(x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x * 2 + 1, (64,)).relu()

    compiled = stator.compile(fn, backend="fused")
    wrong: list[int] = []

    def work(seed: int) -> None:
        with torch.cuda.stream(torch.cuda.Stream()), torch.no_grad():
            for i in range(20):
                x = torch.randn(30, 64, device="cuda") + seed
                if not torch.allclose(compiled(x), fn(x), atol=1e-5):
                    wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@needs_cuda
@pytest.mark.parametrize("needs", [False, True])
def test_a_failed_launch_is_an_exception(needs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stator.reset()
    with monkeypatch.context() as patch:
        patch.setattr(cuda_compiler, "functions_of", lambda prelude, texts, device: [0] * len(texts))
        call = stator.compile(lambda x: F.gelu(x * 3.5 + 1), backend="fused")
        with pytest.raises(RuntimeError, match="could not be launched"):
            call(torch.ones(8, 8, device="cuda", requires_grad=needs))
    torch.testing.assert_close(torch.ones(3, device="cuda") + 1, torch.full((3,), 2.0, device="cuda"))


@needs_cuda
@pytest.mark.parametrize("needs", [False, True])
def test_no_memory_is_torchs_error(needs: bool) -> None:
    stator.reset()
    call = stator.compile(lambda x: x.expand(1 << 43) * 2, backend="fused")
    for _ in range(2):
        with pytest.raises(torch.OutOfMemoryError):
            call(torch.ones(1, device="cuda", requires_grad=needs))
    small = stator.compile(lambda x: x * 2 + 1, backend="fused")
    assert small(torch.ones(4, device="cuda")).tolist() == [3.0] * 4
