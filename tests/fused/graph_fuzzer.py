"""Random programs for the fused backend: python tests/fused/graph_fuzzer.py --count 10000 [--training].

A program is a function of a few tensors. It draws operators, operands, layouts and types from a seed, writes
in place now and then, and returns some of what it made.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch.nn.functional as F

import torch

sys.path.insert(0, str(Path(__file__).parent))

from cuda_emulator import emulated
from fused_checks import difference

SHAPES = [(4, 6, 8), (3, 5), (2, 1, 7), (16,), (4, 1, 8), (1, 6, 8), (2, 3, 4, 5), (33, 17)]
FLOATS = [torch.float32, torch.float32, torch.float32, torch.float64, torch.bfloat16, torch.float16]

Tensor = torch.Tensor
UNARY: list[Callable[[Tensor], Tensor]] = [
    torch.neg,
    torch.abs,
    torch.tanh,
    torch.sigmoid,
    torch.relu,
    F.gelu,
    F.silu,
    torch.erf,
    torch.square,
    F.hardswish,
    lambda x: x * 0.5 + 1,
    lambda x: 2 - x,
    lambda x: (x * 0.25).tanh().exp(),
    lambda x: (x.abs() + 1).log(),
    lambda x: (x.abs() + 0.5).rsqrt(),
    lambda x: x.clamp(-1, 2),
    lambda x: x.masked_fill(x > 1, 0.5),
    lambda x: torch.where(x < 0, x, x * 2),
    lambda x: F.gelu(x, approximate="tanh"),
    lambda x: x.clone(),
    lambda x: x.float(),
    lambda x: x.double().to(x.dtype),
]
ROWS: list[Callable[[Tensor], Tensor]] = [
    lambda x: F.softmax(x, -1),
    lambda x: F.log_softmax(x, -1),
    lambda x: x.sum(-1, keepdim=True),
    lambda x: x.mean(-1),
    lambda x: x.amax(-1, keepdim=True),
    lambda x: F.rms_norm(x, x.shape[-1:], eps=0.1),
    lambda x: F.layer_norm(x, x.shape[-1:], eps=0.1),
    lambda x: x.mean(0),
    lambda x: x.sum(),
    lambda x: x.cumsum(-1) * 0.1,
]
VIEWS: list[Callable[[Tensor], Tensor]] = [
    lambda x: x.transpose(0, -1),
    lambda x: x.unsqueeze(0),
    lambda x: x.squeeze(),
    lambda x: x[..., :1],
    lambda x: x[..., ::2],
    lambda x: x[1:] if x.shape[0] > 2 else x,
    lambda x: x.flatten(),
    lambda x: x.reshape(-1),
    lambda x: x.expand(2, *x.shape),
    lambda x: x.unsqueeze(1).expand(-1, 2, *x.shape[1:]).reshape(-1, *x.shape[1:]) if x.dim() else x,
    lambda x: torch.cat((-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]), -1) if x.dim() else x,
    lambda x: x.select(0, 0) if x.dim() > 1 else x,
    lambda x: x.contiguous(),
    lambda x: F.dropout(x, 0.5, training=False),
    lambda x: x.split(2, 0)[0],
]
BINARY: list[Callable[[Tensor, Tensor], Tensor]] = [
    torch.add,
    torch.sub,
    torch.mul,
    lambda a, b: a / (b.abs() + 1),
    torch.maximum,
    torch.minimum,
    lambda a, b: torch.where(a > b, a, b) if a.dtype == b.dtype else a + b,
    lambda a, b: torch.add(a, b, alpha=0.5),
    lambda a, b: torch.cat([a, b], -1) if a.shape == b.shape and a.dim() else a - b,
    lambda a, b: torch.cat([-b, a * 2, b], 0) if a.shape == b.shape and a.dim() else a + b,
    lambda a, b: a.masked_fill(b > 0, -1.0) if a.dim() >= b.dim() else a * b,
]
WRITES: list[Callable[[Tensor], Any]] = [
    lambda x: x.mul_(0.5),
    lambda x: x.add_(1),
    lambda x: F.relu_(x),
    lambda x: x[..., :1].fill_(0.25),
    lambda x: x.transpose(0, -1).add_(0.5),
    lambda x: x.copy_(x * 2),
]


def program_of(seed: int) -> tuple[Callable[..., Any], tuple[Tensor, ...]]:
    draw = random.Random(seed)
    shape = draw.choice(SHAPES)
    inputs = []
    generator = torch.Generator().manual_seed(seed)
    for _ in range(draw.randint(1, 3)):
        kind = draw.random()
        own = shape if kind < 0.6 else shape[1:] or (1,) if kind < 0.8 else (*shape[:-1], 1)
        made = torch.randn(own, generator=generator).to(draw.choice(FLOATS))
        if draw.random() < 0.3 and made.dim() > 1:
            made = made.transpose(0, -1).contiguous().transpose(0, -1)
        inputs.append(made)
    length, plan = draw.randint(2, 14), draw.randint(0, 2**31)

    def program(*given: Tensor) -> Any:
        choose = random.Random(plan)
        values = list(given)
        for _ in range(length):
            kind, x = choose.random(), choose.choice(values[-4:])
            if kind < 0.35:
                values.append(choose.choice(UNARY)(x))
            elif kind < 0.5:
                rows = choose.choice(ROWS)
                values.append(rows(x) if x.dim() and x.numel() else x * 2)
            elif kind < 0.65:
                view = choose.choice(VIEWS)
                values.append(view(x) if x.dim() and x.numel() > 1 else x + 1)
            elif kind < 0.95:
                y = choose.choice(values)
                binary = choose.choice(BINARY)
                try:
                    torch.broadcast_shapes(x.shape, y.shape)
                except RuntimeError:
                    y = y.sum()
                values.append(binary(x, y))
            else:
                write = choose.choice(WRITES)
                fresh = values[-1] if choose.random() < 0.5 else values[-1] * 1
                if fresh.dim() and fresh.numel() > 1 and 0 not in fresh.stride():
                    write(fresh)
                values.append(fresh)
            while values[-1].numel() > 4096:
                values[-1] = values[-1][0]
        return [value for value in values[len(given) :] if choose.random() < 0.4] + values[-1:]

    return program, tuple(inputs)


def failure(seed: int) -> str | None:
    program, inputs = program_of(seed)
    # 16-bit values are not rounded between operators of one kernel, as they are in eager code.
    if any(tensor.element_size() == 2 for tensor in inputs):
        return difference(program, inputs, ulps=4, coarsest=torch.bfloat16)
    return difference(program, inputs, ulps=512, coarsest=torch.float32)


def training_program_of(seed: int) -> tuple[Callable[..., Any], tuple[Tensor, ...]]:
    """The same programs, where some arguments require gradients."""
    program, inputs = program_of(seed)
    draw = random.Random(seed + 1)
    for i, tensor in enumerate(inputs):
        tensor.requires_grad_(i == 0 or draw.random() < 0.6)
    return program, inputs


def training_failure(seed: int) -> str | None:
    from training_checks import training_difference

    program, inputs = training_program_of(seed)
    skips = random.Random(seed + 2).choice([0, 0, 1, 2, 5])
    return training_difference(program, inputs, ulps=4096, skips=skips)


def main() -> int:
    import stator

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--cuda", action="store_true", help="kernels for CUDA, emulated on the CPU")
    parser.add_argument("--training", action="store_true", help="gradients too")
    options = parser.parse_args()
    failed = 0
    check = training_failure if options.training else failure
    for seed in range(options.start, options.start + options.count):
        stator.reset()
        with emulated() if options.cuda else contextlib.nullcontext():
            text = check(seed)
        if text:
            failed += 1
            print(f"seed {seed}: {text}", flush=True)
        done = seed - options.start + 1
        if done % 1000 == 0:
            print(f"{done} programs, {failed} differ", file=sys.stderr, flush=True)
    print(f"{options.count} programs, {failed} differ")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
