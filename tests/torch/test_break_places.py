"""Breaks in odd places: what is seen of each program is what eager code shows, call after call."""

from __future__ import annotations

import contextlib
import io
import random
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import comparison
import numpy as np
import pytest
from comparison import difference

import stator
import torch

FOLDER = Path(__file__).parent / "break_programs"
WORLD = compile((FOLDER / "world.py").read_text(), str(FOLDER / "world.py"), "exec")
CODES: dict[str, CodeType] = {}
for file in sorted(FOLDER.glob("*.py")):
    if file.name != "world.py":
        code = compile(file.read_text(), str(file), "exec")
        CODES.update(dict.fromkeys(re.findall(r"^@program\ndef (\w+)", file.read_text(), re.M), code))
# AOT autograd's own: it refuses a gradient of a gradient, its nodes are printed by other names, and what a
# graph writes is written at its end, which an error does not come to.
NOT_FOR_AOT = {"autograd_grad", "print_written_later", "kernel_error_out"}


def shown(error: BaseException | None) -> list[Any]:
    """The exception and those that were handled when it was raised, with the program's lines."""
    found: list[Any] = []
    while error is not None and len(found) < 8:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [(frame.name, frame.lineno) for frame in frames if frame.filename.startswith(str(FOLDER))]
        found.append((type(error).__name__, str(error)[:200], lines, error.__suppress_context__))
        error = error.__context__
    return found


def arguments() -> Iterator[torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    some = torch.randn(3, 4, generator=generator)
    yield from (torch.ones(3, 4), torch.ones(3, 4) * 2, -torch.ones(3, 4), some)
    yield some.clone().requires_grad_()
    yield from (torch.ones(3, 4), some)


def gradients(value: Any, x: torch.Tensor) -> torch.Tensor | None:
    leaves = torch.utils._pytree.tree_leaves(value)
    with_history = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    if with_history and x.requires_grad:
        with contextlib.suppress(RuntimeError):
            sum(leaf.sum() for leaf in with_history).backward()
    return x.grad


def without_marks(value: Any) -> Any:
    """AOT autograd notes on its results which of their sizes may change."""
    for leaf in torch.utils._pytree.tree_leaves(value):
        if isinstance(leaf, torch.Tensor):
            for name in comparison.NOTED_BY_AOT:
                vars(leaf).pop(name, None)
    return value


def outcomes(name: str, backend: str | None, with_gradients: bool = True) -> list[dict[str, Any]]:
    world: dict[str, Any] = {"__name__": "break_programs"}
    exec(WORLD, world)
    exec(CODES[name], world)
    program = world["PROGRAMS"][name]
    if backend is not None:
        program = stator.compile(program, backend=backend)
    random.seed(3)
    np.random.seed(3)
    seen = []
    for given in arguments():
        x = given.detach().clone().requires_grad_(given.requires_grad)
        world["OUT"].clear()
        torch.manual_seed(3)
        output = io.StringIO()
        with contextlib.redirect_stdout(output), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                value = without_marks(program(x))
            except BaseException as error:
                value = shown(error)
        told = [(str(each.message)[:80], each.lineno) for each in warned if str(FOLDER) in each.filename]
        seen.append(
            {
                "value": value,
                "output": output.getvalue(),
                "written": world["OUT"][:],
                "warnings": [each for each in told if not each[0].startswith(("stator", "Converting a"))],
                "gradients": gradients(value, x) if with_gradients else None,
                "argument": x.detach().clone(),
                "random": (random.random(), np.random.rand(), torch.rand(()).item()),
                "modes": (torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
                "handled": sys.exc_info()[0],
            }
        )
        torch.set_grad_enabled(True)
    return seen


EACH = [(name, backend) for name in CODES for backend in ("native", "eager")]
EACH += [(name, "aot_eager") for name in list(CODES)[::4] if name not in NOT_FOR_AOT]  # it takes its time


@pytest.mark.parametrize(("name", "backend"), EACH)
def test_as_eager(name: str, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    of_aot = backend == "aot_eager"
    if of_aot:
        monkeypatch.delitem(comparison.TENSOR_FACTS, "grad_fn")
    plain, captured = (outcomes(name, each, with_gradients=not of_aot) for each in (None, backend))
    for ours, eagers in zip(captured, plain, strict=True):
        for part in eagers:
            assert difference(ours[part], eagers[part]) is None, part


# Operators in captures that serve, of programs that work in handlers and coroutines.
HANDLING = {
    "in_except": 4,
    "in_finally_raises": 4,
    "loop_in_except": 5,
    "coroutine_run": 2,
    "async_exception": 3,
    "coroutine_handlers": 8,
    "generator_in_handler": 5,
}


@pytest.mark.parametrize("name", HANDLING)
def test_handlers_and_coroutines_are_captured(name: str) -> None:
    stator.reset()  # asyncio's functions may be left to CPython by now
    world: dict[str, Any] = {"__name__": "break_programs"}
    exec(WORLD, world)
    exec(CODES[name], world)
    compiled = stator.compile(world["PROGRAMS"][name], backend="native")
    for _ in range(6):
        with contextlib.suppress(ValueError):
            compiled(torch.ones(3, 4))
    rows = [*compiled.entries, *(entry for row in compiled.callees for entry in row["entries"])]
    ours = [row for row in rows if row["hits"] >= 3 and row["begins"][0].startswith(str(FOLDER))]
    assert sum(row["nodes"] for row in ours) >= HANDLING[name]
