"""What users do around their tensors: state, parameters in containers, modes, hooks, Python of every kind."""

import collections
import contextlib
import enum
import functools
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch.nn.functional as F

import stator
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).parent))
from twins import Built, assert_whole, compare

PROGRAMS: dict[str, Callable[[], Built]] = {}
CALLS = 4


def program(build: Callable[[], Built]) -> Callable[[], Built]:
    PROGRAMS[build.__name__] = build
    return build


def module(forward: Callable[..., Any], **parts: Any) -> nn.Module:
    """A module with these parts; buffers are given as plain tensors."""

    class Made(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for name, part in parts.items():
                if isinstance(part, torch.Tensor) and not isinstance(part, nn.Parameter):
                    self.register_buffer(name, part)
                else:
                    setattr(self, name, part)

    Made.forward = forward  # type: ignore[method-assign]
    return Made()


@program
def moving_average() -> Built:
    def forward(self: Any, x: torch.Tensor) -> torch.Tensor:
        y = self.layer(x)
        with torch.no_grad():
            self.average.mul_(0.9).add_(y.mean(0).detach(), alpha=0.1)
            self.count += 1
        return y - self.average  # type: ignore[no-any-return]

    made = module(forward, layer=nn.Linear(4, 4), average=torch.zeros(4), count=torch.tensor(0))
    return made, [(torch.randn(3, 4),)] * CALLS


@program
def buffer_that_is_replaced() -> Built:
    def forward(self: Any, x: torch.Tensor) -> torch.Tensor:
        y = self.layer(x)
        self.state = self.state * 0.9 + y.mean(0).detach() * 0.1
        self.seen["last"] = y.detach()
        self.history.append(y.sum().detach())
        return y + self.state  # type: ignore[no-any-return]

    made = module(forward, layer=nn.Linear(4, 4), state=torch.zeros(4), seen={}, history=[])
    return made, [(torch.randn(3, 4),)] * CALLS


@program
def parameters_in_containers() -> Built:
    def forward(self: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        for weight in self.listed:
            x = torch.tanh(x @ weight)
        for _, scale in self.named.items():
            x = x * scale
        return x, sum(p.norm() for p in self.parameters())

    listed = nn.ParameterList([nn.Parameter(torch.randn(4, 4)) for _ in range(3)])
    named = nn.ParameterDict({"a": nn.Parameter(torch.ones(4))})
    return module(forward, listed=listed, named=named), [(torch.randn(3, 4),)] * CALLS


@program
def autocast_inside() -> Built:
    def forward(self: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.norm(self.layer(x))
            z = y @ y.t()
        with torch.autocast("cpu", enabled=False):
            return z.float().softmax(-1), y

    return module(forward, layer=nn.Linear(4, 4), norm=nn.LayerNorm(4)), [(torch.randn(3, 4),)] * CALLS


@program
def hook_that_keeps_a_result() -> Built:
    def forward(self: Any, x: torch.Tensor) -> torch.Tensor:
        y = self.layer(x)
        return self.kept["layer"] * 2 + y  # type: ignore[no-any-return]

    def keep(layer: Any, args: Any, out: torch.Tensor) -> None:
        layer.owner[0].kept["layer"] = out

    made = module(forward, layer=nn.Linear(4, 4), kept={})
    # By the module that is called, so that the twin's hook writes to the twin.
    made.layer.owner = [made]
    made.layer.register_forward_hook(keep)
    return made, [(torch.randn(2, 4),)] * CALLS


@program
def cache_of_keys() -> Built:
    def forward(self: Any, x: torch.Tensor, at: int) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, -1)
        self.keys[:, at : at + 1] = k.detach()
        self.values.index_copy_(1, torch.tensor([at]), v.detach())
        mask = torch.arange(6) <= at
        return F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=mask[None, None])

    made = module(forward, qkv=nn.Linear(8, 24), keys=torch.zeros(1, 6, 8), values=torch.zeros(1, 6, 8))
    return made, [(torch.randn(1, 1, 8), 2)] * CALLS


@program
def functional_call() -> Built:
    layer = nn.Linear(4, 4)

    def run(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(layer, {"weight": weight}, (x,))

    return run, [(torch.randn(3, 4), torch.randn(4, 4))] * CALLS


@program
def patterns_like_einops() -> Built:
    @functools.lru_cache(256)
    def parsed(pattern: str) -> tuple[list[str], list[str]]:
        left, right = pattern.split("->")
        return re.findall(r"\w+", left), re.findall(r"\w+", right)

    def run(x: torch.Tensor) -> torch.Tensor:
        left, right = parsed("b c h -> b h c")
        return x.permute([left.index(axis) for axis in right]).reshape(x.shape[0], -1)

    run(torch.randn(2, 3, 4))  # the cache is filled
    return run, [(torch.randn(2, 3, 4),)] * CALLS


@program
def einsum() -> Built:
    def run(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, ...]:
        weights = torch.einsum("bhid,bhjd->bhij", q, k).softmax(-1)
        mixed = torch.einsum("bhij,bhjd->bhid", weights, v)
        return mixed, torch.einsum("bhid->bdi", q), torch.einsum("...d,de", q, torch.ones(4, 2))

    return run, [tuple(torch.randn(2, 2, 3, 4) for _ in range(3))] * CALLS


class Shape(enum.Enum):
    ROUND = "round"
    FLAT = "flat"


@dataclass(frozen=True)
class Settings:
    shape: Shape = Shape.ROUND
    factor: int = 2


@program
def settings_and_enums() -> Built:
    settings = Settings()

    def run(x: torch.Tensor) -> tuple[torch.Tensor, bool]:
        match settings:
            case Settings(shape=Shape.ROUND, factor=factor):
                x = x * factor
            case _:
                x = x - 1
        return x + replace(settings, factor=5).factor, Shape("round") is settings.shape

    return run, [(torch.randn(3),)] * CALLS


@program
def generators_and_comprehensions() -> Built:
    def doubled(x: torch.Tensor) -> Iterator[torch.Tensor]:
        for _ in range(3):
            x = x * 2
            yield x

    def run(x: torch.Tensor) -> Any:
        named = dict(zip("abc", doubled(x), strict=True))
        return sum(doubled(x)), [t + 1 for t in doubled(x)], named, max([1, 2, 3], key=lambda i: -i)

    return run, [(torch.randn(3),)] * CALLS


@program
def managers_and_exceptions() -> Built:
    @contextlib.contextmanager
    def scale(factor: int) -> Iterator[int]:
        yield factor

    def run(x: torch.Tensor) -> torch.Tensor:
        with scale(3) as factor, torch.no_grad():
            y = x * factor
        try:
            raise ValueError("four")
        except ValueError as error:
            y = y + len(str(error))
        finally:
            y = y * 2
        return y

    return run, [(torch.randn(3),)] * CALLS


@program
def named_results() -> Built:
    Pair = collections.namedtuple("Pair", "first second")
    return lambda x: Pair(x + 1, {"k": [x * 2, (x, None)]}), [(torch.randn(3),)] * CALLS


@program
def sampling() -> Built:
    def run(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        best, _ = torch.topk(logits, 5)
        logits = logits.masked_fill(logits < best[:, [-1]], -float("inf"))
        ordered, order = torch.sort(logits, descending=True)
        beyond = ordered.softmax(-1).cumsum(-1) > 0.9
        beyond[..., 1:] = beyond[..., :-1].clone()
        beyond[..., 0] = False
        logits = logits.masked_fill(beyond.scatter(1, order, beyond), -1e9)
        return logits, torch.multinomial(logits.softmax(-1), 1)

    return run, [(torch.randn(2, 10),)] * CALLS


@program
def writes_through_views() -> Built:
    def run(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x.clone()
        y[:, 0] = 1
        y[1:] += 2
        flat = y.view(-1)
        flat[::2].mul_(3)
        y.t()[0].zero_()
        return y.clamp_(-1, 5), flat

    return run, [(torch.randn(3, 4),)] * CALLS


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    torch.manual_seed(0)
    compiled = compare(PROGRAMS[name](), True)
    entries = stator.cache_entries(compiled)
    if name == "buffer_that_is_replaced":  # found out by the second call
        assert len(entries) <= 2
        assert sum(entry.hits for entry in entries) >= CALLS - 2
    else:
        assert_whole(compiled, CALLS)


class Tagged(torch.Tensor):
    pass


def test_what_breaks_is_still_right() -> None:
    def branch(x: torch.Tensor) -> torch.Tensor:
        return x * 2 if x.sum() > 0 else x - 1

    def counted(x: torch.Tensor) -> torch.Tensor:
        return x * int((x > 0).sum().item())

    def chosen(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x[x > 0].sum(), torch.nonzero(x > 0)

    @functools.singledispatch
    def double(value: Any) -> Any:
        return [double(item) for item in value]

    @double.register
    def _(value: torch.Tensor) -> torch.Tensor:
        return value * 2

    def dispatched(x: torch.Tensor) -> Any:
        return double([x, (x + 1, x)])

    def printed(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        print("shape", tuple(y.shape))
        return y * 2

    for run in (branch, counted, chosen, printed, dispatched):
        for x in (torch.ones(4), -torch.ones(4), torch.tensor([1.0, -2.0, 3.0, -1.0])):
            compare((run, [(x,)] * 2), True)
    tagged = torch.randn(3).as_subclass(Tagged)
    assert type(stator.compile(lambda x: x * 2, backend="native")(tagged)) is Tagged
