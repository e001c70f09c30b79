"""Traces and replays samples of torch's OpInfo list and compares with eager.

python tests/torch/opinfo.py [names…] [--dtypes float32,int64] [--layouts] [--gradients] [--limit N]
prints `N of M agree` and each operator that does not, with its reason. The whole list: opinfo_whole.py.
"""

import argparse
import collections
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Before torch is imported: on machines that show AMX without allowing it oneDNN's bfloat16 kernels die.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

import torch.utils._pytree as pytree

import stator._torch as st
import torch

# Their results are not values that a program may rely on.
UNINITIALISED = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"}

# The seed that OpInfo's random operators set for themselves while they run.
SEED = 42

LAYOUTS = ("plain", "transposed", "channels_last", "expanded")

BREAKS = Path(__file__).parent / "opinfo_breaks.txt"


@dataclass
class Report:
    """What came of one operator."""

    name: str
    samples: int = 0
    agreed: int = 0
    reasons: collections.Counter[str] = field(default_factory=collections.Counter)
    dispatched: int = 0
    meta: int = 0
    inferred: int = 0

    @property
    def good(self) -> bool:
        return self.samples == self.agreed

    @property
    def wrong(self) -> list[str]:
        """Reasons that are no clean breaks."""
        return [reason for reason in self.reasons if not reason.startswith("break: ")]


def listed_breaks() -> dict[str, str]:
    """Operators of which some sample breaks, with the reason."""
    lines = [line.split("#")[0].strip() for line in BREAKS.read_text().splitlines()]
    return {
        name.strip(): reason.strip() for name, _, reason in (line.partition(":") for line in lines if line)
    }


def name_of(info: Any) -> str:
    return str(info.name) + (f".{info.variant_test_name}" if info.variant_test_name else "")


def is_tensor(leaf: object) -> bool:
    return isinstance(leaf, torch.Tensor)


def relaid(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    """The same contents in another memory layout, where the rank allows it."""
    if layout == "transposed" and tensor.dim() >= 2:
        return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)
    if layout == "channels_last" and tensor.dim() in (4, 5):
        form = torch.channels_last if tensor.dim() == 4 else torch.channels_last_3d
        return tensor.contiguous(memory_format=form)
    if layout == "expanded" and tensor.dim() >= 1 and tensor.shape[0] > 1:
        return tensor[:1].expand(tensor.shape)
    return tensor


def fresh(leaf: Any, layout: str = "plain") -> Any:
    """A leaf with the same contents, layout and requires_grad, on memory of its own."""
    if not is_tensor(leaf) or leaf.layout != torch.strided:
        return leaf
    with torch.no_grad():
        base = relaid(leaf.detach(), layout)
        copy = torch.empty_strided(base.shape, base.stride(), dtype=base.dtype, device=base.device)
        if base.numel():
            span = 1 + sum(
                (size - 1) * stride for size, stride in zip(base.shape, base.stride(), strict=True)
            )
            flat = torch.as_strided(base.resolve_conj().resolve_neg(), (span,), (1,), base.storage_offset())
            copy = torch.as_strided(flat.clone(), base.shape, base.stride(), 0)
    return copy.requires_grad_(leaf.requires_grad)


def with_gradients(tree: Any, chosen: int) -> Any:
    """Only the differentiable tensor number `chosen` requires a gradient."""
    position = -1

    def change(leaf: Any) -> Any:
        nonlocal position
        if not is_tensor(leaf) or not (leaf.dtype.is_floating_point or leaf.dtype.is_complex):
            return leaf
        position += 1
        return leaf.detach().requires_grad_(position == chosen)

    return pytree.tree_map(change, tree)


def shown(tensor: torch.Tensor) -> tuple[Any, ...]:
    """What user code reads off a tensor."""
    return (
        tuple(tensor.shape),
        tensor.dtype,
        tensor.stride() if tensor.layout == torch.strided else None,
        tensor.device,
        tensor.requires_grad,
        tensor.is_conj(),
        tensor.storage_offset() if tensor.layout == torch.strided else None,
    )


def tensors_in(tree: object) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(tree) if is_tensor(leaf)]


def equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.layout != torch.strided:
        return torch.equal(a.to_dense(), b.to_dense())
    a, b = a.detach().resolve_conj().resolve_neg(), b.detach().resolve_conj().resolve_neg()
    if a.dtype.is_complex:
        a, b = torch.view_as_real(a), torch.view_as_real(b)
    if a.dtype.is_floating_point:
        return torch.equal(a.isnan(), b.isnan()) and torch.equal(a.nan_to_num(0.5), b.nan_to_num(0.5))
    return torch.equal(a, b)


def differs(kind: str, found: tuple[Any, ...], expected: tuple[Any, ...]) -> str | None:
    for what, a, b in zip(
        ("shape", "dtype", "stride", "device", "grad", "conj", "offset"), found, expected, strict=True
    ):
        if a != b:
            return f"{kind} {what} {a} for {b}"
    return None


def repeatable(op: Any, tree: Any, layout: str, expected: Any) -> bool:
    """Whether eager gives these values again: kernels read past expanded tensors, or break ties by chance."""
    for _ in range(16):
        args, kwargs = pytree.tree_map(lambda leaf: fresh(leaf, layout), tree)
        torch.manual_seed(SEED)
        again = op(*args, **kwargs)
        if not all(equal(a, b) for a, b in zip(tensors_in(expected), tensors_in(again), strict=True)):
            return False
    return True


