"""benchmarks/models.py: Hugging Face architectures with random weights, captured and compared with eager.

    python benchmarks/models.py [--backend fused] [--jobs 16] [--is-compiling auto] [--device cuda] [name ...]

Forward in eval on each; a training step (forward, backward, dropout, statistics of batch norms) on those
marked for it. Every bit counts, under `fused` all but rounding (benchmarks/model_backends.py). Exit status 1
if a result differs from eager's or a process dies. What breaks is shown with its reason.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "models")]

from comparison import tensors_of  # noqa: E402
from model_backends import Comparison, compiled, is_compiled_for_training  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
CHUNK = 8
# What issue 4 asks for.
FAMILIES, WHOLE, TRAINED = 45, 43, 15


def seeded(call: Callable[[], Any]) -> Any:
    import torch

    torch.manual_seed(1)
    return call()


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    import torch

    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    wait()
    begin = time.perf_counter()
    result = call()
    wait()
    return result, time.perf_counter() - begin


def kernels_of(call: Callable[[], Any]) -> dict[str, int]:
    """The kernels of a call on the GPU, the operators on the CPU: how often each ran."""
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    import torch

    on_gpu = torch.cuda.is_available()
    activities = [ProfilerActivity.CUDA] if on_gpu else [ProfilerActivity.CPU]
    with profile(activities=activities) as profiled:
        call()
    wanted = DeviceType.CUDA if on_gpu else DeviceType.CPU
    names = [event.name for event in profiled.events() if event.device_type == wanted]
    return dict(Counter(name for name in names if on_gpu or name.startswith("aten::")))


def evaluate(model: Any, inputs: dict[str, Any], backend: str) -> dict[str, Any]:
    import torch

    model.eval()
    compare = Comparison(backend)
    with torch.no_grad():
        wanted = seeded(lambda: model(**inputs))
        _, first = timed(lambda: seeded(lambda: compiled(model, backend)(**inputs)))
        call = compiled(model, backend)
        got, second = timed(lambda: seeded(lambda: call(**inputs)))
        equal = compare.results(wanted, got) and all(
            compare.results(wanted, seeded(lambda: call(**inputs))) for _ in range(2)
        )
        hits = sorted(timed(lambda: call(**inputs))[1] for _ in range(20))
        plain = sorted(timed(lambda: model(**inputs))[1] for _ in range(20))
        kernels, eager_kernels = kernels_of(lambda: call(**inputs)), kernels_of(lambda: model(**inputs))
    return {
        "difference": compare.worst,
        "kernels": kernels,
        "eager_kernels": eager_kernels,
        "told": [entry["told_captured"] for entry in call.entries],
        "equal": equal,
        "nodes": sum(entry["nodes"] for entry in call.entries),
        "graphs": len(call.entries),
        "breaks": list(call.breaks),
        "first_ms": first * 1e3,
        "second_ms": second * 1e3,
        "run_us": hits[10] * 1e6,
        "eager_us": plain[10] * 1e6,
    }


def state_of(model: Any) -> list[Any]:
    return [*(p.grad for p in model.parameters()), *model.buffers()]


def train(model: Any, inputs: dict[str, Any], backend: str) -> dict[str, Any]:
    """Two steps of a model and of its twins: losses, gradients, statistics. `equal`: to plain eager code's;
    `as_told`: to those of eager code that is told what the captured code was told (docs/is-compiling.md)."""
    import torch

    model.train()
    twin, told_twin = copy.deepcopy(model), copy.deepcopy(model)
    call = compiled(model, backend)

    def step(run: Callable[..., Any], module: Any) -> Any:
        module.zero_grad()
        result = run(**inputs)
        loss = sum(t.float().sum() for t in tensors_of(result) if t.requires_grad and t.is_floating_point())
        loss.backward()
        return loss.detach()

    def told(**inputs: Any) -> Any:
        torch.compiler._is_compiling_flag = any(entry["told_captured"] for entry in call.entries)  # type: ignore[attr-defined]
        try:
            return told_twin(**inputs)
        finally:
            torch.compiler._is_compiling_flag = False  # type: ignore[attr-defined]

    equal = as_told = True
    compare, compare_told = Comparison(backend), Comparison(backend)
    for _ in range(2):
        loss = seeded(lambda: step(call, model))
        plain, likewise = seeded(lambda: step(twin, twin)), seeded(lambda: step(told, told_twin))
        equal = compare.tensors([plain, *state_of(twin)], [loss, *state_of(model)]) and equal
        as_told = compare_told.tensors([likewise, *state_of(told_twin)], [loss, *state_of(model)]) and as_told
    return {
        "equal": equal,
        "as_told": as_told,
        "difference": min(compare.worst, compare_told.worst),
        "own_backward": is_compiled_for_training(lambda: call(**inputs)),
        "told": [entry["told_captured"] for entry in call.entries],
        "graphs": len(call.entries),
        "breaks": list(call.breaks),
    }


def examine(name: str, device: str, backend: str = "native") -> dict[str, Any]:
    import transformers
    from architectures import ARCHITECTURES
    from torch.utils._pytree import tree_map_only

    import torch

    transformers.logging.set_verbosity_error()
    torch.manual_seed(0)
    architecture = ARCHITECTURES[name]
    model, inputs = architecture.build(transformers)
    if device != "cpu":
        model = model.to(device)
        inputs = tree_map_only(torch.Tensor, lambda tensor: tensor.to(device), inputs)
    row: dict[str, Any] = {"name": name, "family": architecture.family, **evaluate(model, inputs, backend)}
    if architecture.trains:
        row["training"] = train(model, inputs, backend)
    return row


def work(names: list[str], told: str, device: str, backend: str) -> int:
    """One line of JSON for each; a failure of one is no failure of the others."""
    import warnings

    import stator
    import torch
    from stator.support import load_torch_extension

    load_torch_extension()
    if told:
        stator.config.is_compiling = {"True": True, "False": False}.get(told, told)
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    for name in names:
        print(json.dumps({"begin": name}), flush=True)
        try:
            row = examine(name, device, backend)
        except Exception as error:
            row = {"name": name, "error": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(row), flush=True)
    return 0


def in_process(names: list[str], limit: float, settings: list[str]) -> list[dict[str, Any]]:
    """The rows of a chunk. One that ends or stalls the process is a failure; the rest get another process."""
    rows: list[dict[str, Any]] = []
    left = list(names)
    while left:
        command = [sys.executable, __file__, *settings, "--work", *left]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=limit * len(left),
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            output, reason = done.stdout, f"the process ended with status {done.returncode}"
        except subprocess.TimeoutExpired as error:
            output = (error.stdout or b"").decode() if isinstance(error.stdout, bytes) else error.stdout or ""
            reason = "took too long"
        begun = ""
        for line in output.splitlines():
            row = json.loads(line) if line.startswith("{") else {}
            if "begin" in row:
                begun = row["begin"]
            elif row:
                rows.append(row)
        finished = {row["name"] for row in rows}
        if len(finished & set(left)) == len(left):
            break
        died = begun if begun and begun not in finished else left[0]
        rows.append({"name": died, "error": reason})
        left = [name for name in left if name not in finished and name != died]
    return rows


def settings_of(told: str, device: str, backend: str) -> list[str]:
    return ["--device", device, "--backend", backend, *(["--is-compiling", told] if told else [])]


def examined(names: list[str], limit: float, settings: list[str], jobs: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    size = max(1, min(CHUNK, len(names) // jobs))
    chunks = [names[start : start + size] for start in range(0, len(names), size)]
    with ThreadPoolExecutor(jobs) as pool:
        for found in pool.map(lambda chunk: in_process(chunk, limit, settings), chunks):
            rows += found
            print(f"{len(rows)} of {len(names)}", file=sys.stderr)
    return rows


def is_whole(row: dict[str, Any]) -> bool:
    return row.get("graphs") == 1 and not row["breaks"]


def cells(row: dict[str, Any]) -> list[str]:
    if "error" in row:
        return [row["name"], "", "", "", "", "", "FAILED", "", row["error"]]
    training = row.get("training")
    trained = "" if training is None else "equal" if training["equal"] else "DIFFERENT"
    if training and training["as_told"] and not training["equal"]:
        trained = "as told"
    if training and training["breaks"]:
        trained += ", breaks"
    breaks = row["breaks"] + (training["breaks"] if training else [])
    return [
        row["name"],
        row["family"],
        str(row["nodes"]) if is_whole(row) else "-",
        f"{row['first_ms']:.1f} / {row['second_ms']:.1f}",
        f"{row['run_us']:.0f}",
        f"{row['eager_us']:.0f}",
        "equal" if row["equal"] else "DIFFERENT",
        trained,
        breaks[0] if breaks else "",
    ]


COLUMNS = [
    "architecture",
    "family",
    "nodes",
    "capture ms",
    "call us",
    "eager us",
    "result",
    "training",
    "breaks",
]


def show(rows: list[dict[str, Any]]) -> bool:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Hugging Face architectures, tiny, random weights (capture: first / second)")
    for column in COLUMNS:
        right = column in ("nodes", "capture ms", "call us", "eager us")
        table.add_column(column, justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*cells(row))
    Console(width=None if sys.stdout.isatty() else 170).print(table)
    good = [row for row in rows if "error" not in row]
    trained = [row["training"] for row in good if "training" in row]
    different = [row["name"] for row in good if not row["equal"]]
    different += [
        row["name"] + " (training)"
        for row in good
        if not row.get("training", {"equal": True})["equal"] and not row["training"]["as_told"]
    ]
    failed = [row["name"] for row in rows if "error" in row]
    families = len({row["family"] for row in good})
    print(
        f"{len(good)} architectures of {families} families (asked: {FAMILIES} architectures); "
        f"equal to eager: {sum(row['equal'] for row in good)}; "
        f"as one graph: {sum(map(is_whole, good))} (asked: {WHOLE}); "
        f"training equal: {sum(t['equal'] for t in trained)} of {len(trained)} (asked: {TRAINED}), "
        f"to eager code that is told the same: {sum(t['as_told'] for t in trained)}, "
        f"as one graph: {sum(t['graphs'] == 1 and not t['breaks'] for t in trained)}, "
        f"by a backward of the backend's: {sum(t['own_backward'] for t in trained)}"
    )
    worst = max([row["difference"] for row in good] + [t["difference"] for t in trained], default=0.0)
    print(f"largest difference: {worst:.1e} of a tensor's largest value")
    if different or failed:
        print("DIFFERENT:", ", ".join(different) or "none", " FAILED:", ", ".join(failed) or "none")
    return not different and not failed


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="architecture")
    parser.add_argument("--work", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--limit", type=float, default=60, help="seconds for one architecture")
    parser.add_argument("--is-compiling", choices=["True", "False", "auto"], default="", help="the setting")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--backend", choices=["native", "fused"], default="native")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--json", type=Path, default=RESULTS / "models.json")
    arguments = parser.parse_args()
    if arguments.work:
        return work(arguments.work, arguments.is_compiling, arguments.device, arguments.backend)
    from architectures import ARCHITECTURES

    if unknown := set(arguments.names) - set(ARCHITECTURES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    names = arguments.names or list(ARCHITECTURES)
    settings = settings_of(arguments.is_compiling, arguments.device, arguments.backend)
    rows = examined(names, arguments.limit, settings, arguments.jobs)
    fine = show(rows)
    RESULTS.mkdir(exist_ok=True)
    arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if fine else 1


if __name__ == "__main__":
    raise SystemExit(main())
