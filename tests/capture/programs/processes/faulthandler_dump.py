"""faulthandler prints the frames that CPython would show."""

import faulthandler
import sys


def main():
    def inner():
        faulthandler.dump_traceback(file=sys.stdout, all_threads=False)
        sys.stdout.flush()

    def outer():
        return [inner() for _ in range(1)]

    sys.stdout.flush()
    outer()
    sorted([1], key=lambda x: inner())
