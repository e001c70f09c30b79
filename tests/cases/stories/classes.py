"""Classes: inheritance, properties, descriptors, metaclasses, operators, modules."""

import abc
import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from stories.story import Story, call, story, tensor
from torch import nn


@story
def cooperative_super() -> Story:
    class Base(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 3)
            nn.init.constant_(self.layer.weight, 0.1)
            nn.init.zeros_(self.layer.bias)
            self.calls = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return self.after(self.layer(self.before(x)))

        def before(self, x: torch.Tensor) -> torch.Tensor:
            return x

        def after(self, x: torch.Tensor) -> torch.Tensor:
            return x

    class Middle(Base):
        def before(self, x: torch.Tensor) -> torch.Tensor:
            return super().before(x) * 2

    class Mixin:
        def after(self, x: torch.Tensor) -> torch.Tensor:
            return super().after(x) + 1  # type: ignore[misc,no-any-return]

    class Leaf(Mixin, Middle):
        def before(self, x: torch.Tensor) -> torch.Tensor:
            return super().before(x) - 1

    model = Leaf()
    x = tensor(2, 3)
    steps = [
        *[call(x)] * 4,
        lambda: setattr(Middle, "before", lambda self, x: x * 5),
        call(x),
        lambda: setattr(model, "after", lambda x: x),
        *[call(x)] * 2,
    ]
    return Story(model, steps, lambda: model.calls)


@story
def property_with_a_setter() -> Story:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.kept, self.reads = 2.0, 0

        @property
        def temperature(self) -> float:
            self.reads += 1
            return self.kept

        @temperature.setter
        def temperature(self, value: float) -> None:
            self.kept = max(value, 0.1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = x / self.temperature
            self.temperature = self.temperature * 0.5
            return y

    model = Model()
    x = tensor(3)
    steps = [*[call(x)] * 4, lambda: setattr(model, "temperature", 8.0), *[call(x)] * 2]
    return Story(model, steps, lambda: (model.kept, model.reads), served=2)


@story
def descriptor_and_protocols() -> Story:
    class Positive:
        def __set_name__(self, owner: type, name: str) -> None:
            self.name = "_" + name

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            return self if instance is None else getattr(instance, self.name)

        def __set__(self, instance: Any, value: float) -> None:
            if value <= 0:
                raise ValueError(f"{value} is not positive")
            setattr(instance, self.name, value)

    class Pair:
        __slots__ = ("_a", "b")
        a = Positive()

        def __init__(self) -> None:
            self.a, self.b = 2, 1

        def __iter__(self) -> Iterator[int]:
            yield self.a
            yield self.b

        def __len__(self) -> int:
            return 2

        def __bool__(self) -> bool:
            return self.b > 0

        def __getitem__(self, index: int) -> Any:
            return (self.a, self.b)[index]

        def __contains__(self, value: object) -> bool:
            return value in (self.a, self.b)

    pair = Pair()

    def program(x: torch.Tensor) -> Any:
        try:
            pair.a = -1
        except ValueError as error:
            text = str(error)
        pair.b += 1
        first, second = pair
        return x * pair.a + pair[1], text, len(pair), bool(pair), 2 in pair, first + second

    x = tensor(3)
    steps = [
        *[call(x)] * 3,
        lambda: setattr(pair, "a", 5),
        call(x),
        lambda: setattr(pair, "b", -5),
        call(x),
    ]
    return Story(program, steps, lambda: (pair.a, pair.b))


@story
def operators_of_its_own() -> Story:
    class Quantity:
        def __init__(self, value: Any, unit: str = "m") -> None:
            self.value, self.unit = value, unit

        def __add__(self, other: Any) -> "Quantity":
            return Quantity(self.value + getattr(other, "value", other), self.unit)

        __radd__ = __add__

        def __mul__(self, other: Any) -> "Quantity":
            return Quantity(self.value * other, self.unit + "^")

        __rmul__ = __mul__

        def __neg__(self) -> "Quantity":
            return Quantity(-self.value, self.unit)

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Quantity) and self.unit == other.unit

        def __hash__(self) -> int:
            return hash(self.unit)

        def __lt__(self, other: "Quantity") -> bool:
            return len(self.unit) < len(other.unit)

        def __matmul__(self, other: "Quantity") -> Any:
            return self.value @ other.value

        def __iadd__(self, other: Any) -> "Quantity":
            self.value = self.value + other
            return self

        def __getitem__(self, index: Any) -> Any:
            return self.value[index]

        def __call__(self, factor: float) -> Any:
            return self.value * factor

        def __index__(self) -> int:
            return 2

    def program(x: torch.Tensor) -> Any:
        a, b = Quantity(x), Quantity(x + 1, "s")
        c = a + b * 2
        c += 1
        total = sum([a, b], start=0)  # type: ignore[list-item]
        return (
            c.value,
            c.unit,
            total.value,
            (-a).value,
            a == b,
            a < 3 * b,
            a @ b,
            a[1:],
            a(3),
            x[a.__index__()],
            {b: 1}[b],
        )  # type: ignore[attr-defined,index]

    return Story(program, [call(tensor(3)), call(tensor(3)), call(tensor(4))])


