"""Readers of generated programs: what a function may do with a value, leaving its answer in `r`.

A reader does not say which values fit: the case generator tries.
"""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass

import mutation_callables
import mutation_opcodes
import mutation_sizes
import mutation_torch_readers

WEIGHTS = {"opcode": 33, "torch": 18, "torch function": 9, "setting": 3, "size": 4, "callable": 33}


@dataclass(frozen=True)
class Reader:
    name: str
    family: str
    template: (
        str  # statements; «D» stands for the value, «X» for a tensor of shape (2, 3); or a C function's name
    )
    kinds: tuple[str, ...] = ()  # of data that are likely to fit

    def lines(self, value: str, rng: random.Random) -> list[str]:
        is_name = self.family in ("callable", "torch function")
        text = mutation_callables.call(self.template, rng) if is_name else self.template
        return [line.replace("«D»", value).replace("«X»", "x") for line in text.splitlines()]


@functools.cache
def readers() -> dict[str, tuple[Reader, ...]]:
    """All readers by family."""
    return {
        "opcode": tuple(Reader(t, "opcode", t) for t in mutation_opcodes.all_texts()),
        "torch": tuple(
            Reader(t, "torch", t, mutation_torch_readers.kinds(t)) for t in mutation_torch_readers.all_texts()
        ),
        "torch function": tuple(
            Reader(t, "torch function", t, mutation_torch_readers.kinds(t))
            for t in mutation_torch_readers.functions()
        ),
        "size": tuple(Reader(t, "size", t) for t in mutation_sizes.all_texts()),
        "setting": tuple(Reader(t, "setting", t) for t in mutation_torch_readers.setting_texts()),
        "callable": tuple(
            Reader(t, "callable", t, mutation_callables.kinds(t)) for t in mutation_callables.names()
        ),
    }


def drawn(rng: random.Random, only: str = "") -> Reader:
    """Any reader, or any whose name contains `only`."""
    if only:
        return rng.choice([r for family in readers().values() for r in family if only in r.name])
    family = rng.choices(list(WEIGHTS), weights=list(WEIGHTS.values()))[0]
    return rng.choice(readers()[family])
