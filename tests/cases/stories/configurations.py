"""Configurations: dataclasses, enumerations, dictionaries with attributes, defaults, keywords."""

import dataclasses
import enum
import inspect
import math
from collections import ChainMap, Counter, defaultdict, deque
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import torch.nn.functional as F

import torch
from stories.story import Story, call, story, tensor


@story
def config_dataclass() -> Story:
    @dataclass
    class Config:
        width: int = 4
        activation: str = "relu"
        scale: float = 1.5
        names: list[str] = field(default_factory=lambda: ["a", "b"])

        @property
        def area(self) -> int:
            return self.width**2

        def changed(self, **changes: Any) -> "Config":
            return replace(self, **changes)

    config = Config()

    def program(x: torch.Tensor) -> Any:
        own = config.changed(scale=config.scale * 2)
        y = getattr(F, own.activation)(x) * own.scale + own.area
        for name in own.names:
            y = y + len(name)
        return y, own

    x = tensor(3)
    steps = [
        call(x),
        call(x),
        lambda: setattr(config, "activation", "tanh"),
        call(x),
        lambda: config.names.append("long"),
        call(x),
        lambda: setattr(config, "scale", 0.5),
        call(x),
        lambda: setattr(Config, "area", property(lambda self: 1)),
        call(x),
    ]
    return Story(program, steps, lambda: config)


@story
def slots_dataclass() -> Story:
    @dataclass(frozen=True, slots=True)
    class Config:
        depth: int = 4
        activation: str = "relu"

    @dataclass(slots=True)
    class State:
        step: int = 0
        scale: float = 1.0
        mean: torch.Tensor | None = None

    config, state = Config(), State()

    def program(x: torch.Tensor) -> Any:
        state.step += 1
        state.scale *= 0.9
        state.mean = x if state.mean is None else state.mean * 0.5 + x * 0.5
        y = getattr(F, config.activation)(state.mean) * state.scale
        return y, dataclasses.astuple(config), config == Config(4), hash(config) == hash(Config())

    def left() -> Any:
        return state.step, state.scale, state.mean

    return Story(program, [call(tensor(3) + i) for i in range(6)], left, served=3)


@story
def enum_dispatch() -> Story:
    class Activation(enum.Enum):
        RELU = "relu"
        TANH = "tanh"
        NONE = None

        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return x if self is Activation.NONE else getattr(torch, self.value)(x)  # type: ignore[no-any-return]

    class Part(enum.Flag):
        BIAS = enum.auto()
        GAIN = enum.auto()

    class Mode(enum.IntEnum):
        TRAIN = 1
        EVAL = 2

    weights = {Activation.RELU: 1.0, Activation.TANH: 2.0, Activation.NONE: 3.0}
    by_mode = {Mode.TRAIN: 0.5}
    state = SimpleNamespace(activation=Activation.RELU, parts=Part.BIAS | Part.GAIN, mode=Mode.EVAL)

    def program(x: torch.Tensor) -> Any:
        y = state.activation(x) * weights[state.activation] + by_mode.get(state.mode, 4.0)
        if Part.BIAS in state.parts:
            y = y + 1
        if state.parts & Part.GAIN:
            y = y * 2
        match state.mode:
            case Mode.TRAIN:
                y = y - 1
            case Mode.EVAL:
                y = y - 2
        return y, state.activation.name, Activation("tanh"), [one.name for one in Activation], Mode(1) + 1

    x = tensor(3)
    steps = [
        call(x),
        call(x),
        lambda: setattr(state, "activation", Activation.TANH),
        call(x),
        lambda: weights.update({Activation.TANH: 9.0}),
        call(x),
        lambda: setattr(state, "parts", Part.GAIN),
        call(x),
        lambda: setattr(state, "mode", Mode.TRAIN),
        call(x),
        lambda: by_mode.clear(),
        call(x),
        lambda: weights.pop(Activation.TANH),
        call(x),
    ]
    return Story(program, steps)


