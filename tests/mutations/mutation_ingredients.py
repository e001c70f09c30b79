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
        self.state = (torch.zeros(4), 1.0)
        self.steps_of = torch.ones(2, 1)
        # Read by nothing else than what writes to it: a program is run twice, and must see the same.
        self.written = nn.Parameter(torch.ones(4))
        self.frozen = nn.Linear(4, 4)
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


def _set_gradient(w: World, r: random.Random) -> None:
    for p in (w["model"].inner.written, w["model"].inner.norm.weight):
        p.grad = r.choice([None, torch.randn_like(p)])


def _write_gradient(w: World, r: random.Random) -> None:
    p = w["model"].inner.norm.weight
    if p.grad is not None:
        p.grad.fill_(number(r))


def _drop_class_attribute(w: World, r: random.Random) -> None:
    if "rows" in vars(type(w["model"].inner)):
        del type(w["model"].inner).rows


def _set_state(w: World, r: random.Random) -> None:
    w["model"].inner.state = r.choice(
        [(torch.randn(4), number(r)), (torch.randn(4), 2), (torch.randn(3, 4), 1.0), (1.0, torch.randn(4))]
    )


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
    "attribute of a tensor": Ingredient(
        "x = x * getattr(self.inner.norm.weight, 'scale', 1.0)",
        (lambda w, r: setattr(w["model"].inner.norm.weight, "scale", number(r)),
         lambda w, r: vars(w["model"].inner.norm.weight).pop("scale", None) and None),
    ),
    "attribute written to a tensor": Ingredient(
        "self.inner.offset.rows = x.shape[0]\nx = x + self.inner.offset.rows + len(self.inner.offset)",
        (lambda w, r: setattr(w["model"].inner, "offset", torch.randn(4)),
         lambda w, r: setattr(w["model"].inner.offset, "rows", number(r)),
         lambda w, r: vars(w["model"].inner.offset).pop("rows", None) and None),
    ),
    "metadata": Ingredient(
        "x = x + 1 if self.inner.norm.bias.requires_grad else x - self.inner.steps_of.shape[0]\n"
        "x = x + self.inner.steps_of.dim()",
        (lambda w, r: w["model"].inner.norm.bias.requires_grad_(r.random() < 0.5).shape and None,
         lambda w, r: setattr(w["model"].inner, "steps_of", torch.ones(r.randint(1, 3), 1)),
         lambda w, r: setattr(w["model"].inner.steps_of, "data", torch.ones(r.randint(1, 3)))),
    ),
    "gradient": Ingredient(
        "x = x if self.inner.norm.weight.grad is None else x + self.inner.norm.weight.grad",
        (_set_gradient, _write_gradient),
    ),
    "gradient written": Ingredient(
        "p = self.inner.written\n"
        "p.grad = None if self.inner.on else p.detach() * 2\n"
        "x = x + (1 if p.grad is None else p.grad)",
        (_set_gradient, lambda w, r: setattr(w["model"].inner, "on", r.random() < 0.5)),
    ),
    "frozen for a while": Ingredient(
        "self.inner.frozen.requires_grad_(False)\n"
        "x = self.inner.frozen(x)\n"
        "self.inner.frozen.requires_grad_(True)",
        (lambda w, r: setattr(w["model"].inner, "frozen", nn.Linear(4, 4)),
         lambda w, r: w["model"].inner.frozen.weight.requires_grad_(r.random() < 0.5).shape and None,
         lambda w, r: w["model"].inner.frozen.weight.data.mul_(number(r)).shape and None),
    ),
    "data written": Ingredient(
        "p = self.inner.written\np.data = p.data.clamp(-1, 1)\nx = x + p",
        (lambda w, r: setattr(w["model"].inner.written, "data", torch.randn(4) * 2),
         lambda w, r: setattr(w["model"].inner, "written", nn.Parameter(torch.randn(4) * 2))),
    ),
    "class attribute written": Ingredient(
        "type(self.inner).rows = x.shape[0]\nx = x + self.inner.rows * type(self.inner).power",
        (_set_class_attribute, _drop_class_attribute,
         lambda w, r: setattr(type(w["model"].inner), "rows", 100),
         lambda w, r: setattr(w["model"].inner, "rows", 50),
         lambda w, r: vars(w["model"].inner).pop("rows", None) and None),
    ),
    "tuple": Ingredient(
        "x = x * self.inner.state[1] + self.inner.state[0]",
        (_set_state, _set_state, lambda w, r: w["model"].inner.state[0].mul_(2).shape and None),
    ),
    "branch on absence": Ingredient(
        "x = x * getattr(self.inner, 'late', 1.0)",
        (lambda w, r: setattr(w["model"].inner, "late", number(r)),
         lambda w, r: vars(w["model"].inner).pop("late", None) and None),
    ),
}  # fmt: skip

MODES = ("no_grad", "inference", "autocast", "float64 default", "plain")
ARGUMENTS = ("same", "rows", "transposed", "requires grad", "float64", "one row")
