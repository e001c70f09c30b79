"""Changes of generated programs: every mutation of every mutable object that a world's data reach.

`changes(world, names)` walks the object graph from the given names and yields statements, as text, that change
one thing each: an item, an attribute, a class, a function, a tensor's metadata, what a place holds.
"""

from __future__ import annotations

import array
import collections
import functools
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import torch

DEPTH = 7
ITEMS = 3  # of a container, each changed; further ones are like them
DUNDERS: dict[str, str] = {
    "__eq__": "lambda self, other: True",
    "__ne__": "lambda self, other: True",
    "__bool__": "lambda self: False",
    "__len__": "lambda self: 0",
    "__hash__": "lambda self: 3",
    "__iter__": "lambda self: iter([5, 6])",
    "__contains__": "lambda self, item: True",
    "__getitem__": "lambda self, key: 8 if key in (0, 1, 'a', 'v') else [][0]",
    "__getattr__": "lambda self, name: 9",
    "__getattribute__": "lambda self, name: 10",
    "__lt__": "lambda self, other: True",
    "__gt__": "lambda self, other: True",
    "__call__": "lambda self, *a, **k: 11",
    "__repr__": "lambda self: 'shown'",
    "__str__": "lambda self: 'told'",
    "__format__": "lambda self, spec: 'formed'",
    "__add__": "lambda self, other: 12",
    "__radd__": "lambda self, other: 13",
    "__mul__": "lambda self, other: 14",
    "__neg__": "lambda self: 15",
    "__invert__": "lambda self: 16",
    "__index__": "lambda self: 1",
    "__int__": "lambda self: 1",
    "__float__": "lambda self: 1.5",
    "__enter__": "lambda self: 18",
    "__exit__": "lambda self, *a: True",
    "__reversed__": "lambda self: iter([19])",
    "__missing__": "lambda self, key: 20",
    "__iadd__": "lambda self, other: 21",
    "__sub__": "lambda self, other: 22",
    "__matmul__": "lambda self, other: 23",
    "__and__": "lambda self, other: 24",
    "__or__": "lambda self, other: 25",
    "__ge__": "lambda self, other: True",
    "__le__": "lambda self, other: True",
    "__mod__": "lambda self, other: 26",
    "__rmod__": "lambda self, other: 27",
    "__truediv__": "lambda self, other: 28",
    "__copy__": "lambda self: 29",
    "__deepcopy__": "lambda self, memo: 30",
    "__abs__": "lambda self: 31",
    "__round__": "lambda self, *a: 32",
    "__complex__": "lambda self: 1j",
    "__bytes__": "lambda self: b'q'",
    "__dir__": "lambda self: ['q']",
    "__next__": "lambda self: 33",
    "__get__": "lambda self, *a: 34",
    "__array__": "lambda self, *a, **k: np.ones(2)",
    "__torch_function__": "classmethod(lambda cls, f, t, a=(), k=None: 35)",
    "__class_getitem__": "classmethod(lambda cls, k: 36)",
    "__init__": "lambda self, *a: None",
    "__instancecheck__": "lambda cls, other: True",
    "__subclasscheck__": "lambda cls, other: True",
    "__match_args__": "('v',)",
    "__set_name__": "lambda self, *a: None",
    "__reduce_ex__": "lambda self, n: (int, (37,))",
    "__delattr__": "lambda self, name: None",
    "__setattr__": "lambda self, name, value: None",
    "__setitem__": "lambda self, key, value: None",
}


@dataclass(frozen=True)
class Change:
    text: str
    kind: str
    setting: bool = False


