"""`python -m stator report`: the page for everything that a program compiled."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from stator.api import cache
from stator.api.explain import ExplainOutput, output_of
from stator.report.page import page


@contextlib.contextmanager
def written_to(path: Path, program: str) -> Iterator[None]:
    """Write the page when the block ends, also where it ends with an exception."""
    cache.keep_all()
    try:
        yield
    finally:
        write(path, program)
        print(f"stator: what was captured: {path}", file=sys.stderr)


def write(path: Path, program: str) -> None:
    """The page for what was compiled and is alive."""
    outputs = [output_of(compiled) for compiled in cache.all_in_order()]
    called = [output for output in outputs if output.entries or output.break_reasons]
    path.write_text(page(called, f"Stator: {program}", _notes(outputs)), encoding="utf-8")


def _notes(outputs: list[ExplainOutput]) -> list[str]:
    if not outputs:
        return ["The program compiled nothing: no torch.compile, no stator.compile was called."]
    never = [
        output.function.split(" (")[0]
        for output in outputs
        if not output.entries and not output.break_reasons
    ]
    return [f"Compiled and never called: {', '.join(dict.fromkeys(never))}."] if never else []
