"""Tracers and profilers that are switched on between two segments see what they see in eager code."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import stator
import torch
from torch import Tensor

Switch = Callable[[], None]


def parts(y: Tensor) -> Iterator[Tensor]:
    for i in range(2):
        y = y + i
        yield y


def callee(y: Tensor, switch: Switch | None = None) -> Tensor:
    y = y * 2
    if switch is not None:
        switch()
    y = y + 1
    return y


def between_lines(x: Tensor, on: Switch, off: Switch) -> Tensor:
    y = x + 1
    on()
    y = y * 2
    y = callee(y)
    for v in parts(y):
        y = y + v
    off()
    return y * 3


def in_a_callee(x: Tensor, on: Switch, off: Switch) -> Tensor:
    y = callee(x, on)
    y = y + 1
    off()
    y = y * 2
    return callee(y)


def in_a_loop(x: Tensor, on: Switch, off: Switch) -> Tensor:
    y = x
    for i in range(4):
        y = y + i
        if i == 1:
            on()
        if i == 3:
            off()
        y = y * 2
    return y


def in_a_handler(x: Tensor, on: Switch, off: Switch) -> Tensor:
    y = x
    try:
        y = y + 1
        on()
        y = y * 2
        raise KeyError("k")
    except KeyError:
        y = y - 1
    finally:
        y = y + 5
        off()
    return y


def left_on(x: Tensor, on: Switch, off: Switch) -> Tensor:
    y = x + 1
    on()
    return y * 2


def in_a_generator(x: Tensor, on: Switch, off: Switch) -> Tensor:
    def inner(y: Tensor) -> Iterator[Tensor]:
        y = y + 1
        on()
        yield y
        y = y * 2
        yield y
        off()

    z = x
    for v in inner(x):
        z = z + v
    return z


def seen(program: Callable[..., Tensor], x: Tensor, kind: str) -> tuple[Tensor, list[Any]]:
    """The result, and the events of this file's frames."""
    events: list[Any] = []

    def hook(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != __file__ or frame.f_code.co_name in ("on", "off", "seen", "<lambda>"):
            return None
        events.append((frame.f_code.co_name, event, frame.f_lineno))
        return hook

    switch = sys.settrace if kind == "trace" else sys.setprofile

    @stator.disable
    def on() -> None:
        switch(hook)
        frame = sys._getframe(1)
        while kind == "trace" and frame.f_code.co_name != "seen":
            if frame.f_code.co_filename == __file__:
                frame.f_trace = hook
            assert frame.f_back is not None
            frame = frame.f_back

    @stator.disable
    def off() -> None:
        switch(None)

    before = sys.gettrace(), sys.getprofile()
    try:
        return program(x, on, off), events
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("kind", ["trace", "profile"])
@pytest.mark.parametrize(
    "program", [between_lines, in_a_callee, in_a_loop, in_a_handler, left_on, in_a_generator]
)
def test_events(program: Callable[..., Tensor], kind: str, backend: str) -> None:
    compiled = stator.compile(program, backend=backend)
    x = torch.ones(3)
    expected, events = seen(program, x, kind)
    assert events or kind == "profile"  # which sees only calls and returns
    for _ in range(4):
        found, ours = seen(compiled, x, kind)
        assert torch.equal(found, expected)
        assert ours == events
    rows = [*compiled.entries, *(entry for each in compiled.callees for entry in each["entries"])]
    assert any(row["nodes"] for row in rows)
