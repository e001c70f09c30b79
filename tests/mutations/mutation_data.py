"""Data of generated programs: a small grammar of Python values, as text, nested up to three deep.

A program's text is run in a namespace that holds `PRELUDE`: the modules that programs use and the functions
that changes call.
"""

from __future__ import annotations

import importlib
import random
import types
from dataclasses import dataclass, field
from typing import Any

import mutation_values
import numpy as np
from mutation_texts import texts

MODULES = [
    importlib.import_module(name)
    for name in texts("""
array  bisect  cmath  collections  contextlib  copy  ctypes  dataclasses  enum  fractions  functools  heapq
inspect  itertools  json  math  operator  re  statistics  string  struct  sys  textwrap  types  typing  torch
""")
]


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
    "tensor": texts("""
torch.tensor(1.5)  torch.arange(3)  torch.tensor([0, 1])  torch.ones(2, 3)  torch.ones(3)
torch.nn.Parameter(torch.ones(3))  torch.arange(6.).reshape(3, 2).t()  torch.tensor([True, False, True])
torch.ones(2, 3, requires_grad=True)  torch.tensor(2)  torch.zeros(3, dtype=torch.complex64)
torch.arange(4.)[1:]
"""),
    "dtype": ("torch.float64", "torch.int32"),
    "class": ("Item", "Rated", "Child", "Valued", "int", "Record"),
    "function": ("(lambda *a, k=1: k)", "len", "operator.neg", "helper"),
    "range": ("range(3)",),
    "slice": ("slice(0, 2)",),
    "pattern": ("re.compile('(a)(b)?')",),
    "match": ("re.match('(a)(b)?', 'ab')",),
    "module": ("module",),
    "generic": ("list[int]",),
    "exception": ("ValueError(1, [2])", "KeyError('a')"),
    "ctypes": ("ctypes.c_int(3)", "(ctypes.c_int * 2)(1, 2)"),
    "my array": ("np.arange(3).view(MyArray)",),
    "my bytes": ("MyBytes(b'ab')",),
}  # fmt: skip
COMPOSITES = texts("""
list  list  list  tuple  dict  dict  int dict  set  frozenset  deque  ordered  defaultdict  counter
chainmap  item  item  items  items  valued  valueds  rated  slotted  lazy  child  pair  pairs  record
my list  my dict  my tuple  counting  indirect  namespace  proxy  partial  method  shared  userlist  userdict
object list  bound  memory  square  iterator  cached
tensors  tensor dict  columns  sizes  arrays  tensor items
""")


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
            "indirect": f"Indirect({one})",
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
        if kind == "iterator":
            return Data(kind, f"iter({name})", [*before, f"{name} = [{joined}]"])
        if kind == "cached":
            return Data(
                kind, f"functools.lru_cache(2)({name})", [*before, f"def {name}(*a, k=2): return [{one}]"]
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
    **{name: value for name, value in vars(mutation_values).items() if isinstance(value, types.FunctionType)},
    "np": np,
    "__builtins__": __builtins__,
    "__name__": "world",
}
