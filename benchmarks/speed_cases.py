"""benchmarks/speed_cases.py: the programs of the Speed table, and what Stator must reach on each.

A case builds a callable and its arguments, in the sizes of the Speed table. `grad`: gradients are enabled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import torch


class Program(NamedTuple):
    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = MappingProxyType({})
    grad: bool = False

    def __call__(self) -> Any:
        return self.function(*self.args, **self.kwargs)


@dataclass(frozen=True)
class Must:
    """A capture so many times faster than Dynamo's, a hit of at most so many microseconds."""

    capture: float = 50
    hit: float | None = None


@dataclass(frozen=True)
class Case:
    name: str
    build: Callable[[], Program]
    must: Must


CASES: dict[str, Case] = {}


def case(
    *, capture: float = 50, hit: float | None = None
) -> Callable[[Callable[[], Program]], Callable[[], Program]]:
    def register(build: Callable[[], Program]) -> Callable[[], Program]:
        CASES[build.__name__] = Case(build.__name__, build, Must(capture, hit))
        return build

    return register


TEXT = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "vocab_size": 1000}


def tokens() -> torch.Tensor:
    return torch.randint(0, 500, (2, 16))


def pretrained(model: str, config: str, options: dict[str, Any], call: dict[str, Any]) -> Program:
    """A model of transformers with random weights."""
    import transformers

    transformers.logging.set_verbosity_error()
    made = getattr(transformers, model)(getattr(transformers, config)(**options))
    return Program(made.eval(), (), call)


@case(hit=1)
def mlp() -> Program:
    blocks = [torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU()) for _ in range(4)]
    return Program(torch.nn.Sequential(*blocks).eval(), (torch.randn(8, 64),))


@case(hit=5)
def bert() -> Program:
    return pretrained("BertModel", "BertConfig", {**TEXT, "num_hidden_layers": 12}, {"input_ids": tokens()})


@case(hit=5)
def gpt2() -> Program:
    options = {
        "n_embd": 64,
        "n_head": 4,
        "n_layer": 12,
        "vocab_size": 1000,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    return pretrained("GPT2LMHeadModel", "GPT2Config", options, {"input_ids": tokens(), "use_cache": False})


def _llama(use_cache: bool) -> Program:
    call = {"input_ids": tokens(), "use_cache": use_cache}
    return pretrained("LlamaForCausalLM", "LlamaConfig", {**TEXT, "num_hidden_layers": 16}, call)


@case(hit=5)
def llama() -> Program:
    return _llama(use_cache=False)


@case(hit=8)
def llama_cache() -> Program:
    return _llama(use_cache=True)


@case(hit=8)
def qwen_decode() -> Program:
    options = {**TEXT, "num_hidden_layers": 36, "num_key_value_heads": 2, "head_dim": 16}
    return pretrained("Qwen3ForCausalLM", "Qwen3Config", options, {"input_ids": tokens(), "use_cache": False})


@case(hit=5)
def vit() -> Program:
    options = {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_attention_heads": 4,
        "num_hidden_layers": 12,
        "image_size": 32,
        "patch_size": 8,
    }
    return pretrained("ViTModel", "ViTConfig", options, {"pixel_values": torch.randn(2, 3, 32, 32)})


@case(hit=8)
def t5() -> Program:
    options = {"d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 6, "num_heads": 4, "vocab_size": 1000}
    call = {"input_ids": tokens(), "decoder_input_ids": tokens(), "use_cache": False}
    return pretrained("T5ForConditionalGeneration", "T5Config", options, call)


@case(hit=5)
def whisper() -> Program:
    sides = {
        f"{side}_{what}": n
        for side in ("encoder", "decoder")
        for what, n in (("layers", 4), ("attention_heads", 4), ("ffn_dim", 128))
    }
    special = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    options = {"d_model": 64, "vocab_size": 1000, "max_source_positions": 50, **sides, **special}
    call = {"input_features": torch.randn(2, 80, 100), "decoder_input_ids": tokens(), "use_cache": False}
    return pretrained("WhisperForConditionalGeneration", "WhisperConfig", options, call)


@case(hit=5)
def mixtral() -> Program:
    options = {**TEXT, "num_hidden_layers": 8, "num_key_value_heads": 2, "num_local_experts": 4}
    return pretrained(
        "MixtralForCausalLM", "MixtralConfig", options, {"input_ids": tokens(), "use_cache": False}
    )


@case(hit=10)
def guard_depth() -> Program:
    return Program(
        torch.nn.Sequential(*[torch.nn.Linear(8, 8) for _ in range(500)]).eval(), (torch.randn(2, 8),)
    )


@case(hit=1)
def adds5000() -> Program:
    def adds(x: torch.Tensor) -> torch.Tensor:
        for _ in range(5000):
            x = torch.add(x, 1)
        return x

    return Program(adds, (torch.randn(4),))


@case(capture=500, hit=15)
def guard_build() -> Program:
    class Bag:
        pass

    nested: list[Any] = []
    bag = Bag()
    for i in range(1000):
        nested = [nested]
        setattr(bag, f"a{i}", i)

    def reads(x: torch.Tensor) -> torch.Tensor:
        inner = nested
        while inner:
            inner = inner[0]
        total = 0
        for i in range(1000):
            total += getattr(bag, f"a{i}")
        return x + total

    return Program(reads, (torch.randn(4),))


def _optimizer(kind: Callable[..., Any], count: int) -> Program:
    parameters = [torch.nn.Parameter(torch.randn(4)) for _ in range(count)]
    for parameter in parameters:
        parameter.grad = torch.randn(4)
    optimizer = kind(parameters, lr=0.1, foreach=False)
    return Program(lambda: optimizer.step(), grad=True)


@case()
def sgd1000() -> Program:
    return _optimizer(torch.optim.SGD, 1000)


@case()
def adam200() -> Program:
    return _optimizer(torch.optim.Adam, 200)


@case(capture=50)
def tiny_fn() -> Program:
    """A rotary embedding of one small tensor: the whole call must be faster than eager."""

    def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        first, second = x[..., :4], x[..., 4:]
        return x * cos + torch.cat((-second, first), -1) * sin

    return Program(rotate, (torch.randn(2, 8), torch.randn(8), torch.randn(8)))
