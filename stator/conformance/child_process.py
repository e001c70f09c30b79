"""Runs one test module in a process of its own, plainly or interpreted."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from stator.conformance.outcome import Outcome, Run, read_record, read_statistics
from stator.conformance.python import Python

INSIDE = Path(__file__).resolve().parent / "inside"
_TAIL = 6000


@dataclass(frozen=True)
class Choice:
    """Which tests of a module run: those that match a pattern and are not to be skipped."""

    match: str = "*"
    skip: tuple[str, ...] = ()


EVERY_TEST = Choice()
_running: set[subprocess.Popen[bytes]] = set()
_stopped = threading.Event()


class Stopped(Exception):
    """The user wants no more."""


def stop_everything() -> None:
    """End what runs now, for a user who interrupts: the tests' sessions hear no Ctrl-C."""
    _stopped.set()
    for process in list(_running):
        with contextlib.suppress(ProcessLookupError):
            process.kill()


def prepare_this_process() -> None:
    """Give children SIGINT with its default action, even where a shell ignores it for us."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


@dataclass(frozen=True)
class Under:
    """The extension, and what it does with every function: `interpret` or `capture`."""

    extension: Path
    mode: str = "interpret"
    one_in: int = 0
    """Captures break at one of so many instructions, 0: at none but those that are not captured."""
    seed: int = 0


def _environment(python: Python, directory: Path, under: Under | None) -> dict[str, str]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "STATOR_")) and name not in ("COLUMNS", "LINES", "VIRTUAL_ENV")
    }
    environment.update(
        PYTHONPATH=os.pathsep.join((str(INSIDE), *python.path)),
        PYTHONHASHSEED="1",
        TMPDIR=str(directory / "tmp"),
        STATOR_RUN=str(directory),
        STATOR_STATISTICS=str(directory / "statistics"),
        STATOR_CAPTURE=str(under.extension) if under else "",
        STATOR_MODE=under.mode if under else "plain",
        STATOR_BREAKS=f"{under.one_in} {under.seed}" if under else "0 0",
    )
    return environment


def _kill_left_over(directory: Path) -> None:
    """End the processes that tests left behind, found by the directory in their environment."""
    mark = f"STATOR_RUN={directory}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    os.kill(int(entry.name), signal.SIGKILL)


def _wait(process: subprocess.Popen[bytes], limit: float) -> str:
    """Wait for the end; "" or what is wrong with it."""
    try:
        code = process.wait(limit)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGABRT)  # faulthandler then writes where it hangs
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(3)
        return f"hang (no end within {limit:g} s)"
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if code < 0:
        return f"crash ({signal.Signals(-code).name})"
    return f"exit status {code}" if code else ""


def _run_once(
    python: Python, module: str, under: Under | None, limit: float, choice: Choice, directory: Path
) -> Run:
    for part in ("work", "tmp"):
        (directory / part).mkdir()
    (directory / "choice").write_text(json.dumps(vars(choice)))
    record, stacks, output = directory / "record", directory / "stacks", directory / "output"
    command = [
        python.executable,
        "-m",
        "stator_conformance_child",
        f"{python.package}.{module}",
        str(directory),
    ]
    started = time.monotonic()
    with open(output, "wb") as sink:
        process = subprocess.Popen(
            command,
            cwd=directory / "work",
            env=_environment(python, directory, under),
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        _running.add(process)
        broken = _wait(process, limit)
        _running.discard(process)
    if _stopped.is_set():
        raise Stopped
    run = Run(seconds=time.monotonic() - started)
    _kill_left_over(directory)
    run.outcomes, running, complete = read_record(record, str(directory))
    read_statistics(directory / "statistics", run)
    if not broken and not complete:
        broken = "ended before the tests did"
    if broken:
        run.broken = broken
        run.broken_in = running or ("(exit)" if complete else "(between tests)")
        texts = [file.read_text(errors="replace")[-_TAIL:] for file in (stacks, output) if file.exists()]
        run.stack = "\n".join(text for text in texts if text)
    return run


def run_module(
    python: Python,
    module: str,
    *,
    under: Under | None = None,
    limit: float = 300.0,
    choice: Choice = EVERY_TEST,
) -> Run:
    """Run `module`, `under` the extension or plainly without one."""
    directory = Path(tempfile.mkdtemp(prefix="st", dir="/tmp"))
    try:
        return _run_once(python, module, under, limit, choice, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def run_past_breaks(
    python: Python, module: str, under: Under, limit: float, tries: int, choice: Choice
) -> tuple[Run, list[Run]]:
    """Run interpreted; after a crash or hang run what is left, so that one break hides little.

    Gives the whole, and each run that broke.
    """
    whole = run_module(python, module, under=under, limit=limit, choice=choice)
    broken = [whole] if whole.broken else []
    last = whole
    while last.broken and tries > 0 and not last.broken_in.startswith("("):
        tries -= 1
        whole.outcomes[last.broken_in] = Outcome(((last.broken, ""),))
        rest = Choice(choice.match, (*choice.skip, *whole.outcomes))
        last = run_module(python, module, under=under, limit=limit, choice=rest)
        whole.outcomes.update(last.outcomes)
        whole.seconds += last.seconds
        whole.statistics.update(last.statistics)
        whole.reasons.update(last.reasons)
        if last.broken:
            broken.append(last)
    return whole, broken
