"""Warnings about compiled functions that gain nothing from being compiled: one for each of them."""

import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

from stator import _capture
from stator.api.cache import compiled_forms, guard_of
from stator.runtime.user_lines import place_of, stack_lines


def warn_of_nothing(fn: Callable[..., Any], stop: Any) -> None:
    """Several calls, and no operator was captured."""
    where = stack_lines(stop["stack"][-1:])
    warnings.warn(
        f"stator: nothing of {place_of(fn)} is captured: {stop['code']}: {stop['message']}"
        + (f" ({stop['detail']})" if stop["detail"] else "")
        + (f" at {where[0]}" if where else "")
        + ". stator.explain(fn)(...) tells more.",
        RuntimeWarning,
        stacklevel=2,
    )


def warn_of_limit(fn: Callable[..., Any], message: str) -> None:
    """The function was captured too often: from now on it is not."""
    warnings.warn(f"{message} (of {place_of(fn)}){_what_kept_failing(fn)}", RuntimeWarning, stacklevel=2)


def _what_kept_failing(fn: Callable[..., Any]) -> str:
    """What most of the guards that failed were about, if it was one thing."""
    failed = [guard_of(miss).source for form in compiled_forms(fn) for miss in form.misses]
    if len(failed) < 2:
        return ""
    source, times = Counter(failed).most_common(1)[0]
    return f". What kept failing: {source} ({times} of {len(failed)} times)" if times > 1 else ""


_capture.configure(nothing_hook=warn_of_nothing, limit_hook=warn_of_limit)
