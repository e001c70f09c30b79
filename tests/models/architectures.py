"""Hugging Face architectures of different families, tiny, with random weights: what `make models` captures.

Each entry builds a model and the keyword arguments of one call. Sizes are small on purpose: what is measured
is the capture, and what is compared is every bit of the result.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

Inputs = dict[str, Any]
Builder = Callable[[Any], tuple[torch.nn.Module, Inputs]]


@dataclass(frozen=True)
class Architecture:
    name: str
    family: str
    build: Builder = field(compare=False)
    trains: bool = False


ARCHITECTURES: dict[str, Architecture] = {}

VOCABULARY = 100
TEXT: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "vocab_size": VOCABULARY,
}
GROUPED: dict[str, Any] = {**TEXT, "num_key_value_heads": 2}
SPECIAL: dict[str, Any] = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
SEQ2SEQ: dict[str, Any] = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 64,
    "decoder_start_token_id": 1,
    **SPECIAL,
}
VISION: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "image_size": 32,
    "patch_size": 8,
}


def ids(length: int = 12) -> torch.Tensor:
    return torch.randint(3, VOCABULARY, (2, length))


def image(size: int = 32) -> torch.Tensor:
    return torch.randn(2, 3, size, size)


def architecture(family: str, *, trains: bool = False) -> Callable[[Builder], Builder]:
    def register(build: Builder) -> Builder:
        name = build.__name__
        ARCHITECTURES[name] = Architecture(name, family, build, trains)
        return build

    return register


def _text(name: str, family: str, model: str, config: str, trains: bool = False, **options: Any) -> None:
    """Models that take token ids alone."""
    call = options.pop("call", {})
    length = options.pop("length", 12)

    def build(hf: Any) -> tuple[torch.nn.Module, Inputs]:
        return getattr(hf, model)(getattr(hf, config)(**options)), {"input_ids": ids(length), **call}

    ARCHITECTURES[name] = Architecture(name, family, build, trains)


# -- Encoders ----------------------------------------------------------------------------------------------
_text("bert", "encoder", "BertModel", "BertConfig", trains=True, **TEXT)
_text("roberta", "encoder", "RobertaModel", "RobertaConfig", trains=True, **TEXT, **SPECIAL)
_text("electra", "encoder", "ElectraModel", "ElectraConfig", trains=True, **TEXT, embedding_size=16)
_text("albert", "encoder", "AlbertModel", "AlbertConfig", **TEXT, embedding_size=16)
_text("xlm_roberta", "encoder", "XLMRobertaModel", "XLMRobertaConfig", trains=True, **TEXT, **SPECIAL)
_text("mpnet", "encoder", "MPNetModel", "MPNetConfig", **TEXT, **SPECIAL)
_text(
    "modernbert",
    "encoder",
    "ModernBertModel",
    "ModernBertConfig",
    **TEXT,
    **SPECIAL,
    cls_token_id=1,
    sep_token_id=2,
)
_text(
    "deberta",
    "encoder",
    "DebertaV2Model",
    "DebertaV2Config",
    **TEXT,
    relative_attention=True,
    pos_att_type=["p2c", "c2p"],
)
_text(
    "distilbert",
    "encoder",
    "DistilBertModel",
    "DistilBertConfig",
    trains=True,
    dim=32,
    hidden_dim=64,
    n_layers=2,
    n_heads=4,
    vocab_size=VOCABULARY,
)
_text(
    "fnet",
    "encoder",
    "FNetModel",
    "FNetConfig",
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=2,
    vocab_size=VOCABULARY,
)
_text(
    "mobilebert",
    "encoder",
    "MobileBertModel",
    "MobileBertConfig",
    **TEXT,
    embedding_size=32,
    intra_bottleneck_size=16,
    true_hidden_size=16,
)
_text(
    "squeezebert", "encoder", "SqueezeBertModel", "SqueezeBertConfig", trains=True, **TEXT, embedding_size=32
)
_text("convbert", "encoder", "ConvBertModel", "ConvBertConfig", **TEXT, embedding_size=32)
_text("roformer", "encoder", "RoFormerModel", "RoFormerConfig", **TEXT, embedding_size=32)

# -- Decoders ----------------------------------------------------------------------------------------------
NO_CACHE: dict[str, Any] = {"use_cache": False}
_text(
    "gpt2",
    "decoder",
    "GPT2LMHeadModel",
    "GPT2Config",
    trains=True,
    n_embd=32,
    n_head=4,
    n_layer=2,
    vocab_size=VOCABULARY,
    call=NO_CACHE,
    bos_token_id=1,
    eos_token_id=2,
)
_text("llama", "decoder", "LlamaForCausalLM", "LlamaConfig", trains=True, **GROUPED, call=NO_CACHE)
_text(
    "llama_cache",
    "decoder with cache",
    "LlamaForCausalLM",
    "LlamaConfig",
    **GROUPED,
    call={"use_cache": True},
)
_text(
    "mistral_cache",
    "decoder with cache",
    "MistralForCausalLM",
    "MistralConfig",
    **GROUPED,
    call={"use_cache": True},
)
_text(
    "gpt2_cache",
    "decoder with cache",
    "GPT2LMHeadModel",
    "GPT2Config",
    n_embd=32,
    n_head=4,
    n_layer=2,
    vocab_size=VOCABULARY,
    call={"use_cache": True},
    bos_token_id=1,
    eos_token_id=2,
)
_text("qwen2", "decoder", "Qwen2ForCausalLM", "Qwen2Config", trains=True, **GROUPED, call=NO_CACHE)
_text(
    "qwen3", "decoder", "Qwen3ForCausalLM", "Qwen3Config", trains=True, **GROUPED, head_dim=8, call=NO_CACHE
)
_text(
    "gemma", "decoder", "GemmaForCausalLM", "GemmaConfig", trains=True, **GROUPED, head_dim=8, call=NO_CACHE
)
_text(
    "gemma2_cache",
    "decoder with cache",
    "Gemma2ForCausalLM",
    "Gemma2Config",
    **GROUPED,
    head_dim=8,
    sliding_window=8,
    call={"use_cache": True},
)
_text("phi", "decoder", "PhiForCausalLM", "PhiConfig", trains=True, **TEXT, call=NO_CACHE)
_text("phi3", "decoder", "Phi3ForCausalLM", "Phi3Config", trains=True, **GROUPED, **SPECIAL, call=NO_CACHE)
_text(
    "opt",
    "decoder",
    "OPTForCausalLM",
    "OPTConfig",
    trains=True,
    hidden_size=32,
    ffn_dim=64,
    num_attention_heads=4,
    num_hidden_layers=2,
    vocab_size=VOCABULARY,
    word_embed_proj_dim=32,
    max_position_embeddings=64,
    **SPECIAL,
    call=NO_CACHE,
)
_text(
    "bloom",
    "decoder",
    "BloomForCausalLM",
    "BloomConfig",
    hidden_size=32,
    n_head=4,
    n_layer=2,
    vocab_size=VOCABULARY,
    call=NO_CACHE,
)
_text("gpt_neox", "decoder", "GPTNeoXForCausalLM", "GPTNeoXConfig", trains=True, **TEXT, call=NO_CACHE)
_text(
    "gpt_neo",
    "decoder",
    "GPTNeoForCausalLM",
    "GPTNeoConfig",
    hidden_size=32,
    num_layers=2,
    num_heads=4,
    attention_types=[[["global", "local"], 1]],
    vocab_size=VOCABULARY,
    max_position_embeddings=64,
    call=NO_CACHE,
)
_text(
    "gptj",
    "decoder",
    "GPTJForCausalLM",
    "GPTJConfig",
    n_embd=32,
    n_head=4,
    n_layer=2,
    rotary_dim=4,
    vocab_size=VOCABULARY,
    call=NO_CACHE,
)
_text(
    "falcon",
    "decoder",
    "FalconForCausalLM",
    "FalconConfig",
    hidden_size=32,
    num_attention_heads=4,
    num_hidden_layers=2,
    vocab_size=VOCABULARY,
    call=NO_CACHE,
)
_text("stablelm", "decoder", "StableLmForCausalLM", "StableLmConfig", trains=True, **GROUPED, call=NO_CACHE)
_text("starcoder2", "decoder", "Starcoder2ForCausalLM", "Starcoder2Config", **GROUPED, call=NO_CACHE)
_text("olmo2", "decoder", "Olmo2ForCausalLM", "Olmo2Config", trains=True, **GROUPED, **SPECIAL, call=NO_CACHE)
_text("cohere", "decoder", "CohereForCausalLM", "CohereConfig", **GROUPED, **SPECIAL, call=NO_CACHE)
_text("granite", "decoder", "GraniteForCausalLM", "GraniteConfig", **GROUPED, call=NO_CACHE)
_text("glm", "decoder", "GlmForCausalLM", "GlmConfig", **GROUPED, head_dim=8, **SPECIAL, call=NO_CACHE)

# -- Mixture of experts ------------------------------------------------------------------------------------
_text(
    "mixtral",
    "mixture of experts",
    "MixtralForCausalLM",
    "MixtralConfig",
    trains=True,
    **GROUPED,
    num_local_experts=4,
    call=NO_CACHE,
)
_text(
    "qwen2_moe",
    "mixture of experts",
    "Qwen2MoeForCausalLM",
    "Qwen2MoeConfig",
    **GROUPED,
    num_experts=4,
    num_experts_per_tok=2,
    moe_intermediate_size=32,
    shared_expert_intermediate_size=32,
    call=NO_CACHE,
)
_text(
    "olmoe",
    "mixture of experts",
    "OlmoeForCausalLM",
    "OlmoeConfig",
    **GROUPED,
    **SPECIAL,
    num_experts=4,
    num_experts_per_tok=2,
    call=NO_CACHE,
)
_text(
    "granitemoe",
    "mixture of experts",
    "GraniteMoeForCausalLM",
    "GraniteMoeConfig",
    **GROUPED,
    num_local_experts=4,
    num_experts_per_tok=2,
    call=NO_CACHE,
)

# -- State space and recurrent -----------------------------------------------------------------------------
_text(
    "mamba",
    "state space",
    "MambaForCausalLM",
    "MambaConfig",
    hidden_size=32,
    state_size=8,
    num_hidden_layers=2,
    vocab_size=VOCABULARY,
    **SPECIAL,
    call=NO_CACHE,
)
_text(
    "mamba2",
    "state space",
    "Mamba2ForCausalLM",
    "Mamba2Config",
    hidden_size=32,
    state_size=8,
    num_hidden_layers=2,
    num_heads=8,
    head_dim=8,
    n_groups=2,
    chunk_size=8,
    vocab_size=VOCABULARY,
    **SPECIAL,
    call=NO_CACHE,
)
_text(
    "falcon_mamba",
    "state space",
    "FalconMambaForCausalLM",
    "FalconMambaConfig",
    use_associative_scan=False,
    hidden_size=32,
    state_size=8,
    num_hidden_layers=2,
    vocab_size=VOCABULARY,
    **SPECIAL,
    call=NO_CACHE,
)
_text(
    "rwkv",
    "state space",
    "RwkvForCausalLM",
    "RwkvConfig",
    hidden_size=32,
    attention_hidden_size=32,
    num_hidden_layers=2,
    context_length=32,
    vocab_size=VOCABULARY,
    call=NO_CACHE,
)


# -- Encoder-decoder ---------------------------------------------------------------------------------------
def _both(name: str, model: str, config: str, trains: bool = False, **options: Any) -> None:
    def build(hf: Any) -> tuple[torch.nn.Module, Inputs]:
        made = getattr(hf, model)(getattr(hf, config)(**options))
        return made, {"input_ids": ids(), "decoder_input_ids": ids(8), "use_cache": False}

    ARCHITECTURES[name] = Architecture(name, "encoder-decoder", build, trains)


_both(
    "t5",
    "T5ForConditionalGeneration",
    "T5Config",
    trains=True,
    d_model=32,
    d_kv=8,
    d_ff=64,
    num_layers=2,
    num_heads=4,
    vocab_size=VOCABULARY,
)
_both("bart", "BartForConditionalGeneration", "BartConfig", trains=True, **SEQ2SEQ)
_both("mbart", "MBartForConditionalGeneration", "MBartConfig", **SEQ2SEQ)
_both("pegasus", "PegasusForConditionalGeneration", "PegasusConfig", **SEQ2SEQ)
_both("marian", "MarianMTModel", "MarianConfig", **SEQ2SEQ)
_both("m2m_100", "M2M100ForConditionalGeneration", "M2M100Config", **SEQ2SEQ)


# -- Vision ------------------------------------------------------------------------------------------------
def _seen(name: str, model: str, config: str, trains: bool = False, size: int = 32, **options: Any) -> None:
    def build(hf: Any) -> tuple[torch.nn.Module, Inputs]:
        return getattr(hf, model)(getattr(hf, config)(**options)), {"pixel_values": image(size)}

    ARCHITECTURES[name] = Architecture(name, "vision", build, trains)


_seen("vit", "ViTModel", "ViTConfig", trains=True, **VISION)
_seen("deit", "DeiTModel", "DeiTConfig", trains=True, **VISION)
_seen("beit", "BeitModel", "BeitConfig", **VISION)
_seen(
    "dinov2",
    "Dinov2Model",
    "Dinov2Config",
    trains=True,
    hidden_size=32,
    num_attention_heads=4,
    num_hidden_layers=2,
    image_size=32,
    patch_size=8,
)
_seen(
    "resnet",
    "ResNetForImageClassification",
    "ResNetConfig",
    trains=True,
    embedding_size=16,
    hidden_sizes=[16, 32],
    depths=[1, 1],
    layer_type="basic",
)
_seen("convnext", "ConvNextModel", "ConvNextConfig", hidden_sizes=[16, 32], depths=[1, 1], num_stages=2)
_seen(
    "swin",
    "SwinModel",
    "SwinConfig",
    image_size=32,
    patch_size=4,
    embed_dim=16,
    depths=[2, 2],
    num_heads=[2, 4],
    window_size=4,
)
_seen(
    "mobilenet_v2", "MobileNetV2Model", "MobileNetV2Config", trains=True, depth_multiplier=0.35, image_size=32
)
_seen(
    "segformer",
    "SegformerModel",
    "SegformerConfig",
    trains=True,
    num_encoder_blocks=2,
    depths=[1, 1],
    sr_ratios=[2, 1],
    hidden_sizes=[16, 32],
    patch_sizes=[7, 3],
    strides=[4, 2],
    num_attention_heads=[1, 2],
    mlp_ratios=[2, 2],
)
_seen(
    "regnet",
    "RegNetModel",
    "RegNetConfig",
    trains=True,
    embedding_size=16,
    hidden_sizes=[16, 32],
    depths=[1, 1],
    groups_width=8,
)
_seen(
    "poolformer",
    "PoolFormerModel",
    "PoolFormerConfig",
    trains=True,
    hidden_sizes=[16, 32],
    depths=[1, 1],
    num_encoder_blocks=2,
    patch_sizes=[7, 3],
    strides=[4, 2],
    padding=[2, 1],
    mlp_ratio=2.0,
)
_seen("siglip_vision", "SiglipVisionModel", "SiglipVisionConfig", **VISION)


# -- Audio -------------------------------------------------------------------------------------------------
@architecture("audio", trains=True)
def whisper(hf: Any) -> tuple[torch.nn.Module, Inputs]:
    config = hf.WhisperConfig(
        **{key: value for key, value in SEQ2SEQ.items() if key != "max_position_embeddings"},
        max_source_positions=32,
        max_target_positions=32,
        num_mel_bins=16,
    )
    made = hf.WhisperForConditionalGeneration(config)
    return made, {"input_features": torch.randn(2, 16, 64), "decoder_input_ids": ids(8), "use_cache": False}


CONVOLVED: dict[str, Any] = {
    **TEXT,
    "conv_dim": (16, 16),
    "conv_stride": (5, 2),
    "conv_kernel": (10, 3),
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 2,
}


@architecture("audio")
def wav2vec2(hf: Any) -> tuple[torch.nn.Module, Inputs]:
    return hf.Wav2Vec2Model(hf.Wav2Vec2Config(**CONVOLVED)), {"input_values": torch.randn(2, 800)}


@architecture("audio")
def hubert(hf: Any) -> tuple[torch.nn.Module, Inputs]:
    return hf.HubertModel(hf.HubertConfig(**CONVOLVED)), {"input_values": torch.randn(2, 800)}


@architecture("audio")
def audio_spectrogram(hf: Any) -> tuple[torch.nn.Module, Inputs]:
    config = hf.ASTConfig(
        hidden_size=32,
        intermediate_size=64,
        num_attention_heads=4,
        num_hidden_layers=2,
        patch_size=8,
        frequency_stride=8,
        time_stride=8,
        max_length=32,
        num_mel_bins=16,
    )
    return hf.ASTModel(config), {"input_values": torch.randn(2, 32, 16)}


# -- Multimodal --------------------------------------------------------------------------------------------
@architecture("multimodal")
def clip(hf: Any) -> tuple[torch.nn.Module, Inputs]:
    text = {**TEXT, "max_position_embeddings": 32, **SPECIAL}
    config = hf.CLIPConfig(text_config=text, vision_config=VISION, projection_dim=16)
    return hf.CLIPModel(config), {"input_ids": ids(), "pixel_values": image()}


@architecture("multimodal")
def siglip(hf: Any) -> tuple[torch.nn.Module, Inputs]:
    text = {**TEXT, "max_position_embeddings": 32, "projection_size": 32, **SPECIAL}
    config = hf.SiglipConfig(text_config=text, vision_config=VISION)
    return hf.SiglipModel(config), {"input_ids": ids(), "pixel_values": image()}


@architecture("multimodal")
def vilt(hf: Any) -> tuple[torch.nn.Module, Inputs]:
    config = hf.ViltConfig(**TEXT, image_size=32, patch_size=8, max_position_embeddings=32)
    return hf.ViltModel(config), {"input_ids": ids(), "pixel_values": image()}


@architecture("multimodal")
def blip(hf: Any) -> tuple[torch.nn.Module, Inputs]:
    text = {**TEXT, "max_position_embeddings": 32, "encoder_hidden_size": 32, **SPECIAL}
    config = hf.BlipConfig(text_config=text, vision_config=VISION, projection_dim=16)
    return hf.BlipModel(config), {"input_ids": ids(), "pixel_values": image()}


@architecture("multimodal")
def llava(hf: Any) -> tuple[torch.nn.Module, Inputs]:
    config = hf.LlavaConfig(
        vision_config=hf.CLIPVisionConfig(**VISION),
        text_config=hf.LlamaConfig(**GROUPED),
        image_token_index=99,
        vision_feature_layer=-1,
    )
    tokens = torch.randint(3, 90, (2, 24))
    tokens[:, 2:18] = 99
    return hf.LlavaForConditionalGeneration(config), {
        "input_ids": tokens,
        "pixel_values": image(),
        "use_cache": False,
    }


# -- Time series -------------------------------------------------------------------------------------------
@architecture("time series")
def patchtst(hf: Any) -> tuple[torch.nn.Module, Inputs]:
    config = hf.PatchTSTConfig(
        num_input_channels=2,
        context_length=32,
        patch_length=8,
        patch_stride=8,
        d_model=16,
        num_attention_heads=2,
        num_hidden_layers=2,
        ffn_dim=32,
        prediction_length=8,
    )
    return hf.PatchTSTForPrediction(config), {"past_values": torch.randn(2, 32, 2)}


@architecture("time series")
def patchtsmixer(hf: Any) -> tuple[torch.nn.Module, Inputs]:
    config = hf.PatchTSMixerConfig(
        context_length=32,
        patch_length=8,
        patch_stride=8,
        num_input_channels=2,
        d_model=16,
        num_layers=2,
        prediction_length=8,
    )
    return hf.PatchTSMixerForPrediction(config), {"past_values": torch.randn(2, 32, 2)}


@architecture("time series")
def time_series_transformer(hf: Any) -> tuple[torch.nn.Module, Inputs]:
    config = hf.TimeSeriesTransformerConfig(
        prediction_length=4,
        context_length=16,
        lags_sequence=[1, 2],
        num_time_features=1,
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
    )
    return hf.TimeSeriesTransformerModel(config), {
        "past_values": torch.randn(2, 18),
        "past_time_features": torch.randn(2, 18, 1),
        "past_observed_mask": torch.ones(2, 18),
        "future_values": torch.randn(2, 4),
        "future_time_features": torch.randn(2, 4, 1),
    }


@architecture("time series")
def autoformer(hf: Any) -> tuple[torch.nn.Module, Inputs]:
    config = hf.AutoformerConfig(
        prediction_length=4,
        context_length=16,
        lags_sequence=[1, 2],
        num_time_features=1,
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        moving_average=5,
    )
    return hf.AutoformerModel(config), {
        "past_values": torch.randn(2, 18),
        "past_time_features": torch.randn(2, 18, 1),
        "past_observed_mask": torch.ones(2, 18),
        "future_values": torch.randn(2, 4),
        "future_time_features": torch.randn(2, 4, 1),
    }
