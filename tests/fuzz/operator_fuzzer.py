"""Random graphs of operators through a backend, against eager code.

    python tests/fuzz/operator_fuzzer.py [--backend openxla_eval] [--count 1000] [--start 0] [--training]

Floats may differ by what rounding makes of them: eager code is run again with results of its lines
moved by a unit of their last place, and what moves further than the backend's results is agreement. Types,
shapes, strides, memory shared, writes to arguments, errors and random streams are the same. Exit status 1 on
a difference or a crash. A failing program is printed in its shortest form.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import itertools
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch.nn.functional as F

import torch

sys.path.insert(0, str(Path(__file__).parent))

from operator_graphs import Program, draw, tensors

UNIT = {
    torch.float64: 2.3e-16,
    torch.float32: 1.2e-7,
    torch.float16: 9.8e-4,
    torch.bfloat16: 7.9e-3,
    torch.complex64: 1.2e-7,
    torch.complex128: 2.3e-16,
    torch.complex32: 9.8e-4,
}
NOISY_RUNS = 5


@dataclasses.dataclass
class Outcome:
    tensors: list[torch.Tensor]
    gradients: list[torch.Tensor | None]
    error: str | None
    stream: torch.Tensor


def run(call: Callable[..., Any], inputs: list[torch.Tensor], training: bool) -> Outcome:
    torch.manual_seed(3)
    error, results = None, []
    try:
        with torch.set_grad_enabled(training), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = list(tensors(call(*inputs)))
            if training:
                loss = [t.abs().sum().double() for t in results if t.requires_grad]
                if loss:
                    torch.stack(loss).sum().backward()
    except Exception as raised:
        error = type(raised).__name__
    gradients = [x.grad if x.is_leaf else None for x in inputs]
    return Outcome([*results, *inputs], gradients, error, torch.get_rng_state())


def noisy(program: Program, round: int) -> Callable[..., list[Any]]:
    """The program, where results of its lines are moved by a unit in the last place."""
    lines = []
    for line in program.lines:
        lines.append(line)
        name = line.text.split(" = ")[0]
        if (line.rounded or line.summed) and not line.raises:
            lines.append(dataclasses.replace(line, text=f"{name} = MOVED({name}, {line.summed})"))
    changed = dataclasses.replace(program, lines=lines)
    namespace: dict[str, Any] = {"torch": torch, "F": F, "MOVED": Mover(round)}
    exec(compile(changed.source(), "<generated>", "exec"), namespace)
    return namespace["program"]  # type: ignore[no-any-return]


class Mover:
    def __init__(self, round: int) -> None:
        self.generator = torch.Generator().manual_seed(round)

    def __call__(self, value: Any, summed: bool) -> Any:
        """In place: the value may be a view, or an argument."""
        for t in tensors(value):
            if t.dtype not in UNIT or not t.numel():
                continue
            with torch.no_grad(), warnings.catch_warnings(), contextlib.suppress(RuntimeError):  # an overlap
                warnings.simplefilter("ignore")
                signs = torch.randint(-2, 3, t.shape, generator=self.generator)
                exact = t.to(torch.complex128) if t.is_complex() else t.double()
                sizes = exact.abs()
                finite = sizes[sizes.isfinite()]
                largest = finite.max() if summed and finite.numel() else 0
                t.data.copy_(exact + signs * UNIT[t.dtype] * (exact.nan_to_num(0, 0, 0) + largest))
        return value


def shared(values: list[torch.Tensor]) -> set[tuple[int, int]]:
    storages = [t.untyped_storage()._cdata if t.numel() else -1 - i for i, t in enumerate(values)]
    return {(a, b) for a, b in itertools.combinations(range(len(values)), 2) if storages[a] == storages[b]}


def facts(t: torch.Tensor) -> Any:
    stride = [step for step, size in zip(t.stride(), t.shape, strict=True) if size > 1] if t.numel() else None
    return t.dtype, tuple(t.shape), stride, t.requires_grad, t.is_conj(), t.is_neg()


def plain(t: torch.Tensor) -> torch.Tensor:
    t = t.detach().resolve_conj().resolve_neg()
    if t.is_complex():
        return torch.view_as_real(t.to(torch.complex128))
    return t.double() if t.is_floating_point() else t


def values_differ(
    got: torch.Tensor, wanted: torch.Tensor, moved: list[torch.Tensor], rough: torch.dtype
) -> str | None:
    a, b = plain(got), plain(wanted)
    others = [plain(t) for t in moved if t.shape == wanted.shape and t.dtype == wanted.dtype]
    if len(others) < len(moved):
        return None  # rounding decides the shape
    text = f"{got.detach()} is not {wanted.detach()}"
    if not wanted.is_floating_point() and not wanted.is_complex():
        if torch.equal(a, b):
            return None
        return text if all(torch.equal(b, other) for other in others) else None
    kinds = [(t.isnan(), t.isinf() & (t > 0), t.isinf() & (t < 0)) for t in (b, a, *others)]
    if any(not all(map(torch.equal, kinds[0], each)) for each in kinds[2:]):
        return None
    # Quotients of complex infinities are as engines like them.
    if not wanted.is_complex() and not all(map(torch.equal, kinds[0], kinds[1])):
        return text
    finite = b.isfinite() & a.isfinite()
    if not finite.any():
        return None
    spread = torch.stack([(other - b).abs()[finite] for other in others]).amax(0)
    unit = max(UNIT[wanted.dtype], UNIT[rough])
    allowed = 16 * spread + 4 * spread.median() + 32 * unit * b[finite].abs().clamp(min=1)
    gap = (a - b).abs()[finite]
    if (gap <= allowed).all():
        return None
    worst = int((gap - allowed).argmax())
    return f"off by {gap[worst]:.3g}, allowed {allowed[worst]:.3g}: {text}"


def meets_nan(program: Program) -> bool:
    """Then gradients of what nobody uses count: zeros times NaN, as a graph is one node of autograd."""
    heads = [line.text.split(" = ")[0] for line in program.lines if not line.raises]
    names = [name for head in heads for name in re.findall(r"v[0-9_]+", head)]
    values = run(dataclasses.replace(program, results=names).function(), program.inputs(), False).tensors
    return any(not plain(t).isfinite().all() for t in values if t.dtype in UNIT)


def coarsest(program: Program) -> torch.dtype:
    """Of the float types that appear: rounding of one may show in results of a finer one."""
    names = {torch.float32}
    text = program.source()
    for dtype in (torch.bfloat16, torch.float16):
        if str(dtype) in text or program.autocast or any(x.dtype is dtype for x in program.inputs()):
            names.add(dtype)
    return max(names, key=UNIT.__getitem__)


def difference(program: Program, backend: str, training: bool = False, calls: int = 2) -> str | None:
    import stator

    stator.reset()
    function = program.function()
    compiled = stator.compile(function, backend=backend)
    moved = [run(noisy(program, i), program.inputs(), training) for i in range(NOISY_RUNS)]
    rough = coarsest(program)
    for call in range(calls):
        wanted = run(program.function(), program.inputs(), training)
        got = run(compiled, program.inputs(), training)
        if any(each.error != wanted.error for each in moved):
            return None
        if got.error != wanted.error:
            return f"call {call}: raises {got.error}, not {wanted.error}"
        if wanted.error:
            continue
        if any(not torch.equal(each.stream, wanted.stream) for each in moved):
            return None
        if not torch.equal(got.stream, wanted.stream):
            return f"call {call}: another random stream"
        if len(got.tensors) != len(wanted.tensors):
            return f"call {call}: {len(got.tensors)} tensors, not {len(wanted.tensors)}"
        if shared(got.tensors) != shared(wanted.tensors):
            return f"call {call}: memory shared by {shared(got.tensors)}, not {shared(wanted.tensors)}"
        for i, (a, b) in enumerate(zip(got.tensors, wanted.tensors, strict=True)):
            if facts(a) != facts(b) and all(facts(each.tensors[i]) == facts(b) for each in moved):
                return f"call {call}, tensor {i}: {facts(a)}, not {facts(b)}"
            if a.shape != b.shape or a.dtype != b.dtype:
                continue
            if text := values_differ(a, b, [each.tensors[i] for each in moved], rough):
                return f"call {call}, tensor {i}: {text}"
        if training and meets_nan(program):
            continue
        for i, (a, b) in enumerate(zip(got.gradients, wanted.gradients, strict=True)):
            # Of what only unused results depend on: a graph is one node of autograd.
            if a is None and b is not None:
                return f"call {call}, gradient {i}: None, not {b}"
            if a is not None and b is not None:
                others = [each.gradients[i] for each in moved]
                if any(other is None for other in others):
                    return None
                if text := values_differ(a, b, others, rough):  # type: ignore[arg-type]
                    return f"call {call}, gradient {i}: {text}"
    return None


def shortest(program: Program, fails: Callable[[Program], bool]) -> Program:
    """Fewer results and lines, as long as it fails."""
    for result in program.results:
        fewer = dataclasses.replace(program, results=[result])
        if fails(fewer):
            program = fewer
            break
    changed = True
    while changed:
        changed = False
        for i in reversed(range(len(program.lines))):
            fewer = dataclasses.replace(program, lines=program.lines[:i] + program.lines[i + 1 :])
            if fails(fewer):
                program, changed = fewer, True
    return program


def fails_with(backend: str, training: bool) -> Callable[[Program], bool]:
    def fails(program: Program) -> bool:
        try:
            eager = run(program.function(), program.inputs(), training)
            if eager.error == "NameError":
                return False
            return difference(program, backend, training) is not None
        except Exception:
            return False

    return fails


def report(seed: int, program: Program, backend: str, training: bool, text: str) -> None:
    small = shortest(program, fails_with(backend, training))
    text = difference(small, backend, training) or text
    print(f"seed {seed}: {text[:700]}\n{small.source()}", flush=True)
    for i, x in enumerate(small.inputs()):
        print(f"  x{i}: {x.dtype} {tuple(x.shape)} {x.stride()} {x.flatten()[:12].tolist()}", flush=True)


def check_all(options: argparse.Namespace) -> int:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    failed = 0
    for seed in range(options.start, options.start + options.count):
        if options.progress:
            options.progress.write_text(str(seed))
        program = draw(seed, options.training)  # an error of the generator ends the process
        try:
            text = difference(program, options.backend, options.training)
        except Exception as error:
            text = f"{type(error).__name__} outside of the program: {error}"
        if text:
            failed += 1
            report(seed, program, options.backend, options.training, text)
    print(f"{options.count} programs, {failed} differ")
    return failed != 0


CHUNK = 100


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="openxla_eval")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--training", action="store_true", help="gradients too")
    parser.add_argument("--progress", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.progress:
        return check_all(options)
    import tempfile

    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        progress = Path(folder) / "seed"
        at, end = options.start, options.start + options.count
        while at < end:
            command = [sys.executable, __file__, "--backend", options.backend, "--progress", str(progress)]
            command += ["--start", str(at), "--count", str(min(CHUNK, end - at))]
            command += ["--training"] if options.training else []
            done = subprocess.run(command, capture_output=True, text=True)
            lines = done.stdout.splitlines()
            print("\n".join(line for line in lines if not line.endswith("differ")), flush=True)
            if lines and lines[-1].endswith(" differ"):
                failed += sum(line.startswith("seed ") for line in lines)
                at += CHUNK
                continue
            seed = int(progress.read_text())
            failed += 1
            print(f"seed {seed}: the process ended with {done.returncode}: {done.stderr[-500:]}", flush=True)
            print(draw(seed, options.training).source(), flush=True)
            at = seed + 1
    print(f"{options.count} programs, {failed} differ")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
