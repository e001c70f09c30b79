"""tests/torch/test_symbols_as_numbers.py: whatever is done with a size, it is an int, as in eager code."""

from __future__ import annotations

import copy
import fractions
import functools
import json
import math
import numbers
import operator
import pickle
import struct
import sys
from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch

NAMES = {
    "copy": copy,
    "Fraction": fractions.Fraction,
    "json": json,
    "math": math,
    "numbers": numbers,
    "operator": operator,
    "pickle": pickle,
    "struct": struct,
    "torch": torch,
}

# An expression of n, and how many captures four calls with three sizes may need; 0: it may break.
EXPRESSIONS = {
    "n.__class__ is int": 1,
    "type(n).__name__": 1,
    "type(n) is int": 1,
    "isinstance(n, int)": 1,
    "isinstance(n, (bool, str))": 1,
    "isinstance(n, torch.SymInt)": 1,
    "isinstance(n / 2, torch.SymFloat)": 1,
    "isinstance(n, numbers.Integral)": 1,
    "hasattr(n, 'node')": 3,
    "hasattr(n, '__dict__')": 3,
    "getattr(n, 'node', 7)": 3,
    "getattr(n, 'real')": 3,
    "n.__doc__": 3,
    "n.__add__(1)": 3,
    "n.__index__()": 3,
    "n.__format__('d')": 3,
    "repr(n)": 3,
    "'%d' % n": 3,
    "format(n, 'x')": 3,
    "f'{n:04d}'": 3,
    "n.bit_length()": 3,
    "n.to_bytes(4, 'big')": 3,
    "int.to_bytes(n, 4, 'big')": 3,
    "int.bit_length(n)": 3,
    "int.__add__(n, 1)": 3,
    "float.__add__(n / 2, 1.0)": 3,
    "list(range(n))": 3,
    "math.gcd(n, 4)": 3,
    "math.ldexp(1.0, n)": 3,
    "divmod(n, 3)": 1,
    "n ** 2": 1,
    "pow(n, 2, 7)": 3,
    "pow(2, n, 7)": 3,
    "round(n)": 1,
    "round(n / 3, 1)": 3,
    "n + 1j": 3,
    "2j * n": 3,
    "n == 5 + 0j": 3,
    "n + Fraction(1, 3)": 3 if sys.version_info < (3, 12) else 1,  # 3.11 asks for a common divisor
    "{5: 1}.get(n)": 3,
    "x.new(n, 2).shape": 1,
    "x.new(2, 3).fill_(1)": 1,
    "x.new(x.shape).zero_()": 1,
    "x.new_tensor([n])": 3,
    "x.new_tensor(2.5, dtype=torch.float64)": 1,
    "torch.Tensor.new_tensor(x, [1, 2])": 1,
    "json.dumps([n])": 0,
    "pickle.dumps(n)": 0,
    "struct.pack('i', n)": 0,
    "vars(n) if hasattr(n, '__dict__') else 0": 0,
    "dir(n)": 0,
}

# What raises, and what Python says then.
ERRORS = [
    "n + 'a'",
    "'a' + n",
    "n + None",
    "n < 'a'",
    "len(n)",
    "list(n)",
    "n[0]",
    "n()",
    "n.foo",
    "n.node",
    "n / 2 + 'a'",
    "(n / 2).foo",
    "[1, 2][n / 2]",
    "range(n / 2)",
    "int.bit_length(n / 2)",
    "pow(n, 2, 0)",
    "n // 0",
    "vars(n)",
]


def function_of(body: str) -> Callable[[torch.Tensor], Any]:
    scope = dict(NAMES)
    exec(f"def function(x):\n    n = x.shape[0]\n{body}", scope)
    return scope["function"]  # type: ignore[return-value]


def kinds(value: Any) -> Any:
    return (type(value), [kinds(item) for item in value] if isinstance(value, tuple | list) else None)


def compare(function: Callable[[torch.Tensor], Any]) -> Any:
    compiled: Any = stator.compile(function, backend="native", dynamic=True)
    for size in (5, 6, 5, 9):
        x = torch.ones(size, 3)
        got, wanted = compiled(x)[1], function(x)[1]
        assert repr(got) == repr(wanted)
        assert kinds(got) == kinds(wanted)
    return compiled


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression: str) -> None:
    compiled = compare(function_of(f"    return x.sum(), {expression}"))
    captures = EXPRESSIONS[expression]
    if captures:
        assert compiled.breaks == []
        assert len(compiled.entries) == captures


