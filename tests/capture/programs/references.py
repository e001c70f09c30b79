"""One small function per opcode family, for counting what calls leave behind (test_references.py)."""

from __future__ import annotations

import contextlib
import sys
from typing import Any



class Point:
    """A class with attributes, slots for operators and a property."""

    kind = "point"

    def __init__(self, x: int, y: int = 2) -> None:
        self.x, self.y = x, y

    @property
    def sum(self) -> int:
        return self.x + self.y

    def move(self, by: int, *, twice: bool = False) -> Point:
        return Point(self.x + by * (2 if twice else 1), self.y)

    def __add__(self, other: Point) -> Point:
        return Point(self.x + other.x, self.y + other.y)

    def __enter__(self) -> Point:
        return self

    def __exit__(self, *args: object) -> bool:
        return True

    def __getattr__(self, name: str) -> str:
        if name == "absent":
            raise AttributeError(name)
        return name


class Far(Point):
    def move(self, by: int, *, twice: bool = False) -> Point:
        return super().move(by, twice=twice)


def arithmetic() -> Any:
    a, b = 12345, 678.5
    c = a * b - a / b + a // 7 % 5
    c += 1
    return (-a, ~a, not a, a << 3, a >> 2, a & 5 | 3 ^ 1, a**2, c)


def comparisons() -> Any:
    a, b = 1, 2
    return a < b <= 3 != a, a in (1, 2), a not in [3], a is b, a is not None, (a and b) or not a


def loops() -> Any:
    total = 0
    for i in range(20):
        if i % 3 == 0:
            continue
        if i == 17:
            break
        total += i
    else:
        total = -1
    while total > 50:
        total -= 10
    return total


def strings() -> Any:
    s = ""
    for i in range(5):
        s += str(i)
    return f"{s!r:>12} {s}{5:x}" + s[1:3].upper() + "%s" % s + ",".join([s, s])


def displays() -> Any:
    a = [1, 2, *range(3)]
    b = (*a, 4)
    c = {*a, 7}
    d = {"a": 1, **{"b": 2}}
    return a, b, c, d, [[]] * 2


def comprehensions() -> Any:
    n = 3
    return (
        [x + n for x in range(4)],
        {x for x in "ab"},
        {x: [y for y in range(x)] for x in range(3)},
        list(x for x in range(n) if x),
    )


def unpacking() -> Any:
    a, b = 1, 2
    a, b = b, a
    (c, *d), e = [1, 2, 3], 4
    *f, g = "xyz"
    try:
        a, b = [1]
    except ValueError:
        pass
    try:
        a, b = 5
    except TypeError:
        pass
    return a, b, c, d, e, f, g


def subscripts() -> Any:
    l, d = list(range(6)), {"k": [1]}
    l[0], l[1:3], d["z"] = 5, [7, 8, 9], [2]
    l[2] += 1
    d["k"] += [3]
    del l[0], d["z"], l[1:2]
    try:
        l[100]
    except IndexError:
        pass
    try:
        d["missing"]
    except KeyError:
        pass
    return l[::-1], l[1:], d["k"][0]


def attributes() -> Any:
    p = Point(1)
    p.x += 3
    p.z = p.x
    del p.z
    try:
        p.absent
    except AttributeError:
        pass
    return p.sum, p.kind, p.other, Point.kind


def calls() -> Any:
    def f(a: int, /, b: int = 2, *c: int, d: int = 4, **e: int) -> Any:
        return a, b, c, d, e

    made = [
        f(1),
        f(1, 2, 3, d=5),
        f(*[1, 2, 3], **{"z": 1}),
        f(1, b=3),
        max(1, 2, key=lambda x: -x),
        sorted([2, 1], key=abs),
    ]
    for bad in (
        lambda: f(),
        lambda: f(1, a=2, b=3, c=4),
        lambda: f(1, b=1, **{"b": 2}),
        lambda: len(1),
        lambda: object()(),
    ):
        try:
            bad()
        except TypeError:
            pass
    return made


def methods() -> Any:
    p = Far(1)
    bound = p.move
    return p.move(1).x, bound(2, twice=True).y, Point.move(p, 3).x, (p + p).x, "a".join(["b"]), [].append(1)


def closures() -> Any:
    count = 0

    def add(n: int) -> Any:
        nonlocal count
        count += n
        return lambda: count + n

    try:
        del count
        add(1)
    except NameError:
        pass
    count = 1
    return add(2)(), [lambda i=i: i for i in range(3)]


def classes() -> Any:
    class Meta(type):
        pass

    class A(metaclass=Meta):
        x: int = 1

        def f(self) -> Any:
            return __class__, super().__repr__()

    return A().f()


