"""The named cases of breaks: what the program prints and gives is as without compiling, in the same order.

The frame of a break runs natively today; what it calls is captured.
"""

import contextlib
import inspect
from collections.abc import Callable, Generator
from typing import Any

import pytest

import stator
import torch

BACKENDS = ["native", "eager"]


def plain(value: Any) -> Any:
    """Tensors as their bits, so that whole structures can be compared."""
    if isinstance(value, torch.Tensor):
        return value.dtype, value.tolist()
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    return value


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except Exception as error:
        return type(error), str(error)


def assert_same(
    program: Callable[..., Any], backend: str, capsys: pytest.CaptureFixture[str], *args: Any
) -> Callable[..., Any]:
    """Called three times: each call prints and gives what an eager one does."""
    compiled = stator.compile(program, backend=backend)
    capsys.readouterr()
    for _ in range(3):
        expected = outcome(program, *args)
        printed = capsys.readouterr().out
        assert plain(outcome(compiled, *args)) == plain(expected)
        assert capsys.readouterr().out == printed
    return compiled


def layer(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x * 2 - 1)


def printing(x: torch.Tensor, name: str) -> torch.Tensor:
    x = layer(x)
    print(name, float(x.sum()))
    return layer(x)


@pytest.mark.parametrize("backend", BACKENDS)
def test_loop_break(backend: str, capsys: pytest.CaptureFixture[str]) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        x = layer(x)
        for i in range(3):
            x = layer(x + i)
            print("step", i, float(x.sum()))
            x = layer(x)
        return x + 1

    compiled = assert_same(program, backend, capsys, torch.linspace(-1, 2, 6))
    assert any(entry.hits for entry in stator.cache_entries(compiled))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fails", [False, True])
def test_try_break(backend: str, fails: bool, capsys: pytest.CaptureFixture[str]) -> None:
    def program(x: torch.Tensor) -> Any:
        said = []
        try:
            x = layer(x)
            print("inside")
            if fails:
                x = x @ torch.ones(5, 5)  # of other sizes
            said.append("done")
        except RuntimeError as error:
            print("handled", type(error).__name__)
            said.append("handled")
        else:
            said.append("else")
        finally:
            print("finally")
            said.append("finally")
        return layer(x), said

    assert_same(program, backend, capsys, torch.linspace(-1, 2, 6))


class Managed:
    def __init__(self, swallows: bool) -> None:
        self.swallows = swallows
        self.log: list[str] = []

    def __enter__(self) -> list[str]:
        self.log = ["in"]
        return self.log

    def __exit__(self, kind: type | None, *rest: object) -> bool:
        self.log.append(f"out {kind and kind.__name__}")
        return self.swallows


@contextlib.contextmanager
def generated(log: list[str]) -> Generator[str]:
    log.append("in")
    try:
        yield "value"
    finally:
        log.append("out")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fails", [False, True])
def test_with_break(backend: str, fails: bool, capsys: pytest.CaptureFixture[str]) -> None:
    def program(x: torch.Tensor) -> Any:
        log: list[str] = []
        with Managed(swallows=True) as managed, generated(log) as value, torch.no_grad():
            x = printing(x, value)
            print(torch.is_grad_enabled(), log, managed)
            if fails:
                raise KeyError(value)
            x = layer(x)
        return x, log, managed, torch.is_grad_enabled()

    assert_same(program, backend, capsys, torch.linspace(-1, 2, 6))


@pytest.mark.parametrize("backend", BACKENDS)
def test_nested_break(backend: str, capsys: pytest.CaptureFixture[str]) -> None:
    def innermost(x: torch.Tensor) -> torch.Tensor:
        return printing(x, "deep") + 1

    def middle(x: torch.Tensor) -> torch.Tensor:
        return layer(innermost(layer(x)))

    def program(x: torch.Tensor) -> torch.Tensor:
        return layer(middle(layer(x))) * 3

    compiled = assert_same(program, backend, capsys, torch.linspace(-1, 2, 6))
    assert any(entry.hits for entry in stator.cache_entries(compiled))


def counting(x: torch.Tensor, log: list[str]) -> Generator[torch.Tensor, float | None, str]:
    try:
        for _ in range(3):
            sent = yield x
            try:
                x = x * 2 if sent is None else x * sent
            except ZeroDivisionError:
                log.append("no")
        return "all"
    except ValueError:
        log.append("thrown")
        yield -x
        return "thrown"
    finally:
        log.append("finally")


@pytest.mark.parametrize("backend", BACKENDS)
def test_generator_break(backend: str) -> None:
    def by_hand(function: Callable[..., Any]) -> Any:
        log: list[str] = []
        generator = function(torch.ones(2), log)
        assert inspect.isgenerator(generator)
        given = [next(generator), generator.send(3.0), generator.throw(ValueError("x"))]
        with pytest.raises(StopIteration) as stopped:
            next(generator)
        other = function(torch.ones(2), log)
        given.append(next(other))
        other.close()
        return given, log, stopped.value.value

    compiled = stator.compile(counting, backend=backend)
    assert inspect.isgeneratorfunction(inspect.unwrap(compiled))
    for _ in range(3):
        assert plain(by_hand(compiled)) == plain(by_hand(counting))

    def program(x: torch.Tensor) -> Any:
        log: list[str] = []
        taken = [value + 1 for value in counting(x, log)]
        rest = yield from_inside(x, log)
        return taken, rest

    def from_inside(x: torch.Tensor, log: list[str]) -> Any:
        inner = counting(x, log)
        first = next(inner)
        inner.close()
        return first, list(log)

    inside = stator.compile(lambda x: list(program(x)), backend=backend)
    for _ in range(3):
        assert plain(inside(torch.ones(2))) == plain(list(program(torch.ones(2))))


@pytest.mark.parametrize("backend", BACKENDS)
def test_pre_hook_break(backend: str, capsys: pytest.CaptureFixture[str]) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)).eval()

    def speak(module: torch.nn.Module, args: tuple[Any, ...]) -> None:
        print("before", type(module).__name__, tuple(args[0].shape))

    model[2].register_forward_pre_hook(speak)
    compiled = stator.compile(model, backend=backend)
    x = torch.randn(3, 4)
    for _ in range(3):
        expected = model(x)
        printed = capsys.readouterr().out
        assert torch.equal(compiled(x), expected)
        assert capsys.readouterr().out == printed == "before Linear (3, 4)\n"
    assert any(entry.hits for entry in stator.cache_entries(compiled))
