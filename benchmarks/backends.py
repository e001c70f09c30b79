"""benchmarks/backends.py: torch's own backends on the speed cases, under Stator and under torch.compile.

    PYTHONPATH=/path/to/transformers python benchmarks/backends.py [--backend aot_eager|inductor] [case…]

Each case must agree with eager under Stator wherever torch.compile runs it.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch.utils import _pytree as pytree

import stator
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "shared"))
CASES = ("mlp", "bert", "gpt2", "llama", "llama_cache", "qwen_decode", "vit", "t5", "whisper", "mixtral")


def tensors(result: Any) -> list[torch.Tensor]:
    values = result.to_tuple() if hasattr(result, "to_tuple") else result
    return [leaf for leaf in pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)]


def outcome(compile_fn: Callable[..., Any], case: str, backend: str) -> tuple[str, float]:
    import speed_cases

    torch.manual_seed(0)
    fn, args, kwargs, grad = speed_cases.program(case)
    with torch.set_grad_enabled(grad):
        wanted = tensors(fn(*args, **kwargs))
        start = time.perf_counter()
        try:
            compiled = compile_fn(fn, backend=backend)
            got = [tensors(compiled(*args, **kwargs)) for _ in range(2)][-1]
        except Exception as error:
            return f"{type(error).__name__}: {str(error).splitlines()[0][:80]}", 0.0
        seconds = time.perf_counter() - start
    same = len(got) == len(wanted) and all(
        torch.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True) for a, b in zip(got, wanted, strict=True)
    )
    return "agrees" if same else "DIFFERS", seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="aot_eager")
    parser.add_argument("cases", nargs="*", default=CASES)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    sys.setrecursionlimit(10000)
    failed = 0
    for case in options.cases:
        ours, seconds = outcome(stator.compile, case, options.backend)
        theirs, their_seconds = outcome(torch.compile, case, options.backend)
        failed += ours != "agrees" and theirs == "agrees"
        print(f"{case:12} stator {ours} {seconds:.1f} s", end="   ")
        print(f"torch.compile {theirs} {their_seconds:.1f} s", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
