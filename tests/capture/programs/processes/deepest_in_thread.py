# only: interpreted
"""A thread with a small C stack recurses through C callbacks: RecursionError or the bottom, no crash."""

import sys
import threading


def main():
    sys.setrecursionlimit(50_000)
    outcome = []

    def through_c(n):
        return n if n == 0 else sorted([n - 1], key=through_c)[0]

    def work():
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
    assert outcome == ["through"], outcome
    print("fine")
