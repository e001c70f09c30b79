"""Hooks that captured code registers with tensors, and that every run registers when its graph has run."""

from collections.abc import Callable
from typing import Any

from torch.utils.hooks import RemovableHandle

import torch
from stator import _capture


def replace() -> None:
    """Captures call ours where the program registers a hook. What breaks in them is the program's call."""
    for ours in (register_hook, register_post_accumulate_grad_hook):
        theirs = getattr(torch.Tensor, ours.__name__, None)
        if theirs is not None:
            _capture.substitute(theirs, ours)


def check_tensor(tensor: torch.Tensor, must_be_leaf: bool) -> None:
    """Ends the capture unless a later hook sees what one would see now; see torch/replacements/hooks.cpp."""


def register_hook(self: torch.Tensor, hook: Callable[..., Any]) -> Any:
    """`Tensor.register_hook` in captured code."""
    check_tensor(self, False)
    handle = PendingHandle.__new__(PendingHandle)
    _capture.call_later(_register, handle, torch.Tensor.register_hook, self, hook)
    return handle


def register_post_accumulate_grad_hook(self: torch.Tensor, hook: Callable[..., Any]) -> Any:
    """`Tensor.register_post_accumulate_grad_hook` in captured code."""
    check_tensor(self, True)
    handle = PendingHandle.__new__(PendingHandle)
    _capture.call_later(_register, handle, torch.Tensor.register_post_accumulate_grad_hook, self, hook)
    return handle


class PendingHandle:
    """Stands for the handle of a hook during the capture: it is removed, passed on, returned or kept.

    What a handle has beside that is another number in every run. Not derived from torch's class, which counts
    all handles: every registration changes it, and captures would not outlive one.
    """

    __class__: Any = RemovableHandle  # what isinstance() goes by

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Have every run remove the hook behind its registration."""
        _capture.call_later(_remove, self)

    def __getattr__(self, name: str) -> Any:
        return _ends_capture(name)


_set_class: Callable[[object, type], None] = vars(object)["__class__"].__set__


def _unknown(name: str) -> Any:
    raise AttributeError(name)


_ends_capture = _capture.Marked(_unknown, "disabled")


def _register(handle: Any, method: Callable[..., Any], tensor: torch.Tensor, hook: Any) -> None:
    """Register a hook, and make `handle` its handle."""
    registered = vars(method(tensor, hook))
    _set_class(handle, RemovableHandle)
    vars(handle).update(registered)


def _remove(handle: Any) -> None:
    handle.remove()
