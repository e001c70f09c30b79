"""Draws cases: a reader, data that it takes, a place for them, and the changes that can be made there."""

from __future__ import annotations

import builtins
import random
import re
from collections.abc import Iterator
from typing import Any

import mutation_places
import mutation_readers
from comparison import Drained, difference
from mutation_cases import Case, Twin, code_of, eager, restore_settings
from mutation_changes import changes, setting_changes, shadowed_methods, size_changes
from mutation_classes import CLASSES, definitions
from mutation_data import PRELUDE, Data, Grammar
from mutation_slots import Change

TRIES = 60  # draws of data and arguments until a reader accepts them
VISIBLE, INVISIBLE = 4, 1  # cases made of one program
CHANGE_TRIES = 20
NOT_REPLACED = {"f", "ARGS", "KEYS", "make", "model", "D2", "X"}


def program_of(rng: random.Random, only: str) -> tuple[str, str, str, str] | None:
    """A program's text, its reader's name and family, its place's name; None if no data fit the reader."""
    reader = mutation_readers.drawn(rng, only)
    found = fitting(reader, rng)
    if found is None:
        return None
    data, lines = found
    place = mutation_places.drawn(rng, data.expression)
    quoted = "'" in place.access and any("f'" in line for line in lines)  # an f-string cannot hold it
    if quoted or rng.random() < 0.6:
        body = [f"d = {place.access}", *(line.replace("«V»", "d") for line in lines)]
    else:
        body = [line.replace("«V»", place.access) for line in lines]
    if rng.random() < 0.2:
        second = mutation_readers.drawn(rng)
        more = second.lines("d" if body[0].startswith("d = ") else place.access, rng)
        body += ["r0 = r", *more, "r = [r0, r]"]
    if any(line.startswith("global ") for line in body):
        body.sort(key=lambda line: not line.startswith("global "))
    body.append("return [r, x + 1]")
    head = ["X = torch.arange(6.).reshape(2, 3)", "OUT = {}", "LOG = []"]
    tail = [*data.before, *mutation_places.program(place, body)]
    if any(re.search(r"\bD2\b", line) for line in body):
        head += [*data.before, f"D2 = {data.expression}"]
    if any("BOX" in line for line in body):
        head += ["BOX = Box(0)"]
    text = "\n".join([*head, *tail])
    names = {name for name in CLASSES if re.search(rf"\b{name}\b", text)}
    box = f"{mutation_places.BOX}\n" if re.search(r"\bBox\b", text) else ""
    return (
        f"{definitions(names)}\n{box}{text}",
        reader.name,
        reader.family,
        f"{place.root}: {', '.join(place.around)}",
    )


def fitting(reader: mutation_readers.Reader, rng: random.Random) -> tuple[Data, list[str]] | None:
    """Data that the reader takes without an exception, and its lines with «V» for the value; rarely any."""
    grammar = Grammar(rng)
    space = dict(PRELUDE)
    exec(code_of(f"{definitions(set(CLASSES))}\n{mutation_places.BOX}"), space)
    space.update(OUT={}, LOG=[], BOX=space["Box"](0))
    for _ in range(TRIES):
        kind = rng.choice(reader.kinds) if reader.kinds and rng.random() < 0.7 else None
        data = grammar.draw(rng.choices((0, 1, 2, 3), weights=(20, 40, 25, 15))[0], kind)
        lines = reader.lines("«V»", rng)
        if reader.family in ("setting", "size") and "«V»" not in "".join(lines):
            return data, lines
        if rng.random() < 0.002:
            return data, lines
        body = [f"    {line.replace('«V»', 'd')}" for line in lines]
        made = [f"d = {data.expression}", f"D2 = {data.expression}", "x = torch.ones(2, 3)"]
        text = "\n".join([*data.before, *made, "def f(x, d):", *body, "f(x, d)"])
        try:
            exec(code_of(text), space)
        except Exception:
            continue
        return data, lines
    return None


def cases(rng: random.Random, only: str = "") -> Iterator[Case]:
    """Cases of one program: changes that eager's answer shows, and now and then one that it does not."""
    made = program_of(rng, only)
    if made is None:
        return
    text, reader, family, place = made
    try:
        code = code_of(text)
        control = eager(code)
    except Exception:
        return
    names = [name for name in control.state() if name not in ("OUT", "LOG")]
    options = list(changes(control.world, names))
    options = [c for c in options if not any(c.text.startswith(f"{name} = ") for name in NOT_REPLACED)]
    options += [
        Change(f"{name} = other_function", "builtin shadowed")
        for name in sorted(vars(builtins))
        if re.search(rf"\b{name}\(", text) and name.islower()
    ]
    options += shadowed_methods(text, options)
    if rng.random() < 0.03 or family == "setting":
        options = setting_changes() + (options if rng.random() < 0.3 else [])
    if family == "size":
        options = size_changes()
    for _ in range(3):
        control.run()
    kinds: dict[str, list[Change]] = {}
    for option in options:
        kinds.setdefault(option.kind, []).append(option)
    drained = Drained()
    visible = invisible = 0
    for _ in range(CHANGE_TRIES):
        if not kinds or (visible >= VISIBLE and invisible >= INVISIBLE):
            break
        of_tensors = [kind for kind in ("tensor", "tensor method hidden") if kind in kinds]
        prefers_tensors = bool(of_tensors) and "torch" in family and rng.random() < 0.5
        kind = rng.choice(of_tensors if prefers_tensors else list(kinds))
        change = kinds[kind].pop(rng.randrange(len(kinds[kind])))
        if not kinds[kind]:
            del kinds[kind]
        shown = visible_to_eager(code, control, change, drained)
        if shown is None:
            continue
        if shown and visible < VISIBLE:
            visible += 1
            yield Case(text, change, reader, place, True)
        elif not shown and invisible < INVISIBLE:
            invisible += 1
            yield Case(text, change, reader, place, False)


def visible_to_eager(code: Any, control: Twin, change: Change, drained: Drained) -> bool | None:
    """Whether eager's third answer is another one after the change; None if it cannot be made."""
    twin = eager(code)
    twin.run()
    twin.run()
    try:
        twin.change(change.text)
        twin.run()
        return difference(twin.last, control.last, drained) is not None
    except Exception:
        return None
    finally:
        if change.setting:
            restore_settings()
