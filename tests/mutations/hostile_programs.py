"""Programs written to catch a capture out, each with changes after which it must do what eager code does.

They stand in `hostile/*.txt`, separated by lines of `====`: a name as a comment, a program that defines `f`
and gives it `X`, a line `--`, and one change a line. `python tests/mutations/hostile_programs.py [backend]`
runs all.
"""

from __future__ import annotations

import builtins
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import itertools
import json
import math
import operator
import random
import re
import string
import struct
import sys
import types
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import torch.utils.hooks  # noqa: E402
from comparison import Drained, difference  # noqa: E402
from mutation_cases import prepare, restore_settings  # noqa: E402

import stator  # noqa: E402
import torch  # noqa: E402

FOLDER = Path(__file__).with_name("hostile")
HEAD = """
import abc, collections, contextlib, contextvars, copy, dataclasses, enum, functools, itertools, math
import operator, sys, threading, types, typing, weakref
import torch, torch.nn as nn, torch.nn.functional as F
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field, replace
X = torch.arange(6.).reshape(2, 3) + 1
OUT = []
"""
CALLS, CHANGED_BEFORE = 6, (2, 4)
ONE_NODE_EACH = ("native", "eager")  # what these record for autograd is what eager code does

# What programs may replace names of: put back after each, for whatever runs in this process later.
MODULES = (
    *(builtins, collections, contextlib, copy, dataclasses, enum, functools, itertools, json, math, operator),
    *(random, re, string, struct, types, typing),
)
MUTABLE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
CLASSES = {
    each: None
    for module in MODULES
    for each in vars(module).values()
    if isinstance(each, type) and each.__flags__ & MUTABLE and not each.__flags__ & 1 << 8
}
SHARED: list[Any] = [
    *MODULES,
    *CLASSES,
    *(torch, torch.nn, torch.nn.functional, torch.utils.deterministic),
    *(torch.Tensor, torch.nn.Module, torch.nn.Linear, torch.nn.Parameter),
]
AS_FOUND = [dict(vars(each)) for each in SHARED]


GLOBAL_HOOKS = [
    each
    for name, each in vars(torch.nn.modules.module).items()
    if name.startswith("_global_") and isinstance(each, dict)
]


def put_back_modules(found: dict[str, Any]) -> None:
    """Modules that a program made: `inspect` asks all that there are for their files."""
    for name, module in list(sys.modules.items()):
        is_made = getattr(type(module), "__module__", "") == "world" or (
            isinstance(module, types.ModuleType | types.SimpleNamespace | None)
            and getattr(module, "__dict__", {}).get("__spec__") is None
        )
        if name not in found and is_made and not name.startswith("torch"):
            del sys.modules[name]
    for name, module in found.items():
        if sys.modules.get(name) is not module:
            sys.modules[name] = module


def put_back() -> None:
    for hooks in GLOBAL_HOOKS:
        hooks.clear()
    for each, found in zip(SHARED, AS_FOUND, strict=True):
        now = dict(vars(each))
        for name in now.keys() - found.keys() - {"__abstractmethods__", "__annotations__"}:
            delattr(each, name)
        for name, value in found.items():
            if name not in now or now[name] is not value:
                setattr(each, name, value)
    torch.utils.deterministic.fill_uninitialized_memory = True  # type: ignore[attr-defined]


@dataclass
class Program:
    name: str
    text: str
    changes: list[str]


@dataclass
class Outcome:
    found: str | None
    hits: int


def programs(file: Path) -> list[Program]:
    made = []
    for block in file.read_text().split("\n====\n"):
        text, _, changes = block.partition("\n--\n")
        name = text.strip().splitlines()[0].removeprefix("# ")
        made.append(Program(name, text, [line for line in changes.splitlines() if line.strip()]))
    return made


class World:
    """A module in which the program runs; what it starts with is no part of its state."""

    def __init__(self, text: str, compile: Any) -> None:
        self.module = types.ModuleType("world")
        self.space = vars(self.module)
        settle(0)
        exec(HEAD, self.space)
        self.given = set(self.space) - {"X", "OUT"}
        exec(text_as_code(text), self.space)
        self.call = compile(self.space["f"])
        self.results: list[Any] = []

    def run(self) -> None:
        settle(5)
        try:
            self.results.append(["returned", self.call(self.space["X"])])
        except Exception as error:
            self.results.append(["raised", type(error).__name__, str(error)])

    def change(self, text: str) -> None:
        settle(7)
        try:
            exec(text, self.space)
        except Exception as error:
            self.results.append(["cannot be changed", type(error).__name__])

    def state(self) -> list[Any]:
        own = {
            name: value
            for name, value in self.space.items()
            if name not in self.given and not name.startswith("__")
        }
        return [own, self.results]


def text_as_code(text: str) -> Any:
    return compile(text, "<world>", "exec", dont_inherit=True)


def settle(seed: int) -> None:
    """Numbers that count up in the process are the same in each world."""
    torch.manual_seed(seed)
    torch.utils.hooks.RemovableHandle.next_id = 1000 * seed


def run(program: Program, number: int, backend: str) -> Outcome:
    """Two calls, this change, two calls, the next change, two calls: each compared with eager's."""
    modules = dict(sys.modules)
    try:
        eager = World(program.text, lambda f: f)
        ours = World(program.text, lambda f: stator.compile(f, backend=backend))
        for i in range(CALLS):
            if i in CHANGED_BEFORE and program.changes:
                change = program.changes[(number + (i != CHANGED_BEFORE[0])) % len(program.changes)]
                eager.change(change)
                ours.change(change)
            eager.run()
            ours.run()
            found = difference(ours.state(), eager.state(), Drained(), nodes=backend in ONE_NODE_EACH)
            if found is not None:
                return Outcome(f"call {i + 1}: {found}", 0)
        return Outcome(None, sum(row["hits"] for row in getattr(ours.call, "entries", ())))
    finally:
        put_back()
        put_back_modules(modules)
        restore_settings()


def main() -> int:
    prepare()
    backend = sys.argv[1] if len(sys.argv) > 1 else "native"
    count = served = wrong = 0
    for file in sorted(FOLDER.glob("*.txt")):
        for program in programs(file):
            for number in range(max(1, len(program.changes))):
                outcome = run(program, number, backend)
                count, served = count + 1, served + (outcome.hits > 0)
                if outcome.found is not None:
                    wrong += 1
                    print(f"{file.stem}: {program.name}: {program.changes[number]}: {outcome.found}"[:500])
    print(f"{count} programs, {served} served, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
