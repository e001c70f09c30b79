"""Readers by C function: found by looking into modules and types, called directly or given to C code."""

from __future__ import annotations

import builtins
import collections
import functools
import importlib
import random
import types
from collections.abc import Iterator

from mutation_texts import texts

SKIPPED = texts("""
__build_class__  __del__  __class__  __import__  __init_subclass__  __new__  __sizeof__  __subclasshook__
breakpoint  compile  copyright  credits  eval  exec  exit  getrefcount  getsizeof  globals  help  id  input
is_finalizing  license  locals  namedtuple  open  print  quit  setprofile  settrace
""")
TYPES: tuple[type, ...] = (
    list, dict, set, frozenset, tuple, str, bytes, bytearray, int, float, complex, bool, range, slice, object,
    type, property, memoryview, collections.deque, collections.OrderedDict, collections.defaultdict,
    collections.Counter, collections.ChainMap, types.MappingProxyType, types.SimpleNamespace,
    functools.partial, BaseException, staticmethod, classmethod, types.FunctionType, types.MethodType, super,
    types.ModuleType,
)  # fmt: skip
FROM_MODULES = texts("""
builtins  operator  itertools  functools  math  cmath  re  heapq  bisect  collections  copy  struct  json
statistics  textwrap  dataclasses  fractions  types  contextlib  array
""")
ARGUMENTS = texts("""
«D»  «D»  «D»  «D», «S»  «F», «D»  «D», «S», «S»  «F», «D», «S»  *«D»  «D», key=«F»  «D», default=«S»
""")
SECOND = texts("""
0  1  2  'a'  'v'  None  [1, 2]  (1, 2)  {'a': 1}  {1, 2}  «D»  D2  len  int  str  list  slice(0, 2)  2.5
'ab'  [[1, 2]]  «X»  operator.neg  (lambda *a: a)  b'a'  bool
""")
FIRST = texts("""
None  len  bool  (lambda *a: a)  operator.itemgetter(0)  operator.attrgetter('v')
operator.methodcaller('get')  str  operator.add  operator.getitem  'a'  2  int  [1, 2]  {'a': 1, 1: 2}.get
type  repr  operator.not_  sum  list  '(a)'  [3, 1, 2].index  '{}'.format  max  any  isinstance
functools.partial(max, 1)  hash
""")
FORMS = texts("""
«C»(«A»)  «C»(«A»)  «C»(«A»)  «C»(«A»)  «C»(«A»)  list(map(«C», [«D»]))  list(map(«C», «D»))
functools.partial(«C», «A»)()  list(itertools.starmap(«C», [(«A»,)]))  sorted([«D», «D»], key=«C»)
list(filter(«C», [«D»]))  list(filter(«C», «D»))  [(k, list(g)) for k, g in itertools.groupby(«D», «C»)]
min(«D», key=«C»)  max([«D»], key=«C»)  any(map(«C», «D»))  functools.reduce(«C», «D»)
type('P', (), {'p': property(«C»)})().p  operator.call(«C», «A»)  list(itertools.takewhile(«C», «D»))
list(itertools.accumulate(«D», «C»))  list(map(«C», «D», «D»))  sorted(«D», key=«C»)
functools.reduce(«C», [1, 2], «D»)  list(itertools.filterfalse(«C», «D»))  next(map(«C», «D»))
list(itertools.islice(iter(functools.partial(«C», «A»), 1), 3))  dict(zip('ab', map(«C», «D»)))
{k: 1 for k in map(«C», «D»)}  «C».__call__(«A»)  (lambda c: c(«A»))(«C»)
[*map(«C», itertools.repeat(«D», 2))]  tuple(map(«C», [«D»], ['a']))  functools.cache(«C»)(«A»)
""")
METHOD_FORMS = texts("""
«D».«N»(«B»)  «D».«N»(«B»)  operator.methodcaller('«N»')(«D»)
list(map(operator.methodcaller('«N»'), [«D»]))  list(map(«D».«N», [1, 'a']))  max([1, 0], key=«D».«N»)
list(filter(«D».«N», [1, 0, 'a']))  getattr(«D», '«N»')(«B»)  list(itertools.islice(iter(«D».«N», 1), 3))
functools.reduce(«D».«N», [0])  list(map(operator.attrgetter('«N»'), [«D»]))
functools.partial(«D».«N», «B»)()  sorted([0, 1], key=«D».«N»)
""")

