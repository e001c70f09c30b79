"""Functions and operators of NumPy's on arrays, captured: values, dtypes and types are NumPy's."""

import operator
import warnings
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np
import pytest
import torch._numpy
from comparison import near

import stator


@pytest.fixture(autouse=True)
def _arrays_are_followed() -> Iterator[None]:
    with stator.config.patch(trace_numpy=True):
        yield


FUNCTIONS = sorted(
    name
    for name, function in vars(torch._numpy).items()
    if type(function) is FunctionType and not name.startswith("_") and isinstance(name, str)
)
METHODS = [
    "sum",
    "mean",
    "std",
    "var",
    "min",
    "max",
    "argmin",
    "argmax",
    "cumsum",
    "cumprod",
    "prod",
    "any",
    "all",
    "ravel",
    "flatten",
    "copy",
    "transpose",
    "squeeze",
    "round",
    "trace",
    "diagonal",
    "conj",
    "argsort",
    "clip",
    "astype",
]
OPERATORS = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and_",
    "or_",
    "xor",
    "lshift",
    "rshift",
    "lt",
    "le",
    "eq",
    "ne",
    "gt",
    "ge",
]


def arrays() -> Iterator[np.ndarray[Any, Any]]:
    random = np.random.default_rng(0)
    plain = random.standard_normal((3, 3))
    yield from (plain, plain.astype(np.float32), plain + 1j, plain > 0, plain[0])
    yield from (random.integers(-3, 4, (3, 3)).astype(dtype) for dtype in (np.int64, np.int32, np.uint8))
    yield np.array(2.0)


def check(function: Callable[[Any], Any]) -> None:
    for array in arrays():
        given = array.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = function(array)
            except Exception:  # not for such arrays
                continue
            got = stator.compile(function, backend="eager")(given)
        assert near(got, expected, rtol=1e-4, atol=1e-6), (array.dtype, array.shape)
        assert np.array_equal(array, given, equal_nan=True)


@pytest.mark.parametrize("name", [each for each in FUNCTIONS if each not in ("empty_like", "empty")])
def test_function(name: str) -> None:
    function = getattr(np, name, None)
    if not callable(function) or isinstance(function, type):
        pytest.skip("torch's own")
    check(lambda x: function(x))
    check(lambda x: function(x, x))
    check(lambda x: function(x, 2))


@pytest.mark.parametrize("name", METHODS)
def test_method(name: str) -> None:
    if name == "astype":
        for dtype in (float, np.float32, np.int64, np.uint8, bool):
            check(lambda x, dtype=dtype: x.astype(dtype).sum())
        return
    check(lambda x: getattr(x, name)())
    check(lambda x: getattr(x, name)(0))


@pytest.mark.parametrize("name", OPERATORS)
def test_operator(name: str) -> None:
    function = getattr(operator, name)
    check(lambda x: function(x, x))
    check(lambda x: function(x, 2))
    check(lambda x: function(2, x))
    check(lambda x: function(x, 1.5))
    check(lambda x: function(x, x.sum()))
