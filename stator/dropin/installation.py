"""`install()` and `uninstall()`."""

import sys
import threading
from types import ModuleType

from stator import support
from stator.dropin.after_import import after_import, forget
from stator.dropin.replacements import Replacements

# The rest of this folder is imported when it is needed: `import stator` is to cost little.

_lock = threading.RLock()
_replacements: Replacements | None = None


def install() -> None:
    """Make `torch.compile` and what else starts TorchDynamo use Stator, in the whole process.

    `torch.compile` as function and decorator, `nn.Module.compile`, `torch._dynamo.optimize` and whatever
    calls those: trainers and libraries. What `torch.compiler` and `torch._dynamo` offer to programs (marks,
    stances, settings, `reset`) is told to Stator as well. torch's own uses of its compiler stay as they are.
    It may be called before torch is imported, and imports neither torch nor TorchDynamo. Called again, it
    does nothing.

    >>> import torch
    >>> install()
    >>> type(torch.compile(lambda x: x, backend="native")).__module__
    'stator._capture'
    >>> uninstall()
    """
    global _replacements
    with _lock:
        if _replacements is not None:
            return
        if "torch" in sys.modules:
            support.require_torch(support.torch_version())
        _replacements = Replacements()
        from stator.dropin import counters, errors, settings

        settings.answer_as_torch()
        errors.install()
        counters.follow()
        after_import("torch", _torch_is_there)
        after_import("torch._dynamo", _dynamo_is_there)


def uninstall() -> None:
    """Undo `install()`: `torch.compile` is torch's again. What was compiled with Stator stays so."""
    global _replacements
    with _lock:
        if _replacements is None:
            return
        forget("torch", _torch_is_there)
        forget("torch._dynamo", _dynamo_is_there)
        done, _replacements = _replacements, None
        from stator.dropin import counters, dynamo_names, errors, settings

        counters.unfollow()
        errors.uninstall()
        settings.unfollow()
        dynamo_names.undo()
        done.undo()


def is_installed() -> bool:
    """Whether `torch.compile` uses Stator."""
    return _replacements is not None


def _torch_is_there(torch: ModuleType) -> None:
    support.require_torch(support.torch_version())
    if _replacements is not None:
        from stator.dropin import torch_compile

        torch_compile.replace(torch, _replacements, is_installed)


def _dynamo_is_there(dynamo: ModuleType) -> None:
    if _replacements is not None:
        from stator.dropin import dynamo_names

        dynamo_names.replace(dynamo, _replacements, is_installed)
