"""Random schedules of training: python tests/fused/training_schedules.py --count 1000 [--start 0].

A seed draws a model of small layers and what a program does with it: forwards, backwards that retain or
differentiate further, gradients of some results alone, hooks, writes, optimizer steps, switches of modes.
Each schedule runs in eager code, then by the backends; everything it has seen, and what it still holds at the
end, must be equal.
"""

from __future__ import annotations

import argparse
import contextlib
import random
from collections.abc import Callable
from typing import Any

import stator
import torch
from stator import _torch
from torch import nn

F = torch.nn.functional
Tensor = torch.Tensor
SETTINGS = {"native": {}, "fused": {}, "graphs": {"mode": "reduce-overhead"}}
FEATURES = 8
INPLACE = "modified by an inplace operation"


class Model(nn.Module):
    """A chain of layers drawn from a seed; what it returns is drawn as well."""

    def __init__(self, draw: random.Random) -> None:
        super().__init__()
        self.kinds = [draw.choice(KINDS) for _ in range(draw.randint(2, 5))]
        self.returned = draw.choice(RETURNED)
        self.layers = nn.ModuleList(nn.Linear(FEATURES, FEATURES) for _ in self.kinds)
        self.norms = nn.ModuleList(nn.LayerNorm(FEATURES) for _ in self.kinds)
        self.batch_norms = nn.ModuleList(nn.BatchNorm1d(FEATURES) for _ in self.kinds)
        self.scale = nn.Parameter(torch.rand(FEATURES) + 0.5)
        self.register_buffer("count", torch.zeros(()))
        self.register_buffer("mean", torch.zeros(FEATURES))
        if draw.random() < 0.3:
            self.layers[-1].weight = self.layers[0].weight

    def layer(self, kind: str, number: int, x: Tensor) -> Tensor:
        linear = self.layers[number]
        if kind == "linear":
            return torch.tanh(linear(x))
        if kind == "gelu":
            return F.gelu(linear(x))
        if kind == "norm":
            return self.norms[number](x) + x
        if kind == "batch_norm":
            return self.batch_norms[number](linear(x))
        if kind == "dropout":
            return F.dropout(linear(x), 0.3, self.training)
        if kind == "twice":
            return linear(torch.sigmoid(linear(x)))
        if kind == "softmax":
            return F.softmax(linear(x), -1) * self.scale
        if kind == "split":
            a, b = linear(x).chunk(2, -1)
            return torch.cat([b.exp() * 0.1, a.sin()], -1)
        if kind == "in_place":
            return linear(x).relu_().add_(x)
        if kind == "statistics":
            self.mean.lerp_(x.detach().mean(0), 0.1)
            self.count.add_(1)
            return x * self.scale - self.mean
        if kind == "attention":
            y = linear(x)
            return (F.softmax(y @ y.t() * 0.1, -1) @ y) + x
        return x.square() * 0.1 + x.cos()

    def forward(self, x: Tensor) -> Any:
        y = x
        for number, kind in enumerate(self.kinds):
            middle = y
            y = self.layer(kind, number, y)
        return RESULTS[self.returned](x, middle, y)


KINDS = ["linear", "gelu", "norm", "batch_norm", "dropout", "twice", "softmax", "split", "in_place"]
KINDS += ["statistics", "attention", "square"]
RESULTS: dict[str, Callable[[Tensor, Tensor, Tensor], Any]] = {
    "one": lambda x, middle, y: y,
    "loss": lambda x, middle, y: y.square().mean(),
    "two": lambda x, middle, y: (y, middle * 2),
    "chain": lambda x, middle, y: (y.sin(), y.square().mean()),
    "named": lambda x, middle, y: {"loss": y.mean(), "state": y.detach() * 2},
    "view": lambda x, middle, y: (y * 2).view(-1, 4, 2).transpose(1, 2),
    "base_and_view": lambda x, middle, y: (y, y[1:]),
    "input": lambda x, middle, y: (y.tanh(), x),
}
RETURNED = ["one", "one", "one", *RESULTS]


