"""Warnings about compiled functions that gain nothing from being compiled: one for each of them."""

import warnings
from collections.abc import Callable
from typing import Any

from stator import _capture
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
    warnings.warn(f"{message} (of {place_of(fn)})", RuntimeWarning, stacklevel=2)


_capture.configure(nothing_hook=warn_of_nothing, limit_hook=warn_of_limit)
