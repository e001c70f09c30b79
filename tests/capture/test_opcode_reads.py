"""What an instruction reads is guarded: programs for every row of opcodes.def that reads.

Each program is run twice, changed, and run again, captured and plainly. What its setup makes are
globals of the function; a change is a statement.
"""

from __future__ import annotations

import dis
import importlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

capture = importlib.import_module("stator._capture")

SOURCES = Path(__file__).parents[2] / "src/capture"


@dataclass
class Program:
    setup: str
    body: str  # of a function without arguments
    changes: list[str]
    captured: bool = True  # served by a capture


ITEM = """
class Item:
    def __init__(self, value=0): self.value = value
    def __repr__(self): return f"Item({self.value})"
class Other(Item): pass
"""
# Another class, which answers otherwise: assigned to the object, or its method to the class.
NUMBER = """
class Number:
    def {name}(self, *rest): return 1
class Other(Number):
    def {name}(self, *rest): return 2
G = Number()
"""
CLASS_CHANGES = ["G.__class__ = Other", "Number.{name} = lambda *all: 3", "G = Other()", "del Number.{name}"]


def special(name: str, expression: str) -> Program:
    setup, changes = NUMBER.replace("{name}", name), [c.replace("{name}", name) for c in CLASS_CHANGES]
    return Program(setup, f"try: return {expression}\nexcept Exception as e: return type(e)", changes)


def operator(symbol: str, name: str) -> Program:
    return special(f"__{name}__", f"G {symbol} 3")