def changes(world: dict[str, Any], names: list[str]) -> Iterator[Change]:
    """Each mutation of each object that is reached from the names, nearest objects first."""
    seen: set[int] = set()
    queue: collections.deque[tuple[str, Any, int]] = collections.deque()
    for name in names:
        yield from _slot(f"{name}", world[name], "global", lambda value, n=name: f"{n} = {value}")
        queue.append((name, world[name], 0))
    while queue:
        path, value, depth = queue.popleft()
        if id(value) in seen or depth > DEPTH:
            continue
        seen.add(id(value))
        yield from _mutations(path, value)
        queue.extend((inner, child, depth + 1) for inner, child in _children(path, value))


def _slot(path: str, value: Any, kind: str, assign: Callable[[str], str]) -> Iterator[Change]:
    """What stands at a place is replaced: by another value, an equal one, one of another type."""
    for how in ("changed", "equal", "retyped"):
        yield Change(assign(f"{how}({path})"), f"{kind} {how}")
    if isinstance(value, torch.Tensor) and value.layout is torch.strided:
        for text in (
            f"{path}.detach().clone().requires_grad_()",
            f"other_layout({path})",
            f"inference({path})",
        ):
            yield Change(assign(text), f"{kind} another tensor")


def _mutations(path: str, value: Any) -> Iterator[Change]:
    for kind, rule in RULES:
        if isinstance(value, kind):
            yield from rule(path, value)
            break
    if isinstance(value, type):
        return
    if _is_program_class(type(value)) or isinstance(
        value, types.SimpleNamespace | types.FunctionType | types.ModuleType
    ):
        yield from _instance(path, value)


def _is_program_class(cls: type) -> bool:
    return cls.__module__ == "world" or cls in (
        collections.UserList,
        collections.UserDict,
        collections.ChainMap,
    )


def _children(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list | tuple | collections.deque):
        for i, child in enumerate(value):
            yield f"{path}[{i}]", child
    elif isinstance(value, dict | types.MappingProxyType):
        for key, child in value.items():
            if isinstance(key, str | int | float | bool | type(None)):
                yield f"{path}[{key!r}]", child
    elif isinstance(value, set | frozenset) and len(value) == 1:
        yield f"next(iter({path}))", next(iter(value))
    elif isinstance(value, functools.partial):
        yield f"{path}.func", value.func
        yield f"{path}.args", value.args
        yield f"{path}.keywords", value.keywords
    elif isinstance(value, types.MethodType | types.BuiltinMethodType) and not isinstance(
        value.__self__, types.ModuleType
    ):
        yield f"{path}.__self__", value.__self__
        if isinstance(value, types.MethodType):
            yield f"{path}.__func__", value.__func__
    elif isinstance(value, types.FunctionType) and value.__globals__.get("__name__") == "world":
        for name in ("__defaults__", "__kwdefaults__"):
            if getattr(value, name):
                yield f"{path}.{name}", getattr(value, name)
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            yield f"cell_of({path}, {name!r})", cell
    elif isinstance(value, types.CellType):
        yield f"{path}.cell_contents", value.cell_contents
    elif isinstance(value, property):
        yield f"{path}.fget", value.fget
    elif isinstance(value, staticmethod | classmethod):
        yield f"{path}.__func__", value.__func__
    if isinstance(value, type):
        if _is_program_class(value) and value.__module__ == "world":
            for name, child in vars(value).items():
                if not name.startswith("__") or isinstance(child, types.FunctionType):
                    yield f"vars({path})[{name!r}]", child
            for i, base in enumerate(value.__bases__):
                yield f"{path}.__bases__[{i}]", base
            yield f"type({path})", type(value)
        return
    if _is_program_class(type(value)):
        yield f"type({path})", type(value)
        for name in getattr(type(value), "__slots__", ()):
            if hasattr(value, name):
                yield f"{path}.{name}", getattr(value, name)
    if not isinstance(value, types.FunctionType):
        for name, child in (getattr(value, "__dict__", None) or {}).items():
            if not name.startswith("__"):
                yield f"vars({path})[{name!r}]", child


