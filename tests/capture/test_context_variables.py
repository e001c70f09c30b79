"""tests/capture/test_context_variables.py: functions that ask what a context variable holds."""

from __future__ import annotations

import contextvars
import threading
from typing import Any

import pytest

capture = pytest.importorskip("stator._capture")

policy: contextvars.ContextVar[Any] = contextvars.ContextVar("policy")
level: contextvars.ContextVar[int] = contextvars.ContextVar("level", default=1)


def test_value_and_default_are_guarded() -> None:
    def ask() -> list[Any]:
        return [policy.get(None), level.get(), level.get(7)]

    function = capture.Compiled(ask)
    for _ in range(2):
        assert function() == ask() == [None, 1, 1 if level.get(None) == 1 else 7]
    token = level.set(3)
    assert function() == ask() == [None, 3, 3]
    policy.set("strict")
    assert function() == ask() == ["strict", 3, 3]
    level.reset(token)
    assert function() == ask()
    assert function.breaks == []


def test_each_context_has_its_own() -> None:
    function = capture.Compiled(lambda: level.get() * 2)
    assert function() == function() == 2
    inside = contextvars.copy_context()
    inside.run(level.set, 5)
    for _ in range(3):
        assert inside.run(function) == 10
        assert function() == 2
    found: list[int] = []
    thread = threading.Thread(target=lambda: (level.set(8), found.append(function())))
    thread.start()
    thread.join()
    assert found == [16]


def test_objects_are_read_through() -> None:
    class Settings:
        scale = 2

    settings = Settings()
    holder: contextvars.ContextVar[Settings] = contextvars.ContextVar("holder", default=settings)
    function = capture.Compiled(lambda: holder.get().scale)
    assert function() == function() == 2
    settings.scale = 3
    assert function() == 3
    holder.set(Settings())
    assert function() == 2
    assert function.breaks == []


def test_no_value_raises() -> None:
    empty: contextvars.ContextVar[int] = contextvars.ContextVar("empty")

    def ask() -> int:
        try:
            return empty.get()
        except LookupError:
            return -1

    function = capture.Compiled(ask)
    assert function() == function() == -1
    empty.set(4)
    assert function() == function() == 4


def test_setting_ends_the_capture() -> None:
    def change() -> int:
        level.set(level.get() + 1)
        return level.get()

    function = capture.Compiled(change)
    begin = level.get()
    assert [function(), function()] == [begin + 1, begin + 2]
    assert function.breaks
