"""Recursion through C ends where the recursion limit says, whatever the native stack has left."""

import itertools
import sys


def depth_of(start):
    """How often `start`'s function was entered before RecursionError, and what the error left behind."""
    entered = itertools.count()
    try:
        start(lambda: next(entered))
    except RecursionError as error:
        assert error.__traceback__ is not None
    return next(entered)


def by_any(step):
    step()
    return any(by_any(step) for _ in (1,))


def by_repr(step):
    class Nested:
        def __repr__(self):
            step()
            return repr([Nested()])

    return repr(Nested())


def main():
    for limit in (1_000, 10_000, 50_000):
        sys.setrecursionlimit(limit)
        # Twice: what the first time left behind changes nothing.
        print(limit, [depth_of(start) for start in (by_any, by_repr, by_any, by_repr)])
