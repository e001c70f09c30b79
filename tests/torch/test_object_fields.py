"""What C code reads of an object past every lookup, and what keeps its identity: fields, constants."""

import collections
import functools
from typing import Any

import pytest

import stator
import torch

X = torch.arange(6.0)
OUT: dict[str, Any] = {}


def compiled_of(function: Any) -> Any:
    return stator.compile(function, backend="native")


@pytest.mark.parametrize(
    "read",
    [
        lambda d: f"{d}",
        lambda d: "%s" % (d,),  # noqa: UP031
        lambda d: d.copy(),
        repr,
        lambda d: d | {"b": 1},
    ],
)
@pytest.mark.parametrize("place", ["argument", "global"])
def test_the_factory_of_a_defaultdict(read: Any, place: str) -> None:
    held = collections.defaultdict(list, {"a": 3})

    def program(x: torch.Tensor, given: Any) -> Any:
        return read(held if place == "global" else given), x + 1

    compiled = compiled_of(program)
    for factory in (list, list, dict, dict, None):
        held.default_factory = factory
        plain, ours = program(X, held)[0], compiled(X, held)[0]
        assert repr(ours) == repr(plain)


def test_fields_of_an_exception() -> None:
    error = OSError(2, "gone", "here")

    def program(x: torch.Tensor) -> Any:
        return str(error), x + 1

    compiled = compiled_of(program)
    for number in (2, 2, 5, 7):
        error.errno = number
        assert compiled(X)[0] == program(X)[0]


def put(x: torch.Tensor, p: Any) -> Any:
    OUT["k"] = p
    return len(OUT), x + 1


def test_a_key_that_is_written_as_it_was_is_written_again() -> None:
    """The capture wrote what stood there; a later call finds another value under the key."""
    compiled = compiled_of(put)
    OUT.clear()
    for value in (False, False, True, True, False, False, True):
        compiled(X, value)
        assert {"k": value} == OUT


def test_looking_at_a_partial_gives_it_no_dictionary() -> None:
    held = functools.partial(max, 1)

    def program(x: torch.Tensor) -> Any:
        return held(2), hasattr(held, "unknown"), x + 1

    compiled = compiled_of(program)
    for _ in range(3):
        assert compiled(X)[:2] == program(X)[:2]
    assert held.__reduce__()[2][3] is None
    held.unknown = 1  # type: ignore[attr-defined]
    assert compiled(X)[1] is True


def counted(x: torch.Tensor) -> torch.Tensor:
    mark.calls = getattr(mark, "calls", 0) + 1  # type: ignore[attr-defined]
    return x + 1


def mark() -> None:
    pass


def test_the_first_attribute_of_a_function_is_written() -> None:
    compiled = stator.compile(counted, backend="native", fullgraph=True)
    for calls in range(1, 6):
        compiled(X)
        assert mark.calls == calls  # type: ignore[attr-defined]
    del mark.calls  # type: ignore[attr-defined]
    compiled(X)
    assert mark.calls == 1  # type: ignore[attr-defined]


def constants(x: torch.Tensor, kept: Any) -> Any:
    kept.append((1, 2))
    functools.partial(kept.append, (3, (4, 5)))()
    kept.append(frozenset({1}) if 1 in {1, 2, 3} else None)
    return (1, 2), x + 1


def test_tuples_among_the_constants_of_code_are_one_object() -> None:
    compiled = compiled_of(constants)
    kept: list[Any] = []
    results = [compiled(X, kept)[0] for _ in range(3)]
    results.append(constants(X, kept)[0])
    assert len({id(result) for result in results}) == 1
    assert len({id(item) for item in kept[::3]}) == 1
    assert len({id(item) for item in kept[1::3]}) == 1


class Held:
    names = frozenset({"a", "b"})


def test_what_the_dictionary_of_a_class_holds_keeps_its_identity() -> None:
    def program(x: torch.Tensor) -> Any:
        return vars(Held)["names"], x + 1

    compiled = compiled_of(program)
    for _ in range(3):
        assert compiled(X)[0] is Held.names


def test_methods_of_object_see_a_number() -> None:
    def program(x: torch.Tensor, n: int) -> Any:
        return object.__repr__(n)[:12], object.__eq__(n, n), x + n

    compiled = compiled_of(program)
    for n in (3, 4, 5, 6):
        assert compiled(X, n)[:2] == program(X, n)[:2]
