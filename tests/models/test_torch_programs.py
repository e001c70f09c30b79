"""Small torch programs of many kinds, with shapes and dtypes that change: eager's results and gradients."""

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch.nn.functional as F

import stator
import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parent))
from comparison import all_same, tensors_of

randn = torch.randn
Inputs = Callable[[], list[tuple[Any, ...]]]
PROGRAMS: dict[str, tuple[Callable[..., Any], Inputs, Callable[[], nn.Module]]] = {}


def program(inputs: Inputs, make: Callable[[], nn.Module] = nn.Identity) -> Callable[[Any], Any]:
    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[function.__name__] = (function, inputs, make)
        return function

    return note


def rows(width: int) -> Inputs:
    return lambda: [(randn(count, width),) for count in (4, 4, 6, 7)]


class RootNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(8))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gain


@program(lambda: [(randn(2, 8),), (randn(3, 8),), (randn(4, 8).double(),), (randn(2, 5, 8),)], RootNorm)
def root_norm(m: Any, x: Tensor) -> Any:
    return m(x)


@program(rows(4), lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)))
def weight_norm(m: Any, x: Tensor) -> Any:
    return m(x)


@program(rows(4), lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3)))
def spectral_norm(m: Any, x: Tensor) -> Any:
    return m(x)


@program(rows(4), lambda: nn.utils.parametrizations.orthogonal(nn.Linear(4, 4)))
def orthogonal(m: Any, x: Tensor) -> Any:
    return m(x) + m.weight.sum()


class Running(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))
        self.register_buffer("replaced", torch.zeros(4))
        self.register_buffer("count", torch.tensor(0))
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            self.mean.lerp_(x.mean(0), 0.1)
            self.count += 1
        self.replaced = 0.9 * self.replaced + 0.1 * x.detach().mean(0)
        self.calls += 1
        return (x - self.mean - self.replaced) / (self.count + 1)


@program(rows(4), Running)
def running(m: Any, x: Tensor) -> Any:
    return m(x)


