"""Classes, dataclasses, enums, descriptors."""

import abc
import collections
import dataclasses
import enum
import itertools
import types
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from captured.case import Change, Program, case


@case
def abstract_base_classes() -> tuple[Program, Change]:
    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self) -> int: ...

    class Square(Shape):
        side = 2

        def area(self) -> int:
            return self.side**2

    class Other:
        pass

    square, other = Square(), Other()

    def program(n: int) -> Any:
        return (
            isinstance(square, Shape),
            isinstance(other, Shape),
            issubclass(Square, Shape),
            isinstance([n], collections.abc.Sequence),
            isinstance({}, Mapping),
            isinstance(square, collections.abc.Hashable),
            square.area(),
        )

    return program, lambda: Shape.register(Other)


@case
def enums() -> tuple[Program, Change]:
    class Colour(enum.Enum):
        RED = 1
        GREEN = 2

    class Flag(enum.Flag):
        A = 1
        B = 2

    class Name(str, enum.Enum):  # noqa: UP042
        X = "x"

    box = types.SimpleNamespace(colour=Colour.RED)

    def program(n: int) -> Any:
        return (
            box.colour.value,
            box.colour.name,
            box.colour == Colour.RED,
            Colour(2) is Colour.GREEN,
            Colour["RED"].value,
            [member.name for member in Colour],
            (Flag.A | Flag.B).value,
            Name.X == "x",
            Name("x").value,
            n,
        )

    return program, lambda: setattr(box, "colour", Colour.GREEN)


@case
def dataclass() -> tuple[Program, Change]:
    @dataclasses.dataclass
    class Config:
        width: int
        names: list[str] = dataclasses.field(default_factory=list)
        depth: int = 2

        @property
        def size(self) -> int:
            return self.width * self.depth

    config = Config(3)

    def program(n: int) -> Any:
        made = Config(n, depth=config.depth)
        made.names.append("x")
        return (
            made,
            config.size,
            made == Config(n, ["x"]),
            [f.name for f in dataclasses.fields(made)],
            dataclasses.replace(made, width=9).width,
        )

    return program, lambda: setattr(config, "depth", 5)


@case
def frozen_dataclass_with_slots() -> tuple[Program, Change]:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 0

    points = [Point(1, 2)]
    return lambda n: (
        Point(n).x + points[0].y,
        Point(1) == Point(1, 0),
        hash(Point(n)),
    ), lambda: points.__setitem__(0, Point(3, 4))


class Pair(NamedTuple):
    left: int
    right: int = 7

    @property
    def total(self) -> int:
        return self.left + self.right


@case
def named_tuples() -> tuple[Program, Change]:
    old = [Pair(1, 2)]
    Plain = collections.namedtuple("Plain", "a b")

    def program(n: int) -> Any:
        pair = Pair(n)
        left, _ = pair
        return (
            pair,
            pair.total + left,
            old[0].right,
            pair._replace(left=0),
            pair._asdict(),
            Plain(n, b=1),
            Pair._fields,
        )

    return program, lambda: old.__setitem__(0, Pair(5, 6))


