"""What Python code of the program's gives to C code while that runs: items of a sequence object that torch
makes a tensor of, keys, fields of a format, answers of `__eq__`. C code looks at it, so it is guarded.

Each program is captured and served, then the world is changed, and it is run again beside plain Python.
"""

from collections.abc import Callable
from typing import Any

import pytest
from comparison import difference

import stator
import torch

pytestmark = pytest.mark.filterwarnings("ignore:stator. nothing", "ignore:Using a non-tuple sequence")


class World:
    """Classes and data of one run: a change of them is nobody else's."""

    def __init__(self) -> None:
        class Sequence:
            def __init__(self, v: Any) -> None:
                self.v = v

            def __len__(self) -> int:
                return 2

            def __iter__(self) -> Any:
                return iter([self.v, self.v])

            def __getitem__(self, key: Any) -> Any:
                if key in (0, 1, "a"):
                    return self.v
                raise IndexError(key)

        class Answer:
            def __init__(self, v: Any) -> None:
                self.v = v

            def __eq__(self, other: object) -> Any:
                return self.v

            def __hash__(self) -> int:
                return 7

        class Bytes(bytearray):
            pass

        class Items(list):  # type: ignore[type-arg]
            pass

        self.Sequence, self.Answer, self.Bytes, self.Items = Sequence, Answer, Bytes, Items
        self.row = [1, 0]
        self.rows = Sequence(self.row)
        self.nested = Sequence(Sequence(self.row))
        self.bytes = Sequence(Bytes(b"ab"))
        self.items = Sequence(Items([1, 2]))
        self.tensor = Sequence(torch.tensor(1))
        self.tensors = Sequence([torch.tensor(1)])
        self.truth = [1]
        self.answer = Answer(self.truth)


def add_length(world: World) -> None:
    world.Bytes.__len__ = lambda self: 0  # type: ignore[method-assign, assignment]
    world.Items.__len__ = lambda self: 0  # type: ignore[method-assign, assignment]


def change_row(world: World) -> None:
    world.row[0] = 0


def grow_row(world: World) -> None:
    world.row.append(1)


def write_tensors(world: World) -> None:
    world.tensor.v.zero_()
    world.tensors.v[0].zero_()


def empty_truth(world: World) -> None:
    world.truth.clear()


Program = Callable[[World, torch.Tensor], Any]
MAKERS: dict[str, Callable[[torch.Tensor, Any], Any]] = {
    "tensor": lambda x, data: torch.tensor(data),
    "tensor in a list": lambda x, data: torch.tensor([data]),
    "as_tensor": lambda x, data: torch.as_tensor(data),
    "asarray": lambda x, data: torch.asarray(data),
    "new_tensor": lambda x, data: x.new_tensor(data),
}
INDEXED: dict[str, Program] = {
    "rows of an index": lambda w, x: x[w.rows],
    "columns of an index": lambda w, x: x[:, w.rows],
    "rows by operator": lambda w, x: torch.Tensor.__getitem__(x, w.rows),
    "rows that are stored": lambda w, x: x.clone().index_put_((torch.tensor(w.rows),), torch.tensor(5.0)),
    "rows in a store": lambda w, x: stored(x, w.rows),
    "field of a format": lambda w, x: ["%(a)s" % w.rows, x + 1],  # noqa: UP031
}
COMPARED: dict[str, Program] = {
    "union": lambda w, x: x * len({w.answer} | {w.Answer(w.truth)}),
    "difference": lambda w, x: x * len({w.answer} - {w.Answer(w.truth)}),
    "dictionary": lambda w, x: x * len({w.answer: 1, w.Answer(w.truth): 2}),
    "key": lambda w, x: x * {w.answer: 1, 3: 5}.get(w.Answer(w.truth), 7),
    "subscript": lambda w, x: subscripted(x, {w.answer: 1}, w.Answer(w.truth)),
    "membership": lambda w, x: x * (3 in [w.answer]),
    "update in place": lambda w, x: united(x, {w.answer}, {w.Answer(w.truth)}),
}


def stored(x: torch.Tensor, key: Any) -> torch.Tensor:
    y = x.clone()
    y[key] = 5.0
    return y


def subscripted(x: torch.Tensor, table: dict[Any, int], key: Any) -> torch.Tensor:
    try:
        return x * table[key]
    except KeyError:
        return x - 1


def united(x: torch.Tensor, left: set[Any], right: set[Any]) -> torch.Tensor:
    left |= right
    return x * len(left)


def check(program: Program, change: Callable[[World], None], served: bool = True) -> None:
    world = World()
    x = torch.arange(6.0).reshape(2, 3)

    def plain(x: torch.Tensor) -> Any:
        return program(world, x)

    compiled = stator.compile(plain, backend="native")
    before = plain(x)
    for _ in range(3):
        assert difference(before, compiled(x)) is None
    if served:
        assert any(entry.hits for entry in stator.cache_entries(compiled))
    change(world)
    after = plain(x)
    assert difference(before, after) is not None, "the change must be one that shows"
    for _ in range(2):
        assert difference(after, compiled(x)) is None


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("data", ["rows", "nested"])
def test_items_that_torch_makes_a_tensor_of(make: str, data: str) -> None:
    check(lambda w, x: [MAKERS[make](x, getattr(w, data)), x + 1], change_row)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("data", ["bytes", "items"])
def test_methods_that_classes_of_items_gain(make: str, data: str) -> None:
    check(lambda w, x: [MAKERS[make](x, getattr(w, data)), x + 1], add_length, served=data == "items")


@pytest.mark.parametrize("make", MAKERS)
def test_values_of_tensors_among_the_items(make: str) -> None:
    """Not captured: the graph does not see that they are read."""
    check(lambda w, x: [MAKERS[make](x, w.tensors), x + 1], write_tensors, served=False)
    if make != "tensor in a list":  # which torch refuses
        check(lambda w, x: [MAKERS[make](x, w.tensor), x + 1], write_tensors, served=False)


def test_items_that_grow() -> None:
    check(lambda w, x: [torch.tensor(w.rows), x + 1], grow_row)


@pytest.mark.parametrize("name", INDEXED)
def test_items_of_indices_and_formats(name: str) -> None:
    check(INDEXED[name], change_row)


@pytest.mark.parametrize("name", COMPARED)
def test_answers_of_comparisons(name: str) -> None:
    check(COMPARED[name], empty_truth)


def test_results_of_special_methods_are_passed_on() -> None:
    """No value that is only handed on is looked at: what it holds may change."""

    class Holder:
        def __init__(self) -> None:
            self.v = [1, 2]

        def __getitem__(self, key: int) -> list[int]:
            return self.v

        def __add__(self, other: object) -> list[int]:
            return self.v

    holder = Holder()

    def program(x: torch.Tensor) -> Any:
        return [holder[0], holder + 1, x + 1]

    compiled = stator.compile(program, backend="native")
    x = torch.ones(2)
    for _ in range(4):
        assert compiled(x)[0] is holder.v
        holder.v.append(3)
    assert len(stator.cache_entries(compiled)) == 1
