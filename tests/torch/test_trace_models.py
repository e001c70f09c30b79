"""Traced and replayed models give what eager gives."""

import torch

import stator._torch as st


def test_mlp() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[layer for _ in range(4) for layer in (torch.nn.Linear(64, 64), torch.nn.ReLU())])
    trace = st.trace(model, (torch.randn(3, 64),))
    assert trace.node_count == 8
    x = torch.randn(3, 64)
    assert torch.equal(trace.replay([x]), model(x))
