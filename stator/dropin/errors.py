"""Exceptions that programs catch by torch's names and by ours."""

import functools
import re
import sys
from typing import Any

from stator import _capture
from stator.api import notices, stance
from stator.backends import invoke, registry
from stator.backends.error_classes import choose_with
from stator.dropin.guard_words import in_torch_words

_TORCH_NAMES = {
    _capture.CaptureError: "Unsupported",
    invoke.BackendFailed: "BackendCompilerFailed",
    registry.InvalidBackend: "InvalidBackend",
}


@functools.cache
def _both(own: Any, torch_name: str) -> Any:
    """A class for what is an error of Stator and one of TorchDynamo."""
    import torch._dynamo.exc

    theirs = getattr(torch._dynamo.exc, torch_name)
    # Initialised by ours alone: what torch's would do belongs to its engine.
    return type(own.__name__, (own, theirs), {"__module__": own.__module__, "__init__": own.__init__})


_TORCH_WORDS = {
    "exception": "Observed exception",
    "disabled": "Skip calling `torch.compiler.disable()`d function",
    "data-dependent-branch": "Data-dependent branching",
    "data-dependent-operator": "Data-dependent branching or data dependent operator",
}
"""What TorchDynamo calls a reason, by its code: programs look for it in messages."""


def torch_words(code: str, detail: str) -> str | None:
    """What TorchDynamo calls a break; None: no program looks for it."""
    if code == "higher-order-operator" and "writes to" in detail:
        return "HOP: Unsafe side effect"
    if code == "higher-order-operator" and _torch_name(code, detail) == "UncapturedHigherOrderOpError":
        return "Higher Order Operator: torch.cond"
    if code == "shape-inference" and "TypeError: an argument is a " in detail:
        return "Invalid input type for nonstrict_trace-ed function"
    if code == "shape-inference" and "TypeError: a result is a " in detail:
        return "Unsupported output type for nonstrict_trace-ed function"
    if code == "unsupported-mode" and (transform := _transform_of_caller()) is not None:
        return f"Calling torch.func.{transform}(compiled_fn) function from eager mode is not supported"
    return _TORCH_WORDS.get(code)


def _torch_name(code: str, detail: str) -> str:
    """The class of TorchDynamo's that programs catch for a break."""
    if code != "higher-order-operator":
        return _TORCH_NAMES[_capture.CaptureError]
    if "Unmatched output spec" in detail or "branches give tensors of different" in detail:
        return "TorchRuntimeError"
    if "raises TypeError" in detail or "operator is given returns a" in detail:
        return "UncapturedHigherOrderOpError"
    return _TORCH_NAMES[_capture.CaptureError]


def _transform_of_caller() -> str | None:
    """The innermost transform of torch.func that is active, by its name."""
    import torch

    interpreter = torch._C._functorch.peek_interpreter_stack()
    return None if interpreter is None else str(interpreter.key().name).lower()


def _capture_error(kind: str, message: str) -> BaseException:
    reason = re.match(r"stator: the function could not be captured whole: ([a-z-]+)(.*)", message)
    words = torch_words(reason[1], reason[2]) if reason is not None else None
    if words is not None:
        message = f"{words}. {message}"
    if kind == "recompile":
        said, holds, guard = message.partition("no longer holds: ")
        message = said + holds + in_torch_words(guard)
    if kind == "recompile" and stance.current() == "fail_on_recompile":
        message = f"Detected recompile when torch.compile stance is 'fail_on_recompile'. {message}"
    name = _torch_name(reason[1], reason[2]) if reason is not None else _TORCH_NAMES[_capture.CaptureError]
    if kind == "recompile":
        name = "RecompileError"
    error: BaseException = _both(_capture.CaptureError, name)(message)
    vars(error).update(msg=message, real_stack=[])
    return error


def _with_torch_name(own: Any) -> Any:
    return _both(own, _TORCH_NAMES[own])


def _too_many(function: Any, message: str) -> None:
    config: Any = sys.modules.get("torch._dynamo.config")
    if config is not None and getattr(config, "fail_on_recompile_limit_hit", False):
        from torch._dynamo import exc

        raise exc.FailOnRecompileLimitHit(message)
    notices.warn_of_limit(function, message)


def install() -> None:
    """From now on errors have both names. torch's module of them is loaded when the first is raised."""
    _capture.configure(error_hook=_capture_error, limit_hook=_too_many)
    choose_with(_with_torch_name)


def uninstall() -> None:
    """Errors are Stator's alone."""
    _capture.configure(error_hook=None, limit_hook=notices.warn_of_limit)
    choose_with(None)
