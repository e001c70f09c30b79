"""The named cases of captures that are made too often, or shared wrongly."""

import logging
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch

BACKENDS = ["native", "eager"]


def captures(compiled: Any) -> int:
    return len(stator.cache_entries(compiled))


class Counted(torch.nn.Module):
    total = 0

    def __init__(self) -> None:
        super().__init__()
        self.counter = 0
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.counter += 1
        x = self.linear(x)
        return x * self.counter if self.counter > 1000 else x


@pytest.mark.parametrize("backend", BACKENDS)
def test_counter_attr(backend: str) -> None:
    model = Counted()
    compiled = stator.compile(model, backend=backend)
    x = torch.randn(2, 4)
    for i in range(20):
        assert torch.equal(compiled(x), model.linear(x))
        assert model.counter == i + 1
    assert captures(compiled) <= 3


class Block(torch.nn.Module):
    def __init__(self, scale: float) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.scale = scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x)) * self.scale


@pytest.mark.parametrize("backend", BACKENDS)
def test_many_instances(backend: str) -> None:
    """One capture serves the blocks that agree, those made later too."""

    def program(block: Block, x: torch.Tensor) -> torch.Tensor:
        out = block(x)
        assert isinstance(out, torch.Tensor)
        return out

    compiled = stator.compile(program, backend=backend)
    x = torch.randn(2, 4)
    for _ in range(30):
        block = Block(0.5)
        assert torch.equal(compiled(block, x), block(x))
    assert captures(compiled) <= 3
    compiled_blocks = [stator.compile(Block(0.5), backend=backend) for _ in range(5)]
    for each in compiled_blocks:
        for _ in range(3):
            assert torch.equal(each(x), each._orig_mod(x))
    assert all(captures(each) == 1 for each in compiled_blocks)


@pytest.mark.parametrize("backend", BACKENDS)
def test_closure_id(backend: str) -> None:
    """A function that is made anew for each call is known by its code and what it closes over."""

    def program(x: torch.Tensor, function: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        return function(x) + 1

    compiled = stator.compile(program, backend=backend)
    x = torch.randn(3)

    def made(factor: float) -> Callable[[torch.Tensor], torch.Tensor]:
        return lambda y: y * factor

    for _ in range(20):
        assert torch.equal(compiled(x, lambda y: y * 2), x * 2 + 1)
        assert torch.equal(compiled(x, made(3.0)), x * 3.0 + 1)
    assert captures(compiled) <= 4


@pytest.mark.parametrize("backend", BACKENDS)
def test_hook_id(backend: str) -> None:
    """Hooks that are made anew before each call."""
    stator.reset()  # functions of torch's may have reached their limits in other tests
    model = torch.nn.Linear(3, 3)
    compiled = stator.compile(model, backend=backend)
    x = torch.randn(2, 3)
    counts = []
    with warnings.catch_warnings(record=True):
        for i in range(60):
            handle = model.register_forward_hook(lambda module, args, out: out * 2)
            assert torch.equal(compiled(x), torch.nn.functional.linear(x, model.weight, model.bias) * 2), i
            handle.remove()
            counts.append(captures(compiled))
    assert counts[40] == counts[-1]  # those of the functions that are called among them


@pytest.mark.parametrize("backend", [*BACKENDS, "aot_eager"])
def test_lr_schedule(backend: str) -> None:
    def program(x: torch.Tensor, rate: float) -> torch.Tensor:
        return x - rate * x / (1 + rate) ** 2

    compiled = stator.compile(program, backend=backend)
    x = torch.randn(4)
    for i in range(20):
        rate = 0.1 * 0.9**i
        assert torch.equal(compiled(x, rate), program(x, rate))
    assert captures(compiled) <= 2


def test_lr_schedule_of_an_optimizer() -> None:
    def trained(compiled: bool) -> tuple[list[torch.Tensor], int]:
        torch.manual_seed(0)
        parameters = [torch.nn.Parameter(torch.randn(3)) for _ in range(4)]
        optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

        def step() -> None:
            optimizer.step()

        run: Any = stator.compile(step, backend="native") if compiled else step
        for i in range(12):
            for parameter in parameters:
                parameter.grad = torch.full((3,), 0.1 * i)
            run()
            schedule.step()
        return [parameter.detach() for parameter in parameters], captures(run) if compiled else 0

    expected, _ = trained(compiled=False)
    found, count = trained(compiled=True)
    assert all(torch.equal(a, b) for a, b in zip(expected, found, strict=True))
    assert count <= 4


def test_limit(caplog: pytest.LogCaptureFixture) -> None:
    """One message that names the guard; the callee, which always fits, is served all the same."""

    def callee(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def program(x: torch.Tensor, mode: str) -> torch.Tensor:
        return callee(x) if mode else x

    compiled = stator.compile(program, backend="native")
    x = torch.randn(3)
    with warnings.catch_warnings(record=True) as caught, caplog.at_level(logging.WARNING):
        warnings.simplefilter("always")
        for i in range(40):
            assert torch.equal(compiled(x, f"mode {i}"), x * 2)
    assert captures(compiled) <= 8 + 1
    said = [str(warning.message) for warning in caught] + [record.getMessage() for record in caplog.records]
    assert len([text for text in said if "mode" in text]) == 1, said


def test_shared_cache() -> None:
    """Two compiled forms of one function share nothing."""
    seen: list[str] = []

    def backend(name: str) -> Callable[..., Any]:
        def build(gm: Any, example_inputs: Any) -> Any:
            seen.append(name)
            return gm.forward

        return build

    def program(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    one = stator.compile(program, backend=backend("one"))
    other = stator.compile(program, backend=backend("other"))
    dynamic = stator.compile(program, backend=backend("dynamic"), dynamic=True)
    for function in (one, other, dynamic):
        for _ in range(2):
            assert torch.equal(function(torch.ones(3)), torch.full((3,), 2.0))
    assert seen == ["one", "other", "dynamic"]
    assert [captures(function) for function in (one, other, dynamic)] == [1, 1, 1]
    dynamic(torch.ones(5))
    one(torch.ones(5))
    assert seen == ["one", "other", "dynamic", "one"]


def test_explain_agrees() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        x = helper(x)
        print(end="")
        return helper(x * 3)

    def helper(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x) + 1

    x = torch.randn(3)
    found = stator.explain(program)(x)
    compiled = stator.compile(program, backend="eager")
    compiled(x)
    entries = stator.cache_entries(compiled)
    assert found.graph_count == len(entries) == len(found.graphs) == len(found.ops_per_graph)
    assert found.graph_break_count == len(found.break_reasons) == 1
    assert found.op_count == sum(len(operators) for operators in found.ops_per_graph)
    assert len(found.out_guards) == sum(len(entry.guards) for entry in entries)
