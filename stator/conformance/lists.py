"""Reads the fixed lists: the fast selection, and the tests that cannot be equal."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).resolve().parent
UNEQUAL = HERE / "unequal.txt"
UNEQUAL_CAPTURED = HERE / "unequal_capture.txt"
MOST_UNEQUAL = 40


class BadList(ValueError):
    """A list that breaks its own rules."""


def _lines(file: Path) -> list[str]:
    lines = (line.strip() for line in file.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def selection(name: str) -> list[str]:
    """The modules of the selection `name`."""
    return _lines(HERE / f"selection_{name}.txt")


def unequal(version: str, file: Path = UNEQUAL) -> dict[str, str]:
    """The tests that cannot be equal on `version` ("3.11"), each with its reason.

    A line is `VERSIONS TEST REASON…`, with VERSIONS such as `3.11,3.12` or `all`.
    """
    found: dict[str, str] = {}
    lines = _lines(file)
    if len(lines) > MOST_UNEQUAL:
        raise BadList(f"{file}: {len(lines)} tests, at most {MOST_UNEQUAL} are allowed")
    for line in lines:
        parts = line.split(None, 2)
        if len(parts) < 3:
            raise BadList(f"{file}: no reason in {line!r}")
        versions, test, reason = parts
        if versions == "all" or version in versions.split(","):
            found[test] = reason
    return found