def tensors_of(result: Any) -> list[Tensor]:
    if isinstance(result, Tensor):
        return [result]
    return list(result.values() if isinstance(result, dict) else result)


class Step:
    """A call of the model that a program holds."""

    def __init__(self, x: Tensor, result: Any) -> None:
        self.x, self.results = x, tensors_of(result)

    def loss(self, which: int) -> Tensor:
        some = [t for t in self.results if t.requires_grad]
        # Tame ones: of sines of sums rounding would grow from step to step.
        if which < len(some):
            return some[which].float().square().mean()
        return sum((t.float().sin().mean() for t in some), torch.zeros(()))


class Run:
    """One schedule with one way to call the model."""

    def __init__(self, seed: int, settings: dict[str, Any] | None, backend: str = "") -> None:
        self.draw = random.Random(seed)
        torch.manual_seed(seed)
        self.model = Model(self.draw)
        self.call: Any = self.model
        if settings is not None:
            self.call = stator.compile(self.model, backend=backend, **settings)
        # Others divide by a gradient's size, and so turn rounding of what is nearly zero into numbers.
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01, momentum=0.5)
        self.seen: list[tuple[str, Any]] = []
        self.held: list[tuple[str, Tensor]] = []
        self.steps: list[Step] = []
        self.hooks: list[Any] = []
        self.fixed = torch.randn(6, FEATURES)
        self.rounds = False  # some of it was computed in 16 bits
        self.last_error = ""
        self.actions = self.draw.choices(list(ACTIONS), weights=list(ACTIONS.values()), k=24)

    def note(self, name: str, value: Any, holds: bool = False) -> None:
        if isinstance(value, Tensor):
            if holds:
                self.held.append((name, value))
            value = value.detach().clone()
        self.seen.append((name, value))

    def run(self) -> Run:
        for number, action in enumerate(self.actions):
            torch.manual_seed(number)
            self.draw.seed(f"{number} {action} {self.draw.random()}")
            try:
                getattr(self, action)()
            except RuntimeError as error:
                self.note(f"{number} {action} raised", (type(error).__name__, INPLACE in str(error)))
                self.last_error = str(error)
            self.note(f"{number} {action} random", torch.rand(()))
            for name, parameter in self.model.named_parameters():
                self.note(f"{number} {action} gradient {name}", parameter.grad)
            for name, buffer in self.model.named_buffers():
                self.note(f"{number} {action} buffer {name}", buffer)
        for hook in self.hooks:
            hook.remove()
        for name, tensor in self.held:
            self.seen.append((f"at the end: {name}", tensor.detach()))
        return self

    def batch(self) -> Tensor:
        rows = self.draw.choices([6, 5, 3], [8, 1, 1])[0]
        return torch.randn(rows, FEATURES)

    def forward(self, x: Tensor | None = None) -> None:
        x = self.batch() if x is None else x
        if self.draw.random() < 0.3:
            x.requires_grad_()
        step = Step(x, self.call(x))
        self.steps.append(step)
        for number, tensor in enumerate(step.results):
            self.note(f"result {number}", tensor, holds=True)
            self.note("is recorded", tensor.requires_grad)

    def forward_fixed(self) -> None:
        self.forward(self.fixed.detach())

    def forward_of_result(self) -> None:
        if self.steps:
            x = next((t for t in self.steps[-1].results if t.shape == (6, FEATURES)), self.batch())
            step = Step(x, self.call(x))
            self.steps.append(step)

    def forward_without_gradients(self) -> None:
        mode = self.draw.choice([torch.no_grad, torch.inference_mode])
        with mode():
            for tensor in tensors_of(self.call(self.batch())):
                self.note("result without gradients", tensor.clone(), holds=True)

    def forward_under_autocast(self) -> None:
        self.rounds = True
        with torch.autocast("cpu", torch.bfloat16):
            self.forward()

    def step_of(self) -> Step | None:
        return self.draw.choice(self.steps) if self.steps else None

    def backward(self) -> None:
        if step := self.step_of():
            retain = self.draw.random() < 0.3
            loss = step.loss(self.draw.randrange(3))
            loss.backward(retain_graph=retain)
            if step.x.is_leaf:
                self.note("gradient of x", step.x.grad, holds=True)
            if not retain:
                self.steps.remove(step)

    def train(self) -> None:
        self.optimizer.zero_grad(set_to_none=self.draw.random() < 0.7)
        self.forward()
        step = self.steps.pop()
        step.loss(9).backward()
        if self.draw.random() < 0.5:
            self.optimizer.step()

    def backward_of_two(self) -> None:
        self.forward()
        self.forward()
        loss = self.steps[-1].loss(0) * self.steps[-2].loss(9)
        loss.backward()
        del self.steps[-2:]

    def gradients(self) -> None:
        if step := self.step_of():
            some = [p for p in self.model.parameters() if self.draw.random() < 0.5]
            some += [t for t in (step.x, *step.results) if t.requires_grad]
            if not some:
                return
            found = torch.autograd.grad(
                step.loss(self.draw.randrange(3)), some, retain_graph=True, allow_unused=True
            )
            for gradient in found:
                self.note("gradient", gradient, holds=True)

    def second_gradients(self) -> None:
        if step := self.step_of():
            parameters = list(self.model.parameters())
            found = torch.autograd.grad(step.loss(0), parameters, create_graph=True, allow_unused=True)
            total = sum(
                (g.square().sum() for g in found if g is not None and g.requires_grad), torch.zeros(())
            )
            if total.requires_grad:
                total.backward(retain_graph=True)
            self.note("norm", total)

    def drop(self) -> None:
        if step := self.step_of():
            self.steps.remove(step)

    def drop_all(self) -> None:
        self.steps.clear()

    def write_result(self) -> None:
        if step := self.step_of():
            tensor = self.draw.choice(step.results)
            how = self.draw.randrange(3)
            if how == 0:
                tensor.mul_(0.5)
            elif how == 1:
                with torch.no_grad():
                    tensor.add_(1)
            else:
                tensor.detach().mul_(1.5)

    def write_argument(self) -> None:
        if step := self.step_of():
            with torch.no_grad():
                step.x.add_(0.1)

    def write_fixed(self) -> None:
        self.fixed.copy_(torch.randn(6, FEATURES))

    def write_parameter(self) -> None:
        with torch.no_grad():
            self.draw.choice(list(self.model.parameters())).mul_(0.9)

    def move_parameter(self) -> None:
        parameter = self.draw.choice(list(self.model.parameters()))
        parameter.data = parameter.data * 0.9

    def write_gradient(self) -> None:
        for parameter in self.model.parameters():
            if parameter.grad is not None:
                parameter.grad.mul_(0.5)

    def hold_gradients(self) -> None:
        for name, parameter in self.model.named_parameters():
            if parameter.grad is not None:
                self.note(f"held {name}", parameter.grad, holds=True)
        self.optimizer.zero_grad()

    def optimize(self) -> None:
        self.optimizer.step()

    def hook(self) -> None:
        parameter = self.draw.choice(list(self.model.parameters()))
        if self.draw.random() < 0.5:
            self.hooks.append(parameter.register_hook(lambda g: g * 0.5))
        else:

            def after(p: Tensor) -> None:
                self.note("accumulated", p.grad, holds=True)

            self.hooks.append(parameter.register_post_accumulate_grad_hook(after))

    def hook_result(self) -> None:
        if step := self.step_of():
            tensor = self.draw.choice(step.results)
            if tensor.requires_grad:
                if not tensor.is_leaf:
                    tensor.retain_grad()
                tensor.register_hook(lambda g: self.note("gradient of a result", g, holds=True))

    def module_hook(self) -> None:
        def after(module: nn.Module, given: Any, made: Any) -> None:
            for gradient in made:
                self.note("gradient of the module", gradient)

        self.hooks.append(self.model.register_full_backward_hook(after))

    def step_in_hook(self) -> None:
        own = torch.optim.SGD(list(self.model.parameters()), lr=0.01)

        def after(p: Tensor) -> None:
            with torch.no_grad():
                p -= p.grad * 0.01

        self.hooks.append(own.param_groups[0]["params"][0].register_post_accumulate_grad_hook(after))

    def fail_between(self) -> None:
        self.forward()
        step = self.steps.pop()

        def fail(gradient: Tensor) -> None:
            raise RuntimeError("of the program")

        handle = next(t for t in step.results if t.requires_grad).register_hook(fail)
        try:
            step.loss(9).backward()
        finally:
            handle.remove()

    def checkpoint(self) -> None:
        x = self.batch().requires_grad_()

        def whole(x: Tensor) -> Tensor:
            return Step(x, self.call(x)).loss(9)

        torch.utils.checkpoint.checkpoint(whole, x, use_reentrant=False).backward()
        self.note("checkpointed", x.grad, holds=True)

    def switch(self) -> None:
        self.model.train(not self.model.training)

    def remove_hooks(self) -> None:
        while self.hooks:
            self.hooks.pop().remove()

    def reset(self) -> None:
        if self.call is not self.model:
            stator.reset()


