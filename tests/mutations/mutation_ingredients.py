"""What a generated program may depend on, and how each dependency is changed after it was compiled.

An ingredient is a few lines of a `forward`, kept as text so that each program has code of its own, and
the changes that its result must follow. Lines see `self` (the module), `x` (the running tensor) and the
globals of `new_world`.
"""

from __future__ import annotations

import random
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

World = dict[str, Any]  # the program's globals; "model" is the module
Change = Callable[[World, random.Random], None]


@dataclass(frozen=True)
class Ingredient:
    lines: str
    changes: tuple[Change, ...]


class Inner(nn.Module):
    power = 2  # a class attribute

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.norm = nn.LayerNorm(4)
        self.register_buffer("offset", torch.ones(4))
        self.gain = 1.5
        self.on = True
        self.table = {"a": 1.0, "b": [2.0, 3.0]}
        self.steps = [1.0, 2.0, 3.0]
        self.choice = {1, 2}
        self.config = types.SimpleNamespace(act="relu", eps=1e-5, nested=types.SimpleNamespace(depth=1))

    @property
    def twice(self) -> float:
        return self.gain * 2

    def act(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) if self.config.act == "relu" else torch.tanh(x)


def helper(x: torch.Tensor, by: float = 0.5, *, plus: float = 0.25) -> torch.Tensor:
    return x * by + plus


def helper_source(rng: random.Random) -> types.FunctionType:
    space: dict[str, Any] = {}
    exec(f"def made(x, by=0.5, *, plus=0.25): return x - by + {rng.randint(1, 5)} * plus", space)
    return space["made"]  # type: ignore[no-any-return]


def closure(value: float) -> Callable[[torch.Tensor], torch.Tensor]:
    def inner(x: torch.Tensor) -> torch.Tensor:
        return x + value

    return inner


def number(rng: random.Random) -> float:
    return rng.choice([0.25, 0.5, 2.0, 3.0, -1.0, 7.5])


def hook(module: nn.Module, arguments: tuple[Any, ...], output: torch.Tensor) -> torch.Tensor:
    return output * 2


