# only: interpreted
"""Deep recursion in a thread with a small C stack; through C callbacks: RecursionError or the bottom, no crash."""

import sys
import threading


def main():
    sys.setrecursionlimit(50_000)
    outcome = []

    def down(n):
        return 0 if n == 0 else 1 + down(n - 1)

    def through_c(n):
        return n if n == 0 else sorted([n - 1], key=through_c)[0]

    def work():
        outcome.append(down(30_000))
        through_c(50)
        try:
            through_c(5_000)
        except RecursionError:
            pass
        outcome.append("through")

    threading.stack_size(1 << 20)
    import stator._capture as capture

    thread = threading.Thread(target=capture.interpret(work))
    thread.start()
    thread.join()
    assert outcome == [30_000, "through"], outcome
    print("fine")
