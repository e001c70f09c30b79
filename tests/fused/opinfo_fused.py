"""torch's OpInfo samples under the backend `fused`: results, gradients and writes, against eager code.

python tests/fused/opinfo_fused.py [--jobs 16] [--samples 6] [--dtype float32] [operator ...]

Each sample is run as it is, and behind an operator before and after it, so that kernels meet what torch's
operators make. Exit status 1 on a difference or a crash.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import torch.utils._pytree as pytree
from fused_checks import difference, tensors
from torch.testing._internal.common_methods_invocations import op_db
from training_checks import training_difference

import stator
import torch

CHUNK = 6
SECONDS = 120  # for an operator


def program_of(op: Any, sample: Any, is_inside: bool) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    leaves, spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def call(*given: torch.Tensor) -> Any:
        filled = list(leaves)
        for place, tensor in zip(places, given, strict=True):
            is_float = is_inside and tensor.is_floating_point()
            filled[place] = tensor * 1.0 if is_float else tensor
        first, args, kwargs = pytree.tree_unflatten(filled, spec)
        results = tensors(op(first, *args, **kwargs))
        if is_inside:
            results = [t * 0.5 + 0.25 if t.is_floating_point() else t for t in results]
        return tuple(results)

    return call, tuple(leaves[i].detach().requires_grad_(leaves[i].requires_grad) for i in places)


def is_run(call: Callable[..., Any], given: tuple[Any, ...]) -> bool:
    """By eager code, with strided results."""
    try:
        copies = [t.detach().clone() for t in given]
        return all(t.layout is torch.strided for t in (*tensors(call(*copies)), *given))
    except Exception:
        return False


def differences(op: Any, dtype: torch.dtype, count: int) -> Iterator[tuple[str, str | None]]:
    needs = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    coarsest = dtype if dtype.is_floating_point else torch.float32
    for number, sample in zip(range(count), op.sample_inputs("cpu", dtype, needs), strict=False):
        for is_inside in (False, True):
            call, given = program_of(op.op, sample, is_inside)
            if not is_run(call, given):
                continue
            name = f"{op.formatted_name} {number}{' inside' if is_inside else ''}"
            for kind in ("training", "inference") if needs else ("inference",):
                stator.reset()
                try:
                    if kind == "training":
                        text = training_difference(call, given, ulps=64, coarsest=coarsest)
                    else:
                        plain = tuple(t.detach() for t in given)
                        text = difference(call, plain, ulps=64, coarsest=coarsest)
                except Exception as error:
                    text = f"{type(error).__name__}: {error}"
                yield f"{name} {kind}", text


def work(names: list[str], dtype: torch.dtype, samples: int) -> int:
    found = run = 0
    for op in op_db:
        if op.name not in names or dtype not in op.dtypes:
            continue
        for name, text in differences(op, dtype, samples):
            run += 1
            if text:
                found += 1
                print(f"{name}: {text[:300]}".replace("\n", " "), flush=True)
    print(f"RUN {run} {found}", flush=True)
    return 0


def in_processes(names: list[str], options: argparse.Namespace) -> int:
    def part(chunk: list[str]) -> tuple[int, int, list[str]]:
        flags = ["--dtype", options.dtype, "--samples", str(options.samples), "--work"]
        command = [sys.executable, __file__, *flags, "--", *chunk]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, env=environment, timeout=SECONDS * len(chunk)
            )
            lines = done.stdout.splitlines()
        except subprocess.TimeoutExpired:
            lines = []
        if lines and lines[-1].startswith("RUN "):
            return int(lines[-1].split()[1]), int(lines[-1].split()[2]), lines[:-1]
        if len(chunk) == 1:
            return 0, 1, [*lines, f"{chunk[0]}: the process died or took too long"]
        parts = [part([name]) for name in chunk]
        return sum(p[0] for p in parts), sum(p[1] for p in parts), [line for p in parts for line in p[2]]

    chunks = [names[start : start + CHUNK] for start in range(0, len(names), CHUNK)]
    run = found = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for count, wrong, lines in pool.map(part, chunks):
            run, found = run + count, found + wrong
            for line in lines:
                print(line, flush=True)
    print(f"{run} programs of {len(names)} operators, {found} differ")
    return found != 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--samples", type=int, default=6, help="of an operator")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    names = list(dict.fromkeys(op.name for op in op_db))
    names = [name for name in names if not options.names or name in options.names]
    if options.work:
        return work(names, getattr(torch, options.dtype), options.samples)
    return in_processes(names, options)


if __name__ == "__main__":
    sys.exit(main())
