"""The thread's modes after a call are those that eager code leaves, also after exceptions."""

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import stator
import torch

BACKENDS = ["native", "eager", "aot_eager"]


def modes() -> tuple[Any, ...]:
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.get_autocast_dtype("cpu"),
        torch.get_default_dtype(),
        torch.is_autocast_cache_enabled(),
    )


@pytest.fixture(autouse=True)
def modes_of_the_suite() -> Iterator[None]:
    before = modes()
    yield
    found = modes()
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    torch.set_autocast_enabled("cpu", False)
    assert found == before


def back_to_usual() -> None:
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)


SCOPES: dict[str, Callable[[], Any]] = {
    "no_grad": torch.no_grad,
    "enable_grad": torch.enable_grad,
    "inference": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
    "set_grad_enabled": lambda: torch.set_grad_enabled(False),
    "nothing": contextlib.nullcontext,
}


def index_error(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    return x[i] * 2  # the kernel refuses an index that is too large


def raises_itself(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    y = x * 2
    if i.shape[0] == 3:
        raise KeyError("three")
    return y


def writes_first(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    i.add_(0)
    return x[i] * 2


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("body", [index_error, raises_itself, writes_first])
@pytest.mark.parametrize("scope", SCOPES)
def test_after_exceptions(backend: str, body: Callable[..., Any], scope: str) -> None:
    enter = SCOPES[scope]

    def fn(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        y = x + 1
        with enter():
            z = body(y, i)
        return z + 1

    good, bad = (
        torch.tensor([0, 1]),
        torch.tensor([0, 9]) if body is not raises_itself else torch.tensor([0, 1, 1]),
    )
    for order in itertools.product([good, bad], repeat=3):
        compiled = stator.compile(fn, backend=backend)
        for index in order:
            x = torch.arange(4.0, requires_grad=True)
            outcomes = []
            for call in (fn, compiled):
                before = modes()
                try:
                    result = call(x, index.clone())
                    outcomes.append((result.detach(), result.requires_grad, result.dtype))
                except Exception as error:
                    outcomes.append(type(error))
                assert modes() == before
            if isinstance(outcomes[0], tuple):
                torch.testing.assert_close(outcomes[0][0], outcomes[1][0])
                assert outcomes[0][1:] == outcomes[1][1:]
            else:
                assert outcomes[0] == outcomes[1]


def grad_off(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    torch.set_grad_enabled(False)
    return y + x * 3


def grad_off_at_once(x: torch.Tensor) -> torch.Tensor:
    torch._C._set_grad_enabled(False)
    return x * 2


def grad_off_at_the_end(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    torch.set_grad_enabled(False)
    return y


def grad_on(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = x * 2
        torch.set_grad_enabled(True)
        z = y * x
    return z


def entered_and_not_left(x: torch.Tensor) -> torch.Tensor:
    manager = torch.no_grad()
    manager.__enter__()
    return x * 2


def other_dtype(x: torch.Tensor) -> torch.Tensor:
    torch.set_default_dtype(torch.float64)
    return x * torch.ones(4)


def off_and_raises(x: torch.Tensor) -> torch.Tensor:
    torch.set_grad_enabled(False)
    return x[torch.tensor([9])]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "fn",
    [
        grad_off,
        grad_off_at_once,
        grad_off_at_the_end,
        grad_on,
        entered_and_not_left,
        other_dtype,
        off_and_raises,
    ],
)
@pytest.mark.parametrize("grad", [True, False])
def test_modes_left_on(backend: str, fn: Callable[..., Any], grad: bool) -> None:
    compiled = stator.compile(fn, backend=backend)
    for _ in range(3):
        outcomes = []
        for call in (fn, compiled):
            torch.set_grad_enabled(grad)
            x = torch.arange(4.0, requires_grad=True)
            try:
                result = call(x)
                outcomes.append((result.detach(), result.requires_grad, result.dtype, modes()))
            except IndexError:
                outcomes.append((torch.zeros(1), "IndexError", modes()))
            back_to_usual()
        torch.testing.assert_close(outcomes[0][0], outcomes[1][0])
        assert outcomes[0][1:] == outcomes[1][1:]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_function_whose_first_call_raises_is_captured_later(backend: str) -> None:
    def fn(x: torch.Tensor, limit: int = 3) -> torch.Tensor:
        if x.shape[0] > limit:
            raise ValueError("too many")
        return x * 2

    for first in (torch.ones(5), torch.ones(4, 2)):
        compiled = stator.compile(fn, backend=backend)
        for _ in range(3):
            with pytest.raises(ValueError, match="too many"):
                compiled(first)
        for _ in range(3):
            assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))
        assert [entry.hits for entry in stator.cache_entries(compiled)] == [2]


def test_a_callee_whose_first_call_raises_is_captured_later() -> None:
    def callee(x: torch.Tensor, ready: bool) -> torch.Tensor:
        if not ready:
            raise KeyError("not ready")
        return torch.sin(x) * 2

    def fn(x: torch.Tensor, ready: bool) -> torch.Tensor:
        scale = float(x.numpy().sum())
        try:
            return callee(x, ready) * scale
        except KeyError:
            return x * scale

    compiled = stator.compile(fn, backend="native")
    for ready in (False, True, True, True):
        x = torch.ones(3)
        torch.testing.assert_close(compiled(x, ready), fn(x, ready))
    served = [e["hits"] for row in compiled.callees if "callee" in row["name"] for e in row["entries"]]
    whole = [entry.hits for entry in stator.cache_entries(compiled)]
    assert sum(served) + sum(whole) >= 2, (served, whole, compiled.stops)


def test_a_function_that_always_raises_is_not_captured_forever() -> None:
    calls = []

    def fn(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        raise ValueError("always")

    compiled = stator.compile(fn, backend="native")
    for _ in range(50):
        with pytest.raises(ValueError, match="always"):
            compiled(torch.ones(2))
    assert len(calls) == 50
    assert len(compiled.stops) <= stator.config.recompile_limit
