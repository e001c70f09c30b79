"""A line on the terminal while a backend takes long to compile a graph."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

PATIENCE = 2.0
"""Seconds before anything is said."""


@contextlib.contextmanager
def told_on_terminal(what: str) -> Iterator[None]:
    """Say after two seconds that `what` is under way, and in the end how long it took."""
    if not _is_terminal():
        yield
        return
    start = time.perf_counter()
    said = threading.Event()

    def say() -> None:
        said.set()
        print(f"stator: {what} …", end="", file=sys.stderr, flush=True)

    timer = threading.Timer(PATIENCE, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if said.is_set():
            print(f" {time.perf_counter() - start:.1f} s", file=sys.stderr, flush=True)


def _is_terminal() -> bool:
    with contextlib.suppress(Exception):  # a program may put anything there
        return bool(sys.stderr.isatty())
    return False
