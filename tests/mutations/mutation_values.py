"""What changes put in place of a value: another one, an equal one, one of another type, another layout."""

from __future__ import annotations

import collections
import copy
import enum
import fractions
import math
import types
from typing import Any

import numpy as np

import torch


def changed(value: Any) -> Any:
    """Another value of the same type, where there is one."""
    if isinstance(value, torch.Tensor):
        with torch.no_grad():
            made = ~value if value.dtype is torch.bool else value + 1
        return torch.nn.Parameter(made) if isinstance(value, torch.nn.Parameter) else made
    if isinstance(value, bool):
        return not value
    if isinstance(value, enum.Enum):
        return next(member for member in type(value) if member is not value)
    if isinstance(value, int | float | complex | np.ndarray | np.generic | fractions.Fraction):
        return type(value)(value + 1) if not isinstance(value, np.ndarray) else value + 1
    if isinstance(value, str):
        return type(value)(value + "z")
    if isinstance(value, bytes):
        return value + b"z"
    if value is None:
        return 1
    if isinstance(value, torch.dtype):
        return torch.float32
    if isinstance(value, tuple) and hasattr(value, "_replace"):
        return value._replace(first=changed(value[0]))
    if isinstance(value, list | tuple):
        return type(value)([*value[:-1], changed(value[-1])]) if value else type(value)([1])
    if isinstance(value, collections.deque):
        return collections.deque([*value, 1])
    if isinstance(value, dict):
        made = copy.copy(value)
        for key in made:
            made[key] = changed(made[key])
            return made
        made["a"] = 1
        return made
    if isinstance(value, set | frozenset):
        plain = all(isinstance(item, int | str | bytes) for item in value)
        return type(value)([*value, 17] if plain else [17])  # others have an order by address
    if isinstance(value, type):
        return float if value is not float else str
    if isinstance(value, types.FunctionType | types.BuiltinFunctionType | types.MethodType):
        return other_function
    if hasattr(value, "__dict__") and vars(value) and not isinstance(value, types.ModuleType):
        made = copy.copy(value)
        for name in vars(made):
            object.__setattr__(made, name, changed(vars(made)[name]))
            break
        return made
    return 41


def equal(value: Any) -> Any:
    """An equal value that is another object, where there is one."""
    if isinstance(value, torch.Tensor):
        made = value.detach().clone()
        if isinstance(value, torch.nn.Parameter):
            return torch.nn.Parameter(made)
        return made.requires_grad_(value.requires_grad)
    if type(value) in (int, float, str, bytes):
        return eval(repr(value), {"nan": math.nan, "inf": math.inf})
    return copy.deepcopy(value)


def retyped(value: Any) -> Any:
    """A value that is equal or alike, but of another type."""
    if isinstance(value, torch.Tensor):
        return value.detach().to(torch.float64 if value.dtype is not torch.float64 else torch.float32)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return float(value)
    if isinstance(value, float):
        return -value if value == 0 else np.float64(value)
    if isinstance(value, complex):
        return complex(-value.real, value.imag) if value.real == 0 else value.real
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, dict):
        return collections.OrderedDict(reversed(value.items()))
    if isinstance(value, set):
        return frozenset(value)
    if isinstance(value, frozenset):
        return set(value)
    if value is None:
        return False
    if isinstance(value, type):
        return type(value.__name__, (value,), {})
    return types.SimpleNamespace(v=1, a=2)


def other_function(*args: Any, k: Any = 9) -> Any:
    return k


def moved_first(mapping: Any) -> None:
    """The first key becomes the last."""
    key = next(iter(mapping))
    mapping[key] = mapping.pop(key)


def cell_of(function: Any, name: str) -> Any:
    return function.__closure__[function.__code__.co_freevars.index(name)]


def retyped_key(mapping: Any) -> None:
    """The first key becomes one that is equal or alike, but of another type."""
    key = next(iter(mapping))
    value = mapping.pop(key)
    mapping[retyped(key)] = value


def retyped_item(items: Any) -> None:
    """An item becomes one that is equal or alike, but of another type."""
    item = next(iter(items))
    items.discard(item)
    items.add(retyped(item))


def other_layout(tensor: torch.Tensor) -> torch.Tensor:
    """The same values with other strides."""
    wide = torch.stack([tensor.detach(), tensor.detach()], -1)
    return wide[..., 0]


def shifted(tensor: torch.Tensor) -> torch.Tensor:
    """The same values and strides at another offset of their storage."""
    flat = tensor.detach().contiguous().reshape(-1)
    return torch.cat([flat[:1], flat])[1:].reshape(tensor.shape)


def wider(tensor: torch.Tensor) -> torch.Tensor:
    """One column more."""
    return torch.cat([tensor, tensor[..., :1]], -1)


def narrower(tensor: torch.Tensor) -> torch.Tensor:
    """One column less."""
    return tensor[..., 1:].clone()


def taller(tensor: torch.Tensor) -> torch.Tensor:
    """One row more."""
    return torch.cat([tensor, tensor[:1]], 0)


def inference(tensor: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        return tensor.detach().clone()


def other_tensor_class(tensor: torch.Tensor) -> type:
    return torch.Tensor if type(tensor) is torch.nn.Parameter else torch.nn.Parameter


def constant_changed(code: types.CodeType) -> types.CodeType:
    """The same instructions with other numbers."""
    constants = tuple(
        c + 1 if type(c) in (int, float) else c + "z" if type(c) is str else c for c in code.co_consts
    )
    return code.replace(co_consts=constants)
