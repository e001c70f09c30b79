"""A module may be given another class after a capture: what asked for its class is captured anew."""

import types
from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch

READERS: dict[str, Callable[[Any], object]] = {
    "type": lambda m: type(m).__name__,
    "type is": lambda m: type(m) is types.ModuleType,
    "__class__": lambda m: m.__class__.__name__,
    "mapped type": lambda m: [kind.__name__ for kind in map(type, [m])],
    "key": lambda m: {types.ModuleType: 1}.get(type(m)),
    "bool": bool,
    "not": lambda m: not m,
    "branch": lambda m: 1 if m else 2,
    "or": lambda m: (m or 3) == 3,
    "mapped bool": lambda m: list(map(bool, [m])),
    "all": lambda m: all([m]),
    "callable": callable,
    "hasattr": lambda m: hasattr(m, "__len__"),
    "hasattr of type": lambda m: hasattr(type(m), "__len__"),
}


class Other(types.ModuleType):
    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        return 0

    def __call__(self) -> int:
        return 1


@pytest.mark.parametrize("place", ["closure", "class", "argument"])
@pytest.mark.parametrize("name", READERS)
def test_class_of_a_module_changes(name: str, place: str) -> None:
    read = READERS[name]
    module = types.ModuleType("module")

    class Holder:
        held = module

    def in_closure(x: torch.Tensor) -> tuple[object, torch.Tensor]:
        return read(module), x + 1

    def in_class(x: torch.Tensor) -> tuple[object, torch.Tensor]:
        return read(Holder.held), x + 1

    def in_argument(x: torch.Tensor, module: types.ModuleType) -> tuple[object, torch.Tensor]:
        return read(module), x + 1

    program: Callable[..., Any] = {"closure": in_closure, "class": in_class, "argument": in_argument}[place]
    arguments = (torch.ones(2), module) if place == "argument" else (torch.ones(2),)
    compiled = stator.compile(program, backend="native")
    before = [compiled(*arguments)[0] for _ in range(2)]
    assert before == [program(*arguments)[0]] * 2
    assert sum(entry.hits for entry in stator.cache_entries(compiled)) == 1
    module.__class__ = Other
    assert compiled(*arguments)[0] == program(*arguments)[0] != before[0]