PROGRAMS: dict[str, Program] = {
    "UNARY_POSITIVE": special("__pos__", "+G"),
    "UNARY_NEGATIVE": special("__neg__", "-G"),
    "UNARY_INVERT": special("__invert__", "~G"),
    "UNARY_NOT": Program(
        ITEM + "G = [Item()]; H = Item()",
        "return not G, not H, not not {}",
        [
            "G.clear()",
            "Item.__bool__ = lambda s: False",
            "Item.__len__ = lambda s: 0",
            "H.__class__ = type('Empty', (Item,), {'__len__': lambda s: 0})",
        ],
    ),
    "POP_JUMP_IF_FALSE": Program(
        ITEM + "G = [Item()]; H = Item()",
        """
r = []
if G: r.append(1)
if H: r.append(2)
if H.value: r.append(3)
return r""",
        ["G.clear()", "Item.__bool__ = lambda s: False", "H.value = 7", "Item.__len__ = lambda s: 0"],
    ),
    "POP_JUMP_IF_TRUE": Program(
        ITEM + "G = [Item()]; H = Item()",
        """
r = 0
while not H.value and r < 2: r += 1
return r, [i for i in G if not i]""",
        ["G.append(0)", "Item.__bool__ = lambda s: False", "H.value = 7"],
    ),
    "JUMP_IF_TRUE_OR_POP": Program(
        ITEM + "G = []; H = Item()",
        "return G or H or 3, H and G and 1",
        ["G.append(1)", "Item.__bool__ = lambda s: False"],
    ),
    "truth of modules and classes": Program(
        """
import types
class Meta(type): pass
class Other(types.ModuleType):
    def __bool__(self): return False
class H(metaclass=Meta): pass
G = types.ModuleType("G")""",
        "return not G, not H",
        [
            "G.__class__ = Other",
            "Meta.__bool__ = lambda c: False",
            "H.__class__ = type('M2', (Meta,), {'__len__': lambda c: 0})",
        ],
    ),
    "BINARY_OP": Program(
        "G = [[1], 2]; H = [3]; S = {1, (2, 3)}; T = {1}; D = {1: 2}",
        "return G + H, H * 2, S | T, S & T, S - T, S ^ T, D | {5: H}",
        ["G.append(1)", "G[0].append(5)", "H[0] = 4", "S.add(9)", "T.clear()", "D[4] = 5"],
    ),
    "members of sets": Program(
        """
class Item:
    def __init__(self, n): self.n = n
    def __hash__(self): return 1
    def __eq__(self, o): return self is o
a, b = Item(1), Item(2)
S = {a, (a, 1)}; T = {b, (b, 1)}""",
        "return len(S | T), len(S & T), len(S - T), len(S ^ T), len({*S, *T}), len({a: 1, b: 2})",
        [
            "Item.__eq__ = lambda s, o: True",
            "b.n = 9",
            "a.__class__ = type('Other', (Item,), {'__hash__': lambda s: 1, '__eq__': lambda s, o: True})",
        ],
    ),
    "in-place operators": Program(
        """
class Left:
    def __iadd__(self, o): return 1
    def __imul__(self, o): return 2
G = Left(); H = [4]""",
        """
x = [1]
x += H
y = [1]
y *= 2
s = {1}
s |= set(H)
z = G
z += 1
return x, y, s, z""",
        [
            "H.append(5)",
            "Left.__iadd__ = lambda s, o: 7",
            "G.__class__ = type('Other', (Left,), {'__iadd__': lambda s, o: 8})",
        ],
    ),
    "formats": Program(
        ITEM + "G = [[1], {'a': [Item(2)]}]; H = Item(1)",
        "return '%s %r' % (G, H), '%(a)s' % {'a': G}, f'{G}', f'{H!r:>9}', f'{G!s}'",
        [
            "G[0].append(5)",
            "G[1]['a'][0].value = 7",
            "Item.__repr__ = lambda s: 'other'",
            "H.value = 3",
            "G[1]['a'][0].__class__ = type('New', (), {'__repr__': lambda s: 'new'})",
        ],
    ),
    "format specifications": Program(
        "G = 3.14159; H = {'w': [8]}",
        "return f'{G:{H[\"w\"][0]}.2f}|{G:{len(H)}}'",
        ["H['w'][0] = 12", "G = 2.5", "H['x'] = 1"],
    ),
    "class names in words": Program(
        ITEM
        + """
class Plain: pass
class Raised(Exception): pass
G = Plain(); F = lambda: 1""",
        "return f'{G}', str(Plain), repr(Raised(1)), f'{F}', repr([Plain])",
        [
            "Plain.__name__ = 'Renamed'",
            "Plain.__qualname__ = 'Re.named'",
            "Plain.__module__ = 'elsewhere'",
            "Raised.__name__ = 'Lowered'",
            "F.__qualname__ = 'named'",
            "G.__class__ = Item",
        ],
    ),
    "BINARY_SUBSCR": Program(
        ITEM
        + """
class Index:
    def __index__(self): return 1
class Last(Index):
    def __index__(self): return -1
G = [[1, 2], [3, 4], [5]]; i = Index(); D = {(1, 'a'): [1]}; k = (1, 'a')""",
        "return G[i][0], G[i:], G[0][1:2], D[k], G[0:i]",
        [
            "Index.__index__ = lambda s: 2",
            "i.__class__ = Last",
            "G[1][0] = 7",
            "G[0].append(8)",
            "D[k] = 5",
            "k = (1, 'b'); D[k] = 6",
            "G.insert(0, [9, 9])",
        ],
    ),
    "STORE_SUBSCR": Program(
        ITEM
        + """
class Index:
    def __index__(self): return 1
H = [5, 6]; i = Index(); G = {1: [2]}""",
        """
r = [0, 1, 2, 3]
r[1:2] = H
r[i:i] = (x for x in H)
s = [1, 2, 3]
s[i] = 9
d = {}
d[tuple(H)] = G
d[i] = H
t = [1, 2, 3]
del t[i:]
del s[i]
return r, s, list(d), d[tuple(H)], t""",
        [
            "H.append(7)",
            "H[0] = 8",
            "Index.__index__ = lambda s: 0",
            "G[1].append(3)",
            "Index.__hash__ = lambda s: 1",
            "i.__class__ = type('Two', (Index,), {'__index__': lambda s: 2})",
        ],
    ),
    "COMPARE_OP": Program(
        ITEM + "G = [[1, [Item(1)]], {'a': (1, [2])}]; H = [[1, [Item(1)]], {'a': (1, [2])}]",
        "return G == H, G[1] == H[1], G[1]['a'] < H[1]['a'], G != H",
        [
            "G[0][0] = 2",
            "G[1]['a'][1].append(1)",
            "Item.__eq__ = lambda s, o: True",
            "H.append(1)",
            "H[1]['b'] = 1",
        ],
    ),
    "CONTAINS_OP": Program(
        ITEM + "G = [[1], Item()]; S = {(1, 2)}; D = {'a': 1}; k = 'a'; t = (1, 2)",
        "return [1] in G, 'x' in G, t in S, k in D, 3 not in G",
        [
            "G[0].append(1)",
            "Item.__eq__ = lambda s, o: True",
            "S.clear()",
            "del D['a']",
            "k = 'b'",
            "t = (2, 1)",
            "G.append(3)",
        ],
    ),
    "IS_OP": Program(
        ITEM + "G = Item(); H = G", "return G is H, G is not None", ["G = Item()", "H = None", "G = None"]
    ),
    "GET_ITER": Program(
        ITEM
        + """
class Numbers:
    def __iter__(self): return iter([1, 2])
G = [[1], [2]]; H = Numbers(); D = {'a': [1]}; S = frozenset([1])""",
        "return [x for i in G for x in i], [*H], [k for k in D], sum(i for i in S), [v for v in D.values()]",
        [
            "G[0].append(7)",
            "G.append([3])",
            "Numbers.__iter__ = lambda s: iter([5])",
            "D['b'] = 1",
            "D['a'].append(2)",
            "S = frozenset([2])",
            "H.__class__ = type('More', (Numbers,), {'__iter__': lambda s: iter([6])})",
        ],
    ),
    "GET_YIELD_FROM_ITER": Program(
        "G = [[1], [2]]",
        """
def inner():
    yield from G
    yield from G[0]
return list(inner())""",
        ["G.append(3)", "G[0].append(4)"],
    ),
    "UNPACK_SEQUENCE": Program(
        "G = [[1, 2], [3]]; H = {'a': [1], 'b': 2}",
        """
(a, b), c = G
d, e = H
f, *g = G
*h, i = G[0]
return a, b, c, d, e, f, g, h, i""",
        [
            "G[0][1] = 7",
            "G[1].append(4)",
            "H.clear(); H.update(b=2, a=1)",
            "G.reverse(); G[0].append(1); G[1].pop() if len(G[0]) > 2 else 0",
        ],
    ),
    "SET_ADD": Program(
        """
class Item:
    def __hash__(self): return 1
    def __eq__(self, o): return self is o
G = [Item(), Item()]""",
        "return len({i for i in G}), len({i: 1 for i in G}), len({G[0], G[1]}), len({G[0]: 1, G[1]: 2})",
        ["Item.__eq__ = lambda s, o: True", "G.append(1)", "G[1] = G[0]"],
    ),
    "DICT_UPDATE": Program(
        """
class Mapping:
    def keys(self): return ['a']
    def __getitem__(self, k): return [k]
G = {'a': [1]}; H = Mapping()
def f(**given): return given""",
        "return {**G}, {**H}, f(**G), f(**H), f(b=1, **G)",
        [
            "G['a'].append(2)",
            "G['c'] = 3",
            "Mapping.keys = lambda s: ['d']",
            "Mapping.__getitem__ = lambda s, k: 5",
            "H.keys = lambda: ['e']",
            "H.__class__ = type('Two', (Mapping,), {'keys': lambda s: ['g']})",
        ],
    ),
    "LIST_EXTEND": Program(
        "G = [[1]]; S = {2}",
        "return [*G, *S], (*G, *G), {*S, 3}",
        ["G.append(2)", "G[0].append(3)", "S.add(5)"],
    ),
    "MATCH_KEYS": Program(
        """
import collections
G = {'a': [1, {'b': 2}], 'c': 3}""",
        """
match G:
    case {'a': [x, {'b': y}], **rest}: return x, y, rest
    case {'c': z}: return z
    case _: return 'none'""",
        [
            "G['a'][1]['b'] = 5",
            "G['a'].append(1)",
            "del G['a']",
            "G['d'] = 1",
            "G = 5",
            "G = [1]",
            "G = collections.UserDict(c=4)",
        ],
    ),
    "MATCH_SEQUENCE": Program(
        "G = [[1, 2], 3]",
        """
match G:
    case [[a, b], c]: return a, b, c
    case [a, *b]: return a, b
    case str(): return 's'
    case _: return 'none'""",
        ["G[0].append(1)", "G[1] = 9", "G.append(1)", "G = 'text'", "G = {}"],
    ),
    "MATCH_CLASS": Program(
        ITEM
        + """
class Meta(type): pass
class Pair(metaclass=Meta):
    __match_args__ = ('a', 'b')
    def __init__(self, a, b): self.a, self.b = a, b
G = Pair(1, [2])""",
        """
match G:
    case Pair(1, [b]): return b
    case Pair(b=x): return x
    case Item(): return 'item'
    case _: return 'none'""",
        [
            "G.b.append(1)",
            "G.a = 2",
            "Pair.__match_args__ = ('b', 'a')",
            "G.__class__ = Item",
            "Meta.__instancecheck__ = lambda c, o: False",
            "G = Item()",
            "del G.b",
        ],
    ),
    "LOAD_GLOBAL": Program(
        "G = [1]", "return G, len(G)", ["G = 2; len = lambda x: 9", "G[0] = 5", "len = lambda x: 8"]
    ),
    "STORE_GLOBAL": Program("G = 1", "global G\nG += 1\nreturn G", ["G = 10"]),
    "LOAD_DEREF": Program(
        """
def make():
    n = [1]
    def f(): return n, n[0]
    def set(x):
        nonlocal n
        n = x
    return f, set
f, set_n = make()""",
        "return f()",
        ["set_n([2])", "f.__closure__[0].cell_contents = [3]", "set_n([1])"],
    ),
    "LOAD_ATTR": Program(
        ITEM + "G = Item(Item([1]))",
        "return G.value.value, G.value.value[0]",
        [
            "G.value.value.append(2)",
            "G.value = Item([5])",
            "G.value.value = [6]",
            "Item.value = property(lambda s: [7])",
            "G.__class__ = type('P', (Item,), {'__getattribute__': lambda s, n: Item([8])})",
        ],
    ),
    "LOAD_METHOD": Program(
        ITEM
        + """
class Caller(Item):
    def get(self): return [self.value]
G = Caller(1)""",
        "return G.get(), G.get()[0], len(G.get())",
        [
            "G.value = 2",
            "Caller.get = lambda s: [3]",
            "G.get = lambda: [4]",
            "G.__class__ = type('P', (Caller,), {'get': lambda s: [5]})",
        ],
    ),
    "STORE_ATTR": Program(
        ITEM + "G = Item(1)",
        "G.value += 1\nG.more = G.value\ndel G.more\nreturn G.value",
        ["G.value = 10", "Item.value = property(lambda s: 5, lambda s, v: None)"],
    ),
    "LOAD_SUPER_ATTR": Program(
        """
class A:
    def get(self): return 1
class B(A):
    def get(self): return super().get(), super(B, self).get()
class C(A):
    def get(self): return 3
G = B()""",
        "return G.get()",
        ["A.get = lambda s: 2", "B.__bases__ = (C,)"],
    ),
    "CHECK_EXC_MATCH": Program(
        """
class Base(Exception): pass
class Base2(Exception): pass
class Raised(Base): pass
errors = (KeyError, Base, ValueError)
G = Raised""",
        """
try: raise G
except KeyError: return 1
except errors: return 2
except Exception as e: return type(e).__name__""",
        [
            "G = KeyError",
            "errors = (KeyError,)",
            "Raised.__bases__ = (Base2,)",
            "G = ValueError",
            "Raised.__name__ = 'Other'; errors = ()",
        ],
    ),
    "RAISE_VARARGS": Program(
        "G = ValueError('kept')",
        """
try: raise G
except ValueError as e: return str(e), e is G, e.__traceback__ is not None""",
        ["G.args = ('other',)", "G = ValueError('new')"],
        captured=False,
    ),
    "BEFORE_WITH": Program(
        """
class Manager:
    def __enter__(self): return 1
    def __exit__(self, *a): return False
class Other(Manager):
    def __enter__(self): return 2
G = Manager()""",
        "with G as x: return x",
        ["G.__class__ = Other", "Manager.__enter__ = lambda s: 3", "G = Other()"],
    ),
    "IMPORT_FROM": Program(
        """
import sys, types
M = types.ModuleType('made_for_this_test'); M.a = [1]
sys.modules['made_for_this_test'] = M""",
        "from made_for_this_test import a\nreturn a",
        ["M.a = [2]", "M.a.append(3)", "M.a = None; del M.a; M.__getattr__ = lambda n: n"],
    ),
    "CALL_FUNCTION_EX": Program(
        """
def f(*a, **k): return a, k
G = [[1]]; H = {'k': [2]}""",
        "return f(*G, **H), f(*G)",
        ["G.append(1)", "H['j'] = 1", "H['k'].append(3)", "G[0].append(2)"],
    ),
    "CALL": Program(
        ITEM + "def f(a, b=[1]): return a, b[0]\nG = [1]",
        "return f(G), f(G, b=G)",
        [
            "f.__defaults__ = ([5],)",
            "f.__defaults__[0][0] = 6",
            "G[0] = 7",
            "f = lambda a, b=3: 4",
            "f.__code__ = (lambda a, b: 9).__code__",
        ],
    ),
    "sizes of matched lists": Program(
        "G = [[1]]",
        "match G:\n    case [[_]]: return 1\n    case [_]: return 2\n    case _: return 3",
        ["G[0].append(1)", "G.append(1)", "G.clear()"],
    ),
}
for text, method in {
    "*": "mul",
    "%": "mod",
    "-": "sub",
    "/": "truediv",
    "//": "floordiv",
    "**": "pow",
    "@": "matmul",
    "<<": "lshift",
    ">>": "rshift",
    "&": "and",
    "|": "or",
    "^": "xor",
    "+": "add",
    "<": "lt",
    "==": "eq",
    "in": "contains",
}.items():
    PROGRAMS[f"operator {text}"] = (
        special("__contains__", "3 in G") if text == "in" else operator(text, method)
    )


