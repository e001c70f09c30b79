"""Data of generated programs: a small grammar of Python values, as text, nested up to three deep.

A program's text is run in a namespace that holds `PRELUDE`: the modules that programs use and the functions
that changes call. Classes are part of the text, so that each world has classes of its own to change.
"""

from __future__ import annotations

import array
import bisect
import cmath
import collections
import contextlib
import copy
import dataclasses
import enum
import fractions
import functools
import heapq
import inspect
import itertools
import json
import math
import numbers
import operator
import random
import re
import statistics
import string
import struct
import sys
import textwrap
import types
import typing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import torch
from mutation_values import (
    changed,
    cell_of,
    constant_changed,
    equal,
    inference,
    moved_first,
    other_function,
    other_layout,
    other_tensor_class,
    retyped,
    retyped_item,
    retyped_key,
    shifted,
)

MODULES = (
    array, bisect, cmath, collections, contextlib, copy, dataclasses, enum, fractions, functools, heapq, inspect,
    itertools, json, math, numbers, operator, re, statistics, string, struct, sys, textwrap, types, typing, torch,
)  # fmt: skip

CLASSES: dict[str, str] = {
    "Item": "class Item:\n    kind = 'item'\n    def __init__(self, v): self.v = v\n    def get(self): return self.v",
    "Valued": """class Valued:
    def __init__(self, v): self.v = v
    def __eq__(self, other): return isinstance(other, Valued) and self.v == other.v
    def __hash__(self): return 7
    def __lt__(self, other): return self.v < getattr(other, 'v', other)
    def __bool__(self): return bool(self.v)
    def __len__(self): return 2
    def __iter__(self): return iter([self.v, self.v])
    def __getitem__(self, key): return self.v if key in (0, 1, 'a', 'v') else [][0]
    def __contains__(self, item): return item == self.v
    def __call__(self, *args): return self.v
    def __enter__(self): return self.v
    def __exit__(self, *details): return None
    def __add__(self, other): return self.v
    def __neg__(self): return self.v
    def __format__(self, spec): return spec + str(self.v)
    def __repr__(self): return f'Valued({self.v!r})'""",
    "Meta": "class Meta(type):\n    scale = 3\n    def twice(cls): return cls.rate * 2",
    "Rated": "class Rated(metaclass=Meta):\n    rate = 2\n    table = {'a': 1}\n    def __init__(self, v): self.v = v",
    "Slotted": "class Slotted:\n    __slots__ = ('v', 'w')\n    def __init__(self, v): self.v = v",
    "Lazy": "class Lazy:\n    def __init__(self, v): self.v = v\n"
    "    def __getattr__(self, name):\n        if name.startswith('_'): raise AttributeError(name)\n"
    "        return self.__dict__['v']",
    "Parent": "class Parent:\n    rate = 2\n    def read(self): return self.v\n"
    "    @property\n    def seen(self): return self.v\n"
    "    @classmethod\n    def made(cls): return cls.rate",
    "Child": "class Child(Parent):\n    def __init__(self, v): self.v = v\n"
    "    def read(self): return super().read()\n    @staticmethod\n    def plain(): return 5",
    "Pair": "Pair = collections.namedtuple('Pair', 'first second')",
    "Record": "@dataclasses.dataclass\nclass Record:\n    v: object\n    n: int = 2",
    "Color": "class Color(enum.Enum):\n    RED = 1\n    BLUE = 2",
    "MyList": "class MyList(list):\n    pass",
    "MyDict": "class MyDict(dict):\n    pass",
    "MyTuple": "class MyTuple(tuple):\n    pass",
    "MyInt": "class MyInt(int):\n    pass",
    "MyFloat": "class MyFloat(float):\n    pass",
    "MyStr": "class MyStr(str):\n    pass",
    "Counting": "class Counting(dict):\n    def __missing__(self, key): return len(self)",
}
BASES = {"Child": ("Parent",), "Rated": ("Meta",)}


def definitions(names: set[str]) -> str:
    """The class statements that a text with these names needs, bases first."""
    wanted = names | {base for name in names for base in BASES.get(name, ())}
    return "\n".join(text for name, text in CLASSES.items() if name in wanted)


@dataclass
class Data:
    """A value as text: statements that come first (objects with names of their own) and an expression."""

    kind: str
    expression: str
    before: list[str] = field(default_factory=list)


