"""benchmarks/interpreter_functions.py: what interpreter.py measures; each takes a number of repetitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def while_loop(n: int) -> int:
    i = total = 0
    while i < n * 10:
        if i & 1:
            total += i
        else:
            total -= 3
        i += 1
    return total


def for_loop(n: int) -> int:
    total = 0
    for i in range(n):
        for j in range(10):
            total += i * j % 7
    return total


def float_work(n: int) -> float:
    x, y = 0.1, 0.2
    for _ in range(n * 5):
        x = x * 1.0000001 + y / 3.0
        y = y - x * 0.001
    return x


def _add(a: int, b: int) -> int:
    return a + b


def _options(a: int, b: int = 2, *, c: int = 3) -> int:
    return a + b + c


def function_calls(n: int) -> int:
    total = 0
    for i in range(n * 3):
        total = _add(total, i)
    return total


def keyword_calls(n: int) -> int:
    total = 0
    for i in range(n * 2):
        total += _options(i, c=1)
        total += _options(*(i, 2), **{"c": 3})
    return total


def recursion(n: int) -> int:
    def fib(k: int) -> int:
        return k if k < 2 else fib(k - 1) + fib(k - 2)

    total = 0
    for _ in range(n):
        total += fib(7)
    return total


def builtin_calls(n: int) -> int:
    total = 0
    data = [3, 1, 2]
    for i in range(n * 3):
        total += len(data) + abs(-i) + max(i, 3)
        if isinstance(total, int):
            total = min(total, 10**9)
    return total


class Vector:
    """The object of the attribute and method functions."""

    __slots__ = ("x", "y")

    def __init__(self, x: int, y: int) -> None:
        self.x = x
        self.y = y

    def plus(self, other: Vector) -> Vector:
        return Vector(self.x + other.x, self.y + other.y)

    def dot(self, other: Vector) -> int:
        return self.x * other.x + self.y * other.y


class Counter:
    step = 1

    def __init__(self) -> None:
        self.value = 0

    def add(self, by: int) -> int:
        self.value += by * self.step
        return self.value

    @property
    def double(self) -> int:
        return self.value * 2


class Special(Counter):
    def add(self, by: int) -> int:
        return super().add(by) + 1


def attribute_access(n: int) -> int:
    counter = Counter()
    for i in range(n * 5):
        counter.value += i
        counter.value -= counter.step
    return counter.value


def method_calls(n: int) -> int:
    counter = Counter()
    total = 0
    for i in range(n * 3):
        total += counter.add(i)
    return total + counter.double


def super_and_property(n: int) -> int:
    counter = Special()
    total = 0
    for i in range(n * 2):
        total += counter.add(i) + counter.double
    return total


def object_creation(n: int) -> int:
    total = Vector(0, 0)
    one = Vector(1, 2)
    for _ in range(n * 2):
        total = total.plus(one)
    return total.dot(one)


def string_building(n: int) -> int:
    text = ""
    for _ in range(n * 4):
        text += "x"
        if len(text) > 1000:
            text = text[500:]
    return len(text)


def string_work(n: int) -> int:
    total = 0
    for i in range(n * 2):
        word = f"item-{i:04d}-{i!r}"
        total += len(word.upper().split("-")) + word.count("1")
        if word.startswith("item") and "9" in word:
            total += 1
    return total


def list_work(n: int) -> int:
    data: list[int] = []
    for i in range(n * 4):
        data.append(i)
        if len(data) > 50:
            data[0], data[-1] = data[-1], data[0]
            data.pop()
            data = data[10:]
    return sum(data)


def dict_work(n: int) -> int:
    counts: dict[int, int] = {}
    for i in range(n * 4):
        key = i % 37
        if key in counts:
            counts[key] += 1
        else:
            counts[key] = 1
    return sum(k * v for k, v in counts.items())


def comprehensions(n: int) -> int:
    total = 0
    for i in range(n):
        squares = [x * x for x in range(10) if x != i]
        total += len({x: str(x) for x in squares[:3]}) + len(squares)
    return total


def unpacking(n: int) -> int:
    total = 0
    pairs = [(1, 2), (3, 4), (5, 6)]
    for _ in range(n * 2):
        for a, b in pairs:
            a, b = b, a
            total += a - b
        first, *rest = pairs
        total += len(rest) + len(first)
    return total


def closures(n: int) -> int:
    total = 0

    def add(by: int) -> Callable[[], int]:
        nonlocal total
        total += by
        return lambda: total + by

    for i in range(n * 2):
        add(i)()
    return total


def _count(n: int) -> Iterator[int]:
    i = 0
    while i < n:
        yield i
        i += 1


def generators(n: int) -> int:
    total = 0
    for x in _count(n * 4):
        total += x
    return total + sum(x + 1 for x in _count(n))


def yield_from(n: int) -> int:
    def chained(k: int) -> Iterator[int]:
        yield from _count(k)
        yield from range(k)

    return sum(chained(n * 3))


def exceptions(n: int) -> int:
    caught = 0
    for i in range(n * 2):
        try:
            if i % 2:
                raise ValueError(i)
            {}[i]
        except ValueError as error:
            caught += error.args[0]
        except KeyError:
            caught += 1
        finally:
            caught += 1
    return caught


def try_without_exception(n: int) -> int:
    total = 0
    for i in range(n * 5):
        try:
            total += i
        except ValueError:
            total = 0
    return total


class _Manager:
    def __enter__(self) -> _Manager:
        return self

    def __exit__(self, *args: Any) -> None:
        return None


def with_statements(n: int) -> int:
    manager = _Manager()
    total = 0
    for i in range(n * 2):
        with manager:
            total += i
    return total


def _one_more(x: int) -> int:
    return x + 1


def callbacks(n: int) -> int:
    total = 0
    data = [5, 3, 8, 1, 9, 2]
    for _ in range(n):
        total += sorted(data, key=lambda x: -x)[0] + sum(map(_one_more, data))
    return total


def matching(n: int) -> int:
    total = 0
    values: list[Any] = [1, "a", (1, 2), {"k": 5}]
    for _ in range(n):
        for value in values:
            match value:
                case int():
                    total += value
                case (a, b):
                    total += a + b
                case {"k": k}:
                    total += k
                case _:
                    total += 1
    return total


def global_names(n: int) -> int:
    total = 0
    for i in range(n * 4):
        total += LIMIT
        if i == LIMIT:
            total -= len(NAMES)
    return total


LIMIT = 17
NAMES = ("a", "b")

FUNCTIONS: list[Callable[[int], Any]] = [
    while_loop,
    for_loop,
    float_work,
    function_calls,
    keyword_calls,
    recursion,
    builtin_calls,
    attribute_access,
    method_calls,
    super_and_property,
    object_creation,
    string_building,
    string_work,
    list_work,
    dict_work,
    comprehensions,
    unpacking,
    closures,
    generators,
    yield_from,
    exceptions,
    try_without_exception,
    with_statements,
    callbacks,
    matching,
    global_names,
]