def world(program: Program, name: str) -> dict[str, Any]:
    lines = "\n".join(f"    {line}" for line in program.body.strip().splitlines())
    names = {"__name__": name}
    exec(f"{program.setup}\ndef function():\n{lines}\n", names)
    return names


def outcome(function: Any) -> str:
    try:
        shown = repr(function())
    except Exception as error:
        shown = f"raises {type(error).__name__}: {error}"
    return re.sub(r"0x[0-9a-f]+|\bline \d+", "?", shown)


CASES = [(name, change) for name, program in PROGRAMS.items() for change in program.changes]


@pytest.mark.parametrize(("name", "change"), CASES)
def test_change_of_an_operand_is_seen(name: str, change: str) -> None:
    program = PROGRAMS[name]
    eager, captured = world(program, "world"), world(program, "world")
    compiled = capture.Compiled(captured["function"])
    for _ in range(2):
        assert outcome(compiled) == outcome(eager["function"])
    assert not program.captured or (len(compiled.entries) >= 1 and compiled.breaks == [])
    for names in (eager, captured):
        exec(change, names)
    for _ in range(2):
        assert outcome(compiled) == outcome(eager["function"]), change


def rows() -> dict[str, str]:
    """The steps of each opcode of ours."""
    text = (SOURCES / "bytecode/opcodes.def").read_text()
    return dict(re.findall(r"^OP\((\w+), (.*)\)$", text, re.M))


