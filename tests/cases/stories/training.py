"""State of training: meters, averages, schedules, caches of keys and values, models that change."""

from typing import Any

import torch
from stories.story import Story, call, story, tensor
from torch import nn


@story
def moving_average() -> Story:
    class Average:
        def __init__(self, decay: float) -> None:
            self.decay, self.steps = decay, 0
            self.shadow: dict[str, torch.Tensor] = {}

        def update(self, values: dict[str, torch.Tensor]) -> None:
            self.steps += 1
            decay = min(self.decay, (1 + self.steps) / (10 + self.steps))
            for name, value in values.items():
                old = self.shadow.get(name)
                self.shadow[name] = value.clone() if old is None else old * decay + value * (1 - decay)

    average = Average(0.9)

    def program(x: torch.Tensor) -> Any:
        average.update({"w": x, "b": x.sum()})
        return dict(average.shadow)

    steps = [call(tensor(3) + i) for i in range(6)]
    return Story(program, steps, lambda: (average.shadow, average.steps), served=3)


@story
def keys_and_values() -> Story:
    class Cache:
        def __init__(self) -> None:
            self.keys: list[torch.Tensor] = []
            self.length = 0

        def add(self, i: int, key: torch.Tensor) -> torch.Tensor:
            if len(self.keys) <= i:
                self.keys.append(key)
            else:
                self.keys[i] = torch.cat([self.keys[i], key], 0)
            self.length = self.keys[0].shape[0]
            return self.keys[i]

    cache = Cache()

    def program(x: torch.Tensor) -> Any:
        for i in range(2):
            x = x + cache.add(i, x).sum(0)
        return x, cache.length

    return Story(program, [call(tensor(1, 3))] * 7, lambda: (cache.length, cache.keys), served=2)


@story
def tensors_with_attributes() -> Story:
    weight = nn.Parameter(tensor(3))
    weight.tag, weight.uses = "a", 0  # type: ignore[attr-defined]

    def program(x: torch.Tensor) -> Any:
        weight.uses += 1  # type: ignore[attr-defined]
        y = x * weight * (2 if weight.tag == "a" else 3)  # type: ignore[attr-defined]
        y.note = weight.uses  # type: ignore[attr-defined]
        return y.detach(), y.note, hasattr(x, "tag"), weight.requires_grad  # type: ignore[attr-defined]

    x = tensor(3)
    steps = [
        *[call(x)] * 4,
        lambda: setattr(weight, "tag", "b"),
        *[call(x)] * 2,
        lambda: weight.requires_grad_(False),
        call(x),
        lambda: weight.data.add_(1),
        call(x),
    ]
    return Story(program, steps, lambda: weight.uses)  # type: ignore[attr-defined]


@story
def model_that_is_rebuilt() -> Story:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 2)).eval()

    def program(x: torch.Tensor) -> Any:
        return model(x), [type(layer).__name__ for layer in model], model.training

    x = tensor(2, 3)
    steps = [
        call(x),
        call(x),
        lambda: model.__setitem__(1, nn.Tanh()),
        call(x),
        lambda: model.load_state_dict({name: value * 2 for name, value in model.state_dict().items()}),
        call(x),
        model.train,
        call(x),
        lambda: model.append(nn.Softmax(-1)),
        call(x),
        lambda: model[0].weight.data.zero_(),
        call(x),
        lambda: setattr(model[0], "bias", None),
        call(x),
        model.double,
        call(x.double()),
    ]
    return Story(program, steps)


@story
def heads_and_hooks() -> Story:
    torch.manual_seed(0)
    seen: list[int] = []

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])
            self.heads = nn.ModuleDict({"a": nn.Linear(3, 1), "b": nn.Linear(3, 2)})
            self.register_buffer("calls", torch.zeros(()))
            self.active, self.skipped = {"a"}, set()

        def forward(self, x: torch.Tensor, head: str | None = None) -> Any:
            self.calls += 1
            for i, layer in enumerate(self.layers):
                if i not in self.skipped:
                    x = layer(x).relu() + x
            outputs = {name: self.heads[name](x) for name in sorted(self.active) if head in (None, name)}
            return outputs, sum(p.numel() for p in self.parameters())

    net = Net().eval()

    def hook(module: nn.Module, given: Any, output: torch.Tensor) -> torch.Tensor:
        seen.append(1)
        return output * 2

    x = tensor(2, 3)
    steps = [
        call(x),
        call(x),
        lambda: net.active.add("b"),
        call(x),
        lambda: net.skipped.add(1),
        call(x),
        call(x, "b"),
        lambda: net.layers[0].register_forward_hook(hook),
        call(x),
        call(x),
        lambda: net.layers.append(nn.Identity()),
        call(x),
    ]
    return Story(net, steps, lambda: (net.calls, seen))


@story
def modes_of_torch() -> Story:
    def program(x: torch.Tensor) -> Any:
        y = x * 2
        if torch.is_grad_enabled():
            y = y + 1
        if torch.get_default_dtype() == torch.float64:
            y = y + 10
        with torch.no_grad():
            z = y * 3
        return y, z, torch.zeros(2), torch.is_grad_enabled()

    x = tensor(3)
    steps = [
        call(x),
        call(x),
        lambda: torch.set_grad_enabled(False),
        call(x),
        lambda: torch.set_grad_enabled(True),
        lambda: torch.set_default_dtype(torch.float64),
        call(x),
        lambda: torch.set_default_dtype(torch.float32),
        call(x),
    ]
    return Story(program, steps, served=2)


@story
def whole_steps() -> Story:
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses: list[float] = []

    def program(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        return loss.detach()

    def left() -> Any:
        return losses, [p.detach().clone() for p in model.parameters()]

    return Story(program, [call(tensor(4, 3), tensor(4, 1))] * 4, left, whole=False)
