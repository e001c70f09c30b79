"""tests/capture/test_context_variables.py: functions that ask what a context variable holds."""

from __future__ import annotations

import contextvars
import os
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


depth: contextvars.ContextVar[int] = contextvars.ContextVar("depth", default=1)


def with_depth(value: int, inner: Any) -> Any:
    token = depth.set(value)
    try:
        return inner()
    finally:
        depth.reset(token)


def test_a_variable_that_is_set_and_set_back() -> None:
    def f(base: int) -> list[int]:
        before = depth.get()
        inside = with_depth(base + before, lambda: [depth.get(), with_depth(9, depth.get), depth.get()])
        return [before, *inside, depth.get()]

    function = capture.Compiled(f)
    for _ in range(3):
        assert function(4) == f(4) == [1, 5, 9, 5, 1]
    assert [entry["hits"] for entry in function.entries] == [2]
    assert function.breaks == []
    token = depth.set(3)
    assert function(4) == f(4) == [3, 7, 9, 7, 3]
    depth.reset(token)
    assert function(4) == [1, 5, 9, 5, 1]


def test_a_variable_without_a_value_has_none_afterwards() -> None:
    empty: contextvars.ContextVar[int] = contextvars.ContextVar("empty")

    def f(fails: bool) -> Any:
        token = empty.set(2)
        if fails:
            raise NameError("as it is")
        found = empty.get()
        empty.reset(token)
        return found, empty.get(None)

    function = capture.Compiled(f)
    for _ in range(3):
        assert function(False) == (2, None)
    assert [entry["hits"] for entry in function.entries] == [2]
    with pytest.raises(NameError):
        function(True)
    # Eager code left it set.
    assert empty.get() == 2


def test_a_capture_that_is_given_up_leaves_no_value() -> None:
    calls: list[int] = []

    def f() -> int:
        token = depth.set(6)
        os.getloadavg()
        calls.append(depth.get())
        depth.reset(token)
        return depth.get()

    function = capture.Compiled(f)
    for _ in range(2):
        assert function() == depth.get() == 1
    assert calls == [6, 6]
    assert "getloadavg" in function.breaks[0]


def test_what_stays_set_is_set_by_every_call() -> None:
    counted: contextvars.ContextVar[int] = contextvars.ContextVar("counted", default=0)

    def f() -> int:
        counted.set(counted.get() + 1)
        return counted.get()

    function = capture.Compiled(f)
    assert [function() for _ in range(3)] == [1, 2, 3]
    assert counted.get() == 3
    assert "not set back" in function.breaks[0]


def test_tokens_of_the_caller() -> None:
    function = capture.Compiled(lambda token: depth.reset(token))
    for _ in range(2):
        token = depth.set(4)
        function(token)
        assert depth.get() == 1
        with pytest.raises(RuntimeError, match="already been used"):
            function(token)


def test_what_is_read_after_it_was_set_back() -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=1)

    def set_and_read() -> Any:
        token = variable.set(5)
        inside = variable.get()
        variable.reset(token)
        return inside, variable.get()

    function = capture.Compiled(set_and_read)
    for value in (None, 9, 9, 4):
        if value is not None:
            variable.set(value)
        assert function() == set_and_read()
    assert function.breaks == []


def test_the_old_value_of_a_token() -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable")

    def ask() -> Any:
        token = variable.set(5)
        old = token.old_value
        variable.reset(token)
        return old is contextvars.Token.MISSING, old if isinstance(old, int) else 0

    function = capture.Compiled(ask)
    assert function() == function() == ask() == (True, 0)
    variable.set(7)
    assert function() == function() == ask() == (False, 7)


def test_set_to_what_the_caller_has_set() -> None:
    variable: contextvars.ContextVar[Any] = contextvars.ContextVar("variable")
    variable.set(None)

    def settle() -> int:
        variable.set(None)
        return 1

    function = capture.Compiled(settle)
    assert function() == function() == 1
    variable.set(9)
    assert function() == 1
    assert variable.get() is None


def test_set_to_its_own_default() -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=1)
    function = capture.Compiled(lambda: (variable.get(7), variable.get()))
    assert function() == function() == (7, 1)
    variable.set(1)
    assert function() == function() == (1, 1)
    assert sum(row["hits"] for row in function.entries) > 0
