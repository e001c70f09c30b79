"""Programs with breaks in them: each is a function of one tensor, for test_segments.py."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import stator
import torch
from torch import nn

# A break on every backend; the builtin is a node under some.
print = stator.disable(builtins.print)

Program = Callable[[torch.Tensor], Any]
# The program, and the fewest operators that its graphs must hold together after a few calls.
PROGRAMS: dict[str, tuple[Program, int]] = {}


def program(operators: int) -> Callable[[Program], Program]:
    def note(function: Program) -> Program:
        PROGRAMS[function.__name__] = function, operators
        return function

    return note


@program(3)
def prints_between(x: torch.Tensor) -> Any:
    y = x + 1
    print("a")
    z = y * 2
    print("b")
    return z - y


@program(3)
def reads_a_number_for_a_branch(x: torch.Tensor) -> Any:
    y = x * 2
    if y.sum().item() > 0:
        return y + 1
    return y - 1


@program(4)
def branches_on_data(x: torch.Tensor) -> Any:
    y = x * 2
    z = y.relu() if y.sum() > 0 else -y
    return z + 1


@program(3)
def prints_in_a_loop(x: torch.Tensor) -> Any:
    y = x
    for i in range(4):
        y = y * 2 + 1
        print("i", i)
    return y.sum()


@program(2)
def prints_in_try_and_handler(x: torch.Tensor) -> Any:
    try:
        y = x + 1
        print("in try")
        z = y * 3
        raise ValueError("no")
    except ValueError as error:
        print("caught", error)
        z = y - 1
    finally:
        print("finally")
    return z * 2


@program(2)
def prints_under_a_mode(x: torch.Tensor) -> Any:
    with torch.no_grad():
        y = x + 1
        print("grad", torch.is_grad_enabled())
        z = y * 2
    return z + torch.is_grad_enabled(), z.requires_grad


class Inner(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x).relu()
        print("inside", tuple(y.shape))
        return self.second(y).tanh()


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner, self.last = Inner(), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.last(x) + 1
        z = self.inner(y)
        return self.last(z) * 2


torch.manual_seed(0)
MODEL = Outer()


@program(8)
def prints_three_calls_deep(x: torch.Tensor) -> Any:
    return MODEL(x) + 1


@program(2)
def collects_in_a_loop(x: torch.Tensor) -> Any:
    out = []
    for i in range(3):
        out.append(x * 2)
        print(len(out), i)
    return torch.stack(out)


@program(2)
def keeps_objects(x: torch.Tensor) -> Any:
    made = {"a": x + 1}
    alias = made
    print("d")
    alias["b"] = made["a"] * 2
    return made, alias is made


@program(2)
def shares_variables(x: torch.Tensor) -> Any:
    k = x * 2

    def inner(z: torch.Tensor) -> torch.Tensor:
        return z + k

    print("c")
    before = inner(x)
    k = k + 1
    return before, inner(x)


@program(4)
def comprehends(x: torch.Tensor) -> Any:
    made = [x + i for i in range(3)]
    print(len(made))
    return [each * 2 for each in made]


@program(2)
def raises_at_the_end(x: torch.Tensor) -> Any:
    y = x + 1
    print("before")
    y = y * 2
    raise KeyError("k")


@program(4)
def loops_on_data(x: torch.Tensor) -> Any:
    n = 0
    while x.sum() < 50:
        x = x * 2 + 1
        n += 1
    return x, n


@program(3)
def enumerates(x: torch.Tensor) -> Any:
    total: Any = 0
    for i, each in enumerate([x, x * 2, x * 3]):
        total = total + each
        print(i)
    return total


@program(3)
def walks_through_two(x: torch.Tensor) -> Any:
    total: Any = 0
    for a, b in zip((x, x + 1), [x, x * 3], strict=True):
        total = total + a * b
        print("z")
    return total


@program(2)
def walks_through_items(x: torch.Tensor) -> Any:
    total: Any = 0
    for key, value in {"p": x, "q": x + 1}.items():
        total = total + value
        print(key)
    return total


def helper(a: torch.Tensor, b: int = 2, *, c: int = 3) -> torch.Tensor:
    a = a * b
    print("helper", c)
    return a + c


@program(4)
def calls_with_keywords(x: torch.Tensor) -> Any:
    y = helper(x + 1, c=5)
    return helper(y, 3) * 2


@program(2)
def consumes_a_generator(x: torch.Tensor) -> Any:
    def generate() -> Any:
        for i in range(3):
            print("g", i)
            yield x * i

    total: Any = 0
    for value in generate():
        total = total + value
    return total * 2


@program(2)
def crosses_to_numpy(x: torch.Tensor) -> Any:
    y = x * 2
    array = y.detach().numpy()
    return y + torch.from_numpy(array + 1) * 2


@program(4)
def writes_in_place(x: torch.Tensor) -> Any:
    x = x.clone()
    view = x[0]
    x += 1
    print("q")
    x[0, 0] = 5
    view.mul_(2)
    print("r", float(view[0]))
    return x, view


class Counter:
    total = 0

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def __enter__(self) -> Counter:
        print("enter")
        return self

    def __exit__(self, *error: object) -> bool:
        print("exit", error[0])
        return error[0] is KeyError

    @property
    def last(self) -> Any:
        print("last")
        return self.seen[-1]


@program(3)
def breaks_in_methods(x: torch.Tensor) -> Any:
    counter = Counter()
    with counter as same:
        same.seen.append(x + 1)
        y = counter.last * 2
        raise KeyError("left")
    return y, y - 1, len(counter.seen)


@program(2)
def chains_exceptions(x: torch.Tensor) -> Any:
    y = x + 1
    try:
        print("try")
        y = y * 2
        {}["absent"]
    except KeyError as error:
        raise ValueError(str(y.shape)) from error


GLOBAL: dict[str, Any] = {"count": 0}


@program(2)
def counts_outside(x: torch.Tensor) -> Any:
    GLOBAL["count"] += 1
    y = x + GLOBAL["count"]
    print(GLOBAL["count"])
    GLOBAL["count"] += 1
    z = y * GLOBAL["count"]
    GLOBAL["count"] -= 2
    return z
