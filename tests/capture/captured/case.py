"""A case of everyday Python: a function that builds a program and a change.

The program takes one number. The change alters something that the program read.
"""

from collections.abc import Callable
from typing import Any

Program = Callable[[int], Any]
Change = Callable[[], object]
Case = Callable[[], tuple[Program, Change]]
CASES: dict[str, Case] = {}


def case(build: Case) -> Case:
    assert build.__name__ not in CASES
    CASES[build.__name__] = build
    return build