ACTIONS = {
    "train": 40, "forward": 8, "forward_fixed": 4, "forward_of_result": 2, "forward_without_gradients": 2,
    "forward_under_autocast": 1, "backward": 12, "backward_of_two": 3, "gradients": 4, "second_gradients": 1,
    "drop": 4, "drop_all": 5, "write_result": 1.5, "write_argument": 1, "write_fixed": 1,
    "write_parameter": 1, "move_parameter": 0.7, "write_gradient": 2, "hold_gradients": 3, "optimize": 2,
    "hook": 1, "hook_result": 1.5, "module_hook": 0.4, "step_in_hook": 0.3, "fail_between": 1,
    "checkpoint": 0.7, "switch": 1, "remove_hooks": 1, "reset": 0.3,
}  # fmt: skip
"""Names of methods of Run, by weight."""


def is_close(a: Any, b: Any, rounds: bool) -> bool:
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        return bool(a == b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not a.is_floating_point():
        return torch.equal(a, b)
    scale = a.abs().max().item() if a.numel() else 0.0
    return torch.allclose(a, b, rtol=1e-3, atol=(2e-2 if rounds else 2e-4) * max(scale, 1.0), equal_nan=True)


def difference(seed: int, name: str) -> str:
    """What a backend does otherwise than eager code; empty: nothing."""
    stator.reset()
    eager = Run(seed, None).run()
    _torch.emulate_cuda_graphs(name == "graphs")
    try:
        run = Run(seed, SETTINGS[name], "native" if name == "native" else "fused").run()
    finally:
        _torch.emulate_cuda_graphs(False)
    for wanted, got in zip(eager.seen, run.seen, strict=False):
        if wanted[0] != got[0]:
            if INPLACE in run.last_error and "raised" in got[0]:
                return ""  # the backend keeps other tensors than eager code, and says so
            return f"{got[0]} for {wanted[0]}: {run.last_error} {run.model.kinds} {run.model.returned}"
        if "raised" in got[0] and got[1] == wanted[1] and got[1][1]:
            return ""  # eager code stops in the middle, with the gradients of what came before that
        if not is_close(got[1], wanted[1], run.rounds):
            return f"{got[0]}: {got[1]} for {wanted[1]}, {run.model.kinds} {run.model.returned}"
    return "" if len(eager.seen) == len(run.seen) else "more or less was seen"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--settings", nargs="*", default=list(SETTINGS))
    chosen = parser.parse_args()
    failures = 0
    before = _torch.cuda_graph_replays()
    for seed in range(chosen.start, chosen.start + chosen.count):
        for name in chosen.settings:
            with contextlib.suppress(KeyboardInterrupt):
                if text := difference(seed, name):
                    failures += 1
                    print(f"seed {seed} {name}: {text}", flush=True)
    print(f"{chosen.count} schedules, {failures} differ, {_torch.cuda_graph_replays() - before} replays")


if __name__ == "__main__":
    main()
