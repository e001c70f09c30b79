"""The programs of the demonstration: a language model, a loop with breaks, a training step."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn


class Program(NamedTuple):
    """Something to compile, made anew for each engine: what it learns must not be shared."""

    title: str
    make: Callable[[], Callable[..., Any]]
    arguments: tuple[Any, ...]
    needs_grad: bool


def programs() -> list[Program]:
    """In the order they are shown."""
    return [language_model(), loop_with_breaks(), training_step()]


def language_model() -> Program:
    """GPT-2 of Hugging Face in small with random weights, or, where that is not installed, a plain one."""
    ids = torch.randint(0, 1000, (2, 32))
    try:
        from transformers import GPT2Config, GPT2LMHeadModel
    except ImportError:
        return Program("A transformer (4 layers; pip install transformers for GPT-2)", _plain, (ids,), False)
    config = GPT2Config(vocab_size=1000, n_positions=64, n_embd=128, n_layer=4, n_head=4, use_cache=False)
    config.bos_token_id = config.eos_token_id = 0

    def make() -> Callable[..., Any]:
        torch.manual_seed(0)
        model = GPT2LMHeadModel(config).eval()
        return lambda ids: model(ids).logits

    return Program("GPT-2 of Hugging Face, 4 layers, random weights", make, (ids,), False)


def _plain() -> Callable[..., Any]:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True)
    model = nn.Sequential(nn.Embedding(1000, 128), nn.TransformerEncoder(layer, 4), nn.Linear(128, 1000))
    return model.train()  # in eval it takes a single operator that is no work for a capture


def loop_with_breaks() -> Program:
    """Two things in every turn that no graph can hold: a look at the machine, and a value of a tensor."""

    def make() -> Callable[..., Any]:
        torch.manual_seed(0)
        layers = nn.ModuleList(nn.Linear(64, 64) for _ in range(8))

        def refine(x: torch.Tensor) -> torch.Tensor:
            for layer in layers:
                y = torch.tanh(layer(x))
                os.getloadavg()
                x = x + y * torch.sigmoid(y) * 0.5
                if x.abs().max() > 4:
                    x = x / 2
            return x

        return refine

    return Program("A loop of 8 turns with two breaks in each", make, (torch.randn(16, 64),), False)


def training_step() -> Program:
    """Gradients set to nothing, forward, loss, backward and the optimizer's step."""

    def make() -> Callable[..., Any]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 8))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, foreach=False)

        def step(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step

    inputs = torch.randn(32, 64), torch.randint(0, 8, (32,))
    return Program("A training step: forward, backward, SGD with momentum", make, inputs, True)