# -- Mutations by type ------------------------------------------------------------------------------------------------
def _list(path: str, value: list[Any]) -> Iterator[Change]:
    for text in (
        f"{path}.append(changed({path}[-1]))",
        f"{path}.insert(0, changed({path}[0]))",
        f"del {path}[0]",
        f"{path}.pop()",
        f"{path}.reverse()",
        f"{path}.clear()",
        f"{path} [:] = [*{path}]",
    ):
        yield Change(text, "list in place")
    for i in range(min(len(value), ITEMS)):
        yield from _slot(f"{path}[{i}]", value[i], "list item", lambda new, i=i: f"{path}[{i}] = {new}")


def _dict(path: str, value: dict[Any, Any]) -> Iterator[Change]:
    for text in (
        f"{path}['new'] = 1",
        f"{path}.popitem()",
        f"moved_first({path})",
        f"{path}.clear()",
        f"retyped_key({path})",
    ):
        yield Change(text, "dict in place")
    for key in list(value)[:ITEMS]:
        if isinstance(key, str | int | float | bool | type(None)):
            yield Change(f"del {path}[{key!r}]", "dict item deleted")
            yield from _slot(
                f"{path}[{key!r}]", value[key], "dict item", lambda new, key=key: f"{path}[{key!r}] = {new}"
            )
    if isinstance(value, collections.OrderedDict):
        yield Change(f"{path}.move_to_end(next(iter({path})))", "ordered dict reordered")
        yield Change(f"{path}.move_to_end(next(reversed({path})), last=False)", "ordered dict reordered")
    if isinstance(value, collections.defaultdict):
        yield Change(f"{path}.default_factory = dict", "default factory")


def _set(path: str, value: set[Any]) -> Iterator[Change]:
    for text in (
        f"{path}.add('new')",
        f"{path}.clear()",
        f"{path}.pop()",
        f"{path}.update([1, 2, 'a', 'ab', 3])",
        f"{path}.symmetric_difference_update([1])",
        f"{path}.add(-7)",
        f"retyped_item({path})",
    ):
        yield Change(text, "set in place")


def _deque(path: str, value: collections.deque[Any]) -> Iterator[Change]:
    for text in (
        f"{path}.append(changed({path}[-1]))",
        f"{path}.appendleft(changed({path}[0]))",
        f"{path}.popleft()",
        f"{path}.pop()",
        f"{path}.rotate(1)",
        f"{path}.clear()",
        f"{path}.reverse()",
    ):
        yield Change(text, "deque in place")
    for i in range(min(len(value), ITEMS)):
        yield from _slot(f"{path}[{i}]", value[i], "deque item", lambda new, i=i: f"{path}[{i}] = {new}")


def _bytes(path: str, value: Any) -> Iterator[Change]:
    for text in (
        f"{path}[0] = 99",
        f"{path}.append(97)",
        f"{path}.reverse()",
        f"del {path}[0]",
        f"{path}.pop()",
    ):
        yield Change(text, "buffer in place")


def _ndarray(path: str, value: np.ndarray) -> Iterator[Change]:
    for text in (
        f"{path}[...] = {path} + 1",
        f"{path}.flat[0] = 5",
        f"{path}.shape = (-1, 1)",
        f"{path}.setflags(write=False)",
        f"{path}.dtype = np.uint8",
        f"{path}.resize((1,), refcheck=False)",
        f"{path}.sort()",
        f"{path}.strides = (0,) * {path}.ndim",
    ):
        yield Change(text, "ndarray in place")


