"""`python -m stator report`: the page for everything that a program compiled."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stator.api import cache
from stator.api.explain import ExplainOutput, output_of
from stator.report.page import page


@contextlib.contextmanager
def written_to(path: Path, program: str) -> Iterator[None]:
    """Write the page when the block ends, also where it ends with an exception."""
    dropped: list[ExplainOutput] = []

    def note(compiled: Any) -> None:
        output = output_of(compiled)
        if was_called(output):
            dropped.append(output)

    cache.keep_all(before_drop=note)
    try:
        yield
    finally:
        outputs = [*dropped, *map(output_of, cache.all_in_order())]
        called = [output for output in outputs if was_called(output)]
        path.write_text(page(called, f"Stator: {program}", _notes(outputs)), encoding="utf-8")
        print(f"stator: what was captured: {path}", file=sys.stderr)


def was_called(output: ExplainOutput) -> bool:
    """Whether there is anything to tell of the function."""
    return bool(output.entries or output.break_reasons)


def _notes(outputs: list[ExplainOutput]) -> list[str]:
    if not outputs:
        return ["The program compiled nothing: no torch.compile, no stator.compile was called."]
    called = {output.function for output in outputs if was_called(output)}
    never = dict.fromkeys(output.function for output in outputs if output.function not in called)
    return [f"Compiled and never called: {', '.join(never)}."] if never else []
