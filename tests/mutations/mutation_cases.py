"""One case: a program and a change, run captured and eagerly in worlds of their own, and compared.

A case is text, so that it can be printed and run alone: `python tests/mutations/mutation_cases.py FILE`.
"""

from __future__ import annotations

import random
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

import mutation_places
import mutation_readers
from comparison import TracerFound, difference
from mutation_changes import Change, changes, setting_changes
from mutation_data import CLASSES, PRELUDE, Data, Grammar, definitions

import stator
import torch

TRIES = 60  # draws of data and arguments until a reader accepts them
VISIBLE, INVISIBLE = 4, 1  # cases made of one program
CHANGE_TRIES = 14
MARK = "\n# -- change --\n"
NOT_REPLACED = {"f", "ARGS", "KEYS", "make", "model", "D2", "X"}
World = dict[str, Any]


@dataclass
class Case:
    program: str
    change: Change
    reader: str = ""
    place: str = ""
    visible: bool = False

    def text(self) -> str:
        return f"{self.program}{MARK}{self.change.text}\n"


@dataclass
class Outcome:
    status: str = "ok"  # ok, stale (after the change), wrong (before it), tracer, unstable
    served: bool = False
    detail: str = ""


@dataclass
class Twin:
    """A world and the function that is called in it."""

    world: World
    call: Any
    last: Any = None
    history: list[Any] = field(default_factory=list)

    def run(self) -> None:
        args, keys = self.world["ARGS"], self.world["KEYS"]
        try:
            self.last = ["returned", self.call(*args, **keys)]
        except Exception as error:
            self.last = ["raised", error]

    def change(self, text: str) -> None:
        exec(code_of(text), self.world)

    def state(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in self.world.items()
            if name not in PRELUDE and name != "__annotations__"
        }


def code_of(text: str) -> Any:
    return compile(text, "<world>", "exec", dont_inherit=True)


def new_world(code: Any) -> World:
    world = dict(PRELUDE)
    exec(code, world)
    return world


def eager(code: Any) -> Twin:
    world = new_world(code)
    return Twin(world, world["f"])


def differ(one: Twin, other: Twin) -> str | None:
    try:
        return difference([one.last, one.state()], [other.last, other.state()])
    except TracerFound:
        raise
    except Exception as error:  # of the program's own methods
        return f"cannot be compared: {error!r}"


# -- Making programs --------------------------------------------------------------------------------------------------
def program_of(rng: random.Random) -> tuple[str, str, str, str] | None:
    """A program's text, its reader's name and family, its place's name; None if no data fit the reader."""
    reader = mutation_readers.drawn(rng)
    found = fitting(reader, rng)
    if found is None:
        return None
    data, lines = found
    place = mutation_places.drawn(rng, data.expression)
    body = [line.replace("«V»", "d") for line in lines]
    body = (
        [f"d = {place.access}", *body]
        if rng.random() < 0.6
        else [l.replace("«V»", place.access) for l in lines]
    )
    if rng.random() < 0.2:
        second = mutation_readers.drawn(rng)
        more = second.lines(place.access if "d = " not in body[0] else "d", rng)
        body += ["r0 = r", *more, "r = [r0, r]"]
    if any(line.startswith("global ") for line in body):
        body.sort(key=lambda line: not line.startswith("global "))
    body.append("return [r, x + 1]")
    head = ["X = torch.arange(6.).reshape(2, 3)", "OUT = {}", "LOG = []"]
    tail = [*data.before, *mutation_places.program(place, body)]
    if any(re.search(r"\bD2\b", line) for line in body):
        head += [f"{line}" for line in data.before] if data.before else []
        head += [f"D2 = {data.expression}"]
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
    """Data that the reader takes without an exception, and its lines with «V» for the value; now and then any."""
    grammar = Grammar(rng)
    space = dict(PRELUDE)
    exec(code_of(f"{definitions(set(CLASSES))}\n{mutation_places.BOX}"), space)
    space.update(OUT={}, LOG=[], BOX=space["Box"](0))
    last = None
    for _ in range(TRIES):
        kind = rng.choice(reader.kinds) if reader.kinds and rng.random() < 0.7 else None
        data = grammar.draw(rng.choices((0, 1, 2, 3), weights=(20, 40, 25, 15))[0], kind)
        lines = reader.lines("«V»", rng)
        if reader.family == "setting" and "«V»" not in "".join(lines):
            return data, lines
        if rng.random() < 0.002:
            return data, lines
        text = "\n".join([*data.before, f"d_ = {data.expression}", f"D2 = {data.expression}", "x = torch.ones(2, 3)",
                          "def f_(x, d_):", *(f"    {line.replace('«V»', 'd_')}" for line in lines), "    return r", "f_(x, d_)"])  # fmt: skip
        try:
            exec(code_of(text), space)
        except Exception:
            continue
        last = data, lines
        break
    return last