def pre_hook(module: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return (arguments[0] + 1, *arguments[1:])


def _set_class_attribute(w: World, r: random.Random) -> None:
    type(w["model"].inner).power = r.choice([1, 2, 3])


def _set_method(w: World, r: random.Random) -> None:
    scale = number(r)
    type(w["model"].inner).act = lambda self, x: x * scale  # type: ignore[method-assign]


def _set_cell(w: World, r: random.Random) -> None:
    w["shifted"].__closure__[0].cell_contents = number(r)


def _replace_parameter(w: World, r: random.Random) -> None:
    w["model"].inner.linear.weight = nn.Parameter(torch.randn(4, 4))


def _write_parameter(w: World, r: random.Random) -> None:
    with torch.no_grad():
        w["model"].inner.linear.weight.mul_(number(r))


def _set_data(w: World, r: random.Random) -> None:
    p = w["model"].inner.linear.weight
    p.data = torch.randn(4, 4).t() if r.random() < 0.5 else torch.randn(4, 4)


def _freeze(w: World, r: random.Random) -> None:
    for p in w["model"].inner.linear.parameters():
        p.requires_grad_(r.random() < 0.5)


def _precision(w: World, r: random.Random) -> None:
    w["model"].to(r.choice([torch.float64, torch.float32]))


def _swap_module(w: World, r: random.Random) -> None:
    w["model"].inner.linear = r.choice([nn.Linear(4, 4), nn.Identity()])


INGREDIENTS: dict[str, Ingredient] = {
    "parameter": Ingredient(
        "x = self.inner.linear(x)",
        (_replace_parameter, _write_parameter, _set_data, _freeze, _swap_module, _precision,
         lambda w, r: w["model"].inner.linear.register_forward_hook(hook) and None,
         lambda w, r: w["model"].inner.linear.register_forward_pre_hook(pre_hook) and None,
         lambda w, r: w["model"].inner.linear._forward_hooks.clear(),
         lambda w, r: w["model"].inner.linear._forward_pre_hooks.clear()),
    ),
    "norm": Ingredient(
        "x = self.inner.norm(x)",
        (lambda w, r: setattr(w["model"].inner.norm, "eps", r.choice([1e-5, 0.1, 1.0])),
         lambda w, r: setattr(w["model"].inner.norm, "forward", lambda x: x * 3),
         lambda w, r: vars(w["model"].inner.norm).pop("forward", None) and None),
    ),
    "buffer": Ingredient(
        "x = x + self.inner.offset",
        (lambda w, r: setattr(w["model"].inner, "offset", torch.randn(4)),
         lambda w, r: w["model"].inner.offset.fill_(number(r)).shape and None,
         lambda w, r: w["model"].inner._buffers.update(offset=torch.zeros(1))),
    ),
    "attribute": Ingredient(
        "x = x * self.inner.gain",
        (lambda w, r: setattr(w["model"].inner, "gain", number(r)),
         lambda w, r: setattr(w["model"].inner, "gain", r.choice([1, True, 2.0]))),
    ),
    "flag": Ingredient(
        "x = x + 1 if self.inner.on else x - 1",
        (lambda w, r: setattr(w["model"].inner, "on", r.choice([True, False, 0, "yes"])),),
    ),
    "property": Ingredient(
        "x = x * self.inner.twice",
        (lambda w, r: setattr(w["model"].inner, "gain", number(r)),
         lambda w, r: setattr(type(w["model"].inner), "twice", property(lambda self: 4.0))),
    ),
    "class attribute": Ingredient("x = x.abs() ** self.inner.power", (_set_class_attribute,)),
    "method": Ingredient(
        "x = self.inner.act(x)",
        (_set_method, lambda w, r: setattr(w["model"].inner.config, "act", r.choice(["relu", "tanh"]))),
    ),
    "dictionary": Ingredient(
        "x = x + self.inner.table['a'] + self.inner.table['b'][1] + len(self.inner.table)",
        (lambda w, r: w["model"].inner.table.update(a=number(r)),
         lambda w, r: w["model"].inner.table["b"].__setitem__(1, number(r)),
         lambda w, r: w["model"].inner.table.update(new=1),
         lambda w, r: setattr(w["model"].inner, "table", {"a": number(r), "b": [1.0, 1.0]})),
    ),
    "loop": Ingredient(
        "for step in self.inner.steps: x = x + step",
        (lambda w, r: w["model"].inner.steps.append(number(r)),
         lambda w, r: w["model"].inner.steps.reverse(),
         lambda w, r: w["model"].inner.steps.__setitem__(0, number(r))),
    ),
    "set": Ingredient(
        "x = x + (2 if 1 in self.inner.choice else 3)",
        (lambda w, r: w["model"].inner.choice.symmetric_difference_update({1}),),
    ),
    "nested": Ingredient(
        "x = x + self.inner.config.nested.depth",
        (lambda w, r: setattr(w["model"].inner.config.nested, "depth", r.randint(0, 3)),
         lambda w, r: setattr(w["model"].inner.config, "nested", types.SimpleNamespace(depth=7))),
    ),
    "global": Ingredient("x = x * FACTOR", (lambda w, r: w.update(FACTOR=number(r)),)),
    "function": Ingredient(
        "x = helper(x)",
        (lambda w, r: setattr(w["helper"], "__code__", helper_source(r).__code__),
         lambda w, r: setattr(w["helper"], "__defaults__", (number(r),)),
         lambda w, r: setattr(w["helper"], "__kwdefaults__", {"plus": number(r)}),
         lambda w, r: w["helper"].__kwdefaults__.update(plus=number(r)),
         lambda w, r: w.update(helper=helper_source(r))),
    ),
    "cell": Ingredient("x = shifted(x)", (_set_cell, lambda w, r: w.update(shifted=closure(number(r))))),
    "builtin": Ingredient(
        "x = x * max(1, len(self.inner.steps))",
        (lambda w, r: w.update(max=lambda a, b: 5), lambda w, r: w.pop("max", None) and None),
    ),
    "training": Ingredient(
        "x = x * 2 if self.training else x",
        (lambda w, r: w["model"].train(r.random() < 0.5) and None,
         lambda w, r: setattr(w["model"], "training", not w["model"].training)),
    ),
    "grad mode": Ingredient("x = x + 1 if torch.is_grad_enabled() else x", ()),
    "default dtype": Ingredient("x = x + torch.ones(4)", ()),
    "kind": Ingredient(
        "x = x + 1 if isinstance(self.inner.kind, int) else x - 1",
        (lambda w, r: setattr(w["model"].inner, "kind", r.choice([1, "a", 2.0, None])),),
    ),
    "branch on absence": Ingredient(
        "x = x * getattr(self.inner, 'late', 1.0)",
        (lambda w, r: setattr(w["model"].inner, "late", number(r)),
         lambda w, r: vars(w["model"].inner).pop("late", None) and None),
    ),
}  # fmt: skip

MODES = ("no_grad", "inference", "autocast", "float64 default", "plain")
ARGUMENTS = ("same", "rows", "transposed", "requires grad", "float64", "one row")