class Output(collections.OrderedDict[str, Any]):
    """A dictionary whose keys are attributes too."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if value is not None:
                self[field.name] = value

    def __getitem__(self, key: Any) -> Any:
        return dict(self.items())[key] if isinstance(key, str) else self.to_tuple()[key]

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, value)
        super().__setattr__(key, value)

    def to_tuple(self) -> tuple[Any, ...]:
        return tuple(self[key] for key in self)


@dataclasses.dataclass
class TwoOutputs(Output):
    first: Any = None
    second: Any = None


@case
def output_classes() -> tuple[Program, Change]:
    box = types.SimpleNamespace(k=1)

    def program(n: int) -> Any:
        out = TwoOutputs(first=n, second=box.k)
        return out, out[0], out["second"], out.first, list(out.keys()), len(out)

    return program, lambda: setattr(box, "k", 2)


@case
def properties_and_descriptors() -> tuple[Program, Change]:
    class Positive:
        def __set_name__(self, owner: type, name: str) -> None:
            self.name = "_" + name

        def __get__(self, owner: Any, kind: Any = None) -> Any:
            return getattr(owner, self.name)

        def __set__(self, owner: Any, value: int) -> None:
            setattr(owner, self.name, abs(value))

    class Thing:
        size = Positive()

        def __init__(self, size: int) -> None:
            self.size = size

        @property
        def twice(self) -> int:
            return self.size * 2

        @classmethod
        def make(cls, size: int) -> "Thing":
            return cls(size)

        @staticmethod
        def helper(n: int) -> int:
            return n + 1

    old = Thing(3)
    return lambda n: (Thing.make(-n).twice, old.twice, Thing.helper(n)), lambda: setattr(old, "size", -8)


@case
def dynamic_attributes() -> tuple[Program, Change]:
    class Lazy:
        def __init__(self) -> None:
            self.values = {"a": 1}

        def __getattr__(self, name: str) -> int:
            try:
                return self.values[name]
            except KeyError:
                raise AttributeError(name) from None

    lazy = Lazy()
    return lambda n: (lazy.a + n, hasattr(lazy, "b"), getattr(lazy, "c", n)), lambda: lazy.values.update(b=1)


@case
def all_attribute_reads() -> tuple[Program, Change]:
    class Proxy:
        def __init__(self, target: Any) -> None:
            object.__setattr__(self, "target", target)

        def __getattribute__(self, name: str) -> Any:
            target = object.__getattribute__(self, "target")
            return getattr(target, name)

    target = types.SimpleNamespace(k=1)
    proxy = Proxy(target)
    return lambda n: n + proxy.k, lambda: setattr(target, "k", 3)


@case
def slots_and_super() -> tuple[Program, Change]:
    class Base:
        __slots__ = ("value",)

        def __init__(self, value: int) -> None:
            self.value = value

        def get(self) -> int:
            return self.value

    class Derived(Base):
        __slots__ = ()

        def get(self) -> int:
            return super().get() + 1

    old = Derived(4)
    return lambda n: old.get() + Derived(n).get(), lambda: setattr(old, "value", 9)


@case
def special_methods() -> tuple[Program, Change]:
    class Vector:
        scale = 1

        def __init__(self, *items: int) -> None:
            self.items = list(items)

        def __add__(self, other: "Vector") -> "Vector":
            return Vector(*(a + b for a, b in zip(self.items, other.items, strict=True)))

        def __getitem__(self, index: int) -> int:
            return self.items[index] * self.scale

        def __len__(self) -> int:
            return len(self.items)

        def __iter__(self) -> Iterator[int]:
            return iter(self.items)

        def __contains__(self, item: int) -> bool:
            return item in self.items

        def __call__(self, n: int) -> int:
            return n * self.scale

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Vector) and self.items == other.items

        def __hash__(self) -> int:
            return hash(tuple(self.items))

        def __bool__(self) -> bool:
            return bool(self.items)

        def __lt__(self, other: "Vector") -> bool:
            return self.items < other.items

    old = Vector(1, 2)

    def program(n: int) -> Any:
        total = old + Vector(n, n)
        return (
            total[0],
            len(total),
            list(total),
            3 in total,
            old(n),
            total == Vector(n + 1, n + 2),
            {total: 1}[total],
            1 if total else 0,
            sorted([total, old])[0] is old,
        )

    return program, lambda: setattr(Vector, "scale", 2)


@case
def class_made_in_the_run() -> tuple[Program, Change]:
    box = types.SimpleNamespace(k=1)
    maker = type("Made", (), {"k": 5, "get": lambda self: self.k + box.k})
    return lambda n: maker().get() + n, lambda: setattr(box, "k", 2)


@case
def descriptor_added_later() -> tuple[Program, Change]:
    class Descriptor:
        pass

    class Owner:
        x: Any = Descriptor()

        def __init__(self) -> None:
            self.__dict__["x"] = 1

    owner = Owner()

    def change() -> None:
        Descriptor.__get__ = lambda self, instance, owner: 2  # type: ignore[attr-defined]
        Descriptor.__set__ = lambda *arguments: None  # type: ignore[attr-defined]

    return lambda n: owner.x + n, change


@case
def descriptor_of_another_class_later() -> tuple[Program, Change]:
    class Plain:
        pass

    class Active:
        def __get__(self, instance: Any, owner: Any) -> int:
            return 2

        def __set__(self, instance: Any, value: Any) -> None: ...

    found = Plain()

    class Owner:
        x: Any = found

        def __init__(self) -> None:
            self.__dict__["x"] = 1

    owner = Owner()
    return lambda n: owner.x + n, lambda: setattr(found, "__class__", Active)


@case
def metaclass_descriptor_added_later() -> tuple[Program, Change]:
    class Descriptor:
        pass

    class Meta(type):
        attribute = Descriptor()

    class Owner(metaclass=Meta):
        attribute: Any = 1

    def change() -> None:
        Descriptor.__get__ = lambda self, instance, owner: 2  # type: ignore[attr-defined]
        Descriptor.__set__ = lambda *arguments: None  # type: ignore[attr-defined]

    return lambda n: Owner.attribute + n, change


@case
def another_metaclass_later() -> tuple[Program, Change]:
    class Old(type):
        @property
        def attribute(cls) -> int:
            return 1

    class New(type):
        @property
        def attribute(cls) -> int:
            return 2

    class Owner(metaclass=Old):
        pass

    return lambda n: Owner.attribute + n, lambda: setattr(Owner, "__class__", New)


@case
def another_class_of_a_module_later() -> tuple[Program, Change]:
    class Other(types.ModuleType):
        value = property(lambda self: 2)

    module = types.ModuleType("made_here")
    vars(module)["value"] = 1
    return lambda n: module.value + n, lambda: setattr(module, "__class__", Other)


@case
def slots_behind_super() -> tuple[Program, Change]:
    class Base:
        __slots__ = ("value",)

    class Derived(Base):
        @property
        def value(self) -> Any:  # type: ignore[override]
            return super().value

    held = Derived()
    Base.value.__set__(held, 5)  # type: ignore[attr-defined]
    return lambda n: held.value + n, lambda: Base.value.__set__(held, 7)  # type: ignore[attr-defined]


@case
def classes_that_c_code_calls() -> tuple[Program, Change]:
    class Weight:
        scale = 2

        def __init__(self, value: int = 1) -> None:
            self.value = value * self.scale
            self.seen: list[int] = []

        def __lt__(self, other: "Weight") -> bool:
            return self.value > other.value

    class Heavy(Weight):
        def __init__(self, value: int = 1) -> None:
            super().__init__(value + 1)
            self.seen.append(value)

    @dataclasses.dataclass(order=True)
    class Pair:
        first: int
        second: int = 3

    def program(n: int) -> Any:
        table: dict[str, Weight] = collections.defaultdict(Heavy)
        table["a"].seen.append(n)
        table["b"].value += n
        return (
            [weight.value for weight in map(Weight, [n, 2])],
            sorted([1, n, 3], key=Weight),
            max([1, 5, n], key=Heavy),
            [table[name].seen for name in "abc"],
            table["b"].value,
            [(pair.first, pair.second) for pair in map(Pair, [n, 1])],
            sum(pair.second for pair in itertools.starmap(Pair, [(1, n), (2,)])),
        )

    return program, lambda: setattr(Weight, "scale", 5)


@case
def initialisers_that_c_code_calls_on_older_objects() -> tuple[Program, Change]:
    class Counter:
        step = 1

        def __init__(self) -> None:
            self.count = getattr(self, "count", 0) + self.step

    counters = [Counter(), Counter()]

    def program(n: int) -> Any:
        for counter in counters:
            counter.count = n
        list(map(Counter.__init__, counters))
        made = list(map(lambda make: make(), [Counter]))  # noqa: C417
        return [counter.count for counter in counters + made]

    return program, lambda: setattr(Counter, "step", 3)
