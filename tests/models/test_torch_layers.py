"""torch's own composite layers and losses, in eval and in training: eager's results."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import stator
import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parent))
from comparison import all_same, tensors_of

randn = torch.randn
causal = nn.Transformer.generate_square_subsequent_mask(5)
padding = torch.tensor([[0, 0, 0, 0, 1], [0, 0, 0, 1, 1]]).bool()


def encoder(**options: Any) -> nn.Module:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, **options)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def nested_encoder() -> nn.Module:
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2)


def decoder() -> nn.Module:
    return nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 2, 32, batch_first=True), 2)


def whole() -> nn.Module:
    return nn.Transformer(16, 2, 2, 2, 32, batch_first=True)


def attention() -> nn.Module:
    return nn.MultiheadAttention(16, 4, dropout=0.1, batch_first=True)


def long(count: int = 5) -> Tensor:
    return randn(2, count, 16)


Make = Callable[[], nn.Module]
Call = Callable[..., Any]
LAYERS: dict[str, tuple[Make, Call, Callable[[], tuple[Any, ...]]]] = {
    "encoder": (nested_encoder, lambda m, x: m(x), lambda: (long(),)),
    "encoder_norm_first": (
        lambda: encoder(norm_first=True, activation="gelu"),
        lambda m, x: m(x),
        lambda: (long(),),
    ),
    "encoder_causal": (
        encoder,
        lambda m, x, mask: m(x, mask=mask, is_causal=True),
        lambda: (long(), causal),
    ),
    "encoder_masked": (
        encoder,
        lambda m, x, mask: m(x, mask=mask, is_causal=False),
        lambda: (long(), causal),
    ),
    "encoder_padded": (
        encoder,
        lambda m, x, mask: m(x, src_key_padding_mask=mask),
        lambda: (long(), padding),
    ),
    "decoder": (decoder, lambda m, x, y: m(x, y), lambda: (long(), long(4))),
    "decoder_causal": (
        decoder,
        lambda m, x, y, mask: m(x, y, tgt_mask=mask, tgt_is_causal=True),
        lambda: (long(), long(4), causal),
    ),
    "decoder_padded": (
        decoder,
        lambda m, x, y, mask: m(x, y, memory_key_padding_mask=mask, tgt_key_padding_mask=mask),
        lambda: (long(), long(), padding),
    ),
    "transformer": (whole, lambda m, x, y: m(x, y), lambda: (long(), long(4))),
    "attention": (attention, lambda m, x: m(x, x, x), lambda: (long(),)),
    "attention_without_weights": (
        attention,
        lambda m, x: m(x, x, x, need_weights=False)[0],
        lambda: (long(),),
    ),
    "attention_of_each_head": (
        attention,
        lambda m, x: m(x, x, x, average_attn_weights=False),
        lambda: (long(),),
    ),
    "attention_padded": (
        attention,
        lambda m, x, y, mask: m(x, y, y, key_padding_mask=mask),
        lambda: (long(), long(), padding),
    ),
    "attention_other_sizes": (
        lambda: nn.MultiheadAttention(16, 4, kdim=8, vdim=12, add_bias_kv=True, add_zero_attn=True),
        lambda m, x, y, z: m(x, y, z),
        lambda: (randn(5, 2, 16), randn(4, 2, 8), randn(4, 2, 12)),
    ),
    "lstm": (
        lambda: nn.LSTM(16, 8, 2, batch_first=True, dropout=0.2, bidirectional=True),
        lambda m, x: m(x),
        lambda: (long(),),
    ),
    "lstm_projected": (
        lambda: nn.LSTM(16, 8, proj_size=4),
        lambda m, x, h, c: m(x, (h, c)),
        lambda: (randn(5, 2, 16), randn(1, 2, 4), randn(1, 2, 8)),
    ),
    "gru": (lambda: nn.GRU(16, 8, 2), lambda m, x: m(x), lambda: (long(),)),
    "rnn": (lambda: nn.RNN(16, 8, nonlinearity="relu"), lambda m, x: m(x), lambda: (long(),)),
    "lstm_cell": (lambda: nn.LSTMCell(16, 8), lambda m, x: m(x[:, 0], m(x[:, 1])), lambda: (long(),)),
    "embedding_bag": (
        lambda: nn.EmbeddingBag(10, 4),
        lambda m, i, o: m(i, o),
        lambda: (torch.randint(0, 10, (8,)), torch.tensor([0, 3])),
    ),
    "embedding_bag_weighted": (
        lambda: nn.EmbeddingBag(10, 4, mode="sum", include_last_offset=True),
        lambda m, i, o, w: m(i, o, per_sample_weights=w),
        lambda: (torch.randint(0, 10, (8,)), torch.tensor([0, 3, 8]), randn(8)),
    ),
    "embedding_renormalised": (
        lambda: nn.Embedding(10, 4, max_norm=1.0),
        lambda m, i: m(i),
        lambda: (torch.randint(0, 10, (8,)),),
    ),
    "ctc": (
        lambda: nn.Linear(16, 6),
        lambda m, x, t: nn.CTCLoss()(m(x).log_softmax(2), t, (10, 9), (4, 3)),
        lambda: (randn(10, 2, 16), torch.randint(1, 6, (2, 4))),
    ),
    "vmap": (
        lambda: nn.Linear(16, 6),
        lambda m, x: torch.func.vmap(lambda row: m(row).sin().sum())(x),
        lambda: (randn(4, 16),),
    ),
    "gradient": (
        lambda: nn.Linear(16, 6),
        lambda m, x: torch.func.grad(lambda row: m(row).sin().sum())(x),
        lambda: (randn(4, 16),),
    ),
}

LOSSES: dict[str, tuple[Call, Callable[[], tuple[Any, ...]]]] = {
    "smoothed": (
        nn.CrossEntropyLoss(label_smoothing=0.1, ignore_index=2),
        lambda: (torch.randint(0, 6, (4,)),),
    ),
    "probabilities": (nn.CrossEntropyLoss(), lambda: (torch.rand(4, 6).softmax(1),)),
    "huber": (nn.HuberLoss(), lambda: (randn(4, 6),)),
    "logits": (nn.BCEWithLogitsLoss(pos_weight=torch.rand(6)), lambda: (torch.rand(4, 6),)),
    "divergence": (
        lambda o, t: nn.KLDivLoss(reduction="batchmean")(o.log_softmax(1), t),
        lambda: (torch.rand(4, 6).softmax(1),),
    ),
    "poisson": (nn.PoissonNLLLoss(full=True), lambda: (torch.rand(4, 6),)),
    "margins": (nn.MultiMarginLoss(), lambda: (torch.randint(0, 6, (4,)),)),
    "cosine": (nn.CosineEmbeddingLoss(margin=0.1), lambda: (randn(4, 6), randn(4).sign())),
    "triplet": (nn.TripletMarginLoss(swap=True), lambda: (randn(4, 6), randn(4, 6))),
    "ranking": (nn.MarginRankingLoss(), lambda: (randn(4, 6), randn(4, 6).sign())),
}


def outcome(function: Call, model: nn.Module, inputs: list[tuple[Any, ...]]) -> list[Any]:
    found: list[Any] = []
    for number, given in enumerate(inputs):
        torch.manual_seed(number)
        model.zero_grad()
        with torch.set_grad_enabled(model.training):
            result = function(*given)
        if model.training:
            sum(t.float().sum() for t in tensors_of(result) if t.requires_grad).backward()  # type: ignore[union-attr]
        found.append([result, [p.grad for p in model.parameters()], list(model.buffers()), torch.rand(1)])
        found.append([p.detach().clone() for p in model.parameters()])
    return found


def compare(make: Make, call: Call, inputs: list[tuple[Any, ...]], training: bool) -> Any:
    models = []
    for _ in range(2):
        torch.manual_seed(0)
        models.append(make().train(training))
    plain, own = models

    def program(*given: Any) -> Any:
        return call(own, *given)

    compiled = stator.compile(program, backend="native")
    wanted = outcome(lambda *given: call(plain, *given), plain, inputs)
    assert all_same(outcome(compiled, own, inputs), wanted)
    return compiled


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_one_graph(name: str, training: bool) -> None:
    make, call, inputs = LAYERS[name]
    compiled = compare(make, call, [inputs() for _ in range(3)], training)
    assert compiled.breaks == []
    assert [entry["hits"] for entry in compiled.entries] == [2]


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_one_graph(name: str, training: bool) -> None:
    loss, targets = LOSSES[name]
    inputs = [(randn(4, 16), *targets()) for _ in range(3)]
    compiled = compare(lambda: nn.Linear(16, 6), lambda m, x, *t: loss(m(x), *t), inputs, training)
    assert compiled.breaks == []


@pytest.mark.parametrize("name", ["encoder", "decoder", "attention"])
def test_lengths_become_symbols(name: str) -> None:
    make, call, _ = LAYERS[name]
    memory = [long(4)] if name == "decoder" else []
    compiled = compare(make, call, [(long(count), *memory) for count in (5, 6, 7, 8, 9)], True)
    assert compiled.breaks == []
    assert len(compiled.entries) == 2


def packed(model: Any, x: Tensor) -> Any:
    sequence = nn.utils.rnn.pack_padded_sequence(x, [5, 3], batch_first=True)
    outputs, state = model(sequence)
    return nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)[0], state


# A mask is compared with a causal one, lengths and targets are looked at, padding is cut off: values decide.
BREAKS: dict[str, tuple[Make, Call, Callable[[], tuple[Any, ...]]]] = {
    "mask_of_unknown_kind": (encoder, lambda m, x, mask: m(x, mask=mask), lambda: (long(), causal)),
    "nested": (nested_encoder, lambda m, x, mask: m(x, src_key_padding_mask=mask), lambda: (long(), padding)),
    "packed": (lambda: nn.LSTM(16, 8, batch_first=True), packed, lambda: (long(),)),
    "adaptive": (
        lambda: nn.AdaptiveLogSoftmaxWithLoss(16, 10, [3, 6]),
        lambda m, x, t: m(x, t).output,
        lambda: (randn(4, 16), torch.randint(0, 10, (4,))),
    ),
}


# Nested tensors are a path of eval alone.
@pytest.mark.parametrize(
    ("name", "training"),
    [(name, training) for name in BREAKS for training in (False, True) if name != "nested" or not training],
)
def test_what_depends_on_values_breaks(name: str, training: bool) -> None:
    make, call, inputs = BREAKS[name]
    assert compare(make, call, [inputs() for _ in range(3)], training).breaks