def _tensor(path: str, value: torch.Tensor) -> Iterator[Change]:
    for text in (
        f"with torch.no_grad(): {path}.add_(1)",
        f"with torch.no_grad(): {path}.zero_()",
        f"{path}.requires_grad_(not {path}.requires_grad)",
        f"{path}.data = {path}.data.double()",
        f"{path}.data = {path}.data.to(torch.complex64)",
        f"{path}.data = {path}.data.long()",
        f"{path}.data = other_layout({path}.data)",
        f"{path}.data = shifted({path}.data)",
        f"{path}.data = {path}.data.clone() + 1",
        f"{path}.data = torch.cat([{path}.data, {path}.data], -1)",
        f"{path}.data = {path}.data[None]",
        f"{path}.data = {path}.data[..., :1]",
        f"{path}.grad = torch.ones_like({path})",
        f"{path}.resize_(1)",
        f"{path}.t_()",
        f"{path}.unsqueeze_(0)",
        f"{path}.scale = 2.0",
        f"{path}.set_(torch.arange(7, dtype={path}.dtype))",
        f"with torch.no_grad(): {path}.neg_()",
        f"{path}.__class__ = other_tensor_class({path})",
        f"{path}.detach().set_({path}.untyped_storage(), 0, (1,), (1,)).add_(1)",
        f"{path}.retain_grad()",
        f"{path}.register_hook(lambda g: g)",
        f"{path}.share_memory_()",
        f"{path}.data = inference({path}.data)",
        f"{path}.data = {path}.data.conj()",
        f"np.asarray({path}.detach())[...] = 4",
    ):
        yield Change(text, "tensor")


