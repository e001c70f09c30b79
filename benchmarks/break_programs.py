"""benchmarks/break_programs.py: programs with a break of each kind at each kind of place.

Each entry of PROGRAMS makes a function and its arguments; what it prints goes to the void. Programs of other
libraries are there where the library is installed.
"""

from __future__ import annotations

import importlib.util
import logging
import random
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import torch.nn.functional as F

import torch
from torch import Tensor, nn

Program = tuple[Callable[..., Any], tuple[Any, ...]]
PROGRAMS: dict[str, Callable[[], Program]] = {}
log = logging.getLogger("break_programs")
log.addHandler(logging.NullHandler())
log.propagate = False


def program(make: Callable[[], Program]) -> Callable[[], Program]:
    PROGRAMS[make.__name__] = make
    return make


def work(x: Tensor) -> Tensor:
    return torch.tanh(x * 2 + 1) - x.sin()


def x() -> Tensor:
    return torch.linspace(-1, 1, 64).reshape(8, 8)


@program
def printed() -> Program:
    def f(x: Tensor) -> Tensor:
        y = work(x)
        print("here", file=None)
        return work(y)

    return f, (x(),)


@program
def printed_tensor() -> Program:
    def f(x: Tensor) -> Tensor:
        y = work(x)
        print("mean", y.mean())
        return work(y)

    return f, (x(),)


@program
def logged() -> Program:
    def f(x: Tensor) -> Tensor:
        y = work(x)
        log.warning("shape %s", tuple(y.shape))
        return work(y)

    return f, (x(),)


@program
def warned() -> Program:
    def f(x: Tensor) -> Tensor:
        y = work(x)
        warnings.warn("a warning", stacklevel=2)
        return work(y)

    return f, (x(),)


@program
def item() -> Program:
    def f(x: Tensor) -> Tensor:
        y = work(x)
        return work(y * y.sum().item())

    return f, (x(),)


@program
def branch() -> Program:
    def f(x: Tensor) -> Tensor:
        y = work(x)
        if y.sum() > 1000:
            return work(y * 2)
        return work(y + 3)

    return f, (x(),)


@program
def nan_check() -> Program:
    def f(x: Tensor) -> Tensor:
        y = work(x)
        if torch.isnan(y).any():
            raise ValueError("not a number")
        return work(y)

    return f, (x(),)


@program
def asserted() -> Program:
    def f(x: Tensor) -> Tensor:
        y = work(x)
        assert (y.abs() < 100).all(), "too large"
        return work(y)

    return f, (x(),)


@program
def while_error() -> Program:
    def f(x: Tensor) -> Tensor:
        y = work(x)
        error = torch.tensor(1.0)
        while error > 0.1:
            y = work(y)
            error = error * 0.5
        return y

    return f, (x(),)


@program
def numpy_inside() -> Program:
    def f(x: Tensor) -> Tensor:
        y = work(x)
        mean = numpy.asarray(y.detach()).mean()
        return work(y - float(mean))

    return f, (x(),)


@program
def timed() -> Program:
    def f(x: Tensor) -> tuple[Tensor, bool]:
        begin = time.perf_counter()
        y = work(x)
        took = time.perf_counter() - begin
        return work(y), took >= 0

    return f, (x(),)


@program
def random_choice() -> Program:
    def f(x: Tensor) -> Tensor:
        y = work(x)
        return work(y * random.random())

    return f, (x(),)


@program
def backward_inside() -> Program:
    weight = torch.ones(8, 8, requires_grad=True)

    def f(x: Tensor) -> Tensor:
        weight.grad = None
        loss = (work(x @ weight)).pow(2).mean()
        loss.backward()
        return work(weight.grad) + loss.detach()

    return f, (x(),)


@program
def training_step() -> Program:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)

    def f(x: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.detach()

    return f, (x(),)


@program
def mask() -> Program:
    def f(x: Tensor) -> Tensor:
        y = work(x)
        kept = y[y > 0]
        return work(kept).sum()

    return f, (x(),)


@program
def unique_values() -> Program:
    def f(x: Tensor) -> Tensor:
        y = work(x).round()
        values = torch.unique(y)
        return work(values * 2).sum()

    return f, (x(),)


@program
def hook_that_prints() -> Program:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8))
    model[1].register_forward_hook(lambda module, inputs, output: print("shape", output.shape))
    return model, (x(),)


