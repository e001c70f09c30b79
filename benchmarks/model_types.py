"""benchmarks/model_types.py: every model type that transformers registers, in small, compared with eager.

    python benchmarks/model_types.py [type ...] [--no-training]

Each type in a process of its own: three calls in eval, then three steps of training, against eager in every
bit, with the random numbers that follow. Types that eager itself does not run with the inputs that are made
here are counted and left out. Exit status 1 if a result differs from eager's, or a process dies or takes too
long after eager has run.
"""

from __future__ import annotations

import argparse
import collections
import json
import multiprocessing
import multiprocessing.connection
import os
import random
import resource
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "models")]

import numpy  # noqa: E402
from comparison import same, tensors_of  # noqa: E402
from small_configurations import inputs_of, shrink  # noqa: E402

import stator  # noqa: E402
import torch  # noqa: E402
from stator.api.cache import compiled_forms  # noqa: E402
from stator.support import load_torch_extension  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
CALLS = 3
MEMORY = 12 << 30
SECONDS = 120


def seeded(call: Callable[[], Any]) -> tuple[list[torch.Tensor], torch.Tensor]:
    """The tensors of a result, and the random numbers that come after it."""
    torch.manual_seed(1)
    numpy.random.seed(1)
    random.seed(1)
    return list(tensors_of(call())), torch.rand(2)


def agree(first: Any, second: Any) -> bool:
    (a, after_a), (b, after_b) = first, second
    return len(a) == len(b) and all(map(same, a, b)) and torch.equal(after_a, after_b)


def breaks_of(function: Any) -> list[str]:
    return [str(each) for form in compiled_forms(function) for each in form.breaks]


def build(name: str) -> tuple[Any, dict[str, torch.Tensor]] | str:
    """The model and inputs that eager takes, or why there are none."""
    import transformers

    torch.manual_seed(0)
    try:
        configuration = transformers.CONFIG_MAPPING[name]()
        shrink(configuration)
        model = transformers.AutoModel.from_config(configuration).eval()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    for parameter in model.parameters():
        if not torch.isfinite(parameter).all():  # made by `empty`, never filled
            torch.nn.init.normal_(parameter, 0, 0.02)
    reason = "no inputs are known"
    for inputs in inputs_of(model):
        try:
            with torch.no_grad():
                model(**inputs)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
        else:
            return model, inputs
    return reason


def evaluate(model: Any, inputs: dict[str, Any]) -> dict[str, Any]:
    function = stator.compile(model, backend="native")
    with torch.no_grad():
        equal = all(
            agree(seeded(lambda: model(**inputs)), seeded(lambda: function(**inputs))) for _ in range(CALLS)
        )
    return {"equal": equal, "breaks": breaks_of(function)}


def train(model: Any, inputs: dict[str, Any]) -> dict[str, Any] | None:
    """None: eager does not train it with these inputs."""
    model.train()
    stator.reset()
    function = stator.compile(model, backend="native")

    def step(run: Callable[..., Any]) -> Any:
        model.zero_grad()
        results = [each for each in tensors_of(run(**inputs)) if each.requires_grad]
        if results:
            (results[0].abs() if results[0].is_complex() else results[0].float()).sum().backward()
        return results, [None if each.grad is None else each.grad.clone() for each in model.parameters()]

    def outcome(run: Callable[..., Any]) -> Any:
        tensors, after = seeded(lambda: step(run))
        return [each.detach() for each in tensors], after

    try:
        outcome(model)
    except Exception:
        return None
    equal = all(agree(outcome(model), outcome(function)) for _ in range(CALLS))
    return {"equal": equal, "breaks": breaks_of(function)}


def examine(name: str, training: bool, eager_has_run: Callable[[], None]) -> dict[str, Any]:
    built = build(name)
    if isinstance(built, str):
        return {"left_out": built}
    model, inputs = built
    eager_has_run()
    row: dict[str, Any] = {"eval": evaluate(model, inputs)}
    if training and (trained := train(model, inputs)) is not None:
        row["training"] = trained
    return row


def work(name: str, training: bool, answer: multiprocessing.connection.Connection) -> None:
    quiet = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(quiet, stream)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        row = examine(name, training, lambda: answer.send(None))
    except Exception as error:
        row = {"failed": f"{type(error).__name__}: {error}"}
    answer.send(row)


def in_process(name: str, training: bool) -> dict[str, Any]:
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=work, args=(name, training, there))
    process.start()
    there.close()
    row: dict[str, Any] | None = None
    late = "left_out"
    try:
        while row is None and here.poll(SECONDS):
            row = here.recv()
            late = "failed"  # eager has run: what comes now is Stator's
    except EOFError:
        process.join()
        row = {"failed": f"the process ended with status {process.exitcode}"}
    if row is None:
        row = {late: "took too long"}
    process.kill()
    process.join()
    return {"name": name, **row}


def show(row: dict[str, Any]) -> None:
    parts = [f"{row['name']:32s}"]
    for kind in ("eval", "training"):
        if kind in row:
            parts.append(f"{kind} {'equal' if row[kind]['equal'] else 'DIFFERENT'}")
            parts += [f"breaks: {' '.join(text.split())[:140]}" for text in row[kind]["breaks"][:1]]
    parts += [
        f"{kind}: {' '.join(row[kind].split())[:140]}" for kind in ("left_out", "failed") if kind in row
    ]
    print("  ".join(parts), flush=True)


def summary(rows: list[dict[str, Any]]) -> bool:
    ran = [row for row in rows if "eval" in row]
    failed = [row["name"] for row in rows if "failed" in row]
    count = collections.Counter(
        f"{kind} {what}"
        for row in ran
        for kind in ("eval", "training")
        if kind in row
        for what in (
            "equal" if row[kind]["equal"] else "DIFFERENT",
            "with a break" if row[kind]["breaks"] else "without a break",
        )
    )
    print(
        f"{len(rows)} model types, of which eager runs {len(ran)}: {dict(count)}; failed: {failed or 'none'}"
    )
    return not failed and all(
        row[kind]["equal"] for row in ran for kind in ("eval", "training") if kind in row
    )


def main() -> int:
    import transformers

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("types", nargs="*", metavar="type")
    parser.add_argument("--no-training", dest="training", action="store_false")
    parser.add_argument("--json", type=Path, default=RESULTS / "model_types.json")
    arguments = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    # Under a compiler transformers takes another mask; eager, which is compared with, must take it too.
    transformers.masking_utils.is_tracing = lambda *_: True
    torch.set_num_threads(1)
    load_torch_extension()  # once, for the processes that are forked
    rows = []
    for name in arguments.types or list(transformers.CONFIG_MAPPING):
        rows.append(in_process(name, arguments.training))
        show(rows[-1])
    RESULTS.mkdir(exist_ok=True)
    arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if summary(rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
