"""Changes of instances, modules and classes: attributes, `__class__`, special methods, names, bases."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

from mutation_slots import ITEMS, Change, slot

# Special methods that a class gains or loses; on a metaclass they are those of its classes.
DUNDERS = dict(
    line.split(" = ", 1)
    for line in """
__eq__ = lambda self, other: True
__ne__ = lambda self, other: True
__bool__ = lambda self: False
__len__ = lambda self: 0
__hash__ = lambda self: 3
__iter__ = lambda self: iter([5, 6])
__contains__ = lambda self, item: True
__getitem__ = lambda self, key: 8 if key in (0, 1, 'a', 'v') else [][0]
__getattr__ = lambda self, name: 9
__getattribute__ = lambda self, name: 10
__lt__ = lambda self, other: True
__gt__ = lambda self, other: True
__call__ = lambda self, *a, **k: 11
__repr__ = lambda self: 'shown'
__str__ = lambda self: 'told'
__format__ = lambda self, spec: 'formed'
__add__ = lambda self, other: 12
__radd__ = lambda self, other: 13
__mul__ = lambda self, other: 14
__neg__ = lambda self: 15
__invert__ = lambda self: 16
__index__ = lambda self: 1
__int__ = lambda self: 1
__float__ = lambda self: 1.5
__enter__ = lambda self: 18
__exit__ = lambda self, *a: True
__reversed__ = lambda self: iter([19])
__missing__ = lambda self, key: 20
__iadd__ = lambda self, other: 21
__sub__ = lambda self, other: 22
__matmul__ = lambda self, other: 23
__and__ = lambda self, other: 24
__or__ = lambda self, other: 25
__ge__ = lambda self, other: True
__le__ = lambda self, other: True
__mod__ = lambda self, other: 26
__rmod__ = lambda self, other: 27
__truediv__ = lambda self, other: 28
__copy__ = lambda self: 29
__deepcopy__ = lambda self, memo: 30
__abs__ = lambda self: 31
__round__ = lambda self, *a: 32
__complex__ = lambda self: 1j
__bytes__ = lambda self: b'q'
__dir__ = lambda self: ['q']
__next__ = lambda self: 33
__get__ = lambda self, *a: 34
__array__ = lambda self, *a, **k: np.ones(2)
__torch_function__ = classmethod(lambda cls, f, t, a=(), k=None: 35)
__class_getitem__ = classmethod(lambda cls, k: 36)
__init__ = lambda self, *a: None
__instancecheck__ = lambda cls, other: True
__subclasscheck__ = lambda cls, other: True
__match_args__ = ('v',)
__set_name__ = lambda self, *a: None
__reduce_ex__ = lambda self, n: (int, (37,))
__delattr__ = lambda self, name: None
__setattr__ = lambda self, name, value: None
__setitem__ = lambda self, key, value: None
""".strip().splitlines()
)
# The same names, bound to what is no function: C code calls it.
CALLED_BY_C = ("OUT.setdefault", "functools.partial(OUT.setdefault, 'called')")


def instance_changes(path: str, value: Any) -> Iterator[Change]:
    if not isinstance(value, types.FunctionType):
        state = getattr(value, "__dict__", None)
        state = state if isinstance(state, dict) else {}  # a program may have a `__dict__` of its own
        for name in [name for name in state if not name.startswith("__")][:ITEMS]:
            yield Change(f"del {path}.{name}", "attribute deleted")
            yield from slot(
                f"vars({path})[{name!r}]", state[name], "attribute", lambda new, n=name: f"{path}.{n} = {new}"
            )
        for name in getattr(type(value), "__slots__", ()):
            if hasattr(value, name):
                yield Change(f"del {path}.{name}", "slot deleted")
                yield from slot(
                    f"{path}.{name}", getattr(value, name), "slot", lambda new, n=name: f"{path}.{n} = {new}"
                )
            else:
                yield Change(f"{path}.{name} = 1", "slot filled")
        names = [
            n
            for c in type(value).__mro__
            if c.__module__ == "world"
            for n in vars(c)
            if not n.startswith("__")
        ]
        for name in names:
            yield Change(f"vars({path})[{name!r}] = other_function", "class attribute shadowed")
        yield Change(f"{path}.__class__ = type('Other', (type({path}),), {{}})", "class assigned")
        for body in (
            "{'__len__': lambda s: 0, '__bool__': lambda s: False, '__hash__': lambda s: 1}",
            "{'__eq__': lambda s, o: True, '__hash__': None}",
            "{'__getattribute__': lambda s, n: 4}",
            "{'__iter__': lambda s: iter([8]), '__contains__': lambda s, i: True}",
            "{'kind': 'other', 'rate': 17, 'get': lambda s: 4, 'held': 5, 'read': lambda s: 7}",
            "{'v': property(lambda s: 6)}",
        ):
            yield Change(f"{path}.__class__ = type('Other', (type({path}),), {body})", "class assigned")
    for name in ("extra", "v", "a", "kind"):
        yield Change(f"{path}.{name} = 1", "attribute added")
    if isinstance(value, types.ModuleType):
        yield Change(f"{path}.__getattr__ = lambda name: 9", "module __getattr__")
        yield Change(f"{path}.__name__ = 'renamed'", "renamed")
        for body in ("{'held': 5}", "{'__getattr__': lambda s, n: 6}", "{'__getattribute__': lambda s, n: 7}",
                     "{'held': property(lambda s: 5)}"):  # fmt: skip
            yield Change(f"{path}.__class__ = type('Other', (types.ModuleType,), {body})", "module class")


def class_changes(path: str, cls: type) -> Iterator[Change]:
    if cls.__module__ != "world":
        return
    for name, text in DUNDERS.items():
        yield Change(f"{path}.{name} = {text}", f"class {name}")
        yield from (Change(f"{path}.{name} = {called}", "class method of C") for called in CALLED_BY_C)
        if name in vars(cls):
            yield Change(f"del {path}.{name}", f"class {name} deleted")
    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        yield Change(f"{path}.{name} = 'Renamed'", f"class {name}")
    for name, value in vars(cls).items():
        if name.startswith("__") or isinstance(value, types.MemberDescriptorType):
            continue
        yield Change(f"del {path}.{name}", "class attribute deleted")
        yield from slot(
            f"vars({path})[{name!r}]", value, "class attribute", lambda new, n=name: f"{path}.{n} = {new}"
        )
        yield Change(f"{path}.{name} = property(lambda self: 38)", "class attribute a property")
    for text in (
        f"{path}.v = property(lambda self: 39)",
        f"{path}.extra = 1",
        f"{path}.held = 40",
        f"{path}.__bases__ = (type('Between', {path}.__bases__, {{'__len__': lambda s: 0, 'rate': 5}}),)",
        f"{path}.__annotations__ = {{'q': int}}",
        f"{path}.register(int)",
        f"{path}.a = 41",
    ):
        yield Change(text, "class in place")
