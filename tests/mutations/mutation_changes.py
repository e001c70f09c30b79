"""Changes of generated programs: every mutation of every mutable object that a world's data reach.

`changes(world, names)` walks the object graph from the given names and yields statements, as text, that
change one thing each: an item, an attribute, a class, a function, a tensor's metadata, what a place holds.
"""

from __future__ import annotations

import collections
import functools
import re
import types
from collections.abc import Iterator
from typing import Any

from mutation_class_rules import instance_changes
from mutation_rules import RULES
from mutation_slots import Change, slot

import torch

DEPTH = 7


def changes(world: dict[str, Any], names: list[str]) -> Iterator[Change]:
    """Each mutation of each object that is reached from the names, nearest objects first."""
    seen: set[int] = set()
    queue: collections.deque[tuple[str, Any, int]] = collections.deque()
    for name in names:
        yield from slot(f"{name}", world[name], "global", lambda value, n=name: f"{n} = {value}")
        queue.append((name, world[name], 0))
    while queue:
        path, value, depth = queue.popleft()
        if id(value) in seen or depth > DEPTH:
            continue
        seen.add(id(value))
        yield from _mutations(path, value)
        queue.extend((inner, child, depth + 1) for inner, child in _children(path, value))


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
        yield from instance_changes(path, value)


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


def shadowed_methods(program: str, options: list[Change]) -> list[Change]:
    """Attributes of tensors under the names that the program reads of them: methods, which they hide."""
    mark = ".scale = 2.0"  # of each tensor that was reached
    paths = [change.text.removesuffix(mark) for change in options if change.text.endswith(mark)]
    names = {name for name in re.findall(r"\.(\w+)", program) if hasattr(torch.Tensor, name)}
    return [
        Change(assignment, "tensor method hidden")
        for path in paths
        for name in sorted(names)
        for assignment in (
            f"{path}.{name} = lambda *given, **named: 5",
            f"vars({path})[{name!r}] = torch.ones(3)",
        )
    ]


SETTINGS = """
torch.set_default_dtype(torch.float64)
torch.set_default_dtype(torch.float16)
torch.set_grad_enabled(False)
torch._C._set_grad_enabled(False)
torch.set_autocast_enabled('cpu', True)
torch.set_autocast_dtype('cpu', torch.float16)
torch.set_autocast_dtype('cuda', torch.bfloat16)
torch.set_autocast_enabled('cuda', True)
torch.set_autocast_cache_enabled(False)
torch._C._set_fwd_grad_enabled(False)
sys.setrecursionlimit(1234)
torch.use_deterministic_algorithms(True)
torch.use_deterministic_algorithms(True, warn_only=True)
torch.set_default_device('meta')
torch.set_anomaly_enabled(True)
torch.set_float32_matmul_precision('medium')
torch.set_warn_always(True)
torch.set_printoptions(precision=2)
setattr(torch.backends.cudnn, 'benchmark', True)
setattr(torch.backends.mkldnn, 'enabled', False)
sys.setswitchinterval(0.004)
sys.set_int_max_str_digits(5000)
setattr(torch.backends.opt_einsum, 'enabled', False)
"""


def size_changes() -> list[Change]:
    """Of the tensor that every program is given; each makes another size when it is made again."""
    return [Change(f"ARGS[0] = {how}(ARGS[0])", "size") for how in ("wider", "narrower", "taller")]


def setting_changes() -> list[Change]:
    return [Change(text, "setting", setting=True) for text in SETTINGS.strip().splitlines()]