INTS = ("0", "1", "2", "3", "-1", "7", "300")
LEAVES: dict[str, tuple[str, ...]] = {
    "int": INTS,
    "float": ("0.5", "2.5", "-1.5", "0.0", "-0.0", "float('nan')", "float('inf')"),
    "complex": ("complex(0.0, -0.0)", "complex(1.0, 2.0)"),
    "bool": ("True", "False"),
    "none": ("None",),
    "str": ("'ab'", "'b'", "''", "'a b'", "'{0}'", "'v'", "'x1'"),
    "bytes": ("b'ab'", "b'\\x01\\x02'"),
    "my int": ("MyInt(2)", "MyInt(0)"),
    "my float": ("MyFloat(0.5)",),
    "my str": ("MyStr('ab')",),
    "enum": ("Color.RED", "Color.BLUE"),
    "fraction": ("fractions.Fraction(1, 2)",),
    "bytearray": ("bytearray(b'ab')",),
    "array": ("array.array('i', [3, 1, 2])", "array.array('d', [0.5, 1.5])"),
    "ndarray": ("np.arange(3)", "np.ones((2, 3))", "np.array([1.5, 2.5])", "np.float64(1.5)"),
    "tensor": (
        "torch.tensor(1.5)", "torch.arange(3)", "torch.tensor([0, 1])", "torch.ones(2, 3)", "torch.ones(3)",
        "torch.nn.Parameter(torch.ones(3))", "torch.arange(6.).reshape(3, 2).t()", "torch.tensor([True, False, True])",
        "torch.ones(2, 3, requires_grad=True)", "torch.tensor(2)", "torch.zeros(3, dtype=torch.complex64)",
        "torch.arange(4.)[1:]",
    ),
    "dtype": ("torch.float64", "torch.int32"),
    "class": ("Item", "Rated", "Child", "Valued", "int", "Record"),
    "function": ("(lambda *a, k=1: k)", "len", "operator.neg", "helper"),
    "range": ("range(3)",),
    "slice": ("slice(0, 2)",),
    "pattern": ("re.compile('(a)(b)?')",),
    "match": ("re.match('(a)(b)?', 'ab')",),
    "module": ("module",),
    "generic": ("list[int]",),
}  # fmt: skip
COMPOSITES = (
    "list", "list", "list", "tuple", "dict", "dict", "int dict", "set", "frozenset", "deque", "ordered",
    "defaultdict", "counter", "chainmap", "item", "item", "items", "items", "valued", "valueds", "rated", "slotted",
    "lazy", "child", "pair", "pairs", "record", "my list", "my dict", "my tuple", "counting", "namespace", "proxy",
    "partial", "method", "shared", "userlist", "userdict", "object list", "bound", "memory", "square",
    "tensors", "tensor dict", "columns", "sizes", "arrays", "tensor items",
)  # fmt: skip