@pytest.mark.parametrize("expression", ERRORS)
def test_error(expression: str) -> None:
    compare(
        function_of(
            f"    try: {expression}\n"
            "    except Exception as error: return x.sum(), (type(error).__name__, str(error))\n"
            "    return x.sum(), 'nothing'"
        )
    )


def test_new_tensor_of_a_tensor() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        try:
            return x.new_tensor(y)
        except RuntimeError:
            return x

    compiled: Any = stator.compile(function, backend="native")
    x, y = torch.ones(2), torch.zeros(3)
    with pytest.warns(UserWarning, match="new_tensor"):
        assert torch.equal(compiled(x, y), y)


def test_new_tensor_has_no_history() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        new = x.new_tensor([1, 2])
        return x * new, new

    compiled: Any = stator.compile(function, backend="native", fullgraph=True)
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    for _ in range(2):
        product, new = compiled(x)
        assert new.dtype == torch.float64
        assert not new.requires_grad
        assert torch.equal(product, function(x)[0])
        new.add_(1)  # no run sees another's


@functools.cache
def kept(key: Any, other: Any = None) -> Any:
    return key


CACHED: dict[str, Callable[[torch.Tensor], Any]] = {
    "number": lambda x: (x.sum(), kept(x.shape[0])),
    "tuple": lambda x: (x.sum(), kept((x.shape[0], 3))),
    "nested": lambda x: (x.sum(), kept(((x.shape[0],), 3))),
    "named": lambda x: (x.sum(), kept(key=(x.shape[0], 3))),
    "set": lambda x: (x.sum(), kept(frozenset([x.shape[0]]))),
    "size": lambda x: (x.sum(), kept(x.shape)),
    "starred": lambda x: (x.sum(), kept(*[(x.shape[0], 3)])),
    "bound": lambda x: (x.sum(), functools.partial(kept, (x.shape[0], 3))()),
}


@pytest.mark.parametrize("name", CACHED)
def test_a_cache_keeps_no_symbol(name: str) -> None:
    kept.cache_clear()
    compiled: Any = stator.compile(CACHED[name], backend="native", dynamic=True)
    for size in (5, 6, 5):
        x = torch.ones(size, 3)
        got = compiled(x)[1]
        wanted = CACHED[name](x)[1]  # what the cache holds by now
        assert repr(got) == repr(wanted)
        for value in (got, wanted):
            items = value if isinstance(value, tuple | frozenset) else [value]
            assert all(type(item) in (int, tuple) for item in items)
    if name in ("number", "tuple", "nested"):
        assert compiled.breaks == []


FLOATS = (0.5, 1.5, 0.0, -0.0, -3.25, math.inf, -math.inf, 2.0, -0.5)


@pytest.mark.parametrize("text", ["abs(k)", "abs(-k)", "abs(k * -0.0)", "1.0 / (x * abs(k))"])
def test_the_absolute_value_of_a_float_has_no_sign(text: str) -> None:
    plain = eval(f"lambda x, k: {text}", {})
    compiled = stator.compile(plain, backend="native")
    for number in FLOATS:
        ours, eagers = compiled(torch.ones(2), number), plain(torch.ones(2), number)
        assert str(ours) == str(eagers)
    assert max(entry.hits for entry in stator.cache_entries(compiled)) > 0


EDGE = -(2**62)  # where the engine's own numbers begin to mean expressions


@pytest.mark.parametrize("text", ["-k", "k + 1", "x.long() + k", "torch.full((2,), k)", "k"])
def test_numbers_that_no_size_has(text: str) -> None:
    plain = eval(f"lambda x, k: (x * 2, {text})", {"torch": torch})
    compiled = stator.compile(plain, backend="native")
    x = torch.arange(2.0)
    for number in (3, 4, EDGE, EDGE + 4, 5, 2**62, -(2**63), EDGE):
        assert str(compiled(x, number)) == str(plain(x, number))


@pytest.mark.parametrize(
    "text", ["x.long() + EDGE", "x.roll([EDGE + 1], [0])", "x[EDGE:]", "x.shape[0] + EDGE", "k - 2**62"]
)
def test_constants_that_no_size_has(text: str) -> None:
    plain = eval(f"lambda x, k: {text}", {"EDGE": EDGE})
    compiled = stator.compile(plain, backend="native")
    for size, number in ((2, 3), (3, 4), (5, 5), (4, -4)):
        x = torch.arange(float(size))
        assert str(compiled(x, number)) == str(plain(x, number))
