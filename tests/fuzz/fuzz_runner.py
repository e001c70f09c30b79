"""tests/fuzz/fuzz_runner.py: runs generated programs eagerly and captured, and compares all that can be seen.

    python tests/fuzz/fuzz_runner.py --programs 1000 --seed 0 --jobs 2 [--backend native] [--breaks 8]

Compared after each of several calls with changed inputs: result or exception (type, arguments, lines of the
traceback), output, what the program wrote to its globals, and the states of the random generators. A program
that differs is written to --report with both outcomes.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import io
import math
import random
import re
import sys
import traceback
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]

from program_grammar import source  # noqa: E402

CALLS = 5
FILE = "<generated>"


def show(value: Any) -> Any:
    """What can be compared by `==`: tensors by contents and looks."""
    import torch

    if isinstance(value, torch.Tensor):
        looks = (value.dtype, tuple(value.shape), value.stride(), value.requires_grad)
        with torch.no_grad():
            return ("tensor", looks, value.detach().clone().nan_to_num(nan=123.0).tolist())
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(show, value)]
    if isinstance(value, dict):
        return {key: show(item) for key, item in value.items()}
    if isinstance(value, float) and value != value:
        return "nan"
    return value


def lines_of(error: BaseException) -> list[Any]:
    """Frames of the program; those of libraries differ between an operator and the function around it."""
    return [
        (frame.name, frame.lineno)
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == FILE
    ]


def chain(error: BaseException | None) -> list[Any]:
    found = []
    while error is not None and len(found) < 5:
        arguments = [text for text in error.args if isinstance(text, str | int)]
        found.append((type(error).__name__, arguments, lines_of(error), error.__suppress_context__))
        error = error.__cause__ or error.__context__
    return found


def outcomes(text: str, backend: str | None, one_in: int = 0, seed: int = 0) -> tuple[list[Any], int]:
    """One outcome a call, and how many captures there are in the end."""
    import stator
    import torch
    from stator import _capture

    names: dict[str, Any] = {"__name__": "generated"}
    exec(compile(text, FILE, "exec"), names)
    entry = names["entry"]
    if backend is not None:
        entry = stator.compile(entry, backend=backend)
    random.seed(3)
    torch.manual_seed(5)
    _capture.break_at_random(one_in, seed)
    seen = []
    for call in range(CALLS):
        shape = (3, 4)
        x = torch.linspace(-1, 1 + call, 12).reshape(shape)
        if call == 3:
            x = x - 5
        if call == 4:
            x.requires_grad_()
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            try:
                result: Any = ("returned", show(entry(x, call % 3)))
            except Exception as error:
                result = ("raised", chain(error))
        box = names["BOX"]
        state = [show(names["LOG"]), show(names["TABLE"]), show(names["BUFFER"]), box.uses, show(box.value)]
        state += [show(names["LEAF"].grad), names["RECORDS"].getvalue(), torch.is_autocast_enabled("cpu")]
        drawn = (random.getstate()[1][-1], torch.get_rng_state().sum().item(), torch.is_grad_enabled())
        seen.append((result, output.getvalue(), state, drawn, show([x, x.grad])))
        names["LOG"].clear()
        torch.set_grad_enabled(True)
        if call == 1:
            box.value = 0.5
            names["WEIGHT"] = names["WEIGHT"] * 2
    _capture.break_at_random(0)
    captures = len(stator.cache_entries(entry)) if backend is not None else 0
    return seen, captures


BIT_FOR_BIT = ("native", "eager")
"""Others may add gradients up in another order, and a graph of theirs is one node of autograd's."""


def are_same(one: Any, other: Any, backend: str) -> bool:
    if backend in BIT_FOR_BIT:
        return repr(one) == repr(other)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        alike = type(one) is type(other) and len(one) == len(other)
        return alike and all(are_same(*pair, backend) for pair in zip(one, other, strict=True))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-6)
    if isinstance(one, str) and isinstance(other, str):
        one, other = (re.sub(r"grad_fn=<\w+>", "grad_fn", text) for text in (one, other))
    return repr(one) == repr(other)


def difference(seed: int, backend: str, one_in: int = 0) -> tuple[str, int]:
    """Empty where nothing differs; and the number of captures."""
    text = source(seed)
    plain, _ = outcomes(text, None)
    try:
        captured, captures = outcomes(text, backend, one_in, seed)
    except BaseException as error:
        return f"seed {seed}\n{text}\n{''.join(traceback.format_exception(error))}", 0
    for call, (a, b) in enumerate(zip(plain, captured, strict=True)):
        if are_same(a, b, backend):
            continue
        parts = ["result", "output", "state", "random", "argument"]
        triples = [each for each in zip(parts, a, b, strict=True) if not are_same(*each[1:], backend)]
        shown = "\n".join(
            f"{name}\n  eager    {one!r:.1500}\n  captured {other!r:.1500}" for name, one, other in triples
        )
        which = ", ".join(name for name, _, _ in triples)
        return f"seed {seed}, call {call}, differs in {which}\n{text}\n{shown}\n", captures
    return "", captures


def chunk(seeds: list[int], backend: str, one_in: int) -> tuple[list[str], int]:
    import torch._dynamo

    import stator
    import torch

    torch.set_num_threads(1)
    found, captures = [], 0
    for seed in seeds:
        text, made = difference(seed, backend, one_in)
        captures += made
        if text:
            found.append(text)
        stator.reset()
    return found, captures


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--backend", default="native")
    parser.add_argument(
        "--breaks", type=int, default=0, metavar="N", help="captures break at one of N instructions as well"
    )
    parser.add_argument("--report", type=Path)
    options = parser.parse_args()
    seeds = list(range(options.seed, options.seed + options.programs))
    chunks = [seeds[i : i + 50] for i in range(0, len(seeds), 50)]
    found: list[str] = []
    captures = died = 0
    # A fresh process now and then: memory is given back, and one that dies takes few others with it.
    for start in range(0, len(chunks), options.jobs * 4):
        with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
            jobs = [
                pool.submit(chunk, part, options.backend, options.breaks)
                for part in chunks[start : start + options.jobs * 4]
            ]
            for job in jobs:
                try:
                    texts, made = job.result(timeout=600)
                except Exception as error:
                    died += 1
                    found.append(f"a process died: {error!r}")
                    continue
                found += texts
                captures += made
    if options.report:
        options.report.write_text("\n\n".join(found))
    print(f"{len(seeds)} programs, {captures} captures, {len(found)} differ, {died} chunks died")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
