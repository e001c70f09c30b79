"""Settings. `config.patch(...)` changes some for a while, as a decorator or a context manager."""

import contextlib
import difflib
import importlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from stator import _capture
from stator.api import compiling


def _flag(*names: str) -> bool:
    return any(os.environ.get(name, "0").lower() not in ("", "0", "false") for name in names)


@dataclass
class Config:
    """Every setting with its type and default. An unknown name is an error that suggests the near one."""

    recompile_limit: int = 8
    """Captures of one function before it runs natively."""
    suppress_errors: bool = False
    """A backend that fails makes the function run natively instead of raising."""
    raise_on_ctx_manager_usage: bool = True
    """`with stator.optimize(...)` is an error: decorate the function instead."""
    disable: bool = _flag("STATOR_DISABLE", "TORCHDYNAMO_DISABLE")
    """Compiled functions run as they are."""
    error_on_recompile: bool = False
    """A second capture of a function is an error that names the guard that failed."""
    is_compiling: bool | str = "auto"
    """What `torch.compiler.is_compiling()` gives in captured code: True, False (as in eager code), or "auto":
    False, and True where the capture breaks with the answer False and does not with the answer True."""

    cuda_graphs: bool = False
    """The backends `native` and `fused` record their work on CUDA in CUDA graphs, as with
    `mode="reduce-overhead"`. Asked when a function is compiled."""

    capture_scalar_outputs: bool = False
    """Numbers that `item()` gives are part of the graphs of backends that compile: ints are symbols that
    only a run knows. A decision that needs their values is a break."""

    trace_numpy: bool = False
    """Arrays of NumPy's in captured code are tensors of torch's NumPy layer, which differs from NumPy in
    which results share memory and in what raises. On under `stator.install()`, as in torch.compile."""

    if not TYPE_CHECKING:  # so that type checkers know the names above and no others

        def __setattr__(self, name: str, value: Any) -> None:
            known = _TYPES.get(name)
            if known is None:
                raise AttributeError(_unknown(name))
            choices = _CHOICES.get(name)
            if choices is not None and not any(type(value) is type(one) and value == one for one in choices):
                listed = ", ".join(map(repr, choices[:-1]))
                raise ValueError(f"stator.config.{name} is {listed} or {choices[-1]!r}, not {value!r}")
            if choices is None and (
                not isinstance(value, known) or (known is int and isinstance(value, bool))
            ):
                raise TypeError(
                    f"stator.config.{name} is of type {known.__name__}, not {type(value).__name__}: {value!r}"
                )
            object.__setattr__(self, name, value)
            if name == "is_compiling":
                compiling.tell_programs(value)
            if name == "trace_numpy" and "stator._torch" in sys.modules:
                importlib.import_module("stator.runtime.arrays").replace()
            if name in _ENGINES:
                _capture.configure(**{name: min(value, 2**31 - 1)})

        def __getattr__(self, name: str) -> Any:  # only for names that are not there
            if name.startswith("__"):
                raise AttributeError(name)
            raise AttributeError(_unknown(name))

    def patch(self, *changes: Any, **named: Any) -> "contextlib._GeneratorContextManager[None]":
        """`patch(name=value, …)`, `patch({"name": value})` or `patch("name", value)`.

        >>> with config.patch(recompile_limit=2):
        ...     config.recompile_limit
        2
        >>> config.recompile_limit
        8
        """
        if len(changes) == 2 and isinstance(changes[0], str):
            named = {changes[0]: changes[1], **named}
        elif len(changes) == 1 and isinstance(changes[0], dict):
            named = {**changes[0], **named}
        elif changes:
            raise TypeError("config.patch takes name=value, a dictionary, or a name and a value")
        for name in named:
            if name not in _TYPES:
                raise AttributeError(_unknown(name))
        return _patched(self, named)


@contextlib.contextmanager
def _patched(settings: Config, changes: dict[str, Any]) -> Iterator[None]:
    before = {name: getattr(settings, name) for name in changes}
    try:
        for name, value in changes.items():
            setattr(settings, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(settings, name, value)


def _unknown(name: str) -> str:
    near = difflib.get_close_matches(name, _TYPES, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else f". There are: {', '.join(_TYPES)}"
    return f"stator.config has no setting {name!r}{hint}"


_TYPES: dict[str, type] = {field.name: type(field.default) for field in fields(Config)}
_CHOICES: dict[str, tuple[Any, ...]] = {"is_compiling": (True, False, "auto")}
_ENGINES = {"recompile_limit", "disable", "error_on_recompile"}  # asked by the engine on every call

config = Config()


def is_disabled() -> bool:
    """Whether nothing is to be compiled: by the setting, or by the environment as it is now."""
    return config.disable or _flag("STATOR_DISABLE", "TORCHDYNAMO_DISABLE")
