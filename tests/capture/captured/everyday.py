"""Text, numbers, loggers, control flow."""

import copy
import dataclasses
import logging
import math
import types
from typing import Any

from captured.case import Change, Program, case


# -- text ---------------------------------------------------------------------------------------------------
@case
def text() -> tuple[Program, Change]:
    box = types.SimpleNamespace(name="x", width=3)

    def program(n: int) -> Any:
        return (
            f"{box.name!r:>{box.width}}|{n:03d}|{3.14159:.2f}|{box.name}",
            f"{n} {box.name}",
            "%s-%05.1f" % (box.name, n),  # noqa: UP031
            ",".join(str(i) for i in range(n)),
            ["a", "b", "c"],
            box.name.upper().startswith("X"),
            "abc"[n % 3],
            b"ab".hex(),
            "tEXT".title().replace("T", "t"),
        )

    return program, lambda: setattr(box, "name", "long")


@case
def text_of_objects() -> tuple[Program, Change]:
    class Thing:
        label = "one"

        def __repr__(self) -> str:
            return f"Thing({self.label})"

    thing = Thing()

    def program(n: int) -> Any:
        return repr(thing), f"{thing}", str([thing]), "%r" % (thing,), n  # noqa: UP031

    return program, lambda: setattr(thing, "label", "two")


# -- loggers, numbers, control ------------------------------------------------------------------------------
@case
def silent_logger() -> tuple[Program, Change]:
    logger = logging.getLogger("stator.tests.silent")
    logger.setLevel(logging.ERROR)
    box = types.SimpleNamespace(k=1)

    def program(n: int) -> int:
        logger.debug("nothing %s", n)
        logger.info("nothing")
        if logger.isEnabledFor(logging.WARNING):
            return -1
        return n + box.k

    return program, lambda: setattr(box, "k", 2)


@case
def numbers() -> tuple[Program, Change]:
    box = types.SimpleNamespace(k=2)
    return (
        lambda n: (
            math.sqrt(n),
            round(2.567, box.k),
            divmod(n, 3),
            int("12"),
            float("1.5"),
            pow(n, 2, 5),
            abs(-n),
            sum([n, 1]),
            n.bit_length(),
            complex(n, 1).conjugate(),
            math.inf,
        ),
        lambda: setattr(box, "k", 1),
    )


@case
def exceptions() -> tuple[Program, Change]:
    table: dict[str, int] = {}

    class OwnError(Exception):
        def __init__(self, code: int) -> None:
            super().__init__(f"code {code}")
            self.code = code

    def program(n: int) -> Any:
        log = []
        try:
            log.append(table["a"])
        except KeyError as error:
            log.append(error.args[0])
        else:
            log.append("else")
        finally:
            log.append("finally")
        try:
            raise OwnError(n)
        except (ValueError, OwnError) as error:
            log.append((str(error), getattr(error, "code", None)))
        try:
            try:
                raise ValueError("a")
            except ValueError as error:
                raise TypeError("b") from error
        except TypeError as error:
            log.append(type(error.__cause__).__name__)
        return log

    return program, lambda: table.update(a=1)


@case
def match_statement() -> tuple[Program, Change]:
    box = types.SimpleNamespace(value={"kind": "a", "items": [1, 2]})

    def program(n: int) -> Any:
        match box.value:
            case {"kind": "a", "items": [first, *rest]}:
                return first, rest, n
            case {"kind": other}:
                return other
            case _:
                return None

    return program, lambda: box.value.update(kind="b")


@case
def match_on_classes() -> tuple[Program, Change]:
    @dataclasses.dataclass
    class Point:
        x: int
        y: int

    points: list[Any] = [Point(0, 1)]

    def program(n: int) -> Any:
        match points[0]:
            case Point(x=0, y=y):
                return y + n
            case Point(x, y):
                return x * y
            case int():
                return 0

    return program, lambda: setattr(points[0], "x", 6)


@case
def global_state_of_modules() -> tuple[Program, Change]:
    module = types.ModuleType("stator_test_module")
    exec("k = 1\ndef get(n): return n + k", module.__dict__)
    return lambda n: module.get(n) + module.k, lambda: setattr(module, "k", 3)


@case
def function_attributes() -> tuple[Program, Change]:
    def target(n: int) -> int:
        """Documentation."""
        return n

    target.version = 1  # type: ignore[attr-defined]
    return (
        lambda n: (
            target.version,
            target.__name__,
            target.__module__,
            target.__doc__,
            target.__code__.co_argcount,
            target.__annotations__["n"],
            target.__dict__,
        ),  # type: ignore[attr-defined]
        lambda: setattr(target, "__doc__", "Other."),
    )


@case
def copies() -> tuple[Program, Change]:
    import copy

    class Config:
        def __init__(self) -> None:
            self.k, self.names = 1, ["a"]

    config = Config()

    def program(n: int) -> Any:
        one, two = copy.copy(config), copy.deepcopy(config)
        two.names.append("b")
        return one.k + n, two.names, config.names, copy.deepcopy([[n]])

    return program, lambda: config.names.append("z")


@case
def deep_copies() -> tuple[Program, Change]:
    """`copy` asks whether constants are one object; equal ones stand in several places here."""
    rate = float("0.25")
    config = {"rate": rate, "other": rate, "names": ["layer", "layer"], "more": (rate, {"rate": rate})}

    def program(n: int) -> Any:
        copied = copy.deepcopy(config)
        copied["names"].append(n)  # type: ignore[attr-defined]
        return copied, copied["rate"] is config["other"], copied["more"] is config["more"]

    return program, lambda: config.update(other=float("0.25"))
