"""tests/fuzz/operator_graphs.py: random programs of tensor operators over element types, layouts and sizes.

`draw(seed)` gives the text of a function and its inputs. Each line was run by eager code while it was drawn,
so programs end; now and then the last line is one that raises. `Templates` are in operator_templates.py.
"""

from __future__ import annotations

import dataclasses
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch.nn.functional as F
from operator_templates import EXACT, RANDOM, ROUNDED, SUMS, WRITES

import torch

FLOATS = (torch.float32, torch.float32, torch.float64, torch.bfloat16, torch.float16)
WHOLE = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
DTYPES = (*FLOATS, torch.float32, *WHOLE, torch.int64, torch.bool, torch.complex64, torch.complex128)
SHAPES = (
    (),
    (1,),
    (5,),
    (0,),
    (3, 4),
    (4, 4),
    (2, 1, 4),
    (2, 3, 4),
    (1, 4),
    (3, 1),
    (2, 0),
    (8, 6),
    (2, 3, 4, 4),
)
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, float("nan"), float("inf"), float("-inf"), 1e4, 3.75)
LARGEST = 2000


@dataclasses.dataclass
class Line:
    text: str
    rounded: bool = False  # its result may differ from eager's by a unit in the last place
    summed: bool = False  # by one of the largest element
    raises: bool = False


@dataclasses.dataclass
class Program:
    lines: list[Line]
    results: list[str]
    inputs: Callable[[], list[torch.Tensor]]
    count: int
    autocast: bool = False

    def source(self) -> str:
        given = ", ".join(f"x{i}" for i in range(self.count))
        head = [f"def program({given}):"]
        indent = "    "
        if self.autocast:
            head.append(indent + "with torch.autocast('cpu', dtype=torch.bfloat16):")
            indent *= 2
        body = [indent + line.text for line in self.lines] or [indent + "pass"]
        return "\n".join([*head, *body, f"    return [{', '.join(self.results)}]", ""])

    def function(self) -> Callable[..., list[Any]]:
        namespace: dict[str, Any] = {"torch": torch, "F": F}
        exec(compile(self.source(), "<generated>", "exec"), namespace)
        return namespace["program"]  # type: ignore[no-any-return]


def tensor(draw: random.Random, shape: tuple[int, ...], dtype: torch.dtype, plain: bool) -> torch.Tensor:
    """Values of all kinds, small ones for the most part, in one of several layouts."""
    generator = torch.Generator().manual_seed(draw.getrandbits(32))
    layout = draw.choices(
        ["compact", "strided", "transposed", "offset", "expanded", "last"], [60, 10, 12, 8, 4, 6]
    )[0]
    if not shape or (layout == "transposed" and len(shape) < 2) or (layout == "last" and len(shape) != 4):
        layout = "compact"
    wide = {
        "strided": lambda: (*shape[:-1], shape[-1] * 2),
        "transposed": lambda: (*shape[:-2], shape[-1], shape[-2]),
        "offset": lambda: (shape[0] + 1, *shape[1:]),
        "expanded": lambda: (1, *shape[1:]),
    }.get(layout, lambda: shape)()
    if dtype is torch.bool:
        made = torch.randint(0, 2, wide, generator=generator).bool()
    elif dtype in WHOLE:
        made = torch.randint(-4, 9, wide, generator=generator).to(dtype)
        if not plain and made.numel() and draw.random() < 0.3:
            limits = torch.iinfo(dtype)  # eager code divides the smallest by -1 and dies
            made.view(-1)[draw.randrange(made.numel())] = draw.choice([limits.min + 1, limits.max])
    else:
        made = torch.randn(wide, generator=generator, dtype=torch.float64).to(dtype)
        if not plain and made.numel() and draw.random() < 0.4:
            for _ in range(draw.randint(1, 3)):
                made.view(-1)[draw.randrange(made.numel())] = draw.choice(SPECIAL)
    if layout == "strided":
        return made[..., ::2]
    if layout == "transposed":
        return made.transpose(-1, -2)
    if layout == "offset":
        return made[1:]
    if layout == "expanded":
        return made.expand(shape)
    return made.to(memory_format=torch.channels_last) if layout == "last" else made


PLACE = re.compile(r"\{(\w)\}")


