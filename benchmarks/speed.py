"""benchmarks/speed.py: inference by eager code, `native`, `fused` and Inductor, side by side in one run.

    python benchmarks/speed.py [--threads 1 2] [--backends native fused inductor] [--json FILE] [case…]

Each cell is the best of several rounds, in ms a call; rounds of all backends take turns, so a busy machine is
unfair to none. With one thread it is the thread's processor time: other work on the machine does not count.
Compile times are of the first call, capture included, caches of torch's empty: seconds that passed, and
seconds of processor time of this process (Inductor's compilers are others).
"""

import argparse
import gc
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from os import environ
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent))
CASES = ("bert", "gpt2", "vit", "llama", "mixtral", "convnext")
BACKENDS = ("native", "fused", "inductor")


def program(name: str) -> Any:
    import speed_cases

    torch.manual_seed(0)
    if name in speed_cases.CASES:
        return speed_cases.CASES[name].build()
    options = {"hidden_sizes": [16, 32, 64, 128], "depths": [2, 2, 6, 2], "num_channels": 3}
    assert name == "convnext", name
    call = {"pixel_values": torch.randn(2, 3, 64, 64)}
    return speed_cases.pretrained("ConvNextModel", "ConvNextConfig", options, call)


def compiled(backend: str, function: Callable[..., Any]) -> Callable[..., Any]:
    import stator

    if backend == "inductor":
        torch._dynamo.reset()
        made: Callable[..., Any] = torch.compile(function)
        return made
    stator.reset()
    return stator.compile(function, backend=backend)


def tensors(result: Any) -> list[torch.Tensor]:
    values = result.to_tuple() if hasattr(result, "to_tuple") else result
    return [leaf for leaf in torch.utils._pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)]


def worst(result: Any, wanted: Any) -> float:
    """The greatest difference, as a part of the greatest value."""
    pairs = zip(tensors(result), tensors(wanted), strict=True)
    return max(
        float((a.double() - b.double()).abs().max() / b.double().abs().max().clamp_min(1e-30))
        for a, b in pairs
    )


def measure(name: str, backends: list[str], seconds: float) -> dict[str, Any]:
    case = program(name)
    row: dict[str, Any] = {"case": name, "threads": torch.get_num_threads()}
    row |= {"ms": {}, "compile_s": {}, "compile_cpu_s": {}, "difference": {}}
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    calls: dict[str, Callable[[], Any]] = {"eager": case}
    with torch.no_grad():
        wanted = case()
        for backend in backends:
            start, cpu = time.perf_counter(), time.process_time()
            fn = compiled(backend, case.function)

            def call(fn: Callable[..., Any] = fn) -> Any:
                return fn(*case.args, **case.kwargs)

            result = call()
            row["compile_s"][backend] = time.perf_counter() - start
            row["compile_cpu_s"][backend] = time.process_time() - cpu
            row["difference"][backend] = worst(result, wanted)
            calls[backend] = call
        for call in calls.values():
            for _ in range(3):
                call()
        best = dict.fromkeys(calls, float("inf"))
        gc.collect()
        end = time.perf_counter() + seconds * len(calls)
        while time.perf_counter() < end:
            for backend, call in calls.items():
                for _ in range(5):
                    start = clock()
                    call()
                    best[backend] = min(best[backend], clock() - start)
    row["ms"] = {backend: each * 1e3 for backend, each in best.items()}
    return row


def table(rows: list[dict[str, Any]], backends: list[str]) -> str:
    names = ["eager", *backends]
    head = ["case", "threads", *(f"{n} ms" for n in names), *(f"{n} compile s (cpu)" for n in backends)]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        cells = [row["case"], str(row["threads"]), *(f"{row['ms'][n]:.2f}" for n in names)]
        cells += [f"{row['compile_s'][n]:.2f} ({row['compile_cpu_s'][n]:.2f})" for n in backends]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--backends", nargs="*", default=list(BACKENDS))
    parser.add_argument("--seconds", type=float, default=2.0, help="a backend and case")
    parser.add_argument("--json", type=Path)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        environ["TORCHINDUCTOR_CACHE_DIR"] = cache
        for threads in options.threads:
            torch.set_num_threads(threads)
            for name in options.cases:
                rows.append(measure(name, options.backends, options.seconds))
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    print(table(rows, options.backends))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
