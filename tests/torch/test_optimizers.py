"""Steps of optimizers: parameters change in place, gradients are read, state is made on the first step."""

from typing import Any

import pytest

import stator
import torch
from torch import nn


def made(kind: Any, **options: Any) -> tuple[list[nn.Parameter], Any]:
    torch.manual_seed(0)
    parameters = [nn.Parameter(torch.randn(4, 3)) for _ in range(5)]
    for p in parameters:
        p.grad = torch.randn(4, 3)
    return parameters, kind(parameters, lr=0.1, foreach=False, **options)


@pytest.mark.parametrize(
    "options", [{}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}]
)
def test_sgd_is_one_graph(options: dict[str, Any]) -> None:
    made(torch.optim.SGD, **options)[1].step()  # torch imports what it needs
    (ours, optimizer), (theirs, plain) = made(torch.optim.SGD, **options), made(torch.optim.SGD, **options)
    step = stator.compile(lambda: optimizer.step(), backend="native", fullgraph=True)
    for _ in range(4):
        step()
        plain.step()
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
    assert sum(entry.hits for entry in stator.cache_entries(step)) >= 2
    for p, q in zip(ours, theirs, strict=True):
        p.grad = q.grad = torch.ones(4, 3)  # another gradient is noticed
    step()
    plain.step()
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_a_learning_rate_that_changes_is_seen() -> None:
    made(torch.optim.SGD)[1].step()
    (ours, optimizer), (theirs, plain) = made(torch.optim.SGD), made(torch.optim.SGD)
    step = stator.compile(lambda: optimizer.step(), backend="native")
    for lr in (0.1, 0.1, 0.05, 0.05, 0.01):
        optimizer.param_groups[0]["lr"] = plain.param_groups[0]["lr"] = lr
        step()
        plain.step()
        assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize(
    "kind", [torch.optim.Adam, torch.optim.AdamW, torch.optim.Adagrad, torch.optim.RMSprop]
)
def test_other_optimizers_do_what_eager_does(kind: Any) -> None:
    made(kind)[1].step()
    (ours, optimizer), (theirs, plain) = made(kind), made(kind)
    step = stator.compile(lambda: optimizer.step(), backend="native")
    for _ in range(4):
        step()
        plain.step()
        for a, b in zip(ours, theirs, strict=True):
            torch.testing.assert_close(a, b)
