"""The functional form of captured graphs, replayed by torch's kernels, against eager.

python tests/torch/functional_replay.py [names…] [--models] [--limit 100] [--json FILE]
Each OpInfo sample runs as it is, in place where there is such a variant, and in place through views of a
tensor and of an argument. `refused`: the graph has no functional form; backends take it another way then.
With --models, the graphs of the architectures of `make models`. Exit status 1 on a difference.
"""

import argparse
import collections
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))

import torch.utils._pytree as pytree
from comparison import near
from opinfo import SEED, UNINITIALISED, chosen, fresh, is_tensor, name_of, tensors_in

import stator._torch as st
import torch

RTOL = {torch.float32: 1e-5, torch.bfloat16: 2e-2, torch.float16: 2e-3}


def ways(info: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The operator as programs that write or do not."""
    yield "plain", info.op
    write = info.inplace_variant
    if write is None:
        return

    def on_a_copy(x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        y = x.clone()
        write(y, *args, **kwargs)
        return y, y + y if y.dtype != torch.bool else y | y

    def through_views(x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        y = torch.stack([x, x], -1)
        part = y.select(-1, 1)
        before = y.clone()
        write(part, *args, **kwargs)
        return y, y.flatten()[::2].clone(), before

    def on_the_argument(x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        write(x, *args, **kwargs)
        return x.unsqueeze(0).clone()

    yield "in place", on_a_copy
    yield "through views", through_views
    yield "argument", on_the_argument


def check(program: Callable[..., Any], tree: Any, comparable: bool = True, keeps: bool = False) -> str | None:
    """None if the functional form gives what eager code gives; `eager`, `break` or `refused: …`, else why."""
    args, kwargs = pytree.tree_map(fresh, tree)
    torch.manual_seed(SEED)
    try:
        with torch.no_grad():
            wanted = program(*args, **kwargs)
    except Exception:
        return "eager"
    traced_args, traced_kwargs = pytree.tree_map(fresh, tree)
    try:
        # As captured code hears it: libraries leave out what a graph cannot have.
        with torch.no_grad(), mock.patch.object(torch.compiler, "is_compiling", return_value=True):
            trace = st.trace(program, traced_args, traced_kwargs)
    except st.CaptureBreak:
        return "break"
    given = pytree.tree_map(fresh, tree)
    inputs: dict[int, torch.Tensor] = {}
    for leaf, traced in zip(tensors_in(given), tensors_in((traced_args, traced_kwargs)), strict=True):
        inputs.setdefault(id(traced), leaf)
    torch.manual_seed(SEED)
    with torch.no_grad():
        done, got = trace.replay_functional(list(inputs.values()), keeps)
    if not done:
        return f"refused: {got}"
    mine = [leaf for leaf in pytree.tree_leaves((got, given)) if is_tensor(leaf)]
    theirs = [leaf for leaf in pytree.tree_leaves((wanted, (args, kwargs))) if is_tensor(leaf)]
    for a, b in zip(mine, theirs, strict=True):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"{a.dtype}{list(a.shape)} for {b.dtype}{list(b.shape)}"
        rtol = RTOL.get(b.dtype, 0.0)
        if comparable and not near(a, b, rtol, rtol):
            return "values differ"
    return None


def operators(names: list[str], limit: int, dtypes: tuple[torch.dtype, ...]) -> list[dict[str, Any]]:
    rows = []
    for info in chosen(names):
        counts: collections.Counter[str] = collections.Counter()
        for dtype in dtypes:
            if dtype not in info.supported_dtypes("cpu"):
                continue
            for number, sample in enumerate(info.sample_inputs("cpu", dtype)):
                if number >= limit:
                    break
                for way, program in ways(info):
                    tree = ((sample.input, *sample.args), sample.kwargs)
                    try:
                        why = check(program, tree, info.name not in UNINITIALISED)
                    except Exception as error:
                        why = f"raises {type(error).__name__}: {error}".split("\n")[0][:150]
                    counts["agreed" if why is None else why if why == "eager" else f"{way}: {why}"] += 1
        rows.append({"name": name_of(info), **counts})
    return rows


def models(names: list[str]) -> list[dict[str, Any]]:
    import transformers
    from architectures import ARCHITECTURES

    transformers.logging.set_verbosity_error()
    rows = []
    for name, architecture in ARCHITECTURES.items():
        if names and name not in names:
            continue
        torch.manual_seed(0)
        model, inputs = architecture.build(transformers)
        model.eval()

        def run(given: dict[str, Any], model: Any = model) -> list[torch.Tensor]:
            return tensors_in(tuple(model(**given).values()))

        try:
            why = check(run, ((inputs,), {}))
        except Exception as error:
            why = f"raises {type(error).__name__}: {error}".split("\n")[0][:150]
        rows.append({"name": name, "agreed" if why is None else why: 1})
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def differences(row: dict[str, Any]) -> list[str]:
    """What is neither agreement nor a reason not to compare."""
    fine = ("name", "agreed", "eager", "break")
    return [key for key in row if key not in fine and not key.endswith(": break") and "refused: " not in key]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--models", action="store_true")
    parser.add_argument("--limit", type=int, default=100, help="samples of each operator and type")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    if options.models:
        rows = models(options.names)
    else:
        rows = operators(options.names, options.limit, (torch.float32, torch.int64, torch.bfloat16))
    total: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    for row in rows:
        for key, count in row.items():
            if key != "name":
                kind = "refused" if "refused: " in key else "broke" if key.endswith("break") else key
                total[kind if kind in ("agreed", "eager", "refused", "broke") else "different"] += count
                if kind == "refused":
                    reasons[key.partition("refused: ")[2]] += count
        if wrong := differences(row):
            print(f"{row['name']}: {', '.join(wrong)}")
    whole = sum("agreed" in row and not differences(row) for row in rows)
    print(f"{whole} of {len(rows)} agree; samples: {dict(total)}; refused: {dict(reasons.most_common(12))}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if any(map(differences, rows)) else 0


if __name__ == "__main__":
    sys.exit(main())
