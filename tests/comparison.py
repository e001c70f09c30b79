"""The one comparison of tests: values, types, dtypes, strides, aliasing, requires_grad, kinds of grad_fn.

`difference(a, b)` says where two object graphs differ, or None. Objects that exist twice (each in its own
world) correspond one to one: what is one object on the left must be one object on the right, classes and
functions included, and tensors that share memory on the left must share it on the right.
"""

from __future__ import annotations

import array
import cmath
import collections
import copy
import dataclasses
import functools
import itertools
import math
import operator
import re
import types
from collections.abc import Iterable, Iterator
from typing import Any

import torch

# Compared by type and value; two equal ones may be one object or two.
ATOMS = (int, float, complex, str, bytes, bool, type(None), type(...), type(NotImplemented), range, slice)
TORCH_ATOMS = (torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size)
COPIED = (type(iter([])), type(iter(())), type(iter(range(1))), type(iter("")), type(iter(b"")))
DRAINED = 64  # items taken from each iterator before both are given up as equal
ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
# What torch's AOT autograd leaves on results; before 2.13 under the name that marks of the user's have.
NOTED_BY_AOT = ["_dynamo_propagated_dynamic_indices"]
if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 13):
    NOTED_BY_AOT.append("_dynamo_weak_dynamic_indices")
CLASS_SLOTS = ("__dict__", "__weakref__", "__module__", "__abstractmethods__", "_abc_impl", "__doc__")


def tensors_of(value: Any) -> Iterator[Any]:
    """Every tensor in a result, in order: containers, output classes and caches are looked through."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_of(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from tensors_of(item)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        yield from tensors_of(vars(value))


def same(a: Any, b: Any) -> bool:
    """Two tensors bit for bit, where a NaN equals the same NaN; or None twice."""
    if a is None or b is None:
        return a is b
    return tensor_difference(a, b) is None


def all_same(first: Any, second: Any) -> bool:
    """The tensors of two results, in order."""
    a, b = list(tensors_of(first)), list(tensors_of(second))
    return type(first) is type(second) and len(a) == len(b) and all(map(same, a, b))


def near(got: Any, wanted: Any, rtol: float = 1e-5, atol: float = 1e-8) -> bool:
    """Of one type, shape and dtype all through; numbers differ by no more than rounding does."""
    if type(got) is not type(wanted):
        return False
    if isinstance(wanted, list | tuple):
        pairs = zip(got, wanted, strict=False)
        return len(got) == len(wanted) and all(near(a, b, rtol, atol) for a, b in pairs)
    if isinstance(wanted, dict):
        return list(got) == list(wanted) and near(list(got.values()), list(wanted.values()), rtol, atol)
    if isinstance(wanted, torch.Tensor):
        if (got.shape, got.dtype, got.layout) != (wanted.shape, wanted.dtype, wanted.layout):
            return False
        if wanted.layout is not torch.strided:
            got, wanted = got.to_dense(), wanted.to_dense()
        a, b = got.detach().resolve_conj(), wanted.detach().resolve_conj()
        return torch.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    if type(wanted).__module__ == "numpy" and hasattr(wanted, "tobytes"):
        if (got.dtype, got.shape) != (wanted.dtype, wanted.shape):
            return False
        return near(got.tolist(), wanted.tolist(), rtol, atol)
    if isinstance(wanted, complex) and not cmath.isfinite(wanted):
        return near((got.real, got.imag), (wanted.real, wanted.imag), rtol, atol)
    if isinstance(wanted, float) and math.isnan(wanted):
        return math.isnan(got)
    if isinstance(wanted, float | complex):
        return cmath.isclose(got, wanted, rel_tol=rtol, abs_tol=atol) or _atom_key(got) == _atom_key(wanted)
    return bool(got == wanted)


def tensor_difference(a: torch.Tensor, b: torch.Tensor, nodes: bool = True) -> str | None:
    """How two tensors differ by themselves; aliasing is `difference`'s. `nodes`: also by kinds of grad_fn."""
    with torch._C.DisableTorchFunction():  # the facts, not what a subclass says of them
        for name, look in TENSOR_FACTS.items():
            ours, theirs = look(a), look(b)
            if name == "grad_fn" and not nodes:
                ours, theirs = (each == "NoneType" for each in (ours, theirs))
            if ours != theirs:
                return f"{name}: {ours!r} is not {theirs!r}"
        if not same_bits(a, b):
            return f"values: {a.detach()!r} are not {b.detach()!r}"
    return None