def exceptions() -> Any:
    seen = []
    for error in (ValueError(1), KeyError("k"), OSError(2, "x")):
        try:
            try:
                raise error
            except ValueError as e:
                seen.append(e.args)
                raise RuntimeError("again") from e
            finally:
                seen.append("f")
        except (RuntimeError, LookupError):
            try:
                raise
            except Exception as e:
                seen.append(type(e))
        except Exception:
            seen.append("other")
        else:
            seen.append("never")
    return seen


def exceptions_in_callee() -> Any:
    def fail(n: int) -> Any:
        local = [n]
        if n == 0:
            raise ValueError(local)
        return fail(n - 1)

    try:
        fail(5)
    except ValueError as e:
        return e.__traceback__ is not None


def groups() -> Any:
    seen = []
    try:
        try:
            raise ExceptionGroup("g", [ValueError(1), TypeError(2), KeyError(3)])
        except* ValueError as g:
            seen.append(len(g.exceptions))
        except* TypeError:
            seen.append(2)
    except ExceptionGroup as rest:
        seen.append(len(rest.exceptions))
    return seen


def contexts() -> Any:
    with Point(1) as p, contextlib.nullcontext(3) as n:
        p.x = n
    with Point(2):
        raise ValueError
    with contextlib.suppress(KeyError):
        {}["x"]
    for _ in range(2):
        with Point(3):
            continue
    return p.x


def generators() -> Any:
    def inner(n: int) -> Any:
        try:
            for i in range(n):
                got = yield i
        except KeyError:
            yield "caught"
        return n

    def outer() -> Any:
        result = yield from inner(3)
        yield result

    g = outer()
    made = [next(g), g.send(5), g.throw(KeyError())]
    g.close()
    h = inner(2)
    next(h)
    del h
    started = outer()
    try:
        list(outer()) and next(iter([]))
    except StopIteration:
        pass
    return made, sum(inner(4)), started


def coroutines() -> Any:
    class Wait:
        def __await__(self) -> Any:
            yield 1
            return 2

        async def __aenter__(self) -> Any:
            return await self

        async def __aexit__(self, *args: object) -> bool:
            return True

    async def numbers() -> Any:
        for i in range(3):
            yield i
            await Wait()

    async def main() -> Any:
        async with Wait():
            raise ValueError
        total = [x async for x in numbers()]
        async for x in numbers():
            if x:
                break
        return total, await Wait()

    c = main()
    try:
        while True:
            c.send(None)
    except StopIteration as stop:
        return stop.value


def matching() -> Any:
    seen: list[Any] = []
    for value in (1, "a", [1, 2, 3], {"k": 1, "z": 2}, Point(1), None, (4,)):
        match value:
            case int(n) if n:
                seen.append(n)
            case [x, *rest]:
                seen.append((x, rest))
            case {"k": k, **others}:
                seen.append((k, others))
            case Point(x=x, y=2):
                seen.append(x)
            case "a" | None as both:
                seen.append(both)
    return seen


def imports() -> Any:
    import collections.abc as c
    import os.path
    from os import sep

    try:
        from os import no_such_name
    except ImportError:
        pass
    return c, os.path, sep


def deletion() -> Any:
    x = [1]
    y = x
    del x
    try:
        x
    except UnboundLocalError:
        pass
    del y[0], y


def made_code() -> Any:
    space: dict[str, Any] = {}
    exec(_MADE, space)
    return space["f"](2), eval("a + b", {"a": 1}, {"b": 2})


_MADE = compile(
    "x = 1\ndef f(y):\n    global x\n    x += y\n    return x\nclass A:\n    z = x\nf(1)\ndel A",
    "<made>",
    "exec",
)


def frames() -> Any:
    def inner(a: int) -> Any:
        frame = sys._getframe()
        return frame.f_locals, frame.f_back.f_lineno, locals(), frame

    made = inner(1)
    return made[0]["a"]


def recursion() -> Any:
    def down(n: int) -> int:
        return 0 if n == 0 else 1 + down(n - 1)

    return down(20)


def callbacks() -> Any:
    class Key:
        def __init__(self, n: int) -> None:
            self.n = n

        def __lt__(self, other: Key) -> bool:
            return self.n < other.n

        def __hash__(self) -> int:
            return self.n

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Key) and self.n == other.n

    keys = sorted(Key(n % 3) for n in range(6))
    return len(set(keys)), {Key(1): 2}[Key(1)], list(map(lambda k: k.n, keys)), list(filter(None, [0, 1]))


def finalizers() -> Any:
    class Final:
        def __del__(self) -> None:
            [x for x in range(2)]

    made = Final()
    made = Final()
    cycle = [made]
    cycle.append(cycle)
    cycle.clear()


FAMILIES = [
    arithmetic, comparisons, loops, strings, displays, comprehensions, unpacking, subscripts, attributes, calls, methods, closures,
    classes, exceptions, exceptions_in_callee, groups, contexts, generators, coroutines, matching, imports, deletion, made_code,
    frames, recursion, callbacks, finalizers,
]  # fmt: skip
