"""50,000 Python frames below each other."""

import sys


def main():
    sys.setrecursionlimit(50_000)

    def down(n):
        return 0 if n == 0 else 1 + down(n - 1)

    print(down(49_000))

    def methods():
        class A:
            def f(self, n, *args, k=0, **kwargs):
                return n and 1 + self.f(n - 1, 1, k=k, z=2)

        return A().f(40_000, 1, 2, k=3, z=4)

    print(methods())

    reached = 0

    def endless():
        nonlocal reached
        reached += 1
        endless()

    try:
        endless()
    except RecursionError as error:
        print(reached, error)