@program
def loop_of_100() -> Program:
    def f(x: Tensor) -> Tensor:
        y = x
        for _ in range(100):
            y = work(y)
            torch._dynamo.graph_break()
        return y

    return f, (x(),)


@program
def inside_try() -> Program:
    def f(x: Tensor) -> Tensor:
        y = work(x)
        try:
            y = work(y)
            torch._dynamo.graph_break()
            y = work(y)
        finally:
            y = work(y)
        return y

    return f, (x(),)


@program
def inside_with() -> Program:
    @contextmanager
    def section() -> Iterator[None]:
        yield

    def f(x: Tensor) -> Tensor:
        with section(), torch.no_grad():
            y = work(x)
            torch._dynamo.graph_break()
            y = work(y)
        return work(y)

    return f, (x(),)


@program
def three_calls_deep() -> Program:
    def third(x: Tensor) -> Tensor:
        y = work(x)
        torch._dynamo.graph_break()
        return work(y)

    def second(x: Tensor) -> Tensor:
        return work(third(work(x)))

    def first(x: Tensor) -> Tensor:
        return work(second(work(x)))

    return first, (x(),)


@program
def generator() -> Program:
    def parts(x: Tensor) -> Iterator[Tensor]:
        for row in x.unbind():
            yield work(row)

    def f(x: Tensor) -> Tensor:
        total = torch.zeros(8)
        for part in parts(x):
            total = total + part
            torch._dynamo.graph_break()
        return work(total)

    return f, (x(),)


@program
def caught_error() -> Program:
    def f(x: Tensor) -> Tensor:
        y = work(x)
        try:
            int("no number")
        except ValueError as error:
            y = work(y) + len(str(error))
        return work(y)

    return f, (x(),)


@program
def below_map() -> Program:
    def part(row: Tensor) -> Tensor:
        y = work(row)
        torch._dynamo.graph_break()
        return work(y)

    def f(x: Tensor) -> Tensor:
        return work(torch.stack(list(map(part, x.unbind()))))

    return f, (x(),)


@program
def detection_head() -> Program:
    def nms(boxes: Tensor, scores: Tensor, threshold: float) -> Tensor:
        order = scores.argsort(descending=True)
        keep = []
        while order.numel() > 0:
            best = order[0]
            keep.append(best)
            if order.numel() == 1:
                break
            rest = order[1:]
            low = torch.maximum(boxes[best, :2], boxes[rest, :2])
            high = torch.minimum(boxes[best, 2:], boxes[rest, 2:])
            area = (high - low).clamp(min=0).prod(1)
            size = (boxes[:, 2:] - boxes[:, :2]).prod(1)
            order = rest[area / (size[best] + size[rest] - area) <= threshold]
        return torch.stack(keep)

    def f(features: Tensor, boxes: Tensor) -> Tensor:
        scores = torch.sigmoid(work(features)).flatten()
        kept = nms(boxes * 1.5 + 1, scores, 0.5)
        return boxes[kept] * scores[kept, None]

    torch.manual_seed(0)
    corners = torch.rand(64, 2) * 10
    return f, (x(), torch.cat([corners, corners + 3], 1))


