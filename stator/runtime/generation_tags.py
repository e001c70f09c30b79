"""Modules that captured code makes: TorchDynamo's note of them, for its guards, is left out of captures."""

import functools
from types import FunctionType, ModuleType
from typing import Any

from stator import _capture
from stator.dropin.after_import import after_import


@functools.cache
def replace() -> None:
    """Captures do not call `GenerationTracker.tag`, which TorchDynamo puts into `nn.Module.__init__`."""
    after_import("torch._dynamo.mutation_guard", _leave_out)


def _leave_out(mutation_guard: ModuleType) -> None:
    tag = getattr(getattr(mutation_guard, "GenerationTracker", None), "tag", None)
    function = getattr(tag, "__func__", None)
    if isinstance(function, FunctionType):
        _capture.substitute(function, _nothing)


def _nothing(*args: Any) -> None:
    """What is called in its place."""
