"""What holds for all tests: captured graphs are verified; what an older torch cannot do is listed.

A comparison with eager code passes where nothing is captured, too. So captures are counted, and each run ends
with how many there were. In the folders of COUNTED a test in which captures began and none was made fails,
unless `nothing_captured.txt` lists it: those that are about what is not captured.
STATOR_LIST_UNCAPTURED=FILE collects such tests, of all folders, in place of failing.
"""

import os
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

# Read when the first graph is captured, in this process and in those that tests start.
os.environ.setdefault("STATOR_VERIFY", "1")
# Kernels are compiled by the tests, not found on disk.
os.environ.setdefault("STATOR_CACHE", "0")

BY_SIZE = "torch 2.11 asks for the size as a number: one capture for each"
BY_FLOAT = "torch 2.11's AOT autograd wants this float as a number: one capture for each"
NO_PARTS = "torch 2.11's AOT autograd splits an empty dimension into no parts, eager code into one"
BEFORE_2_12 = {
    "test_views[split-aot_eager]": NO_PARTS,
    "test_views[split by half-aot_eager]": NO_PARTS,
    "test_a_changing_batch_is_captured_twice[matmul]": BY_SIZE,
    **{
        f"test_floats_that_aot_autograd_makes_tensors_of[{name}]": BY_FLOAT
        for name in ("product", "quotient", "cosine")
    },
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    torch = sys.modules.get("torch")
    if torch is None or tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 12):
        return
    for item in items:
        if item.name in BEFORE_2_12:
            item.add_marker(pytest.mark.xfail(reason=BEFORE_2_12[item.name], strict=True))


NOTHING_CAPTURED = Path(__file__).with_name("nothing_captured.txt")
COUNTED = ("capture/", "cases/")
LISTED = frozenset(NOTHING_CAPTURED.read_text().splitlines())
totals = {"tests": 0, "captures": 0, "later": 0}


def counts() -> dict[str, int]:
    capture = sys.modules.get("stator._capture")
    return capture.capture_statistics() if capture is not None else {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    before = counts()
    result = yield
    made = {name: count - before.get(name, 0) for name, count in counts().items()}
    if not made or made["captures"] < 0:  # counted anew by the test
        return result
    made["later"] = made["served"] - made["captures"]  # the call that is captured is served, too
    for name in totals.keys() - {"tests"}:
        item.user_properties.append((name, made[name]))
    if made["stops"] and not made["captures"] and not made["served"]:
        name = item.nodeid.partition("[")[0].removeprefix("tests/")
        if (path := os.environ.get("STATOR_LIST_UNCAPTURED")) is not None:
            with open(path, "a") as file:
                file.write(f"{name}\n")
        elif name.startswith(COUNTED) and sys.version_info[:2] == (3, 11):  # the list is that Python's
            assert name in LISTED, "captures began and none was made: eager code was compared with itself"
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    found = dict(report.user_properties) if report.when == "call" else {}
    if found.get("captures") or found.get("later"):
        totals["tests"] += 1
        for name in totals.keys() - {"tests"}:
            totals[name] += found[name]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(
        "{tests} tests captured: {captures} captures, which served {later} later calls".format(**totals)
    )
