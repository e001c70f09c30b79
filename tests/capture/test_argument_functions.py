"""Functions and bound methods among the arguments, made anew for every call: one capture serves them."""

import importlib
from collections.abc import Callable
from typing import Any

import pytest

capture = importlib.import_module("stator._capture")

Function = Callable[..., Any]


def served(compiled: Any) -> list[int]:
    return [entry["hits"] for entry in compiled.entries]


def check(program: Function, make: Callable[[int], tuple[Any, ...]], captures: int, calls: int = 8) -> Any:
    """Each call gives what the program gives; `make(i)` makes the arguments of the i-th."""
    compiled = capture.Compiled(program)
    for i in range(calls):
        assert compiled(*make(i)) == program(*make(i))
    assert len(compiled.entries) <= captures, [entry["guards"] for entry in compiled.entries]
    return compiled


def test_functions_without_cells() -> None:
    compiled = check(lambda f, x: f(x) + 1, lambda i: (lambda y: y * 2, 3), captures=2)
    assert sum(served(compiled)) >= 6


def test_other_code_is_another_function() -> None:
    def make(i: int) -> tuple[Function, int]:
        return ((lambda y: y * 2) if i % 2 else (lambda y: y - 2)), 3

    check(lambda f, x: f(x), make, captures=4)


def test_what_cells_hold() -> None:
    def make(i: int) -> tuple[Function, int]:
        factor = ["a", "b"][i % 2]
        inner = [1, 2, factor]
        return (lambda y: (y * factor, len(inner), inner[2])), 3

    check(lambda f, x: f(x), make, captures=4)


def test_cells_inside_cells() -> None:
    def make(i: int) -> tuple[Function]:
        word = "w"

        def inner(y: int) -> str:
            return word * y

        def outer(y: int) -> str:
            return inner(y) + word

        return (outer,)

    compiled = check(lambda f: f(2), make, captures=2)
    assert sum(served(compiled)) >= 6


def test_defaults() -> None:
    def make(i: int) -> tuple[Function]:
        def f(a: str = "a" * (1 + i % 2), *, b: str = "b" * (1 + i // 4)) -> str:
            return a + b

        return (f,)

    check(lambda f: (f(), f("x"), f(b="y")), make, captures=6)


def test_a_variable_that_is_written() -> None:
    """What the function writes is there for the one who made it."""

    def make() -> tuple[Function, Function]:
        count = 0

        def add() -> int:
            nonlocal count
            count += 1
            return count

        return add, lambda: count

    compiled = capture.Compiled(lambda add: add() + add())
    for _ in range(6):
        add, count = make()
        assert compiled(add) == 3
        assert count() == 2


def test_a_list_in_a_cell_that_is_written() -> None:
    def make() -> tuple[Function, list[int]]:
        log: list[int] = []
        return (lambda x: log.append(x)), log

    compiled = capture.Compiled(lambda note: (note(1), note(2)))
    for _ in range(6):
        note, log = make()
        compiled(note)
        assert log == [1, 2]


def test_the_function_itself_is_given_back() -> None:
    compiled = capture.Compiled(lambda f: (f, [f], f(1)))
    for _ in range(6):

        def f(y: int) -> int:
            return y + 1

        given, (again,), value = compiled(f)
        assert given is f
        assert again is f
        assert value == 2


def test_the_function_as_a_key() -> None:
    known: dict[Any, str] = {}

    def program(f: Function) -> Any:
        return known.get(f, "none"), f(1)

    compiled = capture.Compiled(program)
    for i in range(6):

        def f(y: int) -> int:
            return y + 1

        if i % 2:
            known[f] = f"known {i}"
        assert compiled(f) == program(f) == (f"known {i}" if i % 2 else "none", 2)


def test_attributes() -> None:
    def program(f: Any) -> Any:
        return f.__name__, getattr(f, "tag", None), f(1)

    compiled = capture.Compiled(program)
    for i in range(6):

        def f(y: int) -> int:
            return y + 1

        if i % 3 == 1:
            f.tag = i  # type: ignore[attr-defined]
        if i % 3 == 2:
            f.__name__ = f"other {i}"
        assert compiled(f) == program(f)


def test_identity() -> None:
    compiled = capture.Compiled(lambda f, g: (f is g, f(1) + g(1)))
    for i in range(6):
        f, g = (lambda y: y), (lambda y: y)
        assert compiled(f, g) == (False, 2)
        if i % 2:
            assert compiled(f, f) == (True, 2)


def test_other_globals() -> None:
    spaces: list[dict[str, Any]] = [{"n": 1}, {"n": 2}]

    def make(i: int) -> tuple[Function]:
        space = spaces[i % 2]
        exec(compile("def f(): return n", "same", "exec"), space)
        return (space["f"],)

    check(lambda f: f(), make, captures=8)
    spaces[0]["n"] = 5
    check(lambda f: f(), make, captures=8)


class Counter:
    def __init__(self, start: int) -> None:
        self.value = start

    def next(self, step: int = 1) -> int:
        self.value += step
        return self.value

    def peek(self, step: int = 1) -> int:
        return self.value + step


def test_bound_methods() -> None:
    """Each access makes another one."""
    counter = Counter(0)
    compiled = capture.Compiled(lambda peek: peek(2) + peek())
    for _ in range(8):
        assert compiled(counter.peek) == 3
    assert served(compiled) == [7]
    counter.value = 5
    assert compiled(counter.peek) == 13


def test_bound_methods_that_write() -> None:
    counter, expected = Counter(0), Counter(0)
    compiled = capture.Compiled(lambda next: next(2) + next())
    for _ in range(8):
        assert compiled(counter.next) == expected.next(2) + expected.next()
        assert counter.value == expected.value


def test_bound_methods_of_other_objects() -> None:
    compiled = capture.Compiled(lambda next: next(2))
    for i in range(8):
        counter = Counter(i)
        assert compiled(counter.next) == i + 2
        assert counter.value == i + 2


@pytest.mark.parametrize("change", ["__code__", "__defaults__"])
def test_changed_function(change: str) -> None:
    def program(f: Function) -> Any:
        return f()

    compiled = capture.Compiled(program)
    for i in range(6):

        def f(word: str = "a") -> str:
            return word

        if i % 2:
            setattr(f, change, ("b",) if change == "__defaults__" else (lambda word: word * 3).__code__)
        assert compiled(f) == program(f)
