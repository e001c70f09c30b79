"""No error of Python's is dropped in src/ other than by functions that keep interrupts."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# What drops any error that is set, and what to write in its place.
FORBIDDEN = {
    r"\bPyErr_Clear\b": "drop_error(), or drop_even_interrupts()",
    r"\berror_scope\b": "ErrorScope",
    r"\bPyObject_HasAttr(String)?\b|\bhasattr\(": "has_attribute()",
    r"\bPyDict_GetItem\(|\bPyMapping_HasKey": "PyDict_GetItemWithError()",
}
# The one place; C files run no Python code where they clear an error.
OWN = "capture/cpython/interrupts.h"
HANDLER = re.compile(
    r"catch \((?:const )?(?:std::exception|(?:py|pybind11)::error_already_set|python_error)& *\w*\) \{"
)
KEEPS = re.compile(r"raise_caught|drop_caught|\.restore\(\)|\bthrow\b|drop_error")
# Is that function; looks at an exception that its caller holds.
LOOKS_ONLY = {"torch/tracing/caught_error.h", "backends/run_recovery.cpp"}


def _sources() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "src").rglob("*.*")):
        if path.suffix in {".h", ".cpp", ".inc"}:
            yield str(path.relative_to(ROOT / "src")), path.read_text()


def _without_texts(code: str) -> str:
    return re.sub(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"', "", code)


def _body(code: str, start: int) -> str:
    depth, end = 1, start
    while depth:
        depth += {"{": 1, "}": -1}.get(code[end], 0)
        end += 1
    return code[start : end - 1]


@pytest.mark.parametrize("pattern", list(FORBIDDEN))
def test_errors_are_dropped_by_what_keeps_interrupts(pattern: str) -> None:
    found = [
        f"{name}: {word.group()} (rather: {FORBIDDEN[pattern]})"
        for name, code in _sources()
        if name != OWN
        for word in re.finditer(pattern, _without_texts(code))
    ]
    assert not found


def test_caught_exceptions_give_back_the_error_that_they_hold() -> None:
    """They may hold an interrupt."""
    handlers = [
        (name, _body(code, handler.end()))
        for name, code in ((name, _without_texts(code)) for name, code in _sources())
        for handler in HANDLER.finditer(code)
    ]
    assert len(handlers) > 20
    assert not [
        f"{name}: {body}" for name, body in handlers if name not in LOOKS_ONLY and not KEEPS.search(body)
    ]
