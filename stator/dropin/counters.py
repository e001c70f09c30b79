"""Breaks in `torch._dynamo.utils.counters`, where that was loaded (graphs: backends/invoke.py)."""

import sys
from typing import Any

from stator.api.listeners import listen, unlisten
from stator.dropin.errors import torch_words


def follow() -> None:
    """Count from now on."""
    listen("break_hook", _count_break)


def unfollow() -> None:
    """Count no longer."""
    unlisten("break_hook", _count_break)


def _counters() -> Any:
    return getattr(sys.modules.get("torch._dynamo.utils"), "counters", None)


def _count_break(fn: Any, stop: Any) -> None:
    counters = _counters()
    # What the program raises is no break: TorchDynamo, too, lets CPython raise it.
    if counters is None or stop["code"] == "exception":
        return
    detail = f" ({stop['detail']})" if stop["detail"] else ""
    words = torch_words(stop["code"], stop["detail"] or "")
    text = f"{stop['code']}: {stop['message']}{detail}"
    counters["graph_break"][f"{words}. {text}" if words else text] += 1
    counters["frames"]["total"] += 1
