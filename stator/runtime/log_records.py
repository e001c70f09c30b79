"""Records of `logging` as nodes of a graph: every run makes them, in their places among the operators.

Captures call `log` where the program calls `Logger._log`. What it reads of loggers and handlers is
guarded like anything that captured code reads. Where it breaks, the program's call is made natively.
"""

import io
import logging
import sys
from collections.abc import Callable
from typing import Any

from stator import _capture
from stator.runtime.output import ERRORS, OutputCall

_HANDLERS = (
    logging.NullHandler,
    logging.StreamHandler,
    logging.FileHandler,
    type(logging.lastResort),
)
_STREAMS = (io.TextIOWrapper, io.StringIO, type(None))
_MAKE, _HANDLE, _CALL = logging.Logger.makeRecord, logging.Logger.handle, logging.Logger.callHandlers


def _outside(*_: object) -> None:
    raise RuntimeError("a record of a run is made by captures only")


# The extension puts its own in its place: it records a call of what `recorded` gives.
emit: Callable[[str, int, Any, Any, bool], None] = _outside


def log(
    self: logging.Logger,
    level: int,
    msg: Any,
    args: Any,
    exc_info: Any = None,
    extra: Any = None,
    stack_info: bool = False,
    stacklevel: int = 1,
) -> None:
    """In a capture, instead of `Logger._log`."""
    usual = not exc_info and extra is None and not stack_info and stacklevel == 1
    emit(self.name, level, msg, args, usual and _writes_plainly(self))


def is_enabled_for(self: logging.Logger, level: int) -> bool:
    """In a capture, instead of `Logger.isEnabledFor`, which takes a lock to keep what it found.

    What it found is kept here too: a logger of no manager is asked once, whatever its level is later.
    """
    if self.disabled:
        return False
    known: bool | None = self._cache.get(level)  # type: ignore[attr-defined]
    if known is None:
        known = self.manager.disable < level and level >= self.getEffectiveLevel()
        self._cache[level] = known  # type: ignore[attr-defined]
    return known


def _writes_plainly(logger: logging.Logger) -> bool:
    """Whether a record of this logger runs no code but that of `logging`."""
    of_logging = (
        logging.Logger.makeRecord is _MAKE
        and logging.Logger.handle is _HANDLE
        and logging.Logger.callHandlers is _CALL
        and logging._logRecordFactory is logging.LogRecord  # type: ignore[attr-defined]
    )
    if not of_logging or type(logger) not in (logging.Logger, logging.RootLogger) or logger.filters:
        return False
    if logger is not logging.root and logging.Logger.manager.loggerDict.get(logger.name) is not logger:
        return False  # one that a run would not find by its name
    found = False
    asked: logging.Logger | None = logger
    while asked is not None:
        for handler in asked.handlers:
            found = True
            if not _is_plain(handler):
                return False
        asked = asked.parent if asked.propagate else None
    return found or logging.lastResort is None or _is_plain(logging.lastResort)


def _is_plain(handler: logging.Handler) -> bool:
    formatter = handler.formatter
    return (
        type(handler) in _HANDLERS
        and not handler.filters
        and (formatter is None or type(formatter) is logging.Formatter)
        and (not isinstance(handler, logging.StreamHandler) or type(handler.stream) in _STREAMS)
    )


def recorded(name: str, level: int, message: Any, arguments: Any, is_plain: bool) -> OutputCall:
    """The node for a record of the logger of that name, made where the program stands."""
    if not is_plain:
        raise TypeError("a record with more than its text, or a handler of the program's")
    logger = logging.root if name == logging.root.name else logging.getLogger(name)
    file, line, function = _caller()

    def handle(message: Any, arguments: Any) -> None:
        logger.handle(
            logger.makeRecord(name, level, file, line, message, arguments, None, function, None, None)
        )

    call = OutputCall(handle, (message, arguments))
    call.streams = 0 if logger.hasHandlers() else ERRORS
    return call


def _caller() -> tuple[str, int, str]:
    """Where the innermost frame stands that is neither ours nor of `logging`."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename in (__file__, logging._srcfile) and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name


def replace() -> None:
    """Captures call ours."""
    _capture.substitute(logging.Logger._log, log)
    _capture.substitute(logging.Logger.isEnabledFor, is_enabled_for)