# C functions that calls make.
MADE = texts("""
operator.itemgetter(0)  operator.itemgetter('a')  operator.attrgetter('v')  operator.attrgetter('kind')
operator.methodcaller('get')  operator.methodcaller('copy')  operator.itemgetter(0, 1)
re.compile('a').match  re.compile('(a)').findall  re.compile('a').sub  itertools.chain.from_iterable
dict.fromkeys  str.maketrans  functools.partial(isinstance, Item(1))  operator.attrgetter('v.v')
functools.cmp_to_key(max)  sys.intern  collections.OrderedDict.fromkeys
functools.partial(operator.getitem, [1, 2, 3])  int.from_bytes
""")


def call(name: str, rng: random.Random) -> str:
    """One call of a C function: a draw of its arguments and of who calls it."""
    if name.startswith("."):  # a method, called on the value
        text = rng.choice(METHOD_FORMS).replace("«N»", name[1:])
        return f"r = {_listed(text.replace('«B»', rng.choice(('', '', *SECOND))), name)}"
    argument = rng.choice(ARGUMENTS)
    while "«S»" in argument:
        argument = argument.replace("«S»", rng.choice(SECOND), 1)
    argument = argument.replace("«F»", rng.choice(FIRST))
    text = rng.choice(FORMS).replace("«C»", name).replace("«A»", argument)
    return f"r = {_listed(text, name)}"


def _listed(text: str, name: str) -> str:
    """Endless iterators end."""
    return f"list(itertools.islice({text}, 5))" if name in ENDLESS else text


SPECIAL = ("__getitem__", "__contains__", "__len__", "__eq__", "__iter__")
ENDLESS = {"itertools.count", "itertools.cycle", "itertools.repeat"}


def callables() -> Iterator[str]:
    """C functions by name: functions of modules, and methods of types with and without the type."""
    for module_name in FROM_MODULES:
        prefix = "" if module_name == "builtins" else f"{module_name}."
        for name, value in sorted(vars(importlib.import_module(module_name)).items()):
            an_exception = isinstance(value, type) and issubclass(value, BaseException)
            if callable(value) and name not in SKIPPED and not name.startswith("_") and not an_exception:
                yield f"{prefix}{name}"
    yield from MADE
    for owner in TYPES:
        for name, value in sorted(vars(owner).items()):
            if name in SKIPPED or not callable(getattr(owner, name, None)) or isinstance(value, type):
                continue
            yield f"{_path(owner)}.{name}"
            if not name.startswith("__") or name in SPECIAL:
                yield f".{name}"


def _path(owner: type) -> str:
    """How a program names a type."""
    if getattr(builtins, owner.__name__, None) is owner:
        return owner.__name__
    return next(
        f"{module.__name__}.{name}"
        for module in (types, collections, functools)
        for name, value in vars(module).items()
        if value is owner
    )


KINDS: dict[str, tuple[str, ...]] = {
    "list": ("list", "items", "pairs", "square", "my list", "valueds", "object list"),
    "dict": ("dict", "int dict", "my dict", "counting", "tensor dict"),
    "set": ("set",),
    "frozenset": ("frozenset",),
    "tuple": ("tuple", "pair", "my tuple"),
    "str": ("str", "my str"),
    "bytes": ("bytes",),
    "bytearray": ("bytearray",),
    "int": ("int", "bool", "my int"),
    "bool": ("bool",),
    "float": ("float", "my float"),
    "complex": ("complex",),
    "range": ("range",),
    "slice": ("slice",),
    "type": ("class",),
    "memoryview": ("memory",),
    "collections.deque": ("deque",),
    "collections.OrderedDict": ("ordered",),
    "collections.defaultdict": ("defaultdict",),
    "collections.Counter": ("counter",),
    "collections.ChainMap": ("chainmap",),
    "types.MappingProxyType": ("proxy",),
    "types.SimpleNamespace": ("namespace",),
    "functools.partial": ("partial",),
    "types.FunctionType": ("function",),
    "types.MethodType": ("method",),
    "types.ModuleType": ("module",),
    "object": ("item", "valued", "record"),
    "math": ("int", "float", "my float"),
    "cmath": ("complex", "float"),
}  # fmt: skip


def kinds(name: str) -> tuple[str, ...]:
    """Of data that a function is likely to take."""
    owner = name.rpartition(".")[0]
    if not owner:  # a method by its name: of whichever types have it
        return tuple(k for cls in TYPES if name[1:] in vars(cls) for k in KINDS.get(_path(cls), ()))
    return KINDS.get(owner, ())


def names() -> list[str]:
    return list(dict.fromkeys(callables()))
