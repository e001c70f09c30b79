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


def unet() -> Program:
    """The denoiser of Stable Diffusion 1.5, for two images of 512 x 512."""
    from diffusers import UNet2DConditionModel

    model = UNet2DConditionModel(sample_size=64, cross_attention_dim=768, attention_head_dim=8).eval()
    arguments = (torch.randn(2, 4, 64, 64), torch.tensor([10, 10]), torch.randn(2, 77, 768))
    return Program(model, arguments, {"return_dict": False})


MODELS: dict[str, Callable[[], Program]] = {
    each.__name__: each for each in (bert, gpt2, vit, llama, resnet50, unet)
}
