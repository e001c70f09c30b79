"""inspect, typing and types."""

import inspect
import types
import typing
from typing import Any

from captured.case import Change, Program, case


@case
def signature() -> tuple[Program, Change]:
    def target(a: int, b: str = "x", *args: int, k: float = 1.0, **kwargs: Any) -> bool:
        return True

    def program(n: int) -> Any:
        found = inspect.signature(target)
        return (
            [n, *found.parameters],
            [str(p.kind) for p in found.parameters.values()],
            found.parameters["b"].default,
        )

    return program, lambda: setattr(target, "__defaults__", ("y",))


@case
def signature_of_a_method() -> tuple[Program, Change]:
    class Thing:
        def forward(self, x: int, mask: int | None = None) -> int:
            return x

    thing = Thing()
    return (
        lambda n: (
            n,
            list(inspect.signature(thing.forward).parameters),
            "mask" in inspect.signature(Thing.forward).parameters,
        ),
        lambda: setattr(Thing, "forward", lambda self, y: y),
    )


@case
def typing_at_run_time() -> tuple[Program, Change]:
    box = types.SimpleNamespace(k=1)

    def program(n: int) -> Any:
        value: typing.Any = typing.cast(typing.Optional[int], n)  # noqa: UP045
        kind = typing.Union[int, str]  # noqa: UP007
        return value + box.k, typing.get_origin(kind) is typing.Union, typing.get_args(kind) == (int, str)

    return program, lambda: setattr(box, "k", 2)


@case
def generic_class() -> tuple[Program, Change]:
    T = typing.TypeVar("T")

    class Holder(typing.Generic[T]):
        scale = 1

        def __init__(self, value: T) -> None:
            self.value = value

    return lambda n: Holder(n).value * Holder.scale, lambda: setattr(Holder, "scale", 3)
