"""The runner as a user calls it, on a fabricated package of tests and a fabricated interpreter."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

FAKE = Path(__file__).parent / "fake_capture.py"
ROOT = Path(__file__).resolve().parents[2]
HEADER = """
import os, signal, subprocess, sys, time, unittest
INTERPRETED = os.environ["STATOR_MODE"] == "interpret"
class T(unittest.TestCase):
    def test_a(self): pass
    def test_z(self): pass
"""


class Sample:
    """A package `sample` with test modules, and calls of the runner on them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (directory / "sample").mkdir()
        (directory / "sample" / "__init__.py").touch()

    def module(self, name: str, body: str) -> None:
        text = HEADER + textwrap.indent(textwrap.dedent(body), "    ")
        (self.directory / "sample" / f"{name}.py").write_text(text)

    def call(self, *arguments: str, **environment: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "stator.conformance", "--package", "sample", "--path"]
        command += [str(self.directory), "--capture", str(FAKE), *arguments]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=50,
        )
        return done.returncode, done.stdout


@pytest.fixture
def sample(tmp_path: Path) -> Sample:
    return Sample(tmp_path)


def test_all_alike(sample: Sample) -> None:
    sample.module("test_alike", "def test_skip(self): self.skipTest('not here')\n")
    code, output = sample.call("test_alike")
    assert "test_alike: 3 same, 0 different\n" in output
    assert "98.00% of the frames" in output
    assert code == 0


def test_a_name_that_does_not_exist(sample: Sample) -> None:
    code, output = sample.call("test_nothing")
    assert code == 2
    assert "test_nothing" in output


def test_every_kind_of_difference_is_told(sample: Sample) -> None:
    sample.module(
        "test_kinds",
        """
        def test_fails(self): self.assertFalse(INTERPRETED)
        def test_raises(self):
            if INTERPRETED: raise KeyError("k")
        def test_skips(self): self.skipTest("here" if INTERPRETED else "there")
        def test_in_part(self):
            with self.subTest(i=1): self.assertFalse(INTERPRETED)
        @unittest.expectedFailure
        def test_expected(self): self.assertTrue(INTERPRETED)
        def test_fails_alike(self): self.fail("both")
        """,
    )
    code, output = sample.call("sample.test_kinds")
    assert code == 1
    assert "test_kinds: 3 same, 5 different" in output
    for line in (
        "T.test_fails: ok -> fail (AssertionError: AssertionError: True is not false)",
        "T.test_raises: ok -> error (KeyError: KeyError: 'k')",
        "T.test_skips: skip (there) -> skip (here)",
        "T.test_in_part: ok -> fail ((i=1) AssertionError",
        "T.test_expected: expected failure (AssertionError) -> unexpected success",
    ):
        assert line in output


def test_a_crash_is_told_with_its_stack_and_the_rest_still_runs(sample: Sample) -> None:
    sample.module(
        "test_crash",
        """
        def test_m(self):
            if INTERPRETED: os.kill(os.getpid(), signal.SIGSEGV)
        def test_n(self): self.assertFalse(INTERPRETED)
        """,
    )
    code, output = sample.call("test_crash")
    assert code == 1
    assert "test_crash: 2 same, 2 different" in output
    assert "T.test_m: ends well -> crash (SIGSEGV)" in output
    assert "T.test_n: ok -> fail" in output
    assert "in test_m" in output  # from faulthandler's stack


def test_a_crash_with_no_further_try_loses_the_rest(sample: Sample) -> None:
    sample.module("test_crash", "def test_m(self):\n    if INTERPRETED: os._exit(3)\n")
    code, output = sample.call("test_crash", "--tries", "0")
    assert code == 1
    assert "T.test_m: ends well -> exit status 3" in output
    assert "1 tests not run after that" in output


def test_children_without_site_or_with_an_environment_of_their_own_are_interpreted(sample: Sample) -> None:
    """Each process of the fabricated interpreter finishes 98 frames; -I and -E shut it out."""
    sample.module(
        "test_children",
        """
        def test_m(self):
            program = "import os, sys; print(sys.path, sorted(os.environ), sys.modules['encodings'].__file__)"
            own = {"PYTHONPATH": "/nowhere", "A": "1"}
            seen = []
            for options, env in (
                ([], None), (["-S"], None), (["-sS", "-Xutf8"], own), ([], own), ([], {}),
                (["-I"], None), (["-E"], own),
            ):
                command = [sys.executable, *options, "-c", program]
                done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
                seen.append(done.stdout.replace(os.environ["STATOR_RUN"], ""))
            self.assertNotIn("early", str(seen))
            self.skipTest(str(seen))  # the runner compares the reason
        """,
    )
    code, output = sample.call("test_children")
    assert "test_children: 3 same, 0 different" in output
    assert f"{98 * 6} finished" in output
    assert code == 0


