"""Starts interpretation in every Python process of a conformance run.

This directory stands on PYTHONPATH of the processes under test, plain and interpreted alike, so
that `sys.path` and `sys.modules` look the same in both. Where STATOR_MODE says `interpret` or `capture`
the extension is loaded from the file named by STATOR_CAPTURE, without `stator` or torch and without an
entry in `sys.modules`; otherwise nothing happens.

Children inherit the environment and come here too, through `site`. One that a test starts without
`site` (-S), or with an environment of its own, is led to `early` instead, which runs this file
before anything of the child's program and takes every trace of it back. Only -I and -E shut both out.
"""

import _imp
import _posixsubprocess
import atexit
import posix
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_write, _open, _close, _getpid = posix.write, posix.open, posix.close, posix.getpid
_fork_exec = _posixsubprocess.fork_exec
_APPEND = posix.O_WRONLY | posix.O_CREAT | posix.O_APPEND | posix.O_CLOEXEC
_PATH = b"PYTHONPATH"
_INSIDE = __file__.rpartition("/")[0].encode()
# Kept apart: a test may clear the environment.
_settings = {name: value for name, value in posix.environ.items() if name.startswith(b"STATOR_")}

capture: "Any" = None


def _append(text: str) -> None:
    path = _settings.get(b"STATOR_STATISTICS")
    if path:
        file = _open(path, _APPEND, 0o666)
        try:
            _write(file, text.encode("utf-8", "backslashreplace") + b"\n")
        finally:
            _close(file)


def write_statistics() -> None:
    """Append this process's counts so far; the last line of a process holds."""
    if capture is not None:
        _append(repr({"pid": _getpid(), **capture.statistics(), **capture.capture_statistics()}))


def take_over() -> None:
    """Interpret, or capture, whatever runs from now on."""
    if _settings[b"STATOR_MODE"] == b"capture":
        one_in, seed = map(int, _settings[b"STATOR_BREAKS"].split())
        if one_in:
            capture.break_at_random(one_in, seed)
        capture.capture_everything(True)
    else:
        capture.interpret_everything(True)


def _load(path: str) -> "Any":
    if path.endswith(".py"):
        module = type(sys)("stator._capture")
        file = _open(path, posix.O_RDONLY | posix.O_CLOEXEC)  # `open` does not exist yet in `early`
        exec(compile(posix.read(file, 1 << 20), path, "exec"), module.__dict__)
        _close(file)
        return module
    before = sys.modules.get("stator._capture")
    spec = type(sys.__spec__)("stator._capture", None, origin=path)
    module = _imp.create_dynamic(spec)
    _imp.exec_dynamic(module)
    if before is None:
        sys.modules.pop("stator._capture", None)
    return module


def _options(arguments: "Any") -> str:
    """The letters of the options that stand before a Python's program."""
    letters = ""
    rest = iter(arguments[1:])
    for argument in rest:
        text = argument.decode("latin-1") if isinstance(argument, bytes) else str(argument)
        if len(text) < 2 or text[0] != "-" or text.startswith("--"):
            break
        for position, letter in enumerate(text[1:], 2):
            letters += letter
            if letter in "cmWX":  # the rest of it, or the next one, is its argument
                if letter in "WX" and position == len(text):
                    next(rest, None)
                break
        if letters[-1] in "cm":
            break
    return letters


def _led_to_early(given: "dict[bytes, bytes]") -> "dict[bytes, bytes]":
    """The environment of a child that starts in `early`, with what that has to take back."""
    path = given.get(_PATH)
    early = _INSIDE + b"/early"
    added = b" ".join(name for name in _settings if name not in given)
    return {
        **given,
        **_settings,
        b"STATOR_ADDED": added,
        b"STATOR_PATH": b"" if path is None else b"=" + path,
        _PATH: early if not path else early + b":" + path,
    }


def _is_python(executable: bytes) -> bool:
    return executable.rpartition(b"/")[2].rstrip(b"0123456789.") == b"python"


def _changed(executable: bytes, command: "Any", given: "dict[bytes, bytes] | None") -> "Any":
    """The environment that a process needs to be interpreted, or None where `given` is right."""
    if not _is_python(executable):
        return None
    letters = _options(command)
    if "I" in letters or "E" in letters:
        return None
    if given is None:
        given = dict(sys.modules["os"].environb.items())
    comes_here = given.get(_PATH, b"").split(b":")[0] == _INSIDE and _settings.items() <= given.items()
    return None if comes_here and "S" not in letters else _led_to_early(given)


def fork_exec(*arguments: "Any") -> "Any":
    """Start a process as `_posixsubprocess` does; a Python is interpreted."""
    try:
        command, executables, environment = arguments[0], arguments[1], arguments[5]
        given = None if environment is None else dict(entry.split(b"=", 1) for entry in environment)
        if (changed := _changed(executables[0], command, given)) is not None:
            entries = [name + b"=" + value for name, value in changed.items()]
            arguments = (*arguments[:5], entries, *arguments[6:])
    except Exception:  # arguments that are no good: the real function says so
        pass
    return _fork_exec(*arguments)


def _start() -> None:
    global capture
    try:
        capture = _load(_settings[b"STATOR_CAPTURE"].decode())
        posix.register_at_fork(after_in_child=capture.reset_statistics)
        atexit.register(write_statistics)
        _posixsubprocess.fork_exec = fork_exec
        take_over()
    except BaseException as error:
        # A sub-interpreter may refuse the extension; standard error belongs to the test.
        _append(repr({"failed": f"{type(error).__name__}: {error}"}))


if _settings.get(b"STATOR_MODE", b"plain") != b"plain":
    _start()
