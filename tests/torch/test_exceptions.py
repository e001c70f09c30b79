"""Errors that kernels raise on a hit are those of eager code: type, handlers, lines, effects."""

import linecache
import traceback
from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch
from torch import nn

BACKENDS = ["native", "eager", "aot_eager"]


def looked_up(table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    y = index * 1
    rows = nn.functional.embedding(y, table)
    return rows * 2


def lines_of(error: BaseException) -> list[str]:
    return [
        linecache.getline(frame.filename, frame.lineno or 0).strip()
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == __file__
    ]


@pytest.mark.parametrize("backend", BACKENDS)
def test_type_and_line_are_eagers(backend: str) -> None:
    compiled = stator.compile(looked_up, backend=backend, fullgraph=True)
    table = torch.randn(4, 2)
    good, bad = torch.tensor([0, 3]), torch.tensor([0, 9])
    assert torch.equal(compiled(table, good), looked_up(table, good))
    with pytest.raises(IndexError) as wanted:
        looked_up(table, bad)
    with pytest.raises(IndexError) as got:
        compiled(table, bad)
    assert str(got.value) == str(wanted.value)
    assert lines_of(got.value)[-1] == lines_of(wanted.value)[-1]
    assert lines_of(got.value)[-1] == "rows = nn.functional.embedding(y, table)"
    assert torch.equal(compiled(table, good), looked_up(table, good))
    assert stator.cache_entries(compiled)[0].hits == 2


@pytest.mark.filterwarnings("ignore:stator")
@pytest.mark.parametrize("backend", BACKENDS)
def test_handlers_of_the_function_see_it(backend: str) -> None:
    seen: list[str] = []

    def f(table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        try:
            return table[index.clone()] + 1
        except IndexError:
            seen.append("out of range")
            return table - 1
        finally:
            seen.append("done")

    compiled = stator.compile(f, backend=backend, fullgraph=True)
    table = torch.randn(3)
    for index, effects in (([0], ["done"]), ([7], ["out of range", "done"]), ([2], ["done"])):
        where = torch.tensor(index)
        wanted = f(table, where)
        seen.clear()
        assert torch.equal(compiled(table, where), wanted)
        assert seen == effects
        seen.clear()
    assert len(stator.cache_entries(compiled)) == 1


@pytest.mark.filterwarnings("ignore:stator")
@pytest.mark.parametrize("backend", BACKENDS)
def test_random_numbers_are_drawn_once(backend: str) -> None:
    def f(table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        noise = torch.rand(3)
        try:
            return table[index.clone()] + noise
        except IndexError:
            return noise

    compiled = stator.compile(f, backend=backend, fullgraph=True)
    table = torch.randn(3)
    compiled(table, torch.tensor([0, 1, 2]))
    torch.manual_seed(3)
    got = compiled(table, torch.tensor([0, 1, 9]))
    after = torch.rand(1)
    torch.manual_seed(3)
    assert torch.equal(got, f(table, torch.tensor([0, 1, 9])))
    assert torch.equal(after, torch.rand(1))


def test_what_was_written_is_not_written_twice() -> None:
    """Past a write to an older tensor the error is raised as it is, from the user's line."""

    def f(count: torch.Tensor, table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        count.add_(1)
        return table[index.clone()] + 1

    compiled = stator.compile(f, backend="native", fullgraph=True)
    count, table = torch.zeros(1), torch.randn(3)
    compiled(count, table, torch.tensor([0]))
    with pytest.raises(IndexError) as got:
        compiled(count, table, torch.tensor([9]))
    assert count.item() == 2
    assert lines_of(got.value)[-1] == "return table[index.clone()] + 1"


def test_callees_after_a_break() -> None:
    def f(table: torch.Tensor, index: torch.Tensor) -> Any:
        try:
            rows = looked_up(table, index)
        except IndexError as error:
            return lines_of(error)[-1]
        return float(rows.sum())

    compiled = stator.compile(f, backend="native")
    table = torch.randn(4, 2)
    for index in ([1], [2], [9], [1]):
        where = torch.tensor(index)
        assert compiled(table, where) == f(table, where)


def test_modes_are_put_back() -> None:
    def f(table: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return table[index.clone()] + 1

    for backend in BACKENDS:
        compiled = stator.compile(f, backend=backend, fullgraph=True)
        table = torch.randn(3)
        compiled(table, torch.tensor([0]))
        with pytest.raises(IndexError):
            compiled(table, torch.tensor([9]))
        assert torch.is_grad_enabled()


def test_faults_of_a_backend_are_shown() -> None:
    def fails(gm: Any, examples: Any) -> Any:
        def run(*inputs: torch.Tensor) -> Any:
            raise ZeroDivisionError("the backend's own")

        return run

    compiled = stator.compile(lambda x: x + 1, backend=fails)
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="raised ZeroDivisionError.*the backend's own"):
            assert compiled(torch.ones(1)).item() == 2
    with pytest.raises(ZeroDivisionError, match="the backend's own"):
        stator.compile(lambda x: x.add_(1), backend=fails)(torch.ones(1))


@pytest.mark.parametrize("write", ["x[0].mul_(2)", "x.view(-1)[0] = 5", "x.t()[1:].zero_()", "x[0] += 1"])
@pytest.mark.parametrize("caught", [False, True])
def test_a_write_that_torch_refuses_before_it_is_made(write: str, caught: bool) -> None:
    handler = "except RuntimeError as error: log.append(str(error))" if caught else "finally: log.append(2)"
    text = f"def program(x, log):\n log.append(1)\n try: {write}\n {handler}\n return x * 2\n"
    space: dict[str, Any] = {}
    exec(text, space)
    plain = space["program"]
    compiled = stator.compile(plain, backend="native")

    def outcome(program: Callable[..., Any], gradient: bool) -> Any:
        x, log = torch.arange(6.0).reshape(2, 3).requires_grad_(gradient), list[Any]()
        try:
            return program(x, log).tolist(), log
        except RuntimeError as error:
            return str(error), log

    for gradient in (True, False, True, False):
        assert outcome(compiled, gradient) == outcome(plain, gradient)


WRITES = ["y *= 0.5", "y[0].zero_()", "torch.sin(x, out=y)", "torch.add(x, 1, out=y.view(-1)[:3])"]


def test_a_write_to_memory_that_overlaps() -> None:
    def program(x: torch.Tensor, y: torch.Tensor, log: list[int]) -> torch.Tensor:
        log.append(1)
        try:
            y.add_(x)
        except RuntimeError:
            log.append(2)
        return y * 2

    compiled = stator.compile(program, backend="native")
    for kind in (0, 1, 0, 1):
        outcomes = []
        for run in (compiled, program):
            base, log = torch.arange(6.0), list[int]()
            # Sizes and strides are alike: only the call itself shows that both share memory.
            outcomes.append(
                (run(base[:4] if kind else torch.arange(4.0), base[1:5], log).tolist(), log, base.tolist())
            )
        assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("write", WRITES)
def test_a_write_that_torch_refuses_on_a_hit(write: str) -> None:
    body = f" try: {write}\n except RuntimeError: log.append(2)\n return x * 2\n"
    text = f"def program(x, y, log):\n log.append(1)\n{body}"
    space: dict[str, Any] = {"torch": torch}
    exec(text, space)
    plain = space["program"]
    compiled = stator.compile(plain, backend="native")

    def outcome(program: Callable[..., Any], kind: int) -> Any:
        leaf = torch.arange(6.0).reshape(2, 3).requires_grad_(kind > 0)
        x, y, log = torch.ones(3), (leaf * 1 if kind == 1 else leaf.view(2, 3)), list[Any]()
        return program(x, y, log).tolist(), y.tolist(), log

    # The same metadata, but one is a view of a leaf, which no guard looks at.
    for kind in (0, 1, 2, 1, 2, 0):
        assert outcome(compiled, kind) == outcome(plain, kind)


class Refused(Exception):
    """Has no __init__ of its own: `raise Refused` makes an instance in C."""


class Numbered(Exception):
    def __init__(self) -> None:
        super().__init__("numbered")
        self.number = 3


@pytest.mark.parametrize("backend", BACKENDS)
def test_classes_of_the_program_are_raised(backend: str) -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, bool, bool]:
        try:
            raise Refused
        except Refused as error:
            bare, known = len(error.args) == 0, type(error) is Refused
        try:
            try:
                raise Refused("a", 2)
            except Refused as first:
                raise Numbered from first
        except Numbered as second:
            cause = second.__cause__
            return x + second.number + (2 if isinstance(cause, Refused) else 0), bare, known

    compiled = stator.compile(function, backend=backend, fullgraph=True)
    x = torch.ones(2)
    for _ in range(2):
        found, wanted = compiled(x), function(x)
        assert torch.equal(found[0], wanted[0])
        assert found[1:] == wanted[1:]