def _instance(path: str, value: Any) -> Iterator[Change]:
    if not isinstance(value, types.FunctionType):
        state = getattr(value, "__dict__", None) or {}
        for name in [name for name in state if not name.startswith("__")][:ITEMS]:
            yield Change(f"del {path}.{name}", "attribute deleted")
            yield from _slot(
                f"vars({path})[{name!r}]", state[name], "attribute", lambda new, n=name: f"{path}.{n} = {new}"
            )
        for name in getattr(type(value), "__slots__", ()):
            if hasattr(value, name):
                yield Change(f"del {path}.{name}", "slot deleted")
                yield from _slot(
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
            "{'__len__': lambda s: 0, '__bool__': lambda s: False, '__eq__': lambda s, o: True, '__hash__': lambda s: 1}",
            "{'__getattribute__': lambda s, n: 4}",
            "{'__iter__': lambda s: iter([8]), '__getitem__': lambda s, k: 8 if k in (0, 1, 'a') else [][0], '__contains__': lambda s, i: True}",
            "{'kind': 'other', 'rate': 17, 'get': lambda s: 4, 'held': 5, 'v': property(lambda s: 6), 'read': lambda s: 7}",
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


def _class(path: str, cls: type) -> Iterator[Change]:
    if cls.__module__ != "world":
        return
    for name, text in DUNDERS.items():
        yield Change(f"{path}.{name} = {text}", f"class {name}")
        if name in vars(cls):
            yield Change(f"del {path}.{name}", f"class {name} deleted")
    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        yield Change(f"{path}.{name} = 'Renamed'", f"class {name}")
    for name, value in vars(cls).items():
        if name.startswith("__") or isinstance(value, types.MemberDescriptorType):
            continue
        yield Change(f"del {path}.{name}", "class attribute deleted")
        yield from _slot(
            f"vars({path})[{name!r}]", value, "class attribute", lambda new, n=name: f"{path}.{n} = {new}"
        )
        yield Change(f"{path}.{name} = property(lambda self: 38)", "class attribute a property")
    for text in (
        f"{path}.v = property(lambda self: 39)",
        f"{path}.extra = 1",
        f"{path}.held = 40",
        f"{path}.__bases__ = (type('Between', {path}.__bases__, {{'__len__': lambda s: 0, 'kind': 'k', 'rate': 5}}),)",
        f"{path}.__annotations__ = {{'q': int}}",
        f"{path}.register(int)",
        f"{path}.a = 41",
    ):
        yield Change(text, "class in place")


def _function(path: str, function: types.FunctionType) -> Iterator[Change]:
    if function.__globals__.get("__name__") != "world":
        return
    count = len(function.__code__.co_freevars)
    if not count:
        yield Change(f"{path}.__code__ = other_function.__code__", "__code__")
    yield Change(f"{path}.__code__ = constant_changed({path}.__code__)", "__code__")
    for i in range(len(function.__defaults__ or ())):
        assign = f"{path}.__defaults__ = (*{path}.__defaults__[:{i}], «V», *{path}.__defaults__[{i + 1}:])"
        yield from _slot(
            f"{path}.__defaults__[{i}]",
            (function.__defaults__ or ())[i],
            "default",
            lambda new, a=assign: a.replace("«V»", new),
        )
        yield Change(f"{path}.__defaults__ = None", "defaults dropped")
    for name, value in (function.__kwdefaults__ or {}).items():
        yield Change(f"{path}.__kwdefaults__ = None", "defaults dropped")
        yield Change(f"{path}.__kwdefaults__ = {{{name!r}: 77}}", "keyword defaults replaced")
        yield from _slot(
            f"{path}.__kwdefaults__[{name!r}]",
            value,
            "keyword default",
            lambda new, n=name: f"{path}.__kwdefaults__[{n!r}] = {new}",
        )
    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        yield Change(f"{path}.{name} = 'renamed'", "function renamed")


def _cell(path: str, cell: types.CellType) -> Iterator[Change]:
    yield from _slot(
        f"{path}.cell_contents", cell.cell_contents, "cell", lambda new: f"{path}.cell_contents = {new}"
    )
    yield Change(f"del {path}.cell_contents", "cell emptied")


def _partial(path: str, value: functools.partial[Any]) -> Iterator[Change]:
    yield Change(f"{path}.__setstate__(({path}.func, (5,), {{}}, {{}}))", "partial")
    yield Change(f"{path}.keywords['k'] = 78", "partial")
    yield Change(f"{path}.extra = 1", "partial")


def _nothing(path: str, value: Any) -> Iterator[Change]:
    return iter(())


RULES: tuple[tuple[Any, Callable[[str, Any], Iterator[Change]]], ...] = (
    (type, _class),
    (torch.Tensor, _tensor),
    (list, _list),
    (dict, _dict),
    (set, _set),
    (collections.deque, _deque),
    (bytearray, _bytes),
    (array.array, _bytes),
    (np.ndarray, _ndarray),
    (types.FunctionType, _function),
    (types.CellType, _cell),
    (functools.partial, _partial),
    (object, _nothing),
)

SETTINGS: tuple[str, ...] = (
    "torch.set_default_dtype(torch.float64)",
    "torch.set_default_dtype(torch.float16)",
    "torch.set_grad_enabled(False)",
    "torch._C._set_grad_enabled(False)",
    "torch.set_autocast_enabled('cpu', True)",
    "torch.set_autocast_dtype('cpu', torch.float16)",
    "torch.set_autocast_dtype('cuda', torch.bfloat16)",
    "torch.set_autocast_enabled('cuda', True)",
    "torch.set_autocast_cache_enabled(False)",
    "torch._C._set_fwd_grad_enabled(False)",
    "sys.setrecursionlimit(sys.getrecursionlimit() + 7 - sys.getrecursionlimit() % 7)",
    "torch.use_deterministic_algorithms(True)",
    "torch.use_deterministic_algorithms(True, warn_only=True)",
    "torch.set_default_device('meta')",
    "torch.set_anomaly_enabled(True)",
    "torch.set_float32_matmul_precision('medium')",
    "torch.set_warn_always(True)",
    "torch.set_printoptions(precision=2)",
    "setattr(torch.backends.cudnn, 'benchmark', True)",
    "setattr(torch.backends.mkldnn, 'enabled', False)",
    "sys.setswitchinterval(0.004)",
    "sys.set_int_max_str_digits(5000)",
    "setattr(torch.backends.opt_einsum, 'enabled', False)",
)


def setting_changes() -> list[Change]:
    return [Change(text, "setting", setting=True) for text in SETTINGS]
