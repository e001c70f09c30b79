"""Functions, variables and partials that a captured function makes and that outlive it."""

import functools
import gc
import importlib
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest

capture = importlib.import_module("stator._capture")

Program = Callable[[list[int]], Any]
PROGRAMS: dict[str, tuple[Program, Callable[[Any], Any]]] = {}


def used(use: Callable[[Any], Any]) -> Callable[[Program], Program]:
    """`use` calls what the program made, outside of any capture."""

    def note(program: Program) -> Program:
        PROGRAMS[program.__name__] = program, use
        return program

    return note


@used(lambda made: (made[0](), made[1](), made[0](), made[1]()))
def a_variable_that_two_functions_share(given: list[int]) -> Any:
    count = given[0]

    def up() -> int:
        nonlocal count
        count += 1
        return count

    up()
    return up, lambda: count


@used(lambda made: (made(3), made.__closure__[0].cell_contents is made))
def one_that_calls_itself(given: list[int]) -> Any:
    def power(n: int) -> int:
        return 1 if n == 0 else power(n - 1) * len(given)

    return power


@used(lambda made: (made["even"](5), made["odd"](5)))
def two_that_call_each_other(given: list[int]) -> Any:
    def even(n: int) -> bool:
        return n == 0 or odd(n - 1)

    def odd(n: int) -> bool:
        return n != 0 and even(n - 1)

    return {"even": even, "odd": odd}


@used(lambda made: (made(), made.__kwdefaults__["kept"] is made.kept, made.__defaults__))
def defaults_and_attributes(given: list[int]) -> Any:
    kept = [given[0]]

    def made(first: int = given[0], *, kept: list[int] = kept) -> Any:
        kept.append(first)
        return kept

    made.kept = kept  # type: ignore[attr-defined]
    return made


@used(
    lambda made: (
        made(2),
        made.__name__,
        made.__qualname__,
        made.__doc__,
        made.__module__,
        made.__annotations__,
        made.__wrapped__(1),
    )
)
def a_wrapper(given: list[int]) -> Any:
    def inner(n: int) -> int:
        """What it says."""
        return n + given[0]

    @functools.wraps(inner)
    def outer(n: int) -> int:
        return inner(n) * 2

    outer.__annotations__["more"] = dict[str, list[int]] | None

    return outer


def name_of_the_missing(made: Callable[[], Any]) -> str:
    try:
        return repr(made())
    except NameError as error:
        return str(error)


@used(name_of_the_missing)
def a_variable_without_a_value(given: list[int]) -> Any:
    def made() -> int:
        return later

    if given[0] > 100:
        later = 3
    return made


@used(lambda made: made())
def a_variable_that_is_written_afterwards(given: list[int]) -> Any:
    value: Any = 1

    def made() -> Any:
        return value

    value = [given[0], made]
    value.pop()
    return made


@used(lambda made: [list(each()) for each in made])
def generator_functions_of_a_loop(given: list[int]) -> Any:
    def of(n: int) -> Callable[[], Any]:
        def made() -> Any:
            yield from (n, given[0])

        return made

    return [of(n) for n in range(3)]


@used(lambda made: (made[0](1), made[1](), made[0].keywords, made[2](5), made[0].mark))
def partials_and_methods(given: list[int]) -> Any:
    def add(a: int, b: int, c: int = 0) -> int:
        return a + b * 10 + c * 100

    first = functools.partial(add, b=given[0], c=2)
    first.mark = [given[0]]  # type: ignore[attr-defined]
    return first, functools.partial(functools.partial(add, 1), 2), types.MethodType(add, given[0])


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_outlive_the_capture(name: str) -> None:
    program, use = PROGRAMS[name]
    compiled = capture.Compiled(program)
    assert compiled.breaks == []
    kept: list[tuple[Any, Any]] = []
    for _ in range(4):
        kept.append((compiled([7]), program([7])))
    for found, wanted in kept:  # each call made its own
        assert use(found) == use(wanted)
        assert use(found) == use(wanted)
    assert compiled.breaks == []
    assert [entry["hits"] for entry in compiled.entries] == [3]


def test_they_see_the_variables_of_older_functions() -> None:
    total = 0
    given = [1]

    def program(step: int) -> Any:
        nonlocal total
        total += step

        def made() -> Any:
            nonlocal total
            total += 100
            return total, given

        return made

    compiled = capture.Compiled(program)
    made = [compiled(1) for _ in range(3)]
    assert total == 3
    assert [each()[0] for each in made] == [103, 203, 303]
    assert compiled(1)()[0] == 404
    assert made[0]()[1] is given
    assert compiled.breaks == []


def test_they_are_kept_where_the_program_put_them() -> None:
    class Holder:
        def __init__(self) -> None:
            self.last: Any = None
            self.all: list[Any] = []

    holder = Holder()

    def program(given: list[int]) -> int:
        holder.last = lambda: given
        holder.all.append(holder.last)
        return len(given)

    compiled = capture.Compiled(program)
    lists = [[1], [2], [3]]
    for each in lists:
        assert compiled(each) == 1
        assert holder.last is holder.all[-1]
        assert holder.last() is each
    assert compiled.breaks == []


def test_a_function_of_the_call_is_given_back() -> None:
    def program(function: Callable[[], int]) -> Any:
        return function, lambda: function

    compiled = capture.Compiled(program)
    for n in range(4):

        def function(n: int = n) -> int:
            return n

        found = compiled(function)
        assert found[0] is function
        assert found[1]() is function


def test_nothing_of_them_is_kept() -> None:
    class Thing:
        pass

    def program(thing: Thing) -> Any:
        def made() -> Any:
            return thing, made

        return made

    compiled = capture.Compiled(program)
    for _ in range(3):
        thing = Thing()
        made = compiled(thing)
        assert made() == (thing, made)
        gone = weakref.ref(made), weakref.ref(thing)
        del made, thing
        gc.collect()
        assert [each() for each in gone] == [None, None]
