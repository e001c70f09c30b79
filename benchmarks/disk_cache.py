"""benchmarks/disk_cache.py: what kernels on disk save a first call of the backend `fused`.

    python benchmarks/disk_cache.py [--training] [case…]

Each first call is in a process of its own that has compiled something else before, with one thread: processor
time without a cache, with an empty one, and with the one that the process before wrote. Medians of five.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CASES = ("bert", "gpt2", "vit", "llama")


def first_call(name: str, training: bool) -> None:
    sys.path.insert(0, str(HERE))
    import time

    import speed

    import stator
    import torch
    from stator.backends.fused.compiler import counts

    torch.set_num_threads(1)
    warm = stator.compile(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.GELU()), backend="fused")
    warm(torch.randn(2, 4)).sum().backward()
    made = speed.program(name, "cpu", torch.float32)
    if isinstance(made.function, torch.nn.Module):
        made.function.train(training)
    before = dict(counts)
    with torch.set_grad_enabled(training):
        compiled = stator.compile(made.function, backend="fused")
        start = time.process_time()
        compiled(*made.args, **made.kwargs)
        seconds = time.process_time() - start
    print(seconds, *(counts[what] - before[what] for what in ("kernels", "loaded")))


def measure(name: str, training: bool) -> str:
    cells = []
    with tempfile.TemporaryDirectory() as folder:
        for what in ("without", "empty", "full"):
            times = []
            for round in range(5):
                place = os.path.join(folder, "full" if what == "full" else f"{what}{round}")
                settings = {"STATOR_CACHE": "0" if what == "without" else "1", "STATOR_CACHE_DIR": place}
                command = [sys.executable, __file__, "--first", name, *(["--training"] if training else [])]
                if what == "full" and round == 0:
                    subprocess.run(command, env=os.environ | settings, capture_output=True, check=True)
                done = subprocess.run(
                    command, env=os.environ | settings, capture_output=True, text=True, check=True
                )
                seconds, kernels, loaded = done.stdout.split()[-3:]
                assert (kernels == loaded) == (what == "full"), done.stdout
                times.append(float(seconds) * 1e3)
            cells.append(f"{statistics.median(times):7.0f}")
    return f"{name:10} {kernels:>8} " + " ".join(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--training", action="store_true")
    parser.add_argument("--first", help=argparse.SUPPRESS)
    parser.add_argument("cases", nargs="*", default=CASES)
    options = parser.parse_args()
    if options.first:
        first_call(options.first, options.training)
        return
    print("case        kernels without   empty    full   (ms of processor time)")
    for name in options.cases:
        print(measure(name, options.training), flush=True)


if __name__ == "__main__":
    main()