@program
def beam_search() -> Program:
    torch.manual_seed(0)
    table = torch.randn(32, 32)

    def f(start: Tensor) -> tuple[Tensor, Tensor]:
        beams, scores = start.repeat(4, 1), torch.zeros(4)
        for step in range(6):
            logits = F.log_softmax(table[beams[:, -1]] / (1 + step), dim=-1)
            best, index = (scores[:, None] + logits).flatten().topk(4)
            beams = torch.cat([beams[index // 32], (index % 32)[:, None]], 1)
            scores = best
            if (beams[:, -1] == 31).all():
                break
        return beams, scores

    return f, (torch.zeros(1, 1, dtype=torch.long),)


@program
def rollout() -> Program:
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))

    class Environment:
        def __init__(self) -> None:
            self.state = torch.zeros(4)

        def step(self, action: int) -> tuple[Tensor, float, bool]:
            self.state = torch.tanh(self.state + (0.1 if action else -0.1))
            return self.state, 1.0, False

    def f(state: Tensor) -> Tensor:
        environment, rewards = Environment(), []
        with torch.no_grad():
            for _ in range(10):
                scores = F.softmax(policy(state), dim=-1)
                action = int(scores.argmax().item())
                state, reward, done = environment.step(action)
                rewards.append(reward)
                if done:
                    break
        return state * sum(rewards)

    return f, (torch.zeros(4),)


@program
def gan_step() -> Program:
    torch.manual_seed(0)
    make = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
    judge = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(), nn.Linear(16, 1))
    first = torch.optim.Adam(make.parameters(), lr=1e-5)
    second = torch.optim.Adam(judge.parameters(), lr=1e-5)
    ones, zeros = torch.ones(8, 1), torch.zeros(8, 1)

    def f(real: Tensor, noise: Tensor) -> tuple[float, float]:
        fake = make(noise)
        second.zero_grad()
        loss = F.binary_cross_entropy_with_logits(judge(real), ones)
        loss = loss + F.binary_cross_entropy_with_logits(judge(fake.detach()), zeros)
        loss.backward()
        second.step()
        first.zero_grad()
        other = F.binary_cross_entropy_with_logits(judge(fake), ones)
        other.backward()
        first.step()
        return loss.item(), other.item()

    return f, (x(), x() + 1)


@program
def everything_inside() -> Program:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Dropout(0.0), nn.Linear(16, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1000)
    history: list[float] = []

    def f(x: Tensor, target: Tensor) -> Tensor:
        begin = time.time()
        optimizer.zero_grad(set_to_none=True)
        logits = model(x)
        loss = F.cross_entropy(logits, target)
        if torch.isnan(loss):
            raise ValueError("diverged")
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        history[:] = [loss.item()]
        print(f"loss {history[-1]:.3f} norm {norm:.3f} in {time.time() - begin:.3f} s")
        return (logits.argmax(-1) == target).float().mean()

    return f, (x(), torch.arange(8) % 4)


@program
def metric() -> Program:
    class Accuracy:
        def __init__(self) -> None:
            self.right, self.seen = torch.tensor(0), 0

        def update(self, scores: Tensor, target: Tensor) -> None:
            if scores.shape[0] != target.shape[0]:
                raise ValueError("different lengths")
            if target.max() >= scores.shape[1]:
                raise ValueError("a class that is not there")
            self.right += (scores.argmax(1) == target).sum()
            self.seen += target.numel()

        def compute(self) -> Tensor:
            return self.right.float() / self.seen

    metric = Accuracy()

    def f(scores: Tensor, target: Tensor) -> Tensor:
        metric.update(work(scores), target)
        return metric.compute()

    return f, (x(), torch.arange(8) % 8)


def _is_there(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


if _is_there("kornia"):

    @program
    def kornia_color_jitter() -> Program:
        import kornia

        torch.manual_seed(0)
        return kornia.augmentation.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0), (torch.rand(2, 3, 16, 16),)


if _is_there("torchmetrics"):

    @program
    def torchmetrics_update() -> Program:
        import torchmetrics

        metric = torchmetrics.classification.MulticlassF1Score(num_classes=8)

        def f(scores: Tensor, target: Tensor) -> Tensor:
            metric.update(scores, target)
            return work(scores)

        return f, (x(), torch.arange(8) % 8)


if _is_there("torch_geometric"):

    @program
    def graph_convolution() -> Program:
        from torch_geometric.nn import GCNConv

        torch.manual_seed(0)
        layer = GCNConv(8, 8)
        edges = torch.randint(0, 8, (2, 24))

        def f(features: Tensor, edges: Tensor) -> Tensor:
            return work(layer(features, edges))

        return f, (x(), edges)