@story
def metaclass() -> Story:
    class Meta(type):
        tags: list[str]

        def __new__(cls, name: str, bases: Any, body: Any) -> Any:
            made = super().__new__(cls, name, bases, body)
            made.tags = [name.lower()]
            return made

        def __call__(cls, *arguments: Any) -> Any:
            made = super().__call__(*arguments)
            made.born = True
            return made

        def __len__(cls) -> int:
            return len(cls.tags)

    class Plugin(metaclass=Meta):
        born = False
        known: list[Any] = []  # noqa: RUF012

        def __init_subclass__(cls) -> None:
            Plugin.known.append(cls)

        def __init__(self, factor: int = 1) -> None:
            self.factor = factor

        def run(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.factor

    class Adds(Plugin):
        def run(self, x: torch.Tensor) -> torch.Tensor:
            return super().run(x) + 1

    class Turns(Plugin):
        def run(self, x: torch.Tensor) -> torch.Tensor:
            return -super().run(x)

    def program(x: torch.Tensor) -> Any:
        for plugin in Plugin.known:
            x = plugin(2).run(x)
        return x, len(Adds), Adds.tags, [one.__name__ for one in Plugin.known], Turns().born

    x = tensor(3)
    steps = [call(x), call(x), lambda: Adds.tags.append("q"), call(x), lambda: Plugin.known.pop(), call(x)]
    return Story(program, steps)


@story
def abstract_pipeline() -> Story:
    class Layer(abc.ABC):
        @abc.abstractmethod
        def apply(self, x: torch.Tensor) -> torch.Tensor: ...

        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return self.apply(x)

        def __or__(self, other: "Layer") -> "Layer":
            return Chain(self, other)

    class Chain(Layer):
        def __init__(self, *layers: Layer) -> None:
            self.layers = layers

        def apply(self, x: torch.Tensor) -> torch.Tensor:
            return functools.reduce(lambda value, layer: layer(value), self.layers, x)

    class Scale(Layer):
        def __init__(self, factor: float) -> None:
            self.factor = factor

        def apply(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.factor

    first = Scale(2)
    chain = first | Scale(3)

    def program(x: torch.Tensor) -> Any:
        return (chain | Scale(0.5))(x), isinstance(chain, Layer), isinstance(x, Layer)

    x = tensor(3)
    steps = [
        call(x),
        call(x),
        lambda: setattr(first, "factor", 7),
        call(x),
        lambda: setattr(Scale, "apply", lambda self, x: x - self.factor),
        call(x),
    ]
    return Story(program, steps)


@story
def named_tuples() -> Story:
    class Output(NamedTuple):
        logits: torch.Tensor
        more: dict[str, torch.Tensor]
        n: int = 3

        @property
        def total(self) -> torch.Tensor:
            return self.logits.sum()

    def program(x: torch.Tensor) -> Any:
        output = Output(x * 2, {"mean": x.mean()})
        changed = output._replace(n=output._fields.index("more"))
        logits, _, n = changed
        return changed, changed.total, changed._asdict(), logits * n, isinstance(output, tuple)

    return Story(program, [call(tensor(3)), call(tensor(3)), call(tensor(5))])


@story
def attributes_made_up() -> Story:
    class Lazy:
        def __init__(self) -> None:
            self.__dict__["kept"] = {}

        def __getattr__(self, name: str) -> Any:
            if name.startswith("w_"):
                return self.kept.setdefault(name, len(name))
            raise AttributeError(name)

        def __setattr__(self, name: str, value: Any) -> None:
            self.kept[name] = value

    lazy = Lazy()

    def program(x: torch.Tensor) -> Any:
        y = x * lazy.w_a + lazy.w_bb
        lazy.w_c = 5
        return y * lazy.w_c, hasattr(lazy, "other"), getattr(lazy, "q", 3)

    x = tensor(3)
    steps = [*[call(x)] * 3, lambda: lazy.kept.update(w_a=10), call(x), lambda: lazy.kept.clear(), call(x)]
    return Story(program, steps, lambda: lazy.kept)
