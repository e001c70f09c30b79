"""Programs through `openxla` and `openxla_eval` against eager: values, strides, effects, gradients."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch.nn.functional as F
from agreement import assert_agree, check

import stator
import torch
from stator.backends.openxla.executables import counts


@pytest.fixture(autouse=True)
def _fresh() -> None:
    stator.reset()
    torch.manual_seed(0)


def used_programs(run: Callable[[], Any]) -> tuple[Any, int]:
    before = counts["uses"]
    result = run()
    return result, counts["uses"] - before


def empty_results(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    empty = x[:0]
    return empty @ empty.t(), empty * 2, (x[:, :1] + 1).diff(), empty.t().exp(), empty[None].sum(0)


def writes_a_view(x: torch.Tensor) -> torch.Tensor:
    x[1:].mul_(2)
    x.t()[0] += 1
    return x.sum(0)


def aliases(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    flat = x.view(-1)
    flat[0] = 5
    x.mul_(2)
    later = flat + 1
    flat[1:3].zero_()
    return later, flat, x


def writes_in_turn(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x.copy_(y)
    y.add_(1)
    return x + y


def writes_halves(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = x * 1
    first, second = y.chunk(2)
    first.add_(second)
    second.copy_(first)
    return y, first.sum()


def writes_an_intermediate(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y.view(-1)[3:5] = 7.0
    y.diagonal().add_(1)
    return y


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "promotion": (lambda x, i: (x + i, i / 2, i // 2, x > i, i * 2.5), (torch.randn(4), torch.arange(-2, 2))),
    "python's modulo": (lambda x: (x % 3, x.remainder(-3), x // -2, x.fmod(3)), (torch.arange(-5, 6),)),
    "floats divided": (lambda x: (x // 0.1, x % 0.7), (torch.randn(50),)),
    "a written argument": (lambda x: (x.add_(1) * 2).sum(), (torch.zeros(3),)),
    "a written view of an argument": (writes_a_view, (torch.randn(4, 4),)),
    "a written view of an intermediate": (writes_an_intermediate, (torch.randn(4, 4),)),
    "views and their base": (aliases, (torch.randn(3, 3),)),
    "arguments written in turn": (writes_in_turn, (torch.randn(3), torch.randn(3))),
    "halves of an intermediate": (writes_halves, (torch.randn(4, 4),)),
    "results with gaps": (
        lambda x: ((x * 2)[::2], (x - 1)[1:], (x * 3).diagonal(), (x * 2).expand(2, 7, 8), (x + 1).t()),
        (torch.randn(7, 8),),
    ),
    "parts as results": (lambda x: (x * 2).split(3, 1), (torch.randn(4, 7),)),
    "views of an argument": (lambda x: (x[1:], x.t(), x.view(-1), x * 2), (torch.randn(4, 4),)),
    "conjugates": (lambda z: ((z * 2).conj(), z.conj() * z), (torch.randn(3, dtype=torch.complex64),)),
    "channels last": (
        lambda x, w: F.conv2d(x, w, padding=1),
        (torch.randn(2, 3, 8, 8).contiguous(memory_format=torch.channels_last), torch.randn(4, 3, 3, 3)),
    ),
    "a transposed input": (lambda x: x @ x.t(), (torch.randn(5, 3).t(),)),
    "an expanded input": (lambda x: x * 2, (torch.randn(1, 3).expand(4, 3),)),
    "an input at an odd address": (lambda x: x + 1, (torch.randn(9)[1:],)),
    "negative indices": (lambda x, i: (x[i], x[:, i - 1]), (torch.randn(4, 4), torch.tensor([-1, 0, 2]))),
    "mixed indices": (lambda x, i: x[i, :, i], (torch.randn(4, 5, 4), torch.tensor([[1, 3], [0, -2]]))),
    "not a number among extremes": (
        lambda x: (x.max(1), x.argmin(), x.sort(1), x.amax(), x.cummax(1)),
        (torch.tensor([[1.0, float("nan"), 3.0], [2.0, 2.0, -1.0]]),),
    ),
    "a grouped transposed convolution": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1, groups=2, dilation=2),
        (torch.randn(2, 4, 5, 6), torch.randn(4, 3, 3, 2)),
    ),
    "pooling that hangs over": (
        lambda x: (F.max_pool2d(x, 3, 2, 1, ceil_mode=True), F.avg_pool2d(x, 3, 2, 1, ceil_mode=True)),
        (torch.randn(1, 2, 7, 8),),
    ),
    "attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        tuple(torch.randn(3, 2, 4, 6, 8).unbind()),
    ),
    "integers beyond a double's": (
        lambda x: (torch.arange(2**53 + 1, 2**53 + 4) + x, torch.arange(2**60 + 1, 2**60 + 8, 3) * x),
        (torch.ones(3, dtype=torch.int64),),
    ),
    "strides of results without elements": (empty_results, (torch.randn(4, 3),)),
    "no elements": (lambda x: (x * 2, torch.cat([x, x + 1])), (torch.randn(0, 3),)),
    "booleans": (lambda x: (x.any(0), x.all(), x & ~x, x.sum()), (torch.randn(3, 4) > 0,)),
    "an infinite constant": (lambda x: x.masked_fill(x > 0, float("-inf")).softmax(-1), (torch.randn(4, 6),)),
    "a long double constant": (lambda x: x * 3.141592653589793, (torch.randn(4, dtype=torch.float64),)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    function, inputs = PROGRAMS[name]
    check(function, *inputs, outside=0)


def test_an_operator_without_a_rule_splits_the_graph() -> None:
    matrix = torch.randn(4, 4)
    check(lambda x: torch.linalg.eigvalsh(x @ x.t() + 1) * 2, matrix, outside=1)


def test_the_same_value_returned_twice_is_one_tensor() -> None:
    def twice(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x + 1
        return y, y

    with torch.no_grad():
        a, b = stator.compile(twice, backend="openxla_eval")(torch.randn(3))
    assert a is b


def test_bfloat16() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.LayerNorm(32)).bfloat16()
    x = torch.randn(4, 16).bfloat16()
    with torch.no_grad():
        got, programs = used_programs(lambda: stator.compile(model, backend="openxla_eval")(x))
        torch.testing.assert_close(got, model(x), rtol=3e-2, atol=3e-2)
    assert programs == 1


def small_network() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1, bias=False),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Dropout(0.5),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * 16, 4),
    )


@pytest.mark.parametrize("backend", ["openxla", "openxla_eval"])
def test_training(backend: str) -> None:
    """Losses, gradients and statistics of three steps; dropout draws as eager does."""
    model = small_network()
    twin = copy.deepcopy(model)
    compiled = stator.compile(model, backend=backend)
    optimizers = [torch.optim.SGD(m.parameters(), 0.1, momentum=0.9) for m in (model, twin)]
    before = counts["uses"]
    for step in range(3):
        x = torch.randn(2, 3, 8, 8)
        losses = []
        for run, optimizer in zip((compiled, twin), optimizers, strict=True):
            torch.manual_seed(step)
            optimizer.zero_grad()
            loss = run(x).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        torch.testing.assert_close(losses[0], losses[1], rtol=1e-4, atol=1e-4)
        for a, b in zip(model.parameters(), twin.parameters(), strict=True):
            torch.testing.assert_close(a.grad, b.grad, rtol=1e-3, atol=1e-4)
        for a, b in zip(model.buffers(), twin.buffers(), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)
    assert counts["uses"] - before >= 2, "forward and backward are programs of XLA"


def test_parameters_that_change_in_place_are_seen() -> None:
    model = torch.nn.Linear(3, 3)
    compiled = stator.compile(model, backend="openxla_eval")
    x = torch.randn(2, 3)
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(compiled(x), model(x))
            model.weight.add_(1)
            x.mul_(2)


def test_memory_that_is_freed_and_used_again_is_not_taken_for_the_old_one() -> None:
    with torch.no_grad():
        compiled = stator.compile(lambda x: x * 2, backend="openxla_eval")
        for step in range(50):
            x = torch.full((64,), float(step))
            assert torch.equal(compiled(x), x * 2)
            del x


def test_results_are_not_changed_by_later_calls() -> None:
    compiled = stator.compile(lambda x: x + 1, backend="openxla_eval")
    with torch.no_grad():
        results = [compiled(torch.full((8,), float(i))) for i in range(10)]
    assert [r[0].item() for r in results] == [float(i + 1) for i in range(10)]
    results[0].zero_()
    assert results[1][0].item() == 2.0


def test_sizes_that_change() -> None:
    """A symbolic graph is specialised: one program for each size, and no more captures than two."""
    compiled = stator.compile(lambda x: (x * x.shape[0]).sum(0), backend="openxla_eval")
    with torch.no_grad():
        for size in (3, 4, 5, 4, 3):
            x = torch.randn(size, 2)
            torch.testing.assert_close(compiled(x), (x * size).sum(0))
    assert len(stator.cache_entries(compiled)) <= 2


def test_random_operators_are_reproducible_from_the_seed() -> None:
    compiled = stator.compile(lambda x: F.dropout(x, 0.5) + torch.rand_like(x), backend="openxla_eval")
    x = torch.ones(100)
    with torch.no_grad():
        results = []
        for _ in range(2):
            torch.manual_seed(5)
            results += [compiled(x), compiled(x)]
    assert torch.equal(results[0], results[2])
    assert torch.equal(results[1], results[3])
    assert not torch.equal(results[0], results[1])


def test_equal_graphs_of_equal_shapes_are_compiled_once() -> None:
    x = torch.randn(3, 5)

    def run() -> None:
        with torch.no_grad():
            for _ in range(3):
                torch.testing.assert_close(
                    stator.compile(lambda a: a.exp() - 1, backend="openxla_eval")(x), x.expm1()
                )

    before = counts["programs"]
    _, uses = used_programs(run)
    assert (uses, counts["programs"] - before) == (3, 1)


def test_outputs_that_a_transposed_convolution_adds() -> None:
    """Where more are added than a step is wide, the gradient has places that no input made."""
    layer = torch.nn.ConvTranspose2d(2, 3, (3, 2), stride=1, dilation=2, output_padding=1)
    x = torch.randn(2, 2, 5, 4)

    def gradients(run: Any) -> list[torch.Tensor]:
        given = x.clone().requires_grad_()
        layer.zero_grad()
        (run(given) * torch.arange(3.0)[:, None, None]).sum().backward()
        return [given.grad, *(parameter.grad for parameter in layer.parameters())]

    assert_agree(gradients(stator.compile(layer, backend="openxla")), gradients(layer))
