"""How deep recursion goes through C calls and special methods, once CPython has specialised the code."""

import functools
import sys

count = 0


def entered():
    global count
    count += 1


def by_sorted(x=1):
    entered()
    return sorted([x], key=by_sorted)


def by_max(x=1):
    entered()
    return max([x], key=by_max)


def by_sort(x=1):
    entered()
    return [x].sort(key=by_sort)


def by_map(x=1):
    entered()
    return list(map(by_map, [x]))


def by_partial():
    entered()
    return functools.partial(by_partial)()


def by_exec():
    entered()
    exec("f()", {"f": by_exec})


def by_next():
    entered()
    yield next(by_next())


def by_loop():
    entered()
    yield from [x for x in by_loop()]
    for x in by_loop():
        yield x


def by_delegation():
    entered()
    yield from by_delegation()


async def by_await():
    entered()
    await by_await()


def by_sum(n=1):
    entered()
    return sum(by_sum(x) for x in [n])


class Special:
    def __getitem__(self, key):
        entered()
        return self[key]

    @property
    def getter(self):
        entered()
        return self.getter

    def __getattr__(self, name):
        entered()
        return getattr(self, "b") if name == "a" else getattr(self, "a")

    def __len__(self):
        entered()
        return len(self)

    def __str__(self):
        entered()
        return str(self)

    def __repr__(self):
        entered()
        return repr(self)

    def __hash__(self):
        entered()
        return {}.get(self, 1)

    def __add__(self, other):
        entered()
        return self + other

    def __call__(self):
        entered()
        return self()

    def __contains__(self, item):
        entered()
        return item in self

    def __format__(self, spec):
        entered()
        return f"{self}"


class Overridden:
    def __getattribute__(self, name):
        entered()
        return self.other


class Made:
    def __init__(self, value):
        entered()
        Made(value)


class MadeByKeyword:
    def __init__(self, value):
        entered()
        MadeByKeyword(value=value)


class MadeWithDefault:
    def __init__(self, value=1):
        entered()
        MadeWithDefault()


class MadeThroughBase(Made):
    def __init__(self, value):
        entered()
        MadeThroughBase(value)
        super().__init__(value)


class Slotted:
    __slots__ = ("inner",)

    def __init__(self, value):
        entered()
        self.inner = Slotted(value)


class Allocated:
    def __new__(cls, value):
        entered()
        return cls(value)


async def by_async_generator():
    entered()
    async for x in by_async_generator():
        yield x


async def by_async_loop():
    async for _ in by_async_generator():
        pass


class Awaited:
    def __await__(self):
        entered()
        return await_one().__await__()


async def await_one():
    await Awaited()


class Checked(type):
    def __instancecheck__(self, instance):
        entered()
        return isinstance(1, self)


class Class(metaclass=Checked):
    pass


FORMS = {
    "sorted": by_sorted,
    "max": by_max,
    "sort": by_sort,
    "map": by_map,
    "partial": by_partial,
    "exec": by_exec,
    "next": lambda: next(by_next()),
    "loop": lambda: [x for x in by_loop()],
    "delegation": lambda: [x for x in by_delegation()],
    "await": lambda: by_await().send(None),
    "sum": by_sum,
    "item": lambda: Special()[1],
    "getter": lambda: Special().getter,
    "getattr": lambda: Special().a,
    "len": lambda: len(Special()),
    "str": lambda: str(Special()),
    "repr": lambda: repr(Special()),
    "hash": lambda: {}.get(Special()),
    "add": lambda: Special() + 1,
    "call": lambda: Special()(),
    "contains": lambda: 1 in Special(),
    "format": lambda: f"{Special()}",
    "getattribute": lambda: Overridden().any,
    "init": lambda: Made(1),
    "init by keyword": lambda: MadeByKeyword(1),
    "init with default": lambda: MadeWithDefault(),
    "init and super": lambda: MadeThroughBase(1),
    "init with slots": lambda: Slotted(1),
    "new": lambda: Allocated(1),
    "async generator": lambda: by_async_loop().send(None),
    "awaitable": lambda: await_one().send(None),
    "isinstance": lambda: isinstance(1, Class),
}


def reached(start, limit):
    global count
    count = 0
    sys.setrecursionlimit(limit)
    try:
        start()
    except RecursionError:
        pass
    sys.setrecursionlimit(1000)
    return count


def main():
    for name, start in FORMS.items():
        for _ in range(30):  # until it is warm
            reached(start, 60)
        print(name, reached(start, 1000))
    if sys.version_info >= (3, 12):  # before, CPython itself recurses in C for most of these, and dies
        for name in (
            "delegation",
            "await",
            "item",
            "getter",
            "getattribute",
            "init",
            "init by keyword",
            "init and super",
            "new",
            "async generator",
            "awaitable",
        ):
            print(name, reached(FORMS[name], 30_000))
