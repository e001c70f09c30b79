"""Warnings of torch's kernels in captured code: Python's own, at the program's line, under its filters."""

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch

LOG: list[str] = []


def spread(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    return y.std() + 1


def spread_below(x: torch.Tensor) -> torch.Tensor:
    return spread(x * 2) + 1


def caught(x: torch.Tensor) -> Any:
    try:
        return (x + 1).std()
    except UserWarning as warning:
        LOG.append(str(warning)[:5])
        return x * 3


def shown(call: Callable[[], Any], action: Any) -> list[tuple[Any, ...]]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter(action)
        for _ in range(3):
            call()
    return [(str(each.message), each.category, each.filename, each.lineno) for each in seen]


@pytest.mark.parametrize("program", [spread, spread_below])
@pytest.mark.parametrize("action", ["always", "default", "ignore"])
def test_warnings_are_those_of_eager_code(program: Callable[..., Any], action: str) -> None:
    one = torch.ones(1)
    compiled = stator.compile(program, backend="native", fullgraph=True)
    compiled(torch.ones(4))
    expected = shown(lambda: program(one), action)
    assert shown(lambda: compiled(one), action) == expected
    assert len(expected) == {"always": 3, "default": 1, "ignore": 0}[action]
    assert sum(entry.hits for entry in stator.cache_entries(compiled)) > 0


@pytest.mark.parametrize("backend", ["native", "eager"])
def test_a_warning_that_is_an_error_is_raised_where_the_program_stands(backend: str) -> None:
    one = torch.ones(1)
    compiled = stator.compile(spread, backend=backend)
    lines = []
    for call in (spread, compiled, compiled):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UserWarning, match="degrees of freedom") as raised:
                call(one)
        lines.append(raised.traceback[-1].lineno)
    assert lines[1:] == lines[:1] * 2


def test_handlers_of_the_program_see_it() -> None:
    one = torch.ones(1)
    compiled = stator.compile(caught, backend="native")
    compiled(torch.ones(4))
    LOG.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            assert torch.equal(compiled(one), caught(one))
    assert LOG == ["std()"] * 4


def test_other_backends_show_them_too() -> None:
    compiled = stator.compile(spread, backend="eager")
    seen = shown(lambda: compiled(torch.ones(1)), "always")
    assert [category for _, category, _, _ in seen] == [UserWarning] * 3


def resized(x: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    return torch.add(x, 1, out=out)


@pytest.mark.parametrize("backend", ["native", "eager", "aot_eager"])
def test_inference_of_shapes_is_silent(backend: str, capfd: pytest.CaptureFixture[str]) -> None:
    compiled = stator.compile(resized, backend=backend)
    three = torch.ones(3)
    expected = shown(lambda: resized(three, torch.empty(5)), "always")
    seen = shown(lambda: compiled(three, torch.empty(5)), "always")
    # AOT autograd cannot resize an argument, of which Stator warns in words of its own.
    kernels = [each[:2] for each in seen if each[1] is not RuntimeWarning]
    assert kernels == [each[:2] for each in expected]
    if backend == "native":  # torch.fx runs other graphs, in frames of its own
        assert seen == expected
    assert len(expected) == 3
    assert "CaptureStopped" not in capfd.readouterr().err


ONCE = """
import warnings, stator, torch
def grids(x): return torch.meshgrid(x, x + 1)[0] * 2
compiled = stator.compile(grids, backend="native")
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for _ in range(3): compiled(torch.ones(2))
print([str(each.message)[:14] for each in seen], stator.cache_entries(compiled)[0].hits)
"""


def test_a_warning_that_torch_gives_once_is_given_once() -> None:
    done = subprocess.run([sys.executable, "-c", ONCE], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "['torch.meshgrid'] 2", done.stdout + done.stderr


SCALAR = """
import sys, warnings, stator, torch
def scaled(x):
    y = x * 2
    return y * float(y.sum())
compiled = stator.compile(scaled, backend=sys.argv[1]) if len(sys.argv) > 1 else scaled
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for _ in range(4): compiled(torch.ones(2, requires_grad=True))
print([(str(each.message)[:19], each.lineno) for each in seen], torch.is_warn_always_enabled())
"""


@pytest.mark.parametrize("backend", ["native", "eager", "aot_eager"])
def test_a_warning_of_torchs_bindings_is_given_by_the_native_run(backend: str) -> None:
    run = [sys.executable, "-c", SCALAR, backend]
    ours, eagers = (
        subprocess.run(command, capture_output=True, text=True, timeout=120) for command in (run, run[:-1])
    )
    assert ours.stdout == eagers.stdout == "[('Converting a tensor', 5)] False\n"
    assert "CaptureStopped" not in ours.stderr
