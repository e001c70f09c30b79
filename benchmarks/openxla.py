"""benchmarks/openxla.py: the models of `make models` through `openxla_eval` and `openxla`, beside others.

    python benchmarks/openxla.py [--device cuda] [--beside native,inductor] [--no-training] [--jobs 1]
                                 [architecture ...]

Forward in eval on each, within 1e-4 of eager; a training step with gradients on those marked for it. Compile
time is that of the first call; run times are medians. Also the cost of a call of a tiny program. Where a
training step is further from eager, both are compared with a step in float64: a model may amplify what either
rounds. Exit status 1 if a result differs or a process dies.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import copy
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "models")]

RESULTS = ROOT / "benchmarks" / "results"
TOLERANCE = 1e-4
# What issue 17 asks for.
EQUAL, TRAINED = 60, 15


def seeded(call: Callable[[], Any]) -> Any:
    import torch

    torch.manual_seed(1)
    return call()


def median_us(call: Callable[[], Any], repeats: int = 20) -> float:
    import torch

    wait = torch.cuda.synchronize if torch.cuda.is_initialized() else lambda: None
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        wait()
        times.append(time.perf_counter() - begin)
    return sorted(times)[repeats // 2] * 1e6


def gap(got: Any, wanted: Any) -> float:
    """The largest difference, relative where values are large; inf if a shape or a dtype differs."""
    from comparison import tensors_of

    import torch

    mine, theirs = list(tensors_of(got)), list(tensors_of(wanted))
    if [(t.shape, t.dtype) for t in mine] != [(t.shape, t.dtype) for t in theirs]:
        return float("inf")
    largest = 0.0
    for a, b in zip(mine, theirs, strict=True):
        if not a.numel():
            continue
        if not a.dtype.is_floating_point:
            largest = max(largest, 0.0 if torch.equal(a, b) else float("inf"))
            continue
        if not torch.equal(a.isnan(), b.isnan()):
            return float("inf")
        a, b = a.detach().double(), b.detach().double()
        apart = ((a - b).abs() / b.abs().clamp(min=1)).nan_to_num(0)
        largest = max(largest, apart.max().item())
    return largest


def evaluate(model: Any, inputs: dict[str, Any], beside: list[str]) -> dict[str, Any]:
    import stator
    import torch
    from stator.backends.openxla.executables import counts

    model.eval()
    row: dict[str, Any] = {}
    with torch.no_grad():
        wanted = seeded(lambda: model(**inputs))
        row["eager_us"] = median_us(lambda: model(**inputs))
        for backend in ("openxla_eval", *beside):
            before = dict(counts)
            compiled = stator.compile(model, backend=backend)
            begin = time.perf_counter()
            got = seeded(lambda: compiled(**inputs))  # noqa: B023
            timing = {"first_s": time.perf_counter() - begin, "gap": gap(got, wanted)}
            timing["run_us"] = median_us(lambda: compiled(**inputs))  # noqa: B023
            if backend == "openxla_eval":
                timing["gap"] = max(timing["gap"], gap(seeded(lambda: compiled(**inputs)), wanted))  # noqa: B023
                timing["programs"] = counts["programs"] - before["programs"]
                timing["outside"] = counts["outside"] - before["outside"]
            row[backend] = timing
    return row


def step(run: Callable[..., Any], module: Any, inputs: dict[str, Any]) -> Any:
    from comparison import tensors_of

    module.zero_grad()
    result = run(**inputs)
    loss = sum(t.float().sum() for t in tensors_of(result) if t.requires_grad and t.is_floating_point())
    loss.backward()
    return loss.detach()


def apart(mine: Any, theirs: Any) -> float:
    """Of gradients and statistics of two models."""
    largest = 0.0
    for a, b in zip(mine.parameters(), theirs.parameters(), strict=True):
        if (a.grad is None) != (b.grad is None):
            return float("inf")
        if a.grad is not None:
            # Gradients are sums over everything: compared with the largest of their tensor.
            scale = b.grad.abs().max().clamp(min=1)
            largest = max(largest, gap((a.grad / scale).float(), (b.grad / scale).float()))
    floats = [[t.float() for t in each.buffers()] for each in (mine, theirs)]
    return max(largest, gap(*floats))


def train(model: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    """Two steps of a model and of its twin: losses, gradients and statistics."""
    from torch.utils._pytree import tree_map_only

    import stator
    import torch

    model.train()
    twin, exact = copy.deepcopy(model), copy.deepcopy(model).double()
    compiled = stator.compile(model, backend="openxla")
    largest = 0.0
    begin = time.perf_counter()
    for _ in range(2):
        losses = seeded(lambda: step(compiled, model, inputs)), seeded(lambda: step(twin, twin, inputs))
        largest = max(largest, gap(*losses), apart(model, twin))
    row = {"gap": largest, "two_steps_s": time.perf_counter() - begin}
    draws = not torch.equal(torch.get_rng_state(), seeded(torch.get_rng_state))
    if largest > TOLERANCE and not draws:  # float64 would draw other numbers
        digits = tree_map_only(
            torch.Tensor, lambda t: t.double() if t.is_floating_point() else t, copy.deepcopy(inputs)
        )
        for _ in range(2):
            seeded(lambda: step(exact, exact, digits))
        row |= {"of_float64": apart(model, exact), "eager_of_float64": apart(twin, exact)}
    return row


def is_trained(training: dict[str, Any]) -> bool:
    """Within the tolerance of eager, or no further from float64 than twice what eager is."""
    own, eager = training.get("of_float64"), training.get("eager_of_float64")
    return training["gap"] <= TOLERANCE or (own is not None and own <= 2 * eager)


def examine(name: str, options: argparse.Namespace) -> dict[str, Any]:
    import transformers
    from architectures import ARCHITECTURES
    from torch.utils._pytree import tree_map_only

    import stator
    import torch

    transformers.logging.set_verbosity_error()
    torch.backends.cudnn.allow_tf32 = False  # what TF32 rounds away differs among algorithms
    torch.manual_seed(0)
    architecture = ARCHITECTURES[name]
    model, inputs = architecture.build(transformers)
    model = model.to(options.device)
    inputs = tree_map_only(torch.Tensor, lambda tensor: tensor.to(options.device), inputs)
    stator.reset()
    row: dict[str, Any] = {"name": name, **evaluate(model, inputs, options.beside)}
    if architecture.trains and not options.no_training:
        stator.reset()
        row["training"] = train(model, inputs)
    return row


def work(options: argparse.Namespace) -> int:
    import warnings

    import torch

    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    for name in options.work:
        try:
            row = examine(name, options)
        except Exception as error:
            cause = error.__cause__ or error
            row = {"name": name, "error": f"{type(cause).__name__}: {cause}"[:400]}
        print(json.dumps(row), flush=True)
    return 0


def in_process(name: str, options: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, __file__, "--work", name, "--beside", ",".join(options.beside)]
    command += ["--device", options.device]
    command += ["--no-training"] if options.no_training else []
    try:
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=options.limit, env=environment)
    except subprocess.TimeoutExpired:
        return {"name": name, "error": "took too long"}
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if rows:
        return dict(rows[0])
    return {"name": name, "error": f"ended with status {done.returncode}: {done.stderr[-300:]}"}


def call_cost() -> dict[str, float]:
    """Microseconds of one call of a tiny program: the program alone, and the compiled function around it."""
    import stator
    import torch
    from stator.backends.openxla.executables import executable_of

    graph = """graph {
  %0: f32[4]{1} = input a
  %1: f32[4]{1} = input b
  %2: f32[4]{1} = aten::add.Tensor(self=%0, other=%1, alpha=1)
  return %2
}
"""
    a, b = torch.ones(4), torch.ones(4)
    program = executable_of(graph, "cpu", ("HIGHEST", "HIGHEST"))
    compiled = stator.compile(lambda x, y: x + y, backend="openxla_eval")
    with torch.no_grad():
        compiled(a, b)
        batch = range(200)
        alone = median_us(lambda: [program(a, b) for _ in batch]) / 200
        whole = median_us(lambda: [compiled(a, b) for _ in batch]) / 200
    return {"program_us": alone, "compiled_us": whole}


def show(rows: list[dict[str, Any]], beside: list[str]) -> bool:
    names = ["openxla_eval", *beside]
    header = f"{'architecture':28} {'gap':>8} {'outside':>7} {'eager us':>9}  first call s / run us of "
    print(header + ", ".join(names) + "; training")
    for row in rows:
        if "error" in row:
            print(f"{row['name']:28} FAILED {row['error']}")
            continue
        ours = row["openxla_eval"]
        times = "  ".join(f"{row[name]['first_s']:.2f} / {row[name]['run_us']:.0f}" for name in names)
        trained = f"{row['training']['gap']:.1e}" if "training" in row else ""
        if "of_float64" in row.get("training", {}):
            both = row["training"]["of_float64"], row["training"]["eager_of_float64"]
            trained += f" ({both[0]:.1e} from float64; eager {both[1]:.1e})"
        head = f"{row['name']:28} {ours['gap']:8.1e} {ours['outside']:7} {row['eager_us']:9.0f}"
        print(f"{head}  {times}  {trained}")
    good = [row for row in rows if "error" not in row]
    equal = sum(row["openxla_eval"]["gap"] <= TOLERANCE for row in good)
    trained = [is_trained(row["training"]) for row in good if "training" in row]
    print(
        f"{equal} of {len(rows)} within {TOLERANCE:g} of eager (asked: {EQUAL}); "
        f"training: {sum(trained)} of {len(trained)} (asked: {TRAINED})"
    )
    return equal == len(rows) and all(trained)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="architecture")
    parser.add_argument("--beside", type=lambda text: [name for name in text.split(",") if name], default=[])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--no-training", action="store_true")
    parser.add_argument("--jobs", type=int, default=1, help="architectures at once, which disturbs times")
    parser.add_argument("--limit", type=float, default=180, help="seconds for one architecture")
    parser.add_argument("--json", type=Path, default=RESULTS / "openxla.json")
    parser.add_argument("--work", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work(options)
    from architectures import ARCHITECTURES

    if unknown := set(options.names) - set(ARCHITECTURES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    rows = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(lambda name: in_process(name, options), options.names or list(ARCHITECTURES)):
            rows.append(row)
            print(json.dumps(row), file=sys.stderr)
    fine = show(rows, options.beside)
    costs = call_cost()
    print(", ".join(f"{name}: {value:.1f}" for name, value in costs.items()))
    RESULTS.mkdir(exist_ok=True)
    options.json.write_text(json.dumps({"models": rows, "call": costs}, indent=1) + "\n")
    return 0 if fine else 1


if __name__ == "__main__":
    raise SystemExit(main())
