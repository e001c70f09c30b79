"""Recursion: the same depth, the same error, through Python and through C."""

import functools
import sys


def limited(function, log, extra=150):
    """Run with a limit a little above the present depth; log the depth reached and the error."""
    depth, frame = 0, sys._getframe()
    while frame:
        depth, frame = depth + 1, frame.f_back
    old = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + extra)
    try:
        return function()
    finally:
        sys.setrecursionlimit(old)


def case_simple_depth(log):
    reached = 0

    def f(n):
        nonlocal reached
        reached = n
        f(n + 1)

    def run():
        try:
            f(0)
        except RecursionError as error:
            log.append((reached, str(error)))

    limited(run, log)


case_simple_depth.sweep = 40


def case_method_depth(log):
    class A:
        n = 0

        def f(self, *args, **kwargs):
            self.n += 1
            return self.f(*args, **kwargs)

    a = A()

    def run():
        try:
            a.f(1, k=2)
        except RecursionError as error:
            log.append((a.n, str(error)))

    limited(run, log)


case_method_depth.sweep = 40


def case_generator_depth(log):
    reached = 0

    def g(n):
        nonlocal reached
        reached = n
        yield from g(n + 1)

    def run():
        try:
            list(g(0))
        except RecursionError as error:
            log.append((reached, str(error)))

    limited(run, log)


case_generator_depth.sweep = 40


def case_class_call_depth(log):
    count = 0

    class A:
        def __init__(self):
            nonlocal count
            count += 1
            A()

    def run():
        try:
            A()
        except RecursionError as error:
            log.append((count > 20, str(error)))  # the number depends on specialisation from 3.13 on

    limited(run, log)


case_class_call_depth.sweep = 40


def case_uncaught_traceback(log):
    def f(n):
        return f(n + 1)

    return limited(lambda: f(0), log, 60)


case_uncaught_traceback.sweep = 10


def case_recovers(log):
    def f(n):
        return n and f(n - 1)

    def deep():
        def g():
            g()

        g()

    def run():
        for _ in range(3):
            try:
                deep()
            except RecursionError:
                log.append(f(20))

    limited(run, log)
    return f(50)


case_recovers.sweep = 20


def case_finally_at_the_limit(log):
    count = 0

    def f():
        nonlocal count
        try:
            f()
        finally:
            count += 1

    def run():
        try:
            f()
        except RecursionError as error:
            log.append(count)

    limited(run, log)


case_finally_at_the_limit.sweep = 20


def through_c(log, start):
    def run():
        try:
            start()
        except RecursionError:
            log.append("RecursionError")

    limited(run, log, 80)


def case_sorted_key(log):
    def key(x):
        return sorted([x], key=key)

    through_c(log, lambda: key(1))


case_sorted_key.sweep = 10


def case_map(log):
    def f(x):
        return list(map(f, [x]))

    through_c(log, lambda: f(1))


case_map.sweep = 10


def case_getattr(log):
    class A:
        def __getattr__(self, name):
            return getattr(self, name + "x")

    through_c(log, lambda: A().a)

    class B:
        def __getattr__(self, name):
            return self.other

    through_c(log, lambda: B().a)


case_getattr.sweep = 10


def case_eq_repr_hash_call(log):
    class A:
        def __eq__(self, other):
            return [self] == [other] and self == A()

        def __repr__(self):
            return repr([self])

        def __hash__(self):
            return hash((self,))

        def __call__(self):
            return self()

        def __getitem__(self, key):
            return self[key]

        def __add__(self, other):
            return self + other

        def __iter__(self):
            return iter(list(self))

        def __str__(self):
            return f"{self}"

        def __bool__(self):
            return not self

        def __len__(self):
            return len(self)

    for start in (
        lambda: A() == A(),
        lambda: repr(A()),
        lambda: hash(A()),
        lambda: A()(),
        lambda: A()[1],
        lambda: A() + 1,
        lambda: list(A()),
        lambda: str(A()),
        lambda: bool(A()),
        lambda: len(A()),
    ):
        through_c(log, start)


case_eq_repr_hash_call.sweep = 5


def case_property_and_partial(log):
    class A:
        @property
        def p(self):
            return self.p

    through_c(log, lambda: A().p)

    def f():
        return functools.partial(f)()

    through_c(log, f)

    @functools.lru_cache
    def cached(n):
        return cached(n + 1)

    through_c(log, lambda: cached(0))


case_property_and_partial.sweep = 5


def case_exec_and_import(log):
    def f():
        exec("f()", {"f": f})

    through_c(log, f)

    def g():
        return eval("g()", {"g": g})

    through_c(log, g)


case_exec_and_import.sweep = 5


def case_limit_is_set_inside(log):
    def f(n):
        return n and f(n - 1)

    old = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(old + 500)
        log.append(f(200))
        try:
            sys.setrecursionlimit(1)
        except RecursionError as error:
            log.append(str(error).replace(str(old), "N"))
        try:
            sys.setrecursionlimit(0)
        except ValueError as error:
            log.append(str(error))
    finally:
        sys.setrecursionlimit(old)


case_limit_is_set_inside.sweep = 10


def case_mutual(log):
    def even(n):
        return True if n == 0 else odd(n - 1)

    def odd(n):
        return False if n == 0 else even(n - 1)

    return even(100), odd(101)


case_mutual.sweep = 60
