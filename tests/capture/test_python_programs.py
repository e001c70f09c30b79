"""Everyday Python, captured whole: each program is one capture, and a change of what it read is noticed.

The next call after the change must give what a plain call gives. The cases are in `captured/`, by topic.
"""

import importlib
from typing import Any

import pytest
from captured.case import CASES

capture = importlib.import_module("stator._capture")
for topic in ("functions", "contexts", "introspection", "classes", "closures", "containers", "everyday"):
    importlib.import_module(f"captured.{topic}")


def equal(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(equal, a, b))
    return bool(a == b)


@pytest.mark.parametrize("name", CASES)
def test_program(name: str) -> None:
    program, change = CASES[name]()
    compiled = capture.Compiled(program)
    wanted = program(4)
    assert equal(compiled(4), wanted)
    assert compiled.breaks == []
    assert equal(compiled(4), wanted)
    assert [entry["hits"] for entry in compiled.entries] == [1]
    change()
    changed = program(4)
    assert not equal(changed, wanted), "the change must matter"
    assert equal(compiled(4), changed)
    assert equal(compiled(4), changed)
    assert len(compiled.misses) == 1
