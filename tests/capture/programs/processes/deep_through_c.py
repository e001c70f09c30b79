# only: interpreted
"""Deep recursion through C callbacks: plain CPython may overflow its C stack here, the interpreter may not.

RecursionError is fine, and so is reaching the bottom; dying is not.
"""

import functools
import sys


def main():
    sys.setrecursionlimit(50_000)

    def by_sorted(n):
        return n if n == 0 else sorted([n - 1], key=by_sorted)[0]

    def by_map(n):
        return n if n == 0 else list(map(by_map, [n - 1]))[0]

    def by_partial(n):
        return n if n == 0 else functools.partial(by_partial, n - 1)()

    def by_reduce(n):
        return n if n == 0 else functools.reduce(lambda a, b: by_reduce(b), [0, n - 1])

    class Attribute:
        def __init__(self, n):
            self.n = n

        def __getattr__(self, name):
            return 0 if self.n == 0 else getattr(Attribute(self.n - 1), name)

        def __eq__(self, other):
            return True if self.n == 0 else [Attribute(self.n - 1)] == [other]

        def __repr__(self):
            return "x" if self.n == 0 else repr([Attribute(self.n - 1)])

        def __add__(self, other):
            return 0 if self.n == 0 else Attribute(self.n - 1) + other

        def __bool__(self):
            return True if self.n == 0 else bool(Attribute(self.n - 1))

        def __iter__(self):
            return iter([1]) if self.n == 0 else iter(list(Attribute(self.n - 1)))

        def __call__(self):
            return 0 if self.n == 0 else Attribute(self.n - 1)()

        def __getitem__(self, key):
            return 0 if self.n == 0 else Attribute(self.n - 1)[key]

    def by_generator(n):
        if n:
            yield from by_generator(n - 1)
        yield n

    def by_nested_sum(n):
        return 0 if n == 0 else sum(by_nested_sum(x) for x in [n - 1])

    def by_init(n):
        class A:
            def __init__(self, n):
                if n:
                    type(self)(n - 1)

        return A(n)

    def by_exec(n):
        return n and exec("f(n - 1)", {"f": by_exec, "n": n})

    for depth in (500, 2_000, 20_000, 45_000):
        for start in (
            lambda: by_sorted(depth),
            lambda: by_map(depth),
            lambda: by_partial(depth),
            lambda: by_reduce(depth),
            lambda: Attribute(depth).a,
            lambda: Attribute(depth) == 1,
            lambda: repr(Attribute(depth)),
            lambda: Attribute(depth) + 1,
            lambda: bool(Attribute(depth)),
            lambda: list(Attribute(depth)),
            lambda: Attribute(depth)(),
            lambda: Attribute(depth)[1],
            lambda: sum(1 for _ in by_generator(min(depth, 5_000))),
            lambda: by_nested_sum(depth),
            lambda: by_init(depth),
            lambda: by_exec(depth),
        ):
            try:
                start()
            except RecursionError:
                pass
    print("fine")