def ours() -> dict[str, str]:
    """CPython's opcodes of this version, and what they decode to."""
    text = (SOURCES / f"cpython/opcodes_py3{sys.version_info.minor}.def").read_text()
    return dict(re.findall(r"^OPCODE\((\w+), (\w+),", text, re.M))


def codes(code: CodeType) -> set[str]:
    found = {instruction.opname for instruction in dis.get_instructions(code)}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found |= codes(constant)
    return found


def test_every_row_that_reads_has_a_program() -> None:
    table, decoded = rows(), ours()
    assert len(table) > 100
    read = {name for name, steps in table.items() if steps not in ("moves", "stops", "makes")}
    wanted = read & set(decoded.values())
    used: set[str] = set()
    for program in PROGRAMS.values():
        for value in world(program, "world").values():
            if hasattr(value, "__code__"):
                used |= {decoded[name] for name in codes(value.__code__) if name in decoded}
        used |= {decoded[name] for name in codes(compile(program.setup, "", "exec")) if name in decoded}
    # LOAD_METHOD is LOAD_ATTR with a bit of its argument set from 3.12 on.
    missing = wanted - used - {"LOAD_METHOD", "DELETE_GLOBAL", "DELETE_DEREF", "STORE_DEREF"}
    assert not missing


def test_every_step_of_the_table_is_used_and_known() -> None:
    words = {
        word
        for steps in rows().values()
        for word in re.findall(r"\w+(?=\()|\b(?:moves|stops|makes)\b", steps)
    }
    header = (SOURCES / "recording/instruction_steps.h").read_text()
    described = set(re.findall(r"^//   (\w+)", (SOURCES / "bytecode/opcodes.def").read_text(), re.M))
    assert words <= described | {"by"}
    assert described <= words
    functions = {name for steps in rows().values() for name in re.findall(r"by\((\w+)\)", steps)}
    assert functions == set(re.findall(r"^bool (\w+)\(const InstructionAt& at\);", header, re.M)) - {
        "stops",
        "makes",
    }
