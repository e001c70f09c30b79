"""What Stator says by itself: logs, and one warning for what is never captured."""

import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import stator
import torch

X = torch.ones(3)


def speaks(x: torch.Tensor) -> torch.Tensor:
    os.getloadavg()
    return x.sin() + 1


def times(x: torch.Tensor, n: str) -> torch.Tensor:
    return x * len(n)


@pytest.fixture(autouse=True)
def _off_again() -> Iterator[None]:
    yield
    stator.set_logs(breaks=False, recompiles=False, guards=False, graphs=False, timing=False)


def records(caplog: pytest.LogCaptureFixture) -> dict[str, str]:
    return {record.name: record.getMessage() for record in caplog.records}


def test_each_log(caplog: pytest.LogCaptureFixture) -> None:
    stator.set_logs(breaks=True, recompiles=True, guards=True, graphs=True, timing=True)
    stator.compile(speaks, backend="native")(X)
    compiled = stator.compile(times, backend="native")
    compiled(X, "a")
    compiled(X, "bc")
    found = records(caplog)
    line = speaks.__code__.co_firstlineno
    assert f"speaks ({__file__}:{line}) stopped being captured: unknown-function" in found["stator.breaks"]
    assert f"{__file__}:{line + 1}: os.getloadavg" in found["stator.breaks"]
    assert "hint: " in found["stator.breaks"]
    assert "== 'a'" in found["stator.recompiles"]
    assert "times (" in found["stator.recompiles"]
    assert "== 'bc'" in found["stator.guards"]
    assert "aten::mul" in found["stator.graphs"]
    assert "1 operators captured in" in found["stator.timing"]


def test_segments_behind_a_break_are_told(caplog: pytest.LogCaptureFixture) -> None:
    """Their captures and recaptures, too."""

    def broken(x: torch.Tensor, n: str) -> torch.Tensor:
        os.getloadavg()
        return x.sin() * len(n)

    stator.set_logs(recompiles=True, graphs=True, timing=True)
    compiled = stator.compile(broken, backend="native")
    compiled(X, "a")
    compiled(X, "bc")
    told = [(record.name, record.getMessage()) for record in caplog.records]
    place = f"broken ({__file__}:{broken.__code__.co_firstlineno})"
    assert any(name == "stator.graphs" and place in text and "aten::sin" in text for name, text in told)
    assert any(name == "stator.timing" and place in text for name, text in told)
    assert any(name == "stator.recompiles" and place in text and "'a'" in text for name, text in told)


def test_what_is_not_named_stays(caplog: pytest.LogCaptureFixture) -> None:
    stator.set_logs(graphs=True)
    stator.set_logs(breaks=True)
    stator.compile(lambda x: x + 1, backend="native")(X)
    assert set(records(caplog)) == {"stator.graphs"}
    caplog.clear()
    stator.set_logs(graphs=False)
    stator.compile(lambda x: x + 2, backend="native")(X)
    assert not caplog.records
    assert logging.getLogger("stator.graphs").level == logging.NOTSET
    with pytest.raises(TypeError):
        stator.set_logs(no_such_log=True)  # type: ignore[call-arg]


PROGRAM = """
import os, torch, stator
def speaks(x):
    os.getloadavg()
    return x.sin()
stator.compile(speaks, backend="native")(torch.ones(2))
compiled = stator.compile(lambda x, n: x * len(n), backend="native")
compiled(torch.ones(2), "a"), compiled(torch.ones(2), "bc")
"""


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("STATOR_LOGS", "breaks,recompiles", ["breaks", "recompiles"]),
        ("STATOR_LOGS", "graph_breaks, timing", ["breaks", "timing"]),
        ("TORCH_LOGS", "+graph_breaks,recompiles", ["breaks", "recompiles"]),
        ("STATOR_LOGS", "", []),
    ],
)
def test_by_environment(variable: str, value: str, told: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env={**os.environ, variable: value},
    )
    found = {
        line.split("]")[0].removeprefix("[stator.") for line in done.stderr.splitlines() if "[stator." in line
    }
    assert sorted(found) == sorted(told), done.stderr


def test_an_unknown_log_is_named() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import stator"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env={**os.environ, "STATOR_LOGS": "brakes"},
    )
    assert "no such log: brakes. There are: breaks" in done.stderr


def warned(fn: Any, calls: int) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(calls):
            fn(X)
    return [str(one.message) for one in caught]


def test_one_warning_where_nothing_is_captured() -> None:
    def never(x: torch.Tensor) -> float:
        return sum(x.tolist())

    compiled = stator.compile(never, backend="native")
    (message,) = warned(compiled, 8)
    assert f"nothing of {never.__qualname__} ({__file__}:{never.__code__.co_firstlineno})" in message
    assert f"{__file__}:{never.__code__.co_firstlineno + 1}: return sum" in message
    assert "reads-memory" in message


def test_no_warning_where_callees_are_captured() -> None:
    def callee(x: torch.Tensor) -> torch.Tensor:
        return x.sin() + 1

    compiled = stator.compile(lambda x: callee(x) + sum(x.tolist()), backend="native")
    assert warned(compiled, 8) == []
    assert warned(stator.compile(lambda x: x + 1, backend="native"), 8) == []


def test_the_limit_names_function_and_guard() -> None:
    compiled = stator.compile(times, backend="native", recompile_limit=2)
    compiled(X, "a")
    compiled(X, "bc")
    with pytest.warns(RuntimeWarning, match=r"2 captures of one function.*'bc'.*times \(.*test_logs\.py"):
        compiled(X, "def")


def test_the_limit_names_what_kept_failing() -> None:
    def named(x: torch.Tensor, name: str) -> torch.Tensor:
        return x * len(name)

    compiled = stator.compile(named, backend="native", recompile_limit=3)
    for name in ("a", "bc", "def"):
        compiled(X, name)
    with pytest.warns(RuntimeWarning, match=r'What kept failing: L\["name"\] \(3 of 3 times\)'):
        compiled(X, "ghij")
    assert warned(lambda x: compiled(x, "klmno"), 3) == []