class Grammar:
    """Draws data; objects that a text must name are numbered."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.named = 0

    def name(self) -> str:
        self.named += 1
        return f"H{self.named}"

    def draw(self, depth: int, kind: str | None = None) -> Data:
        """Any value, with at most `depth` levels of containers."""
        if kind is None and (depth == 0 or self.rng.random() < 0.12):
            kind = self.rng.choice(list(LEAVES))
        if kind is None:
            kind = self.rng.choice(COMPOSITES)
        if kind in LEAVES:
            return self.leaf(kind)
        return self.composite(kind, depth)

    def leaf(self, kind: str) -> Data:
        expression = self.rng.choice(LEAVES[kind])
        if expression == "helper":
            name = self.name()
            return Data(kind, name, [f"def {name}(*a, k=2): return k + len(a)"])
        if expression == "module":
            name = self.name()
            return Data(kind, name, [f"{name} = types.ModuleType('{name}')", f"{name}.v = 1"])
        return Data(kind, expression)

    def hashable(self) -> Data:
        kind = self.rng.choice(["int", "str", "int", "str", "bool", "bytes", "my int", "none"])
        return self.leaf(kind)

    def children(self, depth: int, count: int) -> list[Data]:
        """Values of one kind, so that they can be sorted, added and paired."""
        if depth <= 1:
            kind = self.rng.choice(["int", "int", "float", "str", *LEAVES])
            return [self.leaf(kind) for _ in range(count)]
        kind = self.rng.choice(COMPOSITES)
        return [self.composite(kind, depth - 1) for _ in range(count)]

    def composite(self, kind: str, depth: int) -> Data:
        rng = self.rng
        inner = self.children(depth, 3 if kind in ("list", "tuple", "deque", "items", "valueds") else 2)
        before = [line for child in inner for line in child.before]
        texts = [child.expression for child in inner]
        one, two = texts[0], texts[1]
        joined = ", ".join(texts)
        tensor = rng.choice(LEAVES["tensor"])
        forms: dict[str, str] = {
            "list": f"[{joined}]",
            "tuple": f"({joined},)",
            "dict": f"{{'a': {one}, 'b': {two}}}",
            "int dict": f"{{1: {one}, 0: {two}}}",
            "deque": f"collections.deque([{joined}])",
            "ordered": f"collections.OrderedDict(a={one}, b={two})",
            "defaultdict": f"collections.defaultdict(list, {{'a': {one}}})",
            "chainmap": f"collections.ChainMap({{'a': {one}}}, {{'b': {two}}})",
            "item": f"Item({one})",
            "items": f"[{', '.join(f'Item({t})' for t in texts)}]",
            "valued": f"Valued({one})",
            "valueds": f"[{', '.join(f'Valued({t})' for t in texts)}]",
            "rated": f"Rated({one})",
            "slotted": f"Slotted({one})",
            "lazy": f"Lazy({one})",
            "child": f"Child({one})",
            "pair": f"Pair({one}, {two})",
            "pairs": f"[('a', {one}), ('b', {two})]",
            "record": f"Record({one})",
            "my list": f"MyList([{joined}])",
            "my dict": f"MyDict(a={one}, b={two})",
            "my tuple": f"MyTuple([{joined}])",
            "counting": f"Counting(a={one})",
            "namespace": f"types.SimpleNamespace(v={one}, w={two})",
            "userlist": f"collections.UserList([{joined}])",
            "userdict": f"collections.UserDict({{'a': {one}}})",
            "object list": f"[{one}, Item({two}), 'a', 2]",
            "tensors": f"[{tensor}, {tensor}]",
            "tensor dict": f"{{'a': {tensor}, 'b': {tensor}}}",
            "tensor items": f"[Item({tensor}), Item({tensor})]",
            "columns": rng.choice(
                ("[0, 1]", "[1]", "[[0, 1], [1, 0]]", "[True, False, True]", "(1, 0)", "[[0], [1]]")
            ),
            "sizes": rng.choice(
                ("[2, 3]", "(3, 2)", "[6]", "(1, 6)", "[[2, 3], [3, 2]]", "[-1]", "collections.deque([2, 3])")
            ),
            "arrays": "[np.arange(3), np.ones(3)]",
            "square": f"[[{one}, {two}], [{two}, {one}]]",
        }
        if kind in forms:
            return Data(kind, forms[kind], before)
        if kind in ("set", "frozenset", "counter"):
            items = ", ".join(dict.fromkeys(self.hashable().expression for _ in range(3)))
            text = {"set": f"{{{items}}}", "frozenset": f"frozenset([{items}])"}.get(
                kind, f"collections.Counter([{items}])"
            )
            return Data(kind, text)
        name = self.name()
        if kind == "proxy":
            return Data(
                kind, f"types.MappingProxyType({name})", [*before, f"{name} = {{'a': {one}, 'v': {two}}}"]
            )
        if kind == "partial":
            return Data(kind, f"functools.partial({name}, {one}, k={two})", [*before, *_helper(name)])
        if kind == "method":
            return Data(kind, f"{name}.get", [*before, f"{name} = Item({one})"])
        if kind == "bound":
            return Data(
                kind,
                f"{name}.{rng.choice(['copy', 'pop', '__len__', '__getitem__', 'count', 'append'])}",
                [*before, f"{name} = [{joined}]"],
            )
        if kind == "shared":
            return Data(kind, f"[{name}, {name}]", [*before, f"{name} = [{joined}]"])
        if kind == "memory":
            return Data(kind, f"memoryview({name})", [f"{name} = bytearray(b'abc')"])
        raise KeyError(kind)


def _helper(name: str) -> list[str]:
    return [f"def {name}(*a, k=2): return [k, *a]"]


PRELUDE: dict[str, Any] = {
    **{module.__name__: module for module in MODULES},
    **{
        function.__name__: function
        for function in (
            changed, cell_of, constant_changed, equal, inference, moved_first, other_function, other_layout,
            other_tensor_class, retyped, retyped_item, retyped_key, shifted,
        )
    },
    "np": np,
    "__builtins__": __builtins__,
    "__name__": "world",
}  # fmt: skip
