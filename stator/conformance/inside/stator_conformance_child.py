"""Runs one test module in this process and writes each test's outcome as a line of JSON.

Called as `python -m stator_conformance_child MODULE DIRECTORY`: outcomes are appended to the file
`record` in DIRECTORY as they happen, faulthandler writes to `stacks`, and `choice` holds, as JSON,
the ids of tests to `skip` and a pattern that the others have to `match`.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import random
import subprocess
import sys
import time
import traceback
import unittest
from fnmatch import fnmatchcase
from typing import Any

import sitecustomize  # type: ignore[import-not-found]

_dumps, _getpid, _clock = json.dumps, os.getpid, time.monotonic
_open, _write, _close = os.open, os.write, os.close
_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC


ErrorInfo = Any  # what sys.exc_info() gives


class Record:
    """The file of outcomes; a forked copy of this process writes nothing into it."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._pid = _getpid()

    def line(self, **fields: Any) -> None:
        if _getpid() != self._pid:
            return
        file = _open(self._path, _APPEND, 0o666)
        try:
            _write(file, _dumps(fields).encode() + b"\n")
        finally:
            _close(file)


class RecordingResult(unittest.TestResult):
    """A test result that keeps nothing in memory and writes each test when it ends."""

    def __init__(self, record: Record) -> None:
        super().__init__()
        self._record = record
        self._seen: dict[str, int] = {}
        self._current: str | None = None
        self._events: list[list[str]] = []
        self._texts: list[str] = []
        self._since = 0.0
        self._statistics_at = 0.0

    def _name(self, test: unittest.TestCase) -> str:
        name = test.id()
        count = self._seen[name] = self._seen.get(name, 0) + 1
        return name if count == 1 else f"{name}#{count}"

    def startTest(self, test: unittest.TestCase) -> None:
        self.testsRun += 1
        self._current = self._name(test)
        self._events, self._texts = [], []
        self._record.line(start=self._current)
        self._since = _clock()
        if sitecustomize.capture is not None:
            if self._since - self._statistics_at > 1:
                sitecustomize.write_statistics()
                self._statistics_at = self._since
            # Stator removes itself when a test switches a tracing tool on.
            sitecustomize.take_over()

    def stopTest(self, test: unittest.TestCase) -> None:
        if self._current is None:  # 3.12.1 does not start a test that a decorator skips
            return
        seconds = round(_clock() - self._since, 4)
        events = self._events or [["ok", ""]]
        self._record.line(test=self._current, events=events, texts=self._texts, seconds=seconds)
        self._current = None

    def _event(self, test: unittest.TestCase, kind: str, detail: str, text: str = "") -> None:
        if self._current is not None:
            self._events.append([kind, detail])
            if text:
                self._texts.append(text)
        else:  # set-up or tear-down of a class or module
            texts = [text] if text else []
            self._record.line(test=self._name(test), events=[[kind, detail]], texts=texts, seconds=0)

    def _exception(self, test: unittest.TestCase, kind: str, error: ErrorInfo, where: str = "") -> None:
        lines = traceback.format_exception_only(error[0], error[1])
        last = lines[-1].strip().splitlines()[-1:] if lines else []
        text = "".join(traceback.format_exception(*error))
        detail = f"{where}{error[0].__qualname__}: {last[0] if last else ''}"
        self._event(test, kind, detail[:600], text[-6000:])

    def addSuccess(self, test: unittest.TestCase) -> None:
        pass

    def addError(self, test: unittest.TestCase, err: ErrorInfo) -> None:
        self._exception(test, "error", err)

    def addFailure(self, test: unittest.TestCase, err: ErrorInfo) -> None:
        self._exception(test, "fail", err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._event(test, "skip", str(reason))

    def addExpectedFailure(self, test: unittest.TestCase, err: ErrorInfo) -> None:
        self._event(test, "expected failure", err[0].__qualname__)

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        self._event(test, "unexpected success", "")

    def addSubTest(self, test: unittest.TestCase, subtest: Any, err: ErrorInfo | None) -> None:
        if err is not None:
            kind = "fail" if issubclass(err[0], test.failureException) else "error"
            self._exception(test, kind, err, f"{subtest._subDescription()} ")


def leave_out(suite: Any, skip: dict[str, int], match: str) -> None:
    """Remove the tests whose ids stand in `skip`, as often as they stand there, or do not `match`."""
    kept = []
    for test in suite._tests:
        if isinstance(test, unittest.BaseTestSuite):
            leave_out(test, skip, match)
            kept.append(test)
        elif skip.get(test.id(), 0):
            skip[test.id()] -= 1
        elif fnmatchcase(test.id(), match):
            kept.append(test)
    suite._tests = kept


def prepare(stacks: str) -> None:
    """Set the process up as CPython's own test runner does, with no resources granted."""
    from test import support  # type: ignore[import-not-found]
    from test.libregrtest import setup  # type: ignore[import-not-found]

    setup.setup_process()
    faulthandler.enable(file=open(stacks, "w"), all_threads=True)  # noqa: SIM115 -- open to the end
    # Children start through `_posixsubprocess`, where `sitecustomize` sees to them, not through posix_spawn.
    subprocess.__dict__["_HAVE_POSIX_SPAWN_CLOSEFROM"] = False
    support.verbose = 0
    support.failfast = False
    support.use_resources = []
    support.junit_xml_list = None
    random.seed(20230)


def run(module: str, record: Record, skip: dict[str, int], match: str) -> None:
    """Load and run `module`; whatever stops it as a whole is an outcome of its own."""
    from test import support

    whole = f"({module})"
    try:
        loaded = importlib.import_module(module)
        loader = unittest.TestLoader()
        suite = loader.loadTestsFromModule(loaded)
        if loader.errors:
            raise ImportError(str(loader.errors[0]).strip().splitlines()[-1])
        leave_out(suite, skip, match)
        suite(RecordingResult(record))
    except unittest.SkipTest as reason:
        record.line(test=whole, events=[["skip", str(reason)]], texts=[], seconds=0)
    except BaseException as error:
        detail = f"{type(error).__qualname__}: {error}"[:600]
        text = traceback.format_exc()[-6000:]
        record.line(test=whole, events=[["error", detail]], texts=[text], seconds=0)
    finally:
        support.gc_collect()
        support.reap_children()


def main(module: str, directory: str) -> None:
    skip: dict[str, int] = {}
    with open(f"{directory}/choice") as file:
        choice = json.load(file)
    for name in choice["skip"]:
        name = name.partition("#")[0]
        skip[name] = skip.get(name, 0) + 1
    sys.argv[1:] = []
    prepare(f"{directory}/stacks")
    record = Record(f"{directory}/record")
    run(module, record, skip, choice["match"])
    sitecustomize.write_statistics()
    record.line(end=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
