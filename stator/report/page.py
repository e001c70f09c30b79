"""The page as text: one file of HTML that asks nothing of the network."""

import datetime
import functools
import html
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stator.api.cache import CacheEntry, Guard
from stator.api.explain import ExplainOutput
from stator.report.source import excerpts
from stator.runtime.user_lines import Frame, line_text, owner_of
from stator.support import torch_version


def page(outputs: Sequence[ExplainOutput], title: str, notes: Sequence[str] = ()) -> str:
    """Everything that is known of these functions; `notes` stand below the head."""
    import stator

    captured = [entry for output in outputs for entry in output.entries if entry.nodes]
    operators = sum(output.op_count for output in outputs)
    breaks = sum(output.graph_break_count for output in outputs)
    text: str = _template().render(
        title=title,
        notes=notes,
        functions=[_function(i + 1, output) for i, output in enumerate(outputs)],
        share=operators / (operators + breaks) if operators + breaks else 1.0,
        operators=operators,
        breaks=breaks,
        graphs=len(captured),
        guards=sum(len(entry.guards) for entry in captured),
        recompiles=sum(len(output.recompiles) for output in outputs),
        seconds=sum(entry.seconds for entry in captured),
        served=sum(entry.hits for entry in captured),
        made=f"Stator {stator.__version__}, torch {torch_version()}, Python {platform.python_version()}, "
        f"{datetime.datetime.now():%Y-%m-%d %H:%M}",
    )
    return text


def in_frame(text: str) -> str:
    """The page inside of another one, as notebooks show it: its style stays its own."""
    return (
        f'<iframe srcdoc="{html.escape(text)}" style="width:100%;height:40em;border:1px solid #8884;'
        'border-radius:8px" sandbox="allow-scripts"></iframe>'
    )


@functools.cache
def _template() -> Any:
    try:
        import jinja2
    except ImportError as error:
        raise ImportError("The page of stator.explain needs Jinja2: pip install jinja2") from error
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["ms"] = _milliseconds
    environment.filters["short"] = short_path
    return environment.from_string(Path(__file__).with_name("page.html.jinja").read_text(encoding="utf-8"))


def _function(number: int, output: ExplainOutput) -> dict[str, Any]:
    """What the template shows of one function."""
    captured = [entry for entry in output.entries if entry.nodes]
    longest = max((entry.seconds for entry in captured), default=0.0) or 1.0
    source = excerpts(output)
    name, _, place = output.function.partition(" (")
    return {
        "id": f"f{number}",
        "name": name.rsplit("<locals>.", 1)[-1],
        "full_name": name,
        "place": place.rstrip(")"),
        "output": output,
        "breaks": [_break(why) for why in output.break_reasons],
        "segments": [_segment(entry, longest, name.rsplit("<locals>.", 1)[-1]) for entry in captured],
        "excerpts": [each for each in source if each.is_own or each.has_work],
        "passed": [each for each in source if not each.is_own and not each.has_work],
        "capture_seconds": sum(entry.seconds - entry.backend_seconds for entry in captured),
        "backend_seconds": sum(entry.backend_seconds for entry in captured),
        "served": sum(entry.hits for entry in captured),
    }


def _break(why: Any) -> dict[str, Any]:
    return {
        "why": why,
        "own": line_text(why.own_frame) if why.own_frame else "",
        "below": line_text(why.library_frame) if why.library_frame else "",
        "stack": why.user_stack,
    }


def _segment(entry: CacheEntry, longest: float, name: str) -> dict[str, Any]:
    by_owner: dict[bool, list[Guard]] = {True: [], False: []}
    for guard in entry.guards:
        by_owner[_is_own(guard.user_line)].append(guard)
    return {
        "entry": entry,
        "begins": _begin_text(entry.begins, name),
        "ends": _frame_text(entry.ends),
        "capture_share": 100 * (entry.seconds - entry.backend_seconds) / longest,
        "backend_share": 100 * entry.backend_seconds / longest,
        "own_guards": by_owner[True],
        "other_guards": by_owner[False],
    }


def _is_own(user_line: str) -> bool:
    return owner_of(user_line.rsplit(":", 1)[0]) < 2


def _begin_text(frame: Frame | None, name: str) -> str:
    """A module begins in torch's code, which calls its forward."""
    return f"call of {name}" if frame is None or owner_of(frame[0]) == 2 else _frame_text(frame)


def _frame_text(frame: Frame | None) -> str:
    return "" if frame is None else f"{frame[2]}, {Path(frame[0]).name}:{frame[1]}"


def short_path(file: str) -> str:
    """A path as far as it tells something: below site-packages, below the current folder, or whole."""
    for marker in ("site-packages/", "dist-packages/"):
        if marker in file:
            return file.rsplit(marker, 1)[1]
    here = str(Path.cwd()) + "/"
    return file.removeprefix(here)


def _milliseconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"
