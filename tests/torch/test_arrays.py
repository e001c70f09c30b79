"""NumPy's arrays as arguments and results of captured functions, and between breaks."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from comparison import alike, near

import stator
import torch


@pytest.fixture(autouse=True)
def _arrays_are_followed() -> Iterator[None]:
    with stator.config.patch(trace_numpy=True):
        yield


def adds(x: Any) -> Any:
    return x + 1


def sums(x: Any) -> Any:
    return np.sum(x * x), x.mean(axis=0), {"largest": [x.max()]}


def writes(x: Any) -> Any:
    x[0] = 5
    x += 1
    return x


def swaps(x: Any) -> Any:
    x[0, 0], x[1, 1] = x[1, 1], x[0, 0]
    return x


def keeps_a_number(x: Any) -> Any:
    total = np.sum(x)
    before = total
    total += 1
    return before, total


def makes(x: Any) -> Any:
    return np.zeros(3) + np.array([1.0, 2.0, 3.0]) + x


def asks(x: Any) -> Any:
    return isinstance(x, np.ndarray), x.shape, x.dtype, x.dtype == np.float64, len(x), x.size


def copies(x: Any) -> Any:
    y = x.astype(np.float64)
    y += 1
    return x, y


def becomes_a_tensor(x: Any) -> Any:
    return torch.from_numpy(x).sin(), torch.tensor(x) * 2


def indexes(x: Any) -> Any:
    return [x[0], x[:, 1], x[..., 0], x[-1, -1], x[[0, 1], [1, 2]]]


def walks(x: Any) -> Any:
    return [row * 2 for row in x]


PROGRAMS = [adds, sums, writes, swaps, keeps_a_number, makes, asks, copies, becomes_a_tensor, indexes, walks]


@pytest.mark.parametrize("backend", ["native", "eager", "aot_eager"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_arrays_in_arrays_out(program: Callable[..., Any], backend: str) -> None:
    compiled = stator.compile(program, backend=backend, fullgraph=True)
    for scale in (1.0, 2.0, 3.0):
        array = np.arange(6.0).reshape(2, 3) * scale
        given = copy.deepcopy(array)
        assert alike(program(array), compiled(given))
        assert alike(array, given)
    assert [entry.hits for entry in stator.cache_entries(compiled)] == [2]


def test_what_is_returned_is_what_was_given() -> None:
    compiled = stator.compile(writes, backend="native", fullgraph=True)
    for _ in range(2):
        array = np.ones((2, 3))
        assert compiled(array) is array


def test_other_dtypes_shapes_and_objects_are_other_calls() -> None:
    compiled = stator.compile(adds, backend="native")
    for argument in (
        np.ones(3),
        np.ones(4),
        np.ones(5),
        np.ones(3, dtype=np.float32),
        torch.ones(3),
        3,
        np.ones(3),
    ):
        assert alike(adds(argument), compiled(argument))


def test_one_array_given_twice() -> None:
    def writes_to_first(x: Any, y: Any) -> Any:
        x += 1
        return y * 2, x is y

    compiled = stator.compile(writes_to_first, backend="native")
    one, two = np.ones(3), np.ones(3)
    for a, b in ((one, two), (one, one), (two, one), (two, two)):
        c = a.copy()
        d = c if a is b else b.copy()
        assert alike(writes_to_first(a, b), compiled(c, d))
        assert alike(a, c)


def test_a_break_sees_arrays_of_numpy() -> None:
    seen = []

    @stator.disable
    def look(*values: Any) -> None:
        seen.extend(values)

    def function(x: Any) -> Any:
        y = x * 2
        total = y.sum()
        look(x, y, total)
        return np.dot(y, y) + total

    compiled = stator.compile(function, backend="eager")
    for _ in range(3):
        seen.clear()
        array = np.arange(3.0)
        assert alike(compiled(array), np.float64(26.0))
        assert seen[0] is array
        assert [type(each) for each in seen[1:]] == [np.ndarray, np.float64]
    assert stator.cache_entries(compiled)  # what stands before the break, too


def test_written_to_an_object() -> None:
    class Holder:
        array: Any = None

    holder = Holder()

    def function(x: Any) -> None:
        holder.array = x.numpy() * 2

    compiled = stator.compile(function, backend="native", fullgraph=True)
    for _ in range(2):
        compiled(torch.ones(3))
        assert alike(holder.array, np.full(3, 2.0, dtype=np.float32))


def test_numpy_of_tensors_and_back() -> None:
    def function(x: torch.Tensor) -> Any:
        array = x.detach().numpy()
        return torch.from_numpy(np.exp(array)) + x, array.sum(), x.sum().detach().numpy()

    compiled = stator.compile(function, backend="eager", fullgraph=True)
    for _ in range(2):
        x = torch.randn(3)
        assert near(compiled(x), function(x))  # exponentials round otherwise than NumPy's


def test_numpy_refuses_what_it_refuses_without_capture() -> None:
    compiled = stator.compile(lambda x: x.numpy(), backend="eager")
    with pytest.raises(RuntimeError, match="requires grad"):
        compiled(torch.ones(3, requires_grad=True))


def test_sizes_become_symbols() -> None:
    compiled = stator.compile(adds, backend="native", fullgraph=True)
    for count in (3, 4, 5, 6):
        array = np.ones(count)
        assert alike(adds(array), compiled(array))
    assert len(stator.cache_entries(compiled)) == 2
