"""Starts interpretation in every Python process of a conformance run.

This directory stands on PYTHONPATH of the processes under test, plain and interpreted alike, so
that `sys.path` and `sys.modules` look the same in both. With STATOR_INTERPRET=1 the extension is
loaded from the file named by STATOR_CAPTURE, without `stator` or torch and without an entry in
`sys.modules`; otherwise nothing happens.
"""

import _imp
import atexit
import posix
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_write, _open, _close, _getpid = posix.write, posix.open, posix.close, posix.getpid
_APPEND = posix.O_WRONLY | posix.O_CREAT | posix.O_APPEND | posix.O_CLOEXEC

capture: "Any" = None


def _append(text: str) -> None:
    path = posix.environ.get(b"STATOR_STATISTICS")
    if path:
        file = _open(path, _APPEND, 0o666)
        try:
            _write(file, text.encode("utf-8", "backslashreplace") + b"\n")
        finally:
            _close(file)


def write_statistics() -> None:
    """Append this process's counts so far; the last line of a process holds."""
    if capture is not None:
        _append(repr({"pid": _getpid(), **capture.statistics()}))


def _load(path: str) -> "Any":
    if path.endswith(".py"):
        module = type(sys)("stator._capture")
        with open(path) as source:
            exec(compile(source.read(), path, "exec"), module.__dict__)
        return module
    before = sys.modules.get("stator._capture")
    spec = type(sys.__spec__)("stator._capture", None, origin=path)
    module = _imp.create_dynamic(spec)
    _imp.exec_dynamic(module)
    if before is None:
        sys.modules.pop("stator._capture", None)
    return module


def _start() -> None:
    global capture
    try:
        capture = _load(posix.environ[b"STATOR_CAPTURE"].decode())
        posix.register_at_fork(after_in_child=capture.reset_statistics)
        atexit.register(write_statistics)
        capture.interpret_everything(True)
    except BaseException as error:
        # A sub-interpreter may refuse the extension; standard error belongs to the test.
        _append(repr({"failed": f"{type(error).__name__}: {error}"}))


if posix.environ.get(b"STATOR_INTERPRET") == b"1":
    _start()