class Writer:
    def __init__(self, seed: int, training: bool) -> None:
        self.choose = random.Random(seed)
        self.training = training
        self.names: list[str] = []
        self.values: dict[str, Any] = {"torch": torch, "F": F}

    def inputs(self) -> list[torch.Tensor]:
        draw = random.Random(self.choose.getrandbits(32))
        made: list[torch.Tensor] = []
        shape = draw.choice(SHAPES)
        for i in range(draw.randint(1, 4)):
            if made and draw.random() < 0.1 and not self.training:
                base = draw.choice(made)
                made.append(
                    draw.choice([base, base.view(base.shape), base.detach()[..., :1] if base.dim() else base])
                )
                continue
            own = shape
            if i and draw.random() < 0.4:
                own = draw.choice([shape[1:], (*shape[:-1], 1) if shape else (), draw.choice(SHAPES)])
            dtype = draw.choice(FLOATS[:3] if self.training and i == 0 else DTYPES)
            made.append(tensor(draw, own, dtype, self.training))
            if self.training and made[-1].is_floating_point() and (i == 0 or draw.random() < 0.7):
                made[-1] = made[-1].detach().requires_grad_()
        return made

    def kinds(self, kind: str) -> list[str]:
        def fits(x: torch.Tensor) -> bool:
            if kind == "f":
                return x.is_floating_point()
            if kind == "i":
                return x.dtype in WHOLE
            if kind == "b":
                return x.dtype is torch.bool
            return True

        return [name for name in self.names if fits(self.values[name])]

    def filled(self, template: str) -> str | None:
        """The template's places: t, f, i, b tensors, T and F types, n, r, s numbers, d and D dimensions."""
        first: list[torch.Tensor] = []
        missing = False

        def place(found: re.Match[str]) -> str:
            nonlocal missing
            kind = found[1]
            if kind in "tfib":
                names = self.kinds(kind)
                if not names:
                    missing = True
                    return ""
                recent = names[-4:] if self.choose.random() < 0.6 else names
                name = self.choose.choice(recent)
                first.append(self.values[name])
                return name
            if kind == "n":
                return str(self.choose.choice([0, 1, 2, 3, -1, -2, 5, 100]))
            if kind == "r":
                return self.choose.choice(["0.5", "-1.5", "2.0", "3", "0.0", "1", "-0.25", "True"])
            if kind == "T":
                return str(self.choose.choice(DTYPES))
            if kind == "F":
                return str(self.choose.choice((*FLOATS, torch.complex64)))
            rank = first[0].dim() if first else 1
            if kind in "dD":
                return str(self.choose.randint(-rank, rank - 1) if rank else 0)
            if kind == "s":
                size = first[0].shape[0] if first and first[0].dim() else 1
                return str(self.choose.randint(0, size))
            raise AssertionError(kind)

        text = PLACE.sub(place, template)
        return None if missing else text


def tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors(item)


def autocast(on: bool) -> torch.autocast:
    return torch.autocast("cpu", dtype=torch.bfloat16, enabled=on)


def draw(seed: int, training: bool = False) -> Program:
    writer = Writer(seed, training)
    choose = writer.choose
    state = choose.getstate()

    def inputs() -> list[torch.Tensor]:
        again = Writer(seed, training)
        again.choose.setstate(state)
        return again.inputs()

    given = writer.inputs()
    for i, x in enumerate(given):
        writer.names.append(f"x{i}")
        writer.values[f"x{i}"] = x
    program = Program([], [], inputs, len(given), autocast=choose.random() < 0.08)
    wanted = choose.randint(5, 30)
    weights = [8, 6, 4, 0.8, 0.3] if training else [5, 3, 3, 0.8, 0.2]
    torch.manual_seed(3)
    for _ in range(wanted * 4):
        if len(program.lines) >= wanted:
            break
        family = choose.choices([EXACT, ROUNDED, SUMS, WRITES, RANDOM], weights)[0]
        text = writer.filled(choose.choice(family))
        if text is None:
            continue
        name = f"v{len(program.lines)}"
        line = Line(f"{name} = {text}", family in (ROUNDED, WRITES), family is SUMS)
        kept, keeps_raising = torch.get_rng_state(), choose.random() < 0.01
        try:
            with autocast(program.autocast), torch.set_grad_enabled(training):
                value = eval(text, writer.values)
        except Exception:
            torch.set_rng_state(kept)
            # What was written before the error is not known: such a line is the last one.
            if keeps_raising:
                program.lines.append(dataclasses.replace(line, raises=True))
                program.results = [each for each in writer.names if choose.random() < 0.3]
                return program
            if family is WRITES:
                return draw(seed + 7_000_000, training)
            continue
        found = list(tensors(value))
        if not found or any(t.numel() > LARGEST or t.layout is not torch.strided for t in found):
            if family is WRITES:
                return draw(seed + 7_000_000, training)
            continue
        writer.values[name] = value
        if isinstance(value, torch.Tensor):
            writer.names.append(name)
        program.lines.append(line)
        if not isinstance(value, torch.Tensor):
            for position in range(len(found)):
                part = f"{name}_{position}"
                writer.values[part] = found[position]
                writer.names.append(part)
            names = ", ".join(f"{name}_{position}" for position in range(len(found)))
            program.lines.append(Line(f"({names},) = {name}"))
    program.results = [name for name in writer.names if name[0] == "v" and choose.random() < 0.4]
    program.results = list(dict.fromkeys([*program.results, writer.names[-1]]))
    if choose.random() < 0.1:
        program.results.append("x0")
    return program
