"""Compiled programs, by the graph and its shapes: equal ones are compiled once."""

import logging
import os
from typing import Any

from stator import _torch
from stator.backends.openxla import runtime

hlo_log = logging.getLogger("stator.stablehlo")

counts = {"programs": 0, "uses": 0, "direct": 0, "outside": 0}
"""Since the process began: programs compiled by XLA; graphs, or parts of them, that use one; those of them
that went to the emitter as they were captured; operators left to torch."""

_executables: dict[tuple[str, str, tuple[str, str]], Any] = {}
_loaded: dict[tuple[str, str], runtime.Loaded] = {}


def executable_of(graph: str, device: str, precision: tuple[str, str]) -> Any:
    """The program of a graph's text, which has the shapes, for torch's settings of precision."""
    key = graph, device, precision
    found = _executables.get(key)
    if found is None:
        # What eager kernels check on the CPU, the program does too; CUDA's do not raise.
        stablehlo, tells_if_valid = _torch.stablehlo(graph, precision, device.startswith("cpu"))
        made = loaded_of(stablehlo, device)
        found = _executables[key] = _torch.XlaExecutable(graph, made, device, tells_if_valid)
    return found


def compile_stablehlo(stablehlo: str, device: str) -> runtime.Loaded | None:
    """A program for a graph that the emitter took as it was captured; None where XLA cannot be called."""
    if runtime.lost_by_fork():
        return None
    counts["uses"] += 1
    counts["direct"] += 1
    return loaded_of(stablehlo, device)


def loaded_of(stablehlo: str, device: str) -> runtime.Loaded:
    found = _loaded.get((stablehlo, device))
    if found is None:
        hlo_log.info("%s", stablehlo)
        counts["programs"] += 1
        found = _loaded[stablehlo, device] = runtime.compile_for(stablehlo, device)
    return found


def forget_programs() -> None:
    """Drops the programs that no compiled function holds."""
    _executables.clear()
    _loaded.clear()


def _leave_to_parent() -> None:
    """After a fork: what the parent's client made is neither called nor torn down."""
    runtime.leave_to_parent((*_executables.values(), *_loaded.values()))
    forget_programs()


os.register_at_fork(after_in_child=_leave_to_parent)
