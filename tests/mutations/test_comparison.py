"""The comparison that tests rely on finds each kind of difference, and nothing between equal things."""

import collections
import copy
import types
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from comparison import difference, same  # noqa: E402


class Thing:
    def __init__(self, v: Any) -> None:
        self.v = v


def made() -> dict[str, Any]:
    shared = [1, 2]
    base = torch.arange(6.0)
    return {
        "ints": [3, 1, 2],
        "pair": (shared, shared),
        "order": collections.OrderedDict(a=1, b=2),
        "things": [Thing(1), Thing({"k": 0.0})],
        "base": base,
        "view": base[2:],
        "leaf": torch.ones(2, requires_grad=True),
        "function": types.FunctionType(made.__code__, {}, "function", (1,)),
        "deque": collections.deque([1, 2], maxlen=4),
        "nan": float("nan"),
        "complex": complex(0.0, 0.0),
        "set": {1, 2, 3},
        "written": torch.nn.Parameter(torch.zeros(2)),
    }


CHANGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "order of a list": lambda w: w["ints"].sort(),
    "aliasing": lambda w: w.update(pair=([1, 2], [1, 2])),
    "type of an item": lambda w: w["ints"].__setitem__(0, 3.0),
    "bool for int": lambda w: w["ints"].__setitem__(1, True),
    "order of a dict": lambda w: w["order"].move_to_end("a"),
    "attribute": lambda w: setattr(w["things"][0], "v", 2),
    "attribute added": lambda w: setattr(w["things"][0], "w", 2),
    "sign of a zero": lambda w: w["things"][1].v.update(k=-0.0),
    "sign of a complex zero": lambda w: w.update(complex=complex(0.0, -0.0)),
    "value of a tensor": lambda w: w["base"].add_(1),
    "memory of a view": lambda w: w.update(view=w["base"].clone()[2:]),
    "strides": lambda w: w.update(leaf=torch.ones(2, 2)[:, 0].detach().requires_grad_()),
    "requires_grad": lambda w: w["leaf"].requires_grad_(False),
    "dtype": lambda w: setattr(w["base"], "data", w["base"].data.double()),
    "grad": lambda w: setattr(w["leaf"], "grad", torch.ones(2)),
    "grad_fn": lambda w: w.update(leaf=w["leaf"] * 1),
    "parameter": lambda w: w.update(written=torch.zeros(2, requires_grad=True)),
    "inference": lambda w: w.update(base=inference(w["base"])),
    "defaults": lambda w: setattr(w["function"], "__defaults__", (2,)),
    "maxlen": lambda w: w.update(deque=collections.deque([1, 2], maxlen=5)),
    "set": lambda w: w["set"].add(4),
    "class": lambda w: setattr(w["things"][0], "__class__", type("Other", (Thing,), {})),
    "tuple for list": lambda w: w.update(ints=(3, 1, 2)),
    "lazy": lambda w: w.update(nan=map(str, [1])),
}


def inference(tensor: Any) -> Any:
    with torch.inference_mode():
        return tensor.clone()


def test_equal_worlds_do_not_differ() -> None:
    assert difference(made(), made()) is None
    world = made()
    assert difference(world, copy.copy(world)) is None


@pytest.mark.parametrize("name", CHANGES)
def test_a_difference_is_found(name: str) -> None:
    one, other = made(), made()
    CHANGES[name](other)
    assert difference(one, other) is not None


def test_nan_is_nan_and_zeros_have_signs() -> None:
    nan, zero = torch.tensor([float("nan"), 1.0]), torch.tensor([0.0])
    assert same(nan, nan.clone())
    assert not same(zero, -zero)
    assert same(None, None)
    assert not same(zero, None)


def test_iterators_are_compared_by_what_they_give() -> None:
    assert difference(map(abs, [1, -2]), map(abs, [1, 2])) is None
    assert difference(map(abs, [1, -2]), map(abs, [1, 3])) is not None


def test_classes_and_functions_of_two_worlds_correspond() -> None:
    text = "class A:\n    k = 1\n    def m(self): return 1\na = A()\nb = [A, a]"
    worlds: list[dict[str, Any]] = [{"__name__": "w"}, {"__name__": "w"}]
    for world in worlds:
        exec(text, world)
    one, other = ({k: w[k] for k in "Aab"} for w in worlds)
    assert difference(one, other) is None
    other["A"].k = 2
    assert difference(one, other) is not None
