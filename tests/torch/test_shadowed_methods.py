"""An attribute that is set on a tensor takes the place of a method, or of a value of its class."""

import operator
from collections.abc import Callable
from typing import Any

import pytest
from comparison import assert_alike

import stator
import torch


class Scaled(torch.Tensor):
    scale = 2

    def twice(self) -> Any:
        return 2


def kept() -> Any:
    return torch.ones(3)


def parameter() -> Any:
    return torch.nn.Parameter(torch.ones(3))


def subclass() -> Any:
    return torch.ones(3).as_subclass(Scaled)


READERS: dict[str, Callable[[Any], Any]] = {
    "method": lambda t: t.sum(),
    "method of Python code": lambda t: t.norm(),
    "getattr": lambda t: getattr(t, "sum")(),  # noqa: B009
    "methodcaller": lambda t: operator.methodcaller("sum")(t),
    "attrgetter": lambda t: operator.attrgetter("sum")(t)(),
    "through map": lambda t: next(map(lambda v: v.sum(), [t])),  # noqa: C417
    "hasattr": lambda t: hasattr(t, "sum") and t.sum is None,
    "value of the class": lambda t: getattr(t, "scale", 1),
    "method of the class": lambda t: t.twice() if isinstance(t, Scaled) else 1,
}
CHANGES: dict[str, Callable[[Any], Any]] = {
    "methods": lambda t: vars(t).update(sum=lambda: 50, norm=lambda: 60, twice=lambda: 70, scale=80),
    "one by setattr": lambda t: setattr(t, "sum", lambda: 90),
    "none": lambda t: vars(t).update(sum=None, scale=None),
    "another name": lambda t: vars(t).update(tag=3),
}


def outcome(call: Callable[..., Any], *given: Any) -> Any:
    try:
        return call(*given)
    except TypeError as error:
        return str(error)


@pytest.mark.filterwarnings("ignore:stator")
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("make", [kept, parameter, subclass])
@pytest.mark.parametrize("is_argument", [False, True])
@pytest.mark.parametrize("reader", READERS)
def test_it_is_seen(reader: str, is_argument: bool, make: Callable[[], Any], change: str) -> None:
    read, served = READERS[reader], 0
    tensors = {"ours": make(), "eager": make()}
    compiled = stator.compile(
        (lambda x, t: (read(t), x + 1)) if is_argument else (lambda x: (read(tensors["ours"]), x + 1)),
        backend="native",
    )
    for call in range(6):
        if call == 3:
            served = sum(entry.hits for entry in stator.cache_entries(compiled))
            CHANGES[change](tensors["ours"])
            CHANGES[change](tensors["eager"])
        if call == 5:
            vars(tensors["ours"]).clear()
            vars(tensors["eager"]).clear()
        x = torch.ones(2)
        ours = outcome(compiled, x, tensors["ours"]) if is_argument else outcome(compiled, x)
        wanted = outcome(lambda t: (read(t), x + 1), tensors["eager"])  # noqa: B023
        assert_alike(ours, wanted)
    assert served == 2


def test_the_first_call_sees_it_too() -> None:
    x = torch.ones(3)
    x.sum = lambda: torch.zeros(())  # type: ignore[method-assign]
    compiled = stator.compile(lambda t: t.sum() + 1, backend="native")
    assert [compiled(x).item() for _ in range(3)] == [1, 1, 1]
    assert compiled(torch.ones(3)).item() == 4
