"""torch's OpInfo list through the backend `openxla_eval`, against eager.

python tests/openxla/opinfo_openxla.py [names…] [--dtype float32] [--samples 4] [--jobs 2] [--json FILE]
An operator agrees if all its samples do, in shape, dtype, strides and values. `inside`: XLA ran all of it;
`split`: torch ran a part; `eager`: no XLA program was made (the capture broke, or nothing is computed).
Exit status 1 on a wrong answer or a crash.
"""

import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "torch"))

import torch.utils._pytree as pytree
from opinfo import SEED, UNINITIALISED, chosen, fresh, name_of, tensors_in

import stator
import torch

PARTS = 24
# Results that are defined up to a choice: signs of vectors, order of equal elements, uninitialised memory.
NOT_COMPARABLE = UNINITIALISED | {
    "svd",
    "linalg.svd",
    "svd_lowrank",
    "pca_lowrank",
    "linalg.eig",
    "linalg.eigh",
    "geqrf",
}
# Which of equal elements is named by its place is not defined.
PLACES_OF_EQUALS = {"topk", "kthvalue", "sort", "argsort"}
TOLERANCES = {
    torch.float32: (1e-4, 1e-4),
    torch.complex64: (1e-4, 1e-4),
    torch.bfloat16: (3e-2, 3e-2),
    torch.float16: (1e-2, 1e-2),
}


def difference(got: Any, wanted: Any) -> str | None:
    mine, theirs = tensors_in(got), tensors_in(wanted)
    if len(mine) != len(theirs):
        return f"{len(mine)} tensors for {len(theirs)}"
    for a, b in zip(mine, theirs, strict=True):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return f"{a.dtype}{list(a.shape)} for {b.dtype}{list(b.shape)}"
        if a.layout != torch.strided:
            a, b = a.to_dense(), b.to_dense()
        elif a.stride() != b.stride() and a.numel() > 1:
            return f"strides {a.stride()} for {b.stride()}"
        rtol, atol = TOLERANCES.get(a.dtype, (1e-6, 1e-6))
        if not torch.allclose(a.resolve_conj(), b.resolve_conj(), rtol=rtol, atol=atol, equal_nan=True):
            gap = (a.to(torch.complex128) - b.to(torch.complex128)).abs()
            return f"values differ by {gap[~gap.isnan()].max().item() if gap.numel() else 0:.2g}"
    return None


def is_nearer(op: Any, tree: Any, got: Any, wanted: Any) -> bool:
    """Whether 16-bit results are not farther from those in 32 bits than eager's, which sums in 16 bits."""
    args, kwargs = pytree.tree_map_only(
        torch.Tensor, lambda t: t.float() if t.is_floating_point() else t, tree
    )
    torch.manual_seed(SEED)
    with torch.no_grad():
        exact = tensors_in(op(*args, **kwargs))

    def distance(result: Any) -> float:
        gaps = [(a.float() - b).abs().nan_to_num() for a, b in zip(tensors_in(result), exact, strict=True)]
        return max((gap.max().item() for gap in gaps if gap.numel()), default=0.0)

    return distance(got) <= distance(wanted)


def with_elements(name: str, result: Any, args: Any, kwargs: Any) -> Any:
    """Places of elements as the elements there."""
    x = args[0]
    values, places = (x, result) if isinstance(result, torch.Tensor) else result
    if x.dim() == 0:
        return values
    by_position = [a for a in args[1:] if type(a) is int]
    by_position = by_position[name in ("topk", "kthvalue") :]  # k comes first
    dim = kwargs.get("dim", by_position[0] if by_position else -1)
    kept = places.dim() == x.dim()
    found = x.gather(dim, places if kept else places.unsqueeze(dim))
    return values, found if kept else found.squeeze(dim)


def examine(info: Any, dtype: torch.dtype, limit: int) -> dict[str, Any]:
    from stator.backends.openxla.executables import counts

    row: dict[str, Any] = {"name": name_of(info), "samples": 0, "agreed": 0, "reasons": {}, "outside": []}
    reasons: collections.Counter[str] = collections.Counter()
    kinds: collections.Counter[str] = collections.Counter()
    samples = info.sample_inputs("cpu", dtype) if dtype in info.supported_dtypes("cpu") else ()
    for sample in itertools.islice(samples, limit):
        tree = ((sample.input, *sample.args), sample.kwargs)
        op = info.op

        def call(*a: Any, _op: Any = op, **k: Any) -> Any:
            return _op(*a, **k)

        args, kwargs = pytree.tree_map(fresh, tree)
        torch.manual_seed(SEED)
        try:
            with torch.no_grad():
                wanted = call(*args, **kwargs)
        except Exception:
            continue
        row["samples"] += 1
        before = dict(counts)
        stator.reset()
        args, kwargs = pytree.tree_map(fresh, tree)
        torch.manual_seed(SEED)
        try:
            with torch.no_grad():
                got = stator.compile(call, backend="openxla_eval")(*args, **kwargs)
            if info.name in PLACES_OF_EQUALS and not kwargs.get("stable"):
                got, wanted = (with_elements(info.name, result, args, kwargs) for result in (got, wanted))
            why = None if info.name in NOT_COMPARABLE else difference(got, wanted)
            if why is not None and dtype.itemsize == 2 and is_nearer(op, tree, got, wanted):
                why = None
        except Exception as error:
            cause = error.__cause__ or error
            why = f"{type(cause).__name__}: {cause}".split("\n")[0][:160]
        outside = counts["outside"] - before["outside"]
        kinds["eager" if counts["uses"] == before["uses"] else "split" if outside else "inside"] += 1
        if why is None:
            row["agreed"] += 1
        else:
            reasons[why] += 1
    row["kinds"], row["reasons"] = dict(kinds), dict(reasons.most_common(3))
    return row


def run_part(options: argparse.Namespace) -> int:
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    for info in chosen(options.names)[options.part :: PARTS]:
        print(json.dumps({"begin": name_of(info)}), flush=True)
        row = examine(info, getattr(torch, options.dtype), options.samples)
        print(json.dumps(row), flush=True)
    return 0


def start_part(part: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    command = [sys.executable, __file__, *options.names, "--part", str(part), "--dtype", options.dtype]
    command += ["--samples", str(options.samples)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ, timeout=1500)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    rows = [line for line in lines if "begin" not in line]
    if done.returncode:
        last = lines[-1].get("begin", "?") if lines else "?"
        why = f"the process ended with {done.returncode}: {done.stderr[-300:]}"
        rows.append(
            {"name": last, "samples": 1, "agreed": 0, "kinds": {}, "reasons": {why: 1}, "crash": True}
        )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--samples", type=int, default=4, help="of each operator")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--part", type=int, default=-1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part >= 0:
        return run_part(options)
    rows: list[dict[str, Any]] = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        parts = range(min(PARTS, len(chosen(options.names))))
        for found in pool.map(lambda part: start_part(part, options), parts):
            rows += found
    rows = [row for row in rows if row["samples"]]
    for row in rows:
        if row["agreed"] < row["samples"]:
            print(f"{row['name']}: {row['agreed']} of {row['samples']} {row['kinds']} {row['reasons']}")
    good = [row for row in rows if row["agreed"] == row["samples"]]
    by_kind = collections.Counter(
        "eager" if "eager" in row["kinds"] else "split" if "split" in row["kinds"] else "inside"
        for row in good
    )
    print(f"{options.dtype}: {len(good)} of {len(rows)} operators agree: {dict(by_kind)}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if len(good) == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