def same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Equal values of one dtype and shape: NaNs are equal, zeros of different sign are not."""
    with torch.no_grad():
        if a.device.type == "meta":
            return True
        if a.layout is not torch.strided or a.is_quantized:
            return repr(a) == repr(b)
        a, b = a.as_subclass(torch.Tensor), b.as_subclass(torch.Tensor)
        a, b = a.detach().resolve_conj().resolve_neg(), b.detach().resolve_conj().resolve_neg()
        if a.is_complex():
            a, b = torch.view_as_real(a), torch.view_as_real(b)
        if not a.is_floating_point():
            return torch.equal(a, b)
        if a.dtype.itemsize == 1:
            return torch.equal(a.view(torch.uint8), b.view(torch.uint8))
        nan = a.isnan()
        return (
            torch.equal(nan, b.isnan())
            and torch.equal(a.masked_fill(nan, 0), b.masked_fill(nan, 0))
            and torch.equal(a.signbit() & ~nan, b.signbit() & ~nan)
        )


TENSOR_FACTS: dict[str, Any] = {
    "shape": lambda t: tuple(t.shape),
    "dtype": lambda t: t.dtype,
    "device": lambda t: t.device,
    "layout": lambda t: t.layout,
    "stride": lambda t: t.stride() if t.layout is torch.strided else None,
    "storage_offset": lambda t: t.storage_offset() if t.layout is torch.strided else None,
    "requires_grad": lambda t: t.requires_grad,
    "is_leaf": lambda t: t.is_leaf,
    "grad_fn": lambda t: type(t.grad_fn).__name__,
    "is_inference": lambda t: t.is_inference(),
    "is_conj": lambda t: t.is_conj(),
    "is_neg": lambda t: t.is_neg(),
}


def is_tracer(value: Any) -> bool:
    """A tensor of the engine's own, which no program may see once its capture has ended."""
    return _is(value, torch.Tensor) and "DeferredInit" in str(torch._C._dispatch_keys(value))


class TracerFound(Exception):
    """The message is where."""


class Drained:
    """What iterators gave when they were compared: for a graph that is compared more than once."""

    def __init__(self) -> None:
        self.items: dict[int, tuple[Any, list[Any]]] = {}

    def of(self, iterator: Any) -> list[Any]:
        if id(iterator) not in self.items:
            copied = copy.copy(iterator) if isinstance(iterator, COPIED) else iterator
            self.items[id(iterator)] = iterator, list(itertools.islice(copied, DRAINED))
        return self.items[id(iterator)][1]


def difference(a: Any, b: Any, drained: Drained | None = None, nodes: bool = True) -> str | None:
    """Where two object graphs differ, in words, or None. Iterators that cannot be copied are emptied.

    `nodes`: whether kinds of grad_fn are compared; a graph that AOT autograd compiled is one node.
    """
    return _Walk(drained or Drained(), nodes).compare(a, b, "result")


def alike(a: Any, b: Any) -> bool:
    return difference(a, b) is None


def assert_alike(ours: Any, eagers: Any) -> None:
    found = difference(ours, eagers)
    assert found is None, found