def check(op: Any, args: Any, kwargs: Any, layout: str, report: Report, values: bool) -> str | None:
    """None if traced and replayed results are eager's, else the reason."""
    tree = (args, kwargs)
    eager_args, eager_kwargs = pytree.tree_map(lambda leaf: fresh(leaf, layout), tree)
    torch.manual_seed(SEED)
    try:
        expected = op(*eager_args, **eager_kwargs)
    except Exception:
        return "eager"
    tracers: list[tuple[Any, ...]] = []

    def traced(*a: Any, **k: Any) -> Any:
        out = op(*a, **k)
        tracers.extend(shown(t) for t in tensors_in(out))
        return out

    trace_args, trace_kwargs = pytree.tree_map(lambda leaf: fresh(leaf, layout), tree)
    try:
        trace = st.trace(traced, trace_args, trace_kwargs)
    except st.CaptureBreak as error:
        return "break: " + (str(error).splitlines() or [""])[0][:100]
    except BaseException as error:
        return f"raises {type(error).__name__}: " + (str(error).splitlines() or [""])[0][:100]
    counters = trace.counters
    report.dispatched += counters["dispatched_meta_calls"]
    report.meta += counters["meta_calls"]
    report.inferred += 1
    inputs = [fresh(leaf, layout) for leaf in pytree.tree_leaves(tree) if is_tensor(leaf)]
    by_leaf = iter(inputs)
    seen: dict[int, torch.Tensor] = {}
    unique = []
    for leaf in pytree.tree_leaves((trace_args, trace_kwargs)):
        if is_tensor(leaf):
            mine = next(by_leaf)
            if id(leaf) not in seen:
                seen[id(leaf)] = mine
                unique.append(mine)
    torch.manual_seed(SEED)
    try:
        replayed = trace.replay(unique)
    except BaseException as error:
        return f"replay raises {type(error).__name__}: " + (str(error).splitlines() or [""])[0][:100]
    want, got = tensors_in(expected), tensors_in(replayed)
    if len(want) != len(got):
        return "number of outputs"
    for w, g, t in zip(want, got, tracers, strict=True):
        reason = differs("tracer", t, shown(w)) or differs("replay", shown(g), shown(w))
        if reason:
            return reason
        if values and not equal(w, g):
            return "values" if repeatable(op, tree, layout, expected) else "eager"
    for w, g in zip(tensors_in((eager_args, eager_kwargs)), inputs, strict=True):
        if w.layout == torch.strided and values and (w.shape != g.shape or not equal(w, g)):
            return "values of an argument"
    return None


def samples_of(info: Any, dtype: torch.dtype) -> Iterator[Any]:
    grad = info.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    yield from info.sample_inputs("cpu", dtype, requires_grad=grad)


def run_info(
    info: Any, dtypes: list[torch.dtype], layouts: tuple[str, ...], limit: int, gradients: bool = False
) -> Report:
    report = Report(name_of(info))
    st.clear_memo()
    for dtype in dtypes:
        if dtype not in info.supported_dtypes("cpu"):
            continue
        try:
            samples = list(samples_of(info, dtype))
        except Exception:
            continue
        for sample in samples[:limit]:
            args = (sample.input, *sample.args)
            variants = [(args, sample.kwargs, layout) for layout in layouts]
            if gradients and dtype.is_floating_point:
                for chosen in range(len(tensors_in((args, sample.kwargs)))):
                    variants.append((*with_gradients((args, sample.kwargs), chosen), f"gradient {chosen}"))
            for a, k, layout in variants:
                reason = check(info.op, a, k, layout, report, info.name not in UNINITIALISED)
                if reason == "eager":
                    continue
                report.samples += 1
                if reason is None:
                    report.agreed += 1
                else:
                    report.reasons[f"{reason} ({dtype}, {layout})"] += 1
    return report


def chosen(names: list[str]) -> list[Any]:
    from torch.testing._internal.common_methods_invocations import op_db

    return [info for info in op_db if not names or info.name in names]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*")
    parser.add_argument("--dtypes", default="float32")
    parser.add_argument(
        "--layouts", action="store_true", help="also transposed, channels-last and expanded inputs"
    )
    parser.add_argument(
        "--gradients", action="store_true", help="also with a gradient for one tensor at a time"
    )
    parser.add_argument("--limit", type=int, default=10**9, help="samples per operator and dtype")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    dtypes = [getattr(torch, name) for name in options.dtypes.split(",")]
    layouts = LAYOUTS if options.layouts else LAYOUTS[:1]
    agreed = total = without = ruled = 0
    for info in chosen(options.names):
        report = run_info(info, dtypes, layouts, options.limit, options.gradients)
        if not report.samples:
            continue
        total += 1
        agreed += report.good
        without += report.inferred > 0 and report.dispatched == 0
        ruled += report.inferred > 0 and report.dispatched == report.meta == 0
        if report.dispatched and options.verbose:
            print(f"dispatched meta: {report.name}", flush=True)
        if not report.good:
            print(f"{report.name}: {report.agreed} of {report.samples} samples", flush=True)
            for reason, count in report.reasons.most_common(4):
                print(f"    {count} x {reason}", flush=True)
    print(
        f"{agreed} of {total} agree; {without} without a dispatched meta kernel, {ruled} by rules alone",
        flush=True,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
