# only: interpreted
"""A program that needs more native stack than the thread has: it reaches its bottom, or CPython's limit."""

import sys
import threading
import traceback

# From 3.12 on CPython counts calls from C by themselves, and its limit of those is reached first.
COUNTED = sys.version_info >= (3, 12)


class Bottom(Exception):
    pass


def through_c(n, log):
    """Recursion that has something to do on its way back, also when an exception passes."""
    try:
        if n == 0:
            raise Bottom("reached")
        return sorted([n - 1], key=lambda below: through_c(below, log))
    finally:
        log.append(n)


def generators(n):
    """Frames that live on while the stack they were started on is left."""
    if n == 0:
        yield 0
    else:
        for below in map(lambda x: x + 1, generators(n - 1)):
            yield below


def check(depth):
    log = []
    try:
        through_c(depth, log)
    except Bottom as error:
        assert log == list(range(depth + 1)), "what `finally` says is run once for each frame, in order"
        assert len(traceback.extract_tb(error.__traceback__)) == 2 * depth + 2
    else:
        raise AssertionError("no exception")


def main():
    sys.setrecursionlimit(100_000)
    depth = 100 if COUNTED else 20_000
    for _ in range(3):
        check(depth)
    assert list(generators(100 if COUNTED else 15_000)) == [100 if COUNTED else 15_000]
    # The stack is turned round at its end again and again.
    for depth_of_turn in range(*((90, 100) if COUNTED else (5_000, 5_020))):
        check(depth_of_turn)

    outcome = []

    def work():
        check(depth)
        outcome.append("thread")

    import stator._capture as capture

    threading.stack_size(1 << 18)
    threads = [threading.Thread(target=capture.interpret(work)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcome == ["thread"] * 4, outcome
    print("fine")