class _Walk:
    def __init__(self, drained: Drained, nodes: bool) -> None:
        self.drained = drained
        self.nodes = nodes
        self.partner: dict[int, int] = {}
        self.reverse: dict[int, int] = {}
        self.storages: dict[int, int] = {}
        self.storages_back: dict[int, int] = {}
        self.alive: list[Any] = []  # so that no address is used twice

    def compare(self, a: Any, b: Any, at: str) -> str | None:
        if is_tracer(a) or is_tracer(b):
            raise TracerFound(at)
        if type(a) in ATOMS or type(a) in TORCH_ATOMS:
            return _atoms(a, b, at)
        known = self.partner.get(id(a))
        if known is not None or id(b) in self.reverse:
            return (
                None
                if known == id(b) and self.reverse.get(id(b)) == id(a)
                else f"{at}: {_shown(a)} and {_shown(b)} alias different objects"
            )
        self.partner[id(a)], self.reverse[id(b)] = id(b), id(a)
        self.alive += (a, b)
        if type(a) is not type(b):
            found = self.compare(type(a), type(b), f"type({at})")
            if found is not None:
                return f"{at}: type {type(a).__qualname__} is not {type(b).__qualname__} ({found})"
        return self.contents(a, b, at)

    def contents(self, a: Any, b: Any, at: str) -> str | None:
        if _is(a, torch.Tensor):
            return self.tensors(a, b, at)
        if _is(a, type):
            return None if a is b else self.classes(a, b, at)
        if _is(a, types.FunctionType):
            return None if a is b else self.functions(a, b, at)
        if _is(a, types.ModuleType):
            return None if a is b else self.attributes(_dict(a) or {}, _dict(b) or {}, at)
        for kind, items in CONTAINERS.items():
            if _is(a, kind):
                ours, theirs = items(a), items(b)
                if _is(a, set | frozenset):
                    theirs = self.paired(ours, theirs)
                found = self.sequences(ours, theirs, at)
                return found if found is not None else self.attributes_of(a, b, at)
        if type(a).__module__ in ("builtins", "itertools") and hasattr(type(a), "__next__"):
            return self.sequences(self.drained.of(a), self.drained.of(b), f"list({at})")
        if type(a).__module__ == "numpy" and hasattr(a, "tobytes"):
            facts = operator.attrgetter("dtype", "shape", "strides", "flags.writeable")
            ours, theirs = (facts(a), a.tobytes()), (facts(b), b.tobytes())
            return None if ours == theirs else f"{at}: {a!r} is not {b!r}"
        if _dict(a) is not None or hasattr(type(a), "__slots__") or _is(a, BaseException):
            if _is(a, ATOMS):  # of a subclass
                found = _atoms(a, b, at, exact=False)
                if found is not None:
                    return found
            return self.attributes_of(a, b, at)
        ours, theirs = _shown(a), _shown(b)
        return None if ours == theirs else f"{at}: {ours} is not {theirs}"

    def sequences(self, a: list[Any], b: list[Any], at: str) -> str | None:
        if len(a) != len(b):
            return f"{at}: {_shown(a)} is not {_shown(b)} (lengths)"
        for i, (one, other) in enumerate(zip(a, b, strict=True)):
            found = self.compare(one, other, f"{at}[{i}]")
            if found is not None:
                return found
        return None

    def paired(self, a: list[Any], b: list[Any]) -> list[Any]:
        """The items of a set in the order of its partner's: those that correspond already, then by look."""
        left = {id(item): item for item in b}
        found = [left.pop(self.partner[id(item)], None) if id(item) in self.partner else None for item in a]
        others = iter(left.values())
        return [item if item is not None else next(others, None) for item in found] + list(others)

    def attributes(self, a: dict[str, Any], b: dict[str, Any], at: str) -> str | None:
        if list(a) != list(b):
            return f"{at}: attributes {list(a)} are not {list(b)}"
        for name in a:
            found = self.compare(a[name], b[name], f"{at}.{name}")
            if found is not None:
                return found
        return None

    def attributes_of(self, a: Any, b: Any, at: str) -> str | None:
        if _is(a, BaseException):
            found = self.compare(list(a.args), list(b.args), f"{at}.args")
            if found is not None:
                return found
        return self.attributes(_state(a), _state(b), at)

    def classes(self, a: type, b: type, at: str) -> str | None:
        if (a.__name__, a.__qualname__) != (b.__name__, b.__qualname__):
            return f"{at}: class {a.__qualname__} is not {b.__qualname__}"
        found = self.sequences(list(a.__bases__), list(b.__bases__), f"{at}.__bases__")
        if found is not None:
            return found
        return self.attributes(_own(a), _own(b), at)

    def functions(self, a: types.FunctionType, b: types.FunctionType, at: str) -> str | None:
        for name in ("__name__", "__qualname__", "__code__"):
            if getattr(a, name) != getattr(b, name):
                return f"{at}.{name}: {getattr(a, name)!r} is not {getattr(b, name)!r}"
        cells = [_cells(f) for f in (a, b)]
        for name, ours, theirs in (
            ("__defaults__", a.__defaults__, b.__defaults__),
            ("__kwdefaults__", a.__kwdefaults__, b.__kwdefaults__),
            ("__dict__", vars(a), vars(b)),
            ("__closure__", cells[0], cells[1]),
        ):
            found = self.compare(ours, theirs, f"{at}.{name}")
            if found is not None:
                return found
        return None

    def tensors(self, a: torch.Tensor, b: torch.Tensor, at: str) -> str | None:
        if hasattr(type(a), "__tensor_flatten__"):  # made of tensors that are its attributes
            return self.wrappers(a, b, at)
        found = tensor_difference(a, b, self.nodes)
        if found is not None:
            return f"{at}: {found}"
        with torch._C.DisableTorchFunction():
            leaf, memories = a.is_leaf, [_memory(each) for each in (a, b)]
        if None not in memories:
            ours, theirs = memories
            if (
                self.storages.setdefault(ours, theirs) != theirs
                or self.storages_back.setdefault(theirs, ours) != ours
            ):
                return f"{at}: shares its memory with other tensors"
        if leaf:
            with torch._C.DisableTorchFunction():
                grads = a.grad, b.grad
            found = self.compare(*grads, f"{at}.grad")
            if found is not None:
                return found
        ours, theirs = (
            {name: value for name, value in (_dict(t) or {}).items() if name not in NOTED_BY_AOT}
            for t in (a, b)
        )
        return self.attributes(ours, theirs, at)

    def wrappers(self, a: Any, b: Any, at: str) -> str | None:
        (names, context), (_, other) = a.__tensor_flatten__(), b.__tensor_flatten__()
        for name in ("shape", "dtype", "requires_grad", "is_leaf"):
            if getattr(a, name) != getattr(b, name):
                return f"{at}: {name}: {getattr(a, name)} is not {getattr(b, name)}"
        found = self.compare(context, other, f"{at}.context")
        if found is None and a.is_leaf:
            found = self.compare(a.grad, b.grad, f"{at}.grad")
        for name in names:
            found = found or self.compare(getattr(a, name), getattr(b, name), f"{at}.{name}")
        return found


