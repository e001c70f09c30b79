"""Traced and replayed models give what eager gives: values, gradients, statistics, random numbers."""

import copy

import pytest

import stator._torch as st
import torch
from torch import nn


def conv_net() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, stride=2, groups=2),
        nn.GELU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(16, 5),
    )


def mlp() -> nn.Module:
    return nn.Sequential(*[layer for _ in range(4) for layer in (nn.Linear(64, 64), nn.ReLU())])


def encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


MODELS = {
    "mlp": (mlp, (3, 64)),
    "conv_net": (conv_net, (2, 3, 16, 16)),
    "encoder": (encoder, (2, 7, 32)),
}


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_model(name: str, training: bool) -> None:
    make, shape = MODELS[name]
    torch.manual_seed(0)
    eager = make().train(training)
    traced = copy.deepcopy(eager)
    example, x = torch.randn(shape), torch.randn(shape)
    before = {key: value.clone() for key, value in traced.state_dict().items()}
    trace = st.trace(traced, (example,))
    assert trace.counters["dispatched_meta_calls"] == 0
    for key, value in traced.state_dict().items():
        assert torch.equal(value, before[key]), f"tracing wrote {key}"

    torch.manual_seed(1)
    expected = eager(x)
    torch.manual_seed(1)
    found = trace.replay([x])
    assert torch.equal(found, expected)
    assert found.stride() == expected.stride()
    assert found.requires_grad == expected.requires_grad
    for key, value in traced.state_dict().items():
        assert torch.equal(value, eager.state_dict()[key]), key

    expected.square().sum().backward()
    found.square().sum().backward()
    for (key, a), (_, b) in zip(traced.named_parameters(), eager.named_parameters(), strict=True):
        assert a.grad is not None
        assert b.grad is not None
        assert torch.equal(a.grad, b.grad), key


def test_mlp_has_one_node_per_layer() -> None:
    trace = st.trace(mlp(), (torch.randn(3, 64),))
    assert trace.node_count == 8
    assert "aten::linear" in trace.graph


def test_adam_step() -> None:
    def step(p: torch.Tensor, g: torch.Tensor, m: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            m.lerp_(g, 0.1)
            v.mul_(0.999).addcmul_(g, g, value=0.001)
            p.addcdiv_(m, v.sqrt().add_(1e-8), value=-0.01)
        return p

    def tensors() -> list[torch.Tensor]:
        torch.manual_seed(3)
        p, g, m, v = torch.randn(4, 5), torch.randn(4, 5), torch.zeros(4, 5), torch.zeros(4, 5)
        return [p.requires_grad_(), g, m, v]

    trace = st.trace(step, tensors())
    eager, replayed = tensors(), tensors()
    step(*eager)
    trace.replay(replayed)
    for a, b in zip(eager, replayed, strict=True):
        assert torch.equal(a, b)
