"""Model types of transformers as small as their configurations allow, and inputs that they may take."""

import inspect
from collections.abc import Iterator
from typing import Any

import torch

SEQUENCE, WORDS = 10, 99
BATCH = 2

# Names that configurations share, and the value that is small; smaller ones are left alone.
SMALL: dict[str, Any] = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "embed_dim", "emb_dim"), 32),
    **dict.fromkeys(("embedding_size", "projection_dim", "moe_intermediate_size"), 32),
    "shared_expert_intermediate_size": 32,
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 2),
    **dict.fromkeys(("encoder_layers", "decoder_layers", "num_encoder_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), 4),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    **dict.fromkeys(("num_key_value_heads", "num_experts_per_tok", "num_feat_extract_layers"), 2),
    **dict.fromkeys(("n_group", "topk_group", "n_shared_experts", "first_k_dense_replace"), 1),
    **dict.fromkeys(("intermediate_size", "ffn_dim", "encoder_ffn_dim", "decoder_ffn_dim"), 64),
    **dict.fromkeys(("d_ff", "hidden_dim", "max_position_embeddings", "n_positions"), 64),
    **dict.fromkeys(("max_source_positions", "max_target_positions"), 64),
    **dict.fromkeys(("d_kv", "head_dim", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim"), 8),
    **dict.fromkeys(("state_size", "ssm_state_size", "mamba_d_state", "patch_size"), 8),
    **dict.fromkeys(("q_lora_rank", "kv_lora_rank", "qk_head_dim", "num_mel_bins", "mamba_d_head"), 16),
    **dict.fromkeys(("rotary_dim", "mamba_n_heads"), 4),
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 2,
    "conv_dim": (16, 16),
    "conv_kernel": (3, 3),
    "conv_stride": (2, 2),
    "vocab_size": WORDS,
    "image_size": 32,
    **{name: i for i, name in enumerate(("pad_token_id", "bos_token_id", "eos_token_id"))},
    "decoder_start_token_id": 1,
}


def shrink(configuration: Any, seen: set[int] | None = None) -> None:
    """Make a configuration, and those inside it, small in place."""
    seen = set() if seen is None else seen
    if id(configuration) in seen:
        return
    seen.add(id(configuration))
    for name, value in list(vars(configuration).items()):
        small = SMALL.get(name)
        if hasattr(value, "model_type") and hasattr(value, "to_dict"):
            shrink(value, seen)
        elif type(value) is type(small) and not (isinstance(value, int) and value < small):
            setattr(configuration, name, small)
        elif type(value) is int and name.endswith("token_id") and value >= WORDS:
            setattr(configuration, name, 3)
    kinds = vars(configuration).get("layer_types")
    if isinstance(kinds, list | tuple):  # one of each, as far as they fit
        count = getattr(configuration, "num_hidden_layers", 2)
        different = list(dict.fromkeys(kinds))
        configuration.layer_types = (different + list(kinds))[:count]


def inputs_of(model: Any) -> Iterator[dict[str, torch.Tensor]]:
    """What the model's forward may take, the fullest first: which one it does take, only a call tells."""
    configuration = model.config
    names = inspect.signature(model.forward).parameters
    text = getattr(configuration, "text_config", configuration)
    vision = getattr(configuration, "vision_config", configuration)
    vocabulary = min(getattr(text, "vocab_size", None) or WORDS, WORDS)
    words = torch.randint(min(4, vocabulary - 1), vocabulary, (BATCH, SEQUENCE))
    side = getattr(vision, "image_size", None) or 32
    sides = tuple(side) if isinstance(side, list | tuple) else (side, side)
    bins = getattr(configuration, "num_mel_bins", 16)
    frames = 2 * getattr(configuration, "max_source_positions", 64)
    image = torch.randn(BATCH, getattr(vision, "num_channels", None) or 3, *sides)
    every = {
        "input_ids": words,
        "pixel_values": image,
        "input_features": torch.randn(BATCH, bins, frames),
        "input_values": torch.randn(BATCH, 2000),
        "decoder_input_ids": words[:, :5].clone(),
    }
    full = {name: value for name, value in every.items() if name in names}
    if "attention_mask" in names and "input_ids" in names:
        full["attention_mask"] = torch.ones(BATCH, SEQUENCE, dtype=torch.long)
    yield full
    main = model.main_input_name
    if main in full:
        yield {name: full[name] for name in (main, "decoder_input_ids") if name in full}
    if "input_features" in names:
        yield {"input_features": torch.randn(BATCH, 40, bins)}
    for name in ("input_ids", "pixel_values"):
        if name in full:
            yield {name: full[name]}
    if "pixel_values" in names:
        for side in (64, 224):
            yield {"pixel_values": torch.randn(BATCH, 3, side, side)}
