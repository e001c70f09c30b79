# only: interpreted
"""40,000 calls below each other with star arguments; CPython 3.11 itself recurses in C here and dies."""

import sys


def main():
    sys.setrecursionlimit(50_000)

    class A:
        def f(self, n, *args, k=0, **kwargs):
            return n and 1 + self.f(n - 1, *args, k=k, **kwargs)

    assert A().f(40_000, 1, 2, k=3, z=4) == 40_000

    class B:
        def __init__(self, n):
            self.inner = B(n - 1) if n else None

    # Classes are called through C: as deep as the native stack goes, then RecursionError.
    try:
        depth, b = 0, B(20_000)
    except RecursionError:
        b = None
    while b and b.inner:
        depth, b = depth + 1, b.inner
    assert b is None or depth == 20_000
    print("fine")