@story
def dictionaries_of_all_kinds() -> Story:
    class Config(dict[str, Any]):
        def __getattr__(self, name: str) -> Any:
            try:
                return self[name]
            except KeyError:
                raise AttributeError(name) from None

        def __setattr__(self, name: str, value: Any) -> None:
            self[name] = value

    config = Config(rate=0.1, net=Config(depth=2))
    layers = ChainMap({"a": 1}, {"a": 2, "b": 3})
    counts, last, groups = Counter("aab"), deque([0], maxlen=3), defaultdict(list)

    def program(x: torch.Tensor) -> Any:
        for _ in range(config.net.depth):
            x = x * config.rate
        last.append(x.shape[0])
        groups[config.net.depth].append(1)
        counts["z"] += 1
        config.net.seen = True
        return x + layers["a"] + layers["b"], hasattr(config, "other"), config.get("other", 3), counts["no"]

    x = tensor(3)
    steps = [
        *[call(x)] * 4,
        lambda: setattr(config.net, "depth", 3),
        call(x),
        lambda: layers.maps[0].update(b=9),
        call(x),
    ]
    return Story(program, steps, lambda: (config, layers.maps, counts, last, groups))


@story
def default_arguments() -> Story:
    def program(x: torch.Tensor, seen: list[int] = [], *, options: dict[str, int] = {"k": 1}) -> Any:  # noqa: B006
        seen.append(7)
        options["n"] = options.get("n", 0) + 1
        return x * options["k"]

    x = tensor(3)
    steps = [
        *[call(x)] * 4,
        lambda: program.__kwdefaults__["options"].update(k=3),
        call(x),
        lambda: setattr(program, "__defaults__", ([5, 6],)),
        call(x),
        call(x, [1]),
        call(x, options={"k": 4}),
    ]
    return Story(program, steps, lambda: (program.__defaults__, program.__kwdefaults__))


@story
def keywords_passed_on() -> Story:
    def leaf(x: Any, *rest: Any, scale: float = 1.0, bias: Any = None, **more: Any) -> Any:
        y = x * scale
        if bias is not None:
            y = y + bias
        for term in rest:
            y = y + term
        for name, value in sorted(more.items()):
            y = y + len(name) * value
        return y

    def middle(x: Any, *rest: Any, **more: Any) -> Any:
        more = {**more, "scale": more.pop("scale", 2.0) * 2}
        more.setdefault("extra", 1)
        return leaf(x, *rest, **more)

    def program(x: Any, *rest: Any, **more: Any) -> Any:
        wanted = {name: more[name] for name in more if name in inspect.signature(leaf).parameters}
        return middle(x, *rest, **more), list(more), leaf(x, **wanted)

    x = tensor(3)
    steps = [
        call(x),
        call(x),
        call(x, 1, 2),
        call(x, scale=3.0),
        call(x, bias=x, other=4),
        call(x, other=4, bias=x),
        call(x, other=5, bias=x),
    ]
    return Story(program, steps)


@story
def environment() -> Story:
    import os

    def program(x: torch.Tensor) -> torch.Tensor:
        if os.environ.get("STATOR_STORY") == "b":
            x = x + 1
        return x * 2 if os.getenv("STATOR_STORY_TOO") is None else x

    x = tensor(3)
    steps = [
        call(x),
        call(x),
        lambda: os.environ.update(STATOR_STORY="b"),
        call(x),
        lambda: os.environ.pop("STATOR_STORY"),
        call(x),
        lambda: os.environ.update(STATOR_STORY_TOO="b"),
        call(x),
        lambda: os.environ.pop("STATOR_STORY_TOO"),
        call(x),
    ]
    return Story(program, steps, served=3)


@story
def odd_numbers() -> Story:
    config: dict[str, Any] = {"big": 10**30, "z": 1 + 2j, "nan": float("nan"), "zero": -0.0}

    def program(x: torch.Tensor) -> Any:
        y = x * (config["big"] % 97) + config["z"].imag
        return y, config["nan"] != config["nan"], math.copysign(1, config["zero"]), -7 % 3, round(2.5), ~5

    x = tensor(3)
    steps = [
        call(x),
        call(x),
        lambda: config.update(zero=0.0),
        call(x),
        lambda: config.update(big=10**30 + 1),
        call(x),
    ]
    return Story(program, steps)
