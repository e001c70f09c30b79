"""One case: a program and a change, run captured and eagerly in worlds of their own, and compared.

A case is text, so that it can be printed and run alone: `python tests/mutations/mutation_cases.py FILE`.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from comparison import Drained, TracerFound, difference  # noqa: E402
from mutation_changes import setting_changes  # noqa: E402
from mutation_data import PRELUDE  # noqa: E402
from mutation_slots import Change  # noqa: E402

import stator  # noqa: E402
import torch  # noqa: E402

MARK = "\n# -- change --\n"
# What Python itself notes in a world: of annotations, and of warnings that filters ignore. A warning of a
# kernel is noted in the module that it is blamed on, and worlds are no modules.
NOTED = ("__annotations__", "__warningregistry__")
World = dict[str, Any]
# The second change gives values that vary: what was a constant is then a symbol.
CALLS = ("first", "second", "third", "fourth", "fifth")
CHANGED_BEFORE = ("third", "fifth")


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

    def run(self) -> None:
        args, keys = self.world["ARGS"], self.world["KEYS"]
        torch.manual_seed(0)
        try:
            self.last = ["returned", self.call(*args, **keys)]
        except Exception as error:
            self.last = ["raised", error]

    def change(self, text: str) -> None:
        exec(code_of(text), self.world)

    def state(self) -> dict[str, Any]:
        return {
            name: value for name, value in self.world.items() if name not in PRELUDE and name not in NOTED
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


def differ(one: Twin, other: Twin, drained: Drained) -> str | None:
    try:
        return difference([one.state(), one.last], [other.state(), other.last], drained)
    except TracerFound:
        raise
    except Exception as error:  # of the program's own methods
        return f"cannot be compared: {error!r}"


def run(case: Case) -> Outcome:
    """Captured, served, changed, called twice, changed again, called: each time compared with eager."""
    code = code_of(case.program)
    plain, check = eager(code), eager(code)
    world = new_world(code)
    compiled = stator.compile(world["f"], backend="native")
    ours = Twin(world, compiled)
    outcome = Outcome()
    try:
        for count in CALLS:
            if count == "third":
                rows = getattr(compiled, "entries", ())
                outcome.served = sum(row["hits"] for row in rows) > 0
            if count in CHANGED_BEFORE and not apply_everywhere(case.change.text, (plain, check, ours)):
                return outcome
            for twin in (plain, check, ours):
                twin.run()
            drained = Drained()
            if differ(plain, check, drained) is not None:
                outcome.status = "unstable"
                return outcome
            found = differ(ours, plain, drained)
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
    torch.backends.cudnn.deterministic = False
    for kernel in ("flash", "math", "mem_efficient", "cudnn"):
        getattr(torch._C, f"_set_sdp_use_{kernel}")(True)
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
