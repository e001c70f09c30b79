"""benchmarks/speed_models.py: models in full size, for speed.py on machines with CUDA."""

from __future__ import annotations

from collections.abc import Callable

from speed_cases import Program, pretrained

import torch

BATCH, LENGTH = 8, 128


def tokens(vocabulary: int) -> torch.Tensor:
    return torch.randint(0, vocabulary, (BATCH, LENGTH))


def bert() -> Program:
    return pretrained("BertModel", "BertConfig", {}, {"input_ids": tokens(30522)})


def gpt2() -> Program:
    call = {"input_ids": tokens(50257), "use_cache": False}
    return pretrained("GPT2LMHeadModel", "GPT2Config", {}, call)


def vit() -> Program:
    return pretrained("ViTModel", "ViTConfig", {}, {"pixel_values": torch.randn(BATCH, 3, 224, 224)})


def llama() -> Program:
    options = {
        "hidden_size": 1024,
        "intermediate_size": 2816,
        "num_hidden_layers": 16,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "vocab_size": 32000,
    }
    call = {"input_ids": tokens(32000), "use_cache": False}
    return pretrained("LlamaForCausalLM", "LlamaConfig", options, call)


def resnet50() -> Program:
    import torchvision

    return Program(torchvision.models.resnet50().eval(), (torch.randn(32, 3, 224, 224),))


MODELS: dict[str, Callable[[], Program]] = {
    each.__name__: each for each in (bert, gpt2, vit, llama, resnet50)
}
