"""Changes in place, by type: containers, buffers, tensors, functions, cells."""

from __future__ import annotations

import array
import collections
import ctypes
import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from mutation_class_rules import class_changes
from mutation_slots import ITEMS, Change, slot

import torch


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
        yield from slot(f"{path}[{i}]", value[i], "list item", lambda new, i=i: f"{path}[{i}] = {new}")


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
            yield from slot(
                f"{path}[{key!r}]", value[key], "dict item", lambda new, key=key: f"{path}[{key!r}] = {new}"
            )
    if isinstance(value, collections.OrderedDict):
        yield Change(f"{path}.move_to_end(next(iter({path})))", "ordered dict reordered")
        yield Change(f"{path}.move_to_end(next(reversed({path})), last=False)", "ordered dict reordered")
    if isinstance(value, collections.defaultdict):
        yield Change(f"{path}.default_factory = dict", "default factory")


def _set(path: str, value: set[Any]) -> Iterator[Change]:
    yield Change(f"{path}.clear()", "set in place")
    if not all(isinstance(item, int | str | bytes | type(None)) for item in value):
        return  # ordered by address: what comes first would differ between two worlds
    for text in (
        f"{path}.add('new')",
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
        yield from slot(f"{path}[{i}]", value[i], "deque item", lambda new, i=i: f"{path}[{i}] = {new}")


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


def _function(path: str, function: types.FunctionType) -> Iterator[Change]:
    if function.__globals__.get("__name__") != "world":
        return
    count = len(function.__code__.co_freevars)
    if not count:
        yield Change(f"{path}.__code__ = other_function.__code__", "__code__")
    yield Change(f"{path}.__code__ = constant_changed({path}.__code__)", "__code__")
    for i in range(len(function.__defaults__ or ())):
        assign = f"{path}.__defaults__ = (*{path}.__defaults__[:{i}], «V», *{path}.__defaults__[{i + 1}:])"
        yield from slot(
            f"{path}.__defaults__[{i}]",
            (function.__defaults__ or ())[i],
            "default",
            lambda new, a=assign: a.replace("«V»", new),
        )
        yield Change(f"{path}.__defaults__ = None", "defaults dropped")
    for name, value in (function.__kwdefaults__ or {}).items():
        yield Change(f"{path}.__kwdefaults__ = None", "defaults dropped")
        yield Change(f"{path}.__kwdefaults__ = {{{name!r}: 77}}", "keyword defaults replaced")
        yield from slot(
            f"{path}.__kwdefaults__[{name!r}]",
            value,
            "keyword default",
            lambda new, n=name: f"{path}.__kwdefaults__[{n!r}] = {new}",
        )
    for name in ("__name__", "__qualname__", "__doc__", "__module__"):
        yield Change(f"{path}.{name} = 'renamed'", "function renamed")


def _cell(path: str, cell: types.CellType) -> Iterator[Change]:
    yield from slot(
        f"{path}.cell_contents", cell.cell_contents, "cell", lambda new: f"{path}.cell_contents = {new}"
    )
    yield Change(f"del {path}.cell_contents", "cell emptied")


def _partial(path: str, value: functools.partial[Any]) -> Iterator[Change]:
    yield Change(f"{path}.__setstate__(({path}.func, (5,), {{}}, {{}}))", "partial")
    yield Change(f"{path}.keywords['k'] = 78", "partial")
    yield Change(f"{path}.extra = 1", "partial")


def _iterator(path: str, value: Any) -> Iterator[Change]:
    yield Change(f"next({path})", "iterator advanced")
    yield Change(f"list({path})", "iterator emptied")


def _cached(path: str, value: Any) -> Iterator[Change]:
    yield Change(f"{path}.cache_clear()", "cache cleared")
    yield Change(f"[{path}(i) for i in (51, 52, 53)]", "cache overwritten")


def _exception(path: str, value: BaseException) -> Iterator[Change]:
    yield Change(f"{path}.args = (5, 6)", "exception")
    yield Change(f"{path}.add_note('n')", "exception")
    yield Change(f"{path}.__cause__ = KeyError(1)", "exception")


def _ctypes(path: str, value: Any) -> Iterator[Change]:
    yield Change(f"{path}.value = 4", "ctypes")
    yield Change(f"{path}[0] = 4", "ctypes")


def _nothing(path: str, value: Any) -> Iterator[Change]:
    return iter(())


RULES: tuple[tuple[Any, Callable[[str, Any], Iterator[Change]]], ...] = (
    (type, class_changes),
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
    (type(iter([])), _iterator),
    (type(functools.lru_cache(len)), _cached),
    (BaseException, _exception),
    ((ctypes._SimpleCData, ctypes.Array), _ctypes),
    (object, _nothing),
)
