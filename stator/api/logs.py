"""`set_logs` and STATOR_LOGS: what Stator does, told on the terminal."""

import logging
import os
import sys
from collections.abc import Callable
from typing import Any

from stator.api.argument_types import require
from stator.api.listeners import listen, unlisten
from stator.runtime.user_lines import place_of, stack_lines

NAMES = ("breaks", "recompiles", "guards", "graphs", "timing", "openxla", "stablehlo")
TORCH_NAMES = {
    "graph_breaks": "breaks",
    "recompiles_verbose": "recompiles",
    "graph": "graphs",
    "graph_code": "graphs",
    "aot_graphs": "graphs",
}
"""What TORCH_LOGS calls the same; STATOR_LOGS takes these, too."""

_on: set[str] = set()


def set_logs(
    *,
    breaks: bool | None = None,
    recompiles: bool | None = None,
    guards: bool | None = None,
    graphs: bool | None = None,
    timing: bool | None = None,
    openxla: bool | None = None,
    stablehlo: bool | None = None,
) -> None:
    """Switch logs on or off; what is not named stays as it is.

    `breaks`: where and why a capture stopped; `recompiles`: the guard that failed; `guards`, `graphs`: those
    of each capture; `timing`: how long it took; `openxla`: which operators of a graph XLA does not run;
    `stablehlo`: the programs that XLA is given. They are records of the loggers `stator.breaks` and so on,
    of level INFO, and go to the terminal unless the program has handlers of its own.

    >>> set_logs(breaks=True, recompiles=True)
    >>> set_logs(breaks=False, recompiles=False)
    """
    asked = {
        "breaks": breaks,
        "recompiles": recompiles,
        "guards": guards,
        "graphs": graphs,
        "timing": timing,
        "openxla": openxla,
        "stablehlo": stablehlo,
    }
    for name, wanted in asked.items():
        require("set_logs", name, wanted, bool, None)
        if wanted is None:
            continue
        (_on.add if wanted else _on.discard)(name)
        logging.getLogger(f"stator.{name}").setLevel(logging.INFO if wanted else logging.NOTSET)
    logger = logging.getLogger("stator")
    if _on and _terminal not in logger.handlers:
        logger.addHandler(_terminal)
    elif not _on:
        logger.removeHandler(_terminal)
    (listen if "breaks" in _on else unlisten)("break_hook", _log_break)
    (listen if _on & {"guards", "graphs", "timing"} else unlisten)("capture_hook", _log_capture)


def set_logs_by_environment() -> None:
    """What STATOR_LOGS and TORCH_LOGS ask for; called when the package is loaded."""
    wanted = {TORCH_NAMES.get(name, name) for name in _listed("STATOR_LOGS")}
    if unknown := sorted(wanted.difference(NAMES)):
        print(
            f"STATOR_LOGS: no such log: {', '.join(unknown)}. There are: {', '.join(NAMES)}", file=sys.stderr
        )
    wanted.update(TORCH_NAMES.get(name, name) for name in _listed("TORCH_LOGS"))
    if wanted.intersection(NAMES):
        switches: dict[str, Any] = {name: True for name in NAMES if name in wanted}
        set_logs(**switches)


def _listed(variable: str) -> list[str]:
    """The names in the variable; a `+` before one asks torch for more of it, and a `-` for less."""
    names = [name.strip() for name in os.environ.get(variable, "").split(",")]
    return [name.removeprefix("+") for name in names if name and not name.startswith("-")]


class _Terminal(logging.StreamHandler[Any]):
    """Standard error, unless the program has set up logging itself."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("[%(name)s] %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            self.stream = sys.stderr
            super().emit(record)


_terminal = _Terminal()


def _log_break(fn: Callable[..., Any], stop: Any) -> None:
    lines = [f"{place_of(fn)} stopped being captured: {stop['code']}: {stop['message']}"]
    if stop["detail"]:
        lines[0] += f" ({stop['detail']})"
    lines += stack_lines(stop["stack"])
    if stop["hint"]:
        lines.append(f"hint: {stop['hint']}")
    logging.getLogger("stator.breaks").info("\n  ".join(lines))


def _log_capture(fn: Callable[..., Any], row: Any) -> None:
    place = place_of(fn)
    if "timing" in _on:
        logging.getLogger("stator.timing").info(
            "%s: %d operators captured in %.1f ms, backend included",
            place,
            row["nodes"],
            row["seconds"] * 1e3,
        )
    if "graphs" in _on:
        logging.getLogger("stator.graphs").info("%s:\n%s", place, row["graph"])
    if "guards" in _on:
        logging.getLogger("stator.guards").info("%s:\n  %s", place, "\n  ".join(row["guards"]))
