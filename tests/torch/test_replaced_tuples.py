"""tests/torch/test_replaced_tuples.py: tuples of numbers that the program replaces between calls."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import stator
import torch
from torch import nn

State = SimpleNamespace


def scaled(state: State, x: torch.Tensor) -> Any:
    return x * state.pair[0] + state.pair[1]


def unpacked_deep(state: State, x: torch.Tensor) -> Any:
    (rows, columns), scale, name = state.nested
    return x.new_zeros(rows, columns) + scale, name, len(state.nested)


def returned(state: State, x: torch.Tensor) -> Any:
    return x + state.pair[0], state.pair


def kept(state: State, x: torch.Tensor) -> Any:
    state.log.append(state.pair)
    return x + state.pair[0]


def written_back(state: State, x: torch.Tensor) -> Any:
    old = state.pair
    state.pair = (old[0] + 1, old[1] * 2)
    return x * old[0] + old[1], old


SERVED = [scaled, unpacked_deep, returned, kept, written_back]


def as_a_key(state: State, x: torch.Tensor) -> Any:
    if state.pair not in state.memo:
        state.memo[state.pair] = sum(state.pair)
    return x * state.memo[state.pair]


def told_apart(state: State, x: torch.Tensor) -> Any:
    return x * state.pair[0], state.pair is state.other, state.pair == state.other


def added_up(state: State, x: torch.Tensor) -> Any:
    return x + sum(state.changing)


def numbered(index: int) -> State:
    """The state before a call: every tuple in it is a new one."""
    pair = (index + 4, index * 0.5)
    return State(
        pair=pair,
        other=pair if index % 2 else (index + 4, index * 0.5),
        nested=((index + 2, index + 3), index * 0.1, "early" if index < 6 else "late"),
        changing=[(1, 2), (3, 4), (5, 6), (1,), (7, 8, 9), (True, 2), (1.0, 2)][index],
    )


def types_of(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [types_of(item) for item in value]
    if isinstance(value, dict):
        return [types_of(item) for item in value.items()]
    return type(value), value.tolist() if isinstance(value, torch.Tensor) else value


def outcomes(function: Callable[..., Any], run: Callable[..., Any], state: State) -> Any:
    seen = []
    x = torch.ones(2)
    state.log, state.memo = [], {}
    for index in range(7):
        if index == 0 or function is not written_back:
            vars(state).update(vars(numbered(index)))
        before = state.pair
        result = run(x)
        seen.append(types_of(result))
        if function in (returned, written_back):
            assert result[1] is before
        if function is kept:
            assert state.log[-1] is before
    return seen, types_of(state.log), types_of(state.memo), types_of(state.pair)


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("function", [*SERVED, as_a_key, told_apart, added_up])
def test_replaced_tuple(function: Callable[..., Any], backend: str) -> None:
    plain, state = State(), State()
    compiled = stator.compile(lambda x: function(state, x), backend=backend)
    found = outcomes(function, compiled, state)
    assert found == outcomes(function, lambda x: function(plain, x), plain)
    if function in SERVED:
        assert sum(entry.hits for entry in stator.cache_entries(compiled)) >= 3


@pytest.mark.parametrize("foreach", [False, True])
def test_betas_that_a_schedule_replaces(foreach: bool) -> None:
    """OneCycleLR gives Adam another learning rate and other betas, in a new tuple, after every step."""

    def train(compiled: bool) -> tuple[list[torch.Tensor], Any]:
        torch.manual_seed(0)
        model = nn.Linear(4, 4)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1, foreach=foreach)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=20)
        step = stator.compile(optimizer.step, backend="native") if compiled else optimizer.step
        for _ in range(10):
            optimizer.zero_grad()
            model(torch.randn(2, 4)).sum().backward()
            step()
            schedule.step()
        return [parameter.detach() for parameter in model.parameters()], step

    (expected, _), (found, step) = train(False), train(True)
    assert all(map(torch.equal, found, expected))
    assert sum(entry.hits for entry in stator.cache_entries(step)) >= 6