def _memory(tensor: torch.Tensor) -> int | None:
    if tensor.layout is not torch.strided or not tensor.numel() or tensor.device.type == "meta":
        return None
    return tensor.untyped_storage().data_ptr()


def _atoms(a: Any, b: Any, at: str, exact: bool = True) -> str | None:
    if exact and type(a) is not type(b):
        return f"{at}: {_shown(a)} of {type(a).__name__} is not {_shown(b)} of {type(b).__name__}"
    return None if _atom_key(a) == _atom_key(b) else f"{at}: {_shown(a)} is not {_shown(b)}"


def _atom_key(value: Any) -> Any:
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else float(value), math.copysign(1, value))
    if isinstance(value, complex):
        return _atom_key(value.real), _atom_key(value.imag)
    if isinstance(value, str):
        return ADDRESS.sub("0x", value)
    if isinstance(value, slice):
        return repr(value)
    return value


def _members(items: Iterable[Any]) -> list[Any]:
    """A set's items in an order that does not depend on addresses."""
    return sorted(items, key=lambda item: (type(item).__name__, _shown(item)))


def _state(value: Any) -> dict[str, Any]:
    """Attributes that Python code may set: the instance's dictionary and its slots."""
    state = dict(_dict(value) or {})
    for cls in type(value).__mro__:
        if cls.__module__ == "builtins" or not isinstance(vars(cls).get("__slots__"), tuple | list | str):
            continue
        for name, member in vars(cls).items():
            if _is(member, types.MemberDescriptorType):
                try:
                    state[name] = member.__get__(value)
                except AttributeError:
                    continue
    return state


def _is(value: Any, kind: Any) -> bool:
    """By the real type: no code of the program runs, whatever `__class__` says."""
    return issubclass(type(value), kind)


def _dict(value: Any) -> dict[str, Any] | None:
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return found if type(found) is dict else None


def _own(cls: type) -> dict[str, Any]:
    """What a class of the program's holds, less what Python itself puts there."""
    return {
        name: value
        for name, value in vars(cls).items()
        if name not in CLASS_SLOTS and not _is(value, types.MemberDescriptorType)
    }


def _cells(function: types.FunctionType) -> list[Any]:
    cells = []
    for cell in function.__closure__ or ():
        try:
            cells.append([cell.cell_contents])
        except ValueError:
            cells.append([])
    return cells


def _pairs(value: Any) -> list[Any]:
    kind = (
        collections.OrderedDict if _is(value, collections.OrderedDict) else dict
    )  # each has an order of its own
    items = [part for pair in kind.items(value) for part in pair]
    # Not of any other class: it may have a __getattr__ that notes what it was asked.
    factory = value.default_factory if isinstance(value, collections.defaultdict) else None
    return [factory, *items]


def _partial(value: functools.partial[Any]) -> list[Any]:
    return [value.func, value.args, value.keywords]


CONTAINERS: dict[Any, Any] = {
    dict: _pairs,
    list: lambda v: list(list.__iter__(v)),
    tuple: lambda v: list(tuple.__iter__(v)),
    collections.deque: lambda v: [v.maxlen, *collections.deque.__iter__(v)],
    set: lambda v: _members(set.__iter__(v)),
    frozenset: lambda v: _members(frozenset.__iter__(v)),
    types.MappingProxyType: lambda v: [part for pair in v.items() for part in pair],
    type({}.keys()): list,
    type({}.values()): list,
    type({}.items()): lambda v: [part for pair in v for part in pair],
    functools.partial: _partial,
    types.MethodType: lambda v: [v.__func__, v.__self__],
    types.BuiltinMethodType: lambda v: (
        [v.__name__] if _is(v.__self__, types.ModuleType) else [v.__name__, v.__self__]
    ),
    property: lambda v: [v.fget, v.fset, v.fdel],
    staticmethod: lambda v: [v.__func__],
    classmethod: lambda v: [v.__func__],
    bytearray: lambda v: [bytes(v)],
    array.array: lambda v: [v.typecode, v.tobytes()],
    types.CellType: lambda v: [v.cell_contents],
    dataclasses.Field: lambda v: [v.name],
}


def _shown(value: Any) -> str:
    try:
        text = ADDRESS.sub("0x", repr(value))
    except Exception as error:
        text = f"<{type(value).__name__}, whose repr raises {type(error).__name__}>"
    return text if len(text) < 300 else f"{text[:300]}…"
