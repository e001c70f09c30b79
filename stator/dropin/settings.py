"""Settings of `torch._dynamo.config` that mean something to Stator, kept the same in `stator.config`."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

from stator.config import config
from stator.dropin import ignored_functions
from stator.dropin.replacements import Replacements

SAME = (
    *("recompile_limit", "suppress_errors", "raise_on_ctx_manager_usage", "error_on_recompile"),
    "trace_numpy",
    "capture_scalar_outputs",
)
"""Names that both have."""

_before: dict[str, Any] = {}


def follow(theirs: ModuleType, replacements: Replacements, is_installed: Callable[[], bool]) -> None:
    """Take over what the program has set, and whatever it sets from now on (`config.patch` sets, too)."""
    known = [name for name in SAME if hasattr(theirs, name)]
    for name in known:
        _set(name, getattr(theirs, name))
    ignored_functions.follow(getattr(theirs, ignored_functions.NAMES[0], ()))
    kind = type(theirs)  # a class of this module alone
    original = kind.__setattr__

    def set_both(self: Any, name: str, value: Any) -> None:
        original(self, name, value)
        if name in known and is_installed():
            setattr(config, name, value)
        if name in ignored_functions.NAMES and is_installed():
            ignored_functions.follow(value)

    replacements.add(kind, "__setattr__", set_both)


def answer_as_torch() -> None:
    """What captured code is to torch.compile: it is told that it is compiled, and arrays are tensors."""
    _set("is_compiling", True)
    _set("trace_numpy", True)


def _set(name: str, value: Any) -> None:
    _before.setdefault(name, getattr(config, name))
    setattr(config, name, value)


def unfollow() -> None:
    """Give Stator's settings the values that they had."""
    for name, value in _before.items():
        setattr(config, name, value)
    _before.clear()
    ignored_functions.unfollow()