def test_a_hang_is_ended_with_all_its_processes(sample: Sample, tmp_path: Path) -> None:
    sample.module(
        "test_hang",
        f"""
        def test_m(self):
            if INTERPRETED:
                child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
                with open({str(tmp_path / "pid")!r}, "w") as file: file.write(str(child.pid))
                time.sleep(1000)
        """,
    )
    code, output = sample.call("test_hang", "--timeout", "3")
    assert code == 1
    assert "T.test_m: ends well -> hang (no end within 3 s)" in output
    commandline = Path("/proc", (tmp_path / "pid").read_text(), "cmdline")
    assert not commandline.exists() or not commandline.read_text()  # gone, or dead and not yet reaped


def test_flaky_tests_are_left_out(sample: Sample, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    sample.module(
        "test_flaky",
        f"""
        def test_m(self):
            if not os.path.exists({str(mark)!r}):
                open({str(mark)!r}, "w").close()
                self.fail("the first time")
        """,
    )
    code, output = sample.call("test_flaky")
    assert "test_flaky: 2 same, 0 different" in output
    assert "T.test_m: left out, the plain runs differ" in output
    assert code == 0


def test_too_few_interpreted_frames(sample: Sample) -> None:
    sample.module("test_alike", "")
    code, output = sample.call("test_alike", "-v", FAKE_FINISHED="90")
    assert code == 1
    assert "90.00% of the frames" in output
    assert "10 x opcode SEND" in output


def test_processes_that_tests_start_are_interpreted_but_isolated_ones_are_not(sample: Sample) -> None:
    sample.module(
        "test_processes",
        """
        def told(self, *flags):
            code = "import sitecustomize as s; print(s.capture is not None)"
            done = subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True)
            return done.stdout.strip()
        def test_started(self): self.assertEqual(self.told(), str(INTERPRETED))
        def test_isolated(self): self.assertEqual(self.told("-I"), "")
        def test_same_modules(self):
            with open(os.environ["OUT"] + os.environ["STATOR_MODE"], "w") as file:
                file.write("\\n".join([*sorted(sys.modules), *sys.path[1:]]))
        """,
    )
    out = sample.directory / "out"
    code, output = sample.call("test_processes", OUT=str(out))
    assert "test_processes: 5 same, 0 different" in output
    assert code == 0
    assert "196 finished" in output  # two interpreted processes
    assert Path(f"{out}plain").read_text() == Path(f"{out}interpret").read_text()


def test_sigint_has_its_default_action_where_we_ignore_it(sample: Sample) -> None:
    sample.module(
        "test_sigint",
        """
        def test_m(self):
            self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        """,
    )
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code, _ = sample.call("test_sigint", "--json", str(sample.directory / "out.json"))
    finally:
        signal.signal(signal.SIGINT, before)
    assert code == 0
    written = json.loads((sample.directory / "out.json").read_text())
    assert written["test_sigint"]["same"] == 3


def test_the_whole_package_leaves_out_what_tests_nothing(sample: Sample, tmp_path: Path) -> None:
    sample.module("test_alike", "")
    sample.module("test_skipped", "")
    with open(tmp_path / "sample" / "test_skipped.py", "a") as file:
        file.write("raise unittest.SkipTest('not on this machine')\n")
    cache = str(tmp_path / "cache")
    code, output = sample.call("-v", "--plain-cache", cache)
    assert code == 0
    assert "test_skipped: left out: all skipped: skip (not on this machine)" in output
    assert "1 modules (1 pass plainly), 2 tests same, 0 different" in output
    sample.module("test_alike", "def test_new(self): pass\n")  # the cache does not know it
    code, output = sample.call("--plain-cache", cache)
    assert code == 1
    assert "T.test_new: not run -> ok" in output


def test_only_tests_that_match(sample: Sample, tmp_path: Path) -> None:
    sample.module("test_some", "def test_m(self): self.assertFalse(INTERPRETED)\n")
    cache = str(tmp_path / "cache")
    for _ in range(2):  # the second time with plain outcomes of the whole module from the cache
        code, output = sample.call("test_some", "-k", "*.test_[az]", "--plain-cache", cache)
        assert "test_some: 2 same, 0 different" in output
        assert code == 0


def test_listed_tests_are_not_run_interpreted(sample: Sample, tmp_path: Path) -> None:
    sample.module(
        "test_listed",
        """
        def test_m(self):
            if INTERPRETED: os._exit(1)
        """,
    )
    (tmp_path / "list").write_text("all sample.test_listed.T.test_m ends the process\n")
    code, output = sample.call("test_listed", "--unequal", str(tmp_path / "list"))
    assert "test_listed: 2 same, 0 different, 1 listed as unequal" in output
    assert code == 0
