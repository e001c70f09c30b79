"""Programs made of ingredients, changed again and again: a compiled one must give what a fresh run gives.

`python tests/mutations/mutation_programs.py [COUNT]` makes that many mutations; 5,000 if nothing is said.
"""

from __future__ import annotations

import contextlib
import random
import sys
import types
import warnings
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import mutation_ingredients as ingredients  # noqa: E402
from comparison import difference  # noqa: E402
from mutation_ingredients import ARGUMENTS, INGREDIENTS, MODES, World  # noqa: E402

import stator  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402


def new_world(rng: random.Random, names: list[str]) -> World:
    inner_class = types.new_class("Inner", (ingredients.Inner,))
    helper = types.FunctionType(
        ingredients.helper.__code__, ingredients.helper.__globals__, "helper", (0.5,), None
    )
    helper.__kwdefaults__ = {"plus": 0.25}
    world: World = {
        "torch": torch,
        "FACTOR": 2.0,
        "helper": helper,
        "shifted": ingredients.closure(1.0),
        "__builtins__": __builtins__,
    }
    body = "\n".join(f"    {line}" for name in names for line in INGREDIENTS[name].lines.splitlines())
    exec(f"def forward(self, x):\n{body}\n    return x", world)
    model_class = types.new_class("Model", (nn.Module,))
    model_class.forward = world.pop("forward")  # type: ignore[attr-defined]
    model = model_class()
    model.inner = inner_class()
    model.inner.kind = 1
    world["model"] = model
    return world


def argument(kind: str, rng: random.Random) -> torch.Tensor:
    torch.manual_seed(rng.randint(0, 3))
    x = torch.randn({"rows": rng.randint(2, 6), "one row": 1}.get(kind, 3), 4)
    if kind == "transposed":
        x = torch.randn(4, 3).t()
    if kind == "float64":
        x = x.double()
    return x.requires_grad_() if kind == "requires grad" else x


@contextlib.contextmanager
def mode(name: str) -> Any:
    with contextlib.ExitStack() as stack:
        if name == "no_grad":
            stack.enter_context(torch.no_grad())
        if name == "inference":
            stack.enter_context(torch.inference_mode())
        if name == "autocast":
            stack.enter_context(torch.autocast("cpu", dtype=torch.bfloat16))
        if name == "float64 default":
            torch.set_default_dtype(torch.float64)
            stack.callback(torch.set_default_dtype, torch.float32)
        yield


def outcome(function: Any, x: torch.Tensor, name: str) -> Any:
    with mode(name), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(x)
        except Exception as error:
            return type(error), str(error).split("\n", maxsplit=1)[0]


def run(seed: int, mutations: int) -> tuple[int, int, list[str]]:
    """Mutations made, calls that a capture served, and what went wrong."""
    rng = random.Random(seed)
    names = rng.sample(list(INGREDIENTS), rng.randint(2, 6))
    world = new_world(rng, names)
    model = world["model"]
    compiled = stator.compile(model, backend="native")
    changes = [(name, change) for name in names for change in INGREDIENTS[name].changes]
    kind, state = "same", "plain"
    wrong, history, served = [], [], 0
    for count in range(mutations + 1):
        x = argument(kind, rng)
        for _ in range(2):  # captured, and served
            got, wanted = outcome(compiled, x, state), outcome(model, x, state)
            if difference(got, wanted) is not None:
                wrong.append(
                    f"seed {seed}, {names}, after {history[-4:]}, {kind}, {state}:\n"
                    f"  {got}\n  is not\n  {wanted}"
                )
        if wrong:
            break
        draw = rng.random()
        if draw < 0.12:
            state = rng.choice(MODES)
            history.append(state)
        elif draw < 0.25 or not changes:
            kind = rng.choice(ARGUMENTS)
            history.append(kind)
        else:
            name, change = rng.choice(changes)
            with contextlib.suppress(AttributeError):  # an earlier change took away what this one changes
                change(world, rng)
            history.append(name)
        if count % 6 == 5:
            served += sum(entry.hits for entry in stator.cache_entries(compiled))
            stator.reset()  # otherwise the limit of captures ends the test
            compiled = stator.compile(model, backend="native")
    served += sum(entry.hits for entry in stator.cache_entries(compiled))
    return mutations, served, wrong


def main() -> int:
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    made = served = seed = 0
    wrong: list[str] = []
    while made < wanted:
        mutations, hits, found = run(seed, 12)
        made, served, seed = made + mutations, served + hits, seed + 1
        wrong += found
        for line in found:
            print(line, flush=True)
    print(
        f"{made} mutations of {seed} programs, {served} calls served by captures, {len(wrong)} stale or wrong"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