class Cached(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.Linear(8, 24)
        self.register_buffer("keys", torch.zeros(2, 6, 8))

    def forward(self, x: Tensor, cache: tuple[Tensor, Tensor] | None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        q, k, v = self.parts(x).chunk(3, -1)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 1), torch.cat([cache[1], v], 1)
        return F.scaled_dot_product_attention(q, k, v), (k, v)


@program(lambda: [(randn(count, 1, 8),) for count in (2, 2, 3, 4)], Cached)
def growing_cache(m: Any, x: Tensor) -> Any:
    cache, outputs = None, []
    for _ in range(4):
        x, cache = m(x, cache)
        outputs.append(x)
    return torch.cat(outputs, 1), cache[0].shape[1]


@program(lambda: [(randn(2, 2, 8), 0), (randn(2, 1, 8), 2), (randn(2, 1, 8), 3), (randn(2, 1, 8), 4)], Cached)
def fixed_cache(m: Any, x: Tensor, place: int) -> Any:
    m.keys[:, place : place + x.size(1)] = x.detach()
    seen = torch.arange(6) < place + x.size(1)
    weights = (x @ m.keys.transpose(1, 2)).masked_fill(~seen, float("-inf")).softmax(-1)
    return weights @ m.keys


@program(
    lambda: [
        (randn(n, 3, 4).to(t), randn(n, 5, 4).to(t))
        for n, t in ((2, torch.float), (2, torch.float), (4, torch.float), (4, torch.double))
    ]
)
def einsums(m: Any, a: Tensor, b: Tensor) -> Any:
    scores = torch.einsum("bid,bjd->bij", a, b) / math.sqrt(a.shape[-1])
    return torch.einsum("bij,bjd->bid", scores.softmax(-1), b), torch.einsum("...i,...i", a, a)


@program(
    lambda: [
        (randn(n, 3), torch.tensor(i), randn(len(i), 3))
        for n, i in ((5, [0, 2, 2]), (5, [1, 4, 0]), (7, [0, 2, 6, 1]))
    ]
)
def indexed(m: Any, x: Tensor, index: Tensor, values: Tensor) -> Any:
    changed = x.clone()
    changed[index] = values
    changed[:, 1] += 1
    changed[x > 0] = 0.0
    summed = torch.zeros_like(x).scatter_add(0, index[:, None].expand(-1, 3), values)
    put = x.index_put((index,), values, accumulate=True)
    return changed, summed, put, x.index_add(0, index, values), x.index_select(0, index).flip(0)


@program(
    lambda: [
        (randn(n, 6).to(t),)
        for n, t in ((4, torch.float), (4, torch.float), (5, torch.float), (4, torch.bfloat16))
    ]
)
def masks(m: Any, x: Tensor) -> Any:
    return (
        torch.where(x > 0, x, 0.1 * x),
        torch.where(x > 0, 1, 0),
        x.masked_fill(x < 0, -1e4),
        x.clamp(-1, 1),
    )


@program(rows(6))
def complex_numbers(m: Any, x: Tensor) -> Any:
    z = torch.complex(x, x.sin()) * torch.polar(x.abs(), x).conj()
    return z.abs(), torch.view_as_real(z.exp()), (z @ z.mH).real, z.imag.contiguous()


@program(lambda: [(randn(n, w),) for n, w in ((4, 8), (4, 8), (5, 8), (4, 16))])
def spectra(m: Any, x: Tensor) -> Any:
    f = torch.fft.rfft(x)
    windowed = torch.stft(x, 4, 2, window=torch.hann_window(4), return_complex=True).abs()
    return torch.fft.irfft(f * f.conj(), n=x.shape[-1]), torch.fft.fft2(x).abs(), windowed


@program(lambda: [(randn(n, n),) for n in (4, 4, 5)])
def decompositions(m: Any, x: Tensor) -> Any:
    a = x @ x.mT + 4 * torch.eye(x.shape[0])
    return torch.linalg.cholesky(a), torch.linalg.eigh(a)[0], torch.linalg.solve(a, x), torch.linalg.inv(a)


def picture_net() -> nn.Module:
    layers = nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.ConvTranspose2d(6, 3, 2, 2)
    return nn.Sequential(*layers).to(memory_format=torch.channels_last)


@program(
    lambda: [
        (randn(2, 3, n, n).contiguous(memory_format=f),)
        for n, f in (
            (8, torch.channels_last),
            (8, torch.channels_last),
            (8, torch.contiguous_format),
            (10, torch.channels_last),
        )
    ],
    picture_net,
)
def channels_last(m: Any, x: Tensor) -> Any:
    return m(x), x.mean((2, 3)), F.adaptive_avg_pool2d(x, 2)


@program(rows(8), lambda: nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 2)))
def mixed_precision(m: Any, x: Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y, products = m(x), (x @ x.t()).softmax(-1)
        with torch.autocast("cpu", enabled=False):
            exact = x @ x.t()
    return y, products, exact, F.cross_entropy(y.float(), torch.zeros(x.shape[0], dtype=torch.long))


@program(lambda: [(randn(2, 3, h, w),) for h, w in ((8, 8), (8, 8), (6, 10))])
def resampled(m: Any, x: Tensor) -> Any:
    grid = F.affine_grid(torch.eye(2, 3).expand(2, 2, 3) * 0.9, list(x.shape), align_corners=False)
    sampled = F.grid_sample(x, grid, align_corners=False, padding_mode="border")
    patches = F.unfold(x, 2, stride=2)
    folded = F.fold(patches, x.shape[-2:], 2, stride=2)
    return F.interpolate(x, scale_factor=2, mode="bilinear"), sampled, patches, folded, x.flatten(1).cumsum(1)


@program(lambda: [(randn(n, w),) for n, w in ((4, 10), (4, 10), (5, 10), (5, 12))])
def ordered(m: Any, x: Tensor) -> Any:
    values, places = x.topk(3, dim=1)
    ranked = torch.sort(x, descending=True, stable=True)
    counts = F.one_hot(places, 12).float().sum(1)
    return values, places, *ranked, counts, x.gather(1, places), x.argmax(-1), x.median(1).values


@program(rows(10), lambda: nn.Sequential(nn.Linear(10, 20), nn.Dropout(0.3), nn.ReLU(), nn.Linear(20, 2)))
def drawn(m: Any, x: Tensor) -> Any:
    hard = F.gumbel_softmax(x, tau=0.5, hard=True)
    chosen = torch.multinomial(x.softmax(1), 2)
    return (
        F.dropout(m(x), 0.2),
        hard,
        chosen,
        torch.bernoulli(x.sigmoid()),
        torch.randperm(5),
        torch.normal(x, 1.0),
    )


class Averaged(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net, self.slow = nn.Linear(4, 4), nn.Linear(4, 4).requires_grad_(False)


@program(rows(4), Averaged)
def averaged(m: Any, x: Tensor) -> Any:
    with torch.no_grad():
        for slow, fast in zip(m.slow.parameters(), m.net.parameters(), strict=True):
            slow.mul_(0.9).add_(fast, alpha=0.1)
        target = m.slow(x)
    return F.mse_loss(m.net(x), target)


@program(lambda: [(randn(n, 8), randn(n, 8)) for n in (4, 4, 6)], lambda: nn.Linear(8, 8))
def contrastive(m: Any, a: Tensor, b: Tensor) -> Any:
    z = F.normalize(torch.cat([m(a), m(b)]), dim=-1)
    scores = (z @ z.t() / 0.1).masked_fill(torch.eye(z.size(0), dtype=torch.bool), float("-inf"))
    target = torch.arange(z.size(0)).roll(z.size(0) // 2)
    return F.cross_entropy(scores, target), (scores.argmax(1) == target).float().mean()


@program(lambda: [(randn(n, 3, 7), randn(n, 3)) for n in (2, 2, 4)])
def beam_step(m: Any, logits: Tensor, scores: Tensor) -> Any:
    batch, beams, words = logits.shape
    best, place = (logits.log_softmax(-1) + scores[..., None]).view(batch, -1).topk(beams)
    return (
        best,
        place // words,
        place % words,
        logits.gather(1, (place // words)[..., None].expand(-1, -1, words)),
    )


class Adapted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(8, 8).requires_grad_(False)
        self.down, self.up = nn.Parameter(randn(8, 2)), nn.Parameter(torch.zeros(2, 8))
        self.active = True

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.base(x)
        return y + (x @ self.down @ self.up) * 2 if self.active else y


@program(
    lambda: [(randn(2, 8), True), (randn(2, 8), False), (randn(3, 8), True), (randn(3, 8), False)], Adapted
)
def adapted(m: Any, x: Tensor, active: bool) -> Any:
    m.active = active
    return m(x)


@program(lambda: [(randn(3, 4, 5),), (randn(4, 3, 5).transpose(0, 1),), (randn(5, 4, 3).permute(2, 1, 0),)])
def rearranged(m: Any, x: Tensor) -> Any:
    flat = x.reshape(-1), x.flatten(1), x.contiguous(), torch.empty_like(x).copy_(x)
    return (
        *flat,
        x.mT,
        x.swapaxes(0, 2) + 1,
        x[::2, 1:],
        x.movedim(0, -1).clone(),
        x.diagonal(),
        x.tile(2, 1, 1),
    )


@program(
    lambda: [
        ([randn(n, 3), randn(4, 3)], {"weight": randn(3), "factor": f}) for n, f in ((2, 2), (2, 2), (1, 3))
    ]
)
def containers(m: Any, parts: list[Tensor], options: dict[str, Any]) -> Any:
    padded = nn.utils.rnn.pad_sequence(parts, batch_first=True)
    options["longest"] = padded.shape[1]
    return {"padded": padded * options["weight"], "sums": [part.sum() * options["factor"] for part in parts]}


def prepared(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.clone().requires_grad_(value.is_floating_point())
    if isinstance(value, list):
        return [prepared(item) for item in value]
    return {key: prepared(item) for key, item in value.items()} if isinstance(value, dict) else value


def outcome(function: Callable[..., Any], model: nn.Module, calls: list[tuple[Any, ...]]) -> list[Any]:
    found: list[Any] = []
    for number, call in enumerate(calls):
        given = [prepared(value) for value in call]
        torch.manual_seed(number)
        model.zero_grad()
        result = function(model, *given)
        needed = [t for t in tensors_of(result) if t.requires_grad]
        if needed:
            sum(
                (torch.view_as_real(t) if t.is_complex() else t).float().square().sum() for t in needed
            ).backward()  # type: ignore[union-attr]
        found += [result, [t.grad for t in tensors_of(given)], [p.grad for p in model.parameters()]]
        found += [[b.clone() for b in model.buffers()], [p.detach().clone() for p in model.parameters()]]
        found += [torch.rand(1), [torch.tensor(sorted(map(len, g))) for g in given if isinstance(g, dict)]]
        found.append(
            torch.tensor([v for part in model.modules() for v in vars(part).values() if type(v) is int])
        )
    return found


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_graph_and_eagers_results(name: str, backend: str) -> None:
    function, inputs, make = PROGRAMS[name]
    torch.manual_seed(3)
    calls = inputs()
    models = []
    for _ in range(2):
        torch.manual_seed(0)
        models.append(make())
    compiled = stator.compile(function, backend=backend)
    assert all_same(outcome(compiled, models[0], calls), outcome(function, models[1], calls))
    assert compiled.breaks == []
