"""Models as users write them, in eval and in training: one graph; results, gradients, statistics of eager."""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch.nn.functional as F

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parent))
from twins import Built, assert_whole, compare

MODELS: dict[str, Callable[[], Built]] = {}
CALLS = 3


def model(build: Callable[[], Built]) -> Callable[[], Built]:
    MODELS[build.__name__] = build
    return build


class ConvNextBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.scale * self.narrow(F.gelu(self.widen(y)))
        if self.training:  # stochastic depth
            kept = y.new_empty((y.shape[0],) + (1,) * (y.ndim - 1)).bernoulli_(0.8)
            y = y * kept.div_(0.8)
        return x + y.permute(0, 3, 1, 2)


@model
def convnext() -> Built:
    net = nn.Sequential(nn.Conv2d(3, 8, 4, 4), ConvNextBlock(8), ConvNextBlock(8))
    return net, [(torch.randn(2, 3, 16, 16),)] * CALLS


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList(
            nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(inplace=True))
            for a, b in ((3, 8), (8, 16), (16, 32))
        )
        self.up = nn.ModuleDict(
            {"deep": nn.ConvTranspose2d(32, 16, 2, 2), "top": nn.ConvTranspose2d(16, 8, 2, 2)}
        )
        self.fuse = nn.ModuleList([nn.Conv2d(32, 16, 3, padding=1), nn.Conv2d(16, 8, 3, padding=1)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for level, down in enumerate(self.down):
            x = down(x)
            if level < 2:
                kept.append(x)
                x = F.max_pool2d(x, 2)
        for (_, up), fuse in zip(self.up.items(), self.fuse, strict=True):
            x, skip = up(x), kept.pop()
            if x.shape[-2:] != skip.shape[-2:]:
                x = F.interpolate(x, size=skip.shape[-2:], mode="bilinear", align_corners=False)
            x = fuse(torch.cat([x, skip], 1))
        return x


@model
def unet() -> Built:
    return UNet(), [(torch.randn(2, 3, 18, 18),)] * CALLS


class ShiftedWindows(nn.Module):
    """Attention in windows that are rolled by half their size, with a mask made on the way."""

    def __init__(self, width: int = 16, window: int = 4, shift: int = 2, heads: int = 2) -> None:
        super().__init__()
        self.window, self.shift, self.heads = window, shift, heads
        self.qkv, self.out, self.norm = (
            nn.Linear(width, 3 * width),
            nn.Linear(width, width),
            nn.LayerNorm(width),
        )
        self.bias = nn.Parameter(torch.randn((2 * window - 1) ** 2, heads))
        place = torch.stack(torch.meshgrid(*[torch.arange(window)] * 2, indexing="ij")).flatten(1)
        apart = (place[:, :, None] - place[:, None]).permute(1, 2, 0) + window - 1
        self.register_buffer("apart", apart[..., 0] * (2 * window - 1) + apart[..., 1])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, height, width, channels = x.shape
        w, s, area = self.window, self.shift, self.window**2
        y = torch.roll(self.norm(x), (-s, -s), (1, 2)) if s else self.norm(x)
        y = (
            y.view(batch, height // w, w, width // w, w, channels)
            .permute(0, 1, 3, 2, 4, 5)
            .reshape(-1, area, channels)
        )
        q, k, v = (
            self.qkv(y)
            .reshape(-1, area, 3, self.heads, channels // self.heads)
            .permute(2, 0, 3, 1, 4)
            .unbind(0)
        )
        scores = q * q.shape[-1] ** -0.5 @ k.transpose(-2, -1)
        scores = scores + self.bias[self.apart.view(-1)].view(area, area, -1).permute(2, 0, 1)
        if s:
            region, count = x.new_zeros(height, width), 0
            for rows in (slice(0, -w), slice(-w, -s), slice(-s, None)):
                for columns in (slice(0, -w), slice(-w, -s), slice(-s, None)):
                    region[rows, columns] = count
                    count += 1
            region = region.view(height // w, w, width // w, w).permute(0, 2, 1, 3).reshape(-1, area)
            apart = region.unsqueeze(1) - region.unsqueeze(2)
            mask = apart.masked_fill(apart != 0, -100.0).masked_fill(apart == 0, 0.0)
            scores = (scores.view(batch, -1, self.heads, area, area) + mask[:, None]).view(
                -1, self.heads, area, area
            )
        y = self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(-1, area, channels))
        y = y.view(batch, height // w, width // w, w, w, channels).permute(0, 1, 3, 2, 4, 5).reshape(x.shape)
        return x + (torch.roll(y, (s, s), (1, 2)) if s else y)


@model
def swin() -> Built:
    net = nn.Sequential(ShiftedWindows(shift=0), ShiftedWindows())
    return net, [(torch.randn(2, 8, 8, 16),)] * CALLS


@dataclass
class Loss:
    loss: torch.Tensor
    prediction: torch.Tensor | None = None
    extras: list[torch.Tensor] = field(default_factory=list)


class Diffusion(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, 16), nn.SiLU())
        self.net = nn.Linear(24, 8)
        self.register_buffer("kept", torch.cumprod(1 - torch.linspace(1e-4, 0.02, 100), 0))

    def forward(self, x: torch.Tensor) -> Loss:
        step = torch.randint(0, 100, (x.shape[0],), device=x.device)
        noise = torch.randn_like(x)
        angles = step[:, None].float() * torch.exp(-math.log(10000) * torch.arange(8, device=x.device) / 8)
        share = self.kept[step][:, None]
        noisy = share.sqrt() * x + (1 - share).sqrt() * noise
        found = self.net(torch.cat([noisy, self.time(torch.cat([angles.cos(), angles.sin()], -1))], -1))
        return Loss(F.mse_loss(found, noise), prediction=found)


@model
def diffusion() -> Built:
    return Diffusion(), [(torch.randn(3, 8),)] * CALLS


class Vae(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode, self.decode = nn.Linear(8, 8), nn.Linear(4, 8)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, log_variance = self.encode(x).chunk(2, -1)
        deviation = torch.exp(0.5 * log_variance)
        code = mean + deviation * torch.randn_like(deviation) if self.training else mean
        divergence = -0.5 * torch.mean(1 + log_variance - mean.pow(2) - log_variance.exp())
        found = self.decode(code)
        return found, F.mse_loss(found, x) + divergence


@model
def vae() -> Built:
    return Vae(), [(torch.randn(3, 8),)] * CALLS


class Messages(nn.Module):
    """A graph network: what neighbours say is summed and divided by their number."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(2))

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        source, target = edges
        degree = (
            torch.zeros(x.size(0))
            .scatter_add_(0, target, torch.ones_like(target, dtype=x.dtype))
            .clamp_(min=1)
        )
        for layer in self.layers:
            summed = torch.zeros_like(x).index_add_(0, target, layer(x)[source])
            x = F.relu(summed / degree[:, None] + x)
        groups = torch.tensor([0, 0, 1, 1, 1])[:, None].expand(-1, 8)
        return x.new_zeros(2, 8).scatter_reduce(0, groups, x, "amax")


@model
def graph_network() -> Built:
    return Messages(), [(torch.randn(5, 8), torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]]))] * CALLS


class Codebook(nn.Module):
    """Vector quantisation with moving averages and a straight-through gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.codes = nn.Embedding(6, 4)
        self.register_buffer("size", torch.zeros(6))
        self.register_buffer("total", torch.randn(6, 4))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        chosen = torch.cdist(x, self.codes.weight).argmin(1)
        found = self.codes(chosen)
        if self.training:
            with torch.no_grad():
                hot = F.one_hot(chosen, 6).type_as(x)
                self.size.mul_(0.99).add_(hot.sum(0), alpha=0.01)
                self.total.mul_(0.99).add_(hot.t() @ x.detach(), alpha=0.01)
        loss = F.mse_loss(found.detach(), x) + F.mse_loss(found, x.detach())
        return x + (found - x).detach(), loss, chosen


@model
def codebook() -> Built:
    return Codebook(), [(torch.randn(5, 4, requires_grad=True),)] * CALLS


class Translator(nn.Module):
    """Encoder, attention and a decoder that feeds on its own answers."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(20, 8, padding_idx=0)
        self.encode = nn.GRU(8, 8, batch_first=True, bidirectional=True)
        self.decode, self.out = nn.LSTMCell(8, 16), nn.Linear(16, 20)

    def forward(self, source: torch.Tensor, steps: int = 4) -> torch.Tensor:
        states, last = self.encode(self.tokens(source))
        hidden = torch.cat([last[0], last[1]], -1), torch.zeros(source.size(0), 16)
        token = torch.full((source.size(0),), 1, dtype=torch.long)
        answers = []
        for _ in range(steps):
            hidden = self.decode(self.tokens(token), hidden)
            weights = (states @ hidden[0].unsqueeze(-1)).squeeze(-1).softmax(-1)
            answers.append(self.out(hidden[0] + (weights.unsqueeze(1) @ states).squeeze(1)))
            token = answers[-1].argmax(-1)
        return torch.stack(answers, 1)


@model
def translator() -> Built:
    return Translator(), [(torch.randint(0, 20, (2, 5)),)] * CALLS


@model
def normalised_weights() -> Built:
    wrap = nn.utils.parametrizations
    layers = [
        wrap.spectral_norm(nn.Conv2d(3, 4, 3)),
        wrap.weight_norm(nn.Linear(6, 6)),
        wrap.orthogonal(nn.Linear(6, 6)),
    ]
    return nn.Sequential(*layers), [(torch.randn(2, 3, 8, 8),)] * CALLS


@model
def transformer() -> Built:
    return nn.Transformer(16, 2, 1, 1, 32, batch_first=True), [
        (torch.randn(2, 5, 16), torch.randn(2, 4, 16))
    ] * CALLS


@model
def encoder_with_nested_tensors_allowed() -> Built:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    return nn.TransformerEncoder(layer, 2), [(torch.randn(2, 5, 16),)] * CALLS


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_model(name: str, training: bool) -> None:
    torch.manual_seed(0)
    assert_whole(compare(MODELS[name](), training), CALLS)