def cases(rng: random.Random) -> Iterator[Case]:
    """Cases of one program: changes that eager's answer shows, and now and then one that it does not."""
    made = program_of(rng)
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
    if rng.random() < 0.03 or family == "setting":
        options = setting_changes() + (options if rng.random() < 0.3 else [])
    for _ in range(3):
        control.run()
    kinds: dict[str, list[Change]] = {}
    for option in options:
        kinds.setdefault(option.kind, []).append(option)
    visible = invisible = 0
    for _ in range(CHANGE_TRIES):
        if not kinds or (visible >= VISIBLE and invisible >= INVISIBLE):
            break
        kind = rng.choice(list(kinds))
        change = kinds[kind].pop(rng.randrange(len(kinds[kind])))
        if not kinds[kind]:
            del kinds[kind]
        shown = visible_to_eager(code, control, change)
        if shown is None:
            continue
        if shown and visible < VISIBLE:
            visible += 1
            yield Case(text, change, reader, place, True)
        elif not shown and invisible < INVISIBLE:
            invisible += 1
            yield Case(text, change, reader, place, False)


def visible_to_eager(code: Any, control: Twin, change: Change) -> bool | None:
    """Whether eager's third answer is another one after the change; None if it cannot be made."""
    twin = eager(code)
    twin.run()
    twin.run()
    try:
        twin.change(change.text)
        twin.run()
        return difference(twin.last, control.last) is not None
    except Exception:
        return None
    finally:
        if change.setting:
            restore_settings()


# -- Running cases ----------------------------------------------------------------------------------------------------
def run(case: Case) -> Outcome:
    """Captured, served, changed, called twice more: each time compared with eager."""
    code = code_of(case.program)
    plain, check = eager(code), eager(code)
    world = new_world(code)
    compiled = stator.compile(world["f"], backend="native")
    ours = Twin(world, compiled)
    outcome = Outcome()
    try:
        for count in ("first", "second", "third", "fourth"):
            if count == "third":
                rows = getattr(compiled, "entries", ())
                outcome.served = sum(row["hits"] for row in rows) > 0
                if not apply_everywhere(case.change.text, (plain, check, ours)):
                    return outcome
            for twin in (plain, check, ours):
                twin.run()
            if differ(plain, check) is not None:
                outcome.status = "unstable"
                return outcome
            found = differ(ours, plain)
            if found is not None:
                outcome.status = "wrong" if count in ("first", "second") else "stale"
                outcome.detail = f"{count} call: {found}"
                return outcome
    except TracerFound as error:
        outcome.status, outcome.detail = "tracer", f"a tracer is left in {error}"
    finally:
        if case.change.setting:
            restore_settings()
    return outcome


def apply_everywhere(text: str, twins: tuple[Twin, ...]) -> bool:
    for twin in twins:
        try:
            twin.change(text)
        except Exception:
            return False
    return True


def restore_settings() -> None:
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    for device in ("cpu", "cuda"):
        torch.set_autocast_enabled(device, False)
        torch.set_autocast_dtype(device, torch.bfloat16 if device == "cpu" else torch.float16)
    torch.set_autocast_cache_enabled(True)
    torch._C._set_fwd_grad_enabled(True)  # type: ignore[attr-defined]
    sys.setrecursionlimit(1000)
    torch.use_deterministic_algorithms(False)
    torch.set_default_device(None)
    torch.set_anomaly_enabled(False)
    torch.set_float32_matmul_precision("highest")
    torch.set_warn_always(False)
    torch.set_printoptions(precision=4)
    torch.backends.cudnn.benchmark = False
    torch.backends.mkldnn.enabled = True  # type: ignore[assignment]
    torch.backends.opt_einsum.enabled = True  # type: ignore[assignment]
    sys.setswitchinterval(0.005)
    sys.set_int_max_str_digits(4300)


def prepare() -> None:
    """What each process of cases needs."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    restore_settings()


def main() -> int:
    """Run one case from its text."""
    program, _, change = Path(sys.argv[1]).read_text().partition(MARK)
    prepare()
    setting = any(change.strip() == option.text for option in setting_changes())
    outcome = run(Case(program, Change(change.strip(), "", setting)))
    print(outcome)
    return 0 if outcome.status in ("ok", "unstable") else 1


if __name__ == "__main__":
    sys.exit(main())
