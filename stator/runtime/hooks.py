"""Hooks that captured code registers with tensors, and that every run registers when its graph has run.

For backends that compile, those of tensors that the graph makes are registered by nodes of it.
"""

from collections.abc import Callable, Iterator
from typing import Any

from torch.utils.hooks import RemovableHandle

import torch
from stator import _capture
from stator.runtime.allowed_call import OpaqueCall
from stator.runtime.custom_gradients import is_self_contained_function


def replace() -> None:
    """Captures call ours where the program registers a hook. What breaks in them is the program's call."""
    for ours in (register_hook, register_post_accumulate_grad_hook):
        theirs = getattr(torch.Tensor, ours.__name__, None)
        if theirs is not None:
            _capture.substitute(theirs, ours)


def check_tensor(tensor: torch.Tensor, must_be_leaf: bool, hook: Callable[..., Any] | None) -> bool:
    """Ends the capture unless a later hook sees what one would see now; see torch/replacements/hooks.cpp.

    False: a node of the graph is to register it, which a second call with the hook makes.
    """
    raise AssertionError("it is called in captures alone")


def register_hook(self: torch.Tensor, hook: Callable[..., Any]) -> Any:
    """`Tensor.register_hook` in captured code."""
    if not check_tensor(self, False, None):
        check_tensor(self, False, hook)
        node = HandleOfNode.__new__(HandleOfNode)
        node.never_leaves = _nothing()
        return node
    handle = PendingHandle.__new__(PendingHandle)
    _capture.call_later(_register, handle, torch.Tensor.register_hook, self, hook)
    return handle


def register_post_accumulate_grad_hook(self: torch.Tensor, hook: Callable[..., Any]) -> Any:
    """`Tensor.register_post_accumulate_grad_hook` in captured code."""
    check_tensor(self, True, None)
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


class HandleOfNode:
    """What captured code gets for a hook that a node registers. It is dropped, or the capture ends."""

    __class__: Any = RemovableHandle
    never_leaves: Iterator[None]  # no capture can make a generator again

    def __getattr__(self, name: str) -> Any:
        return _ends_capture(name)


def _nothing() -> Iterator[None]:
    yield


class _Registration:
    """A function of torch.fx graphs."""

    def __init__(self, hook: Callable[..., Any]) -> None:
        self.__name__ = self.__qualname__ = "register_hook"
        self.__module__ = __name__
        self._hook = hook

    def __call__(self, tensor: torch.Tensor) -> None:
        if tensor.requires_grad:
            torch.Tensor.register_hook(tensor, self._hook)  # type: ignore[no-untyped-call]


def call_in_graph(tensor: torch.Tensor, hook: Callable[..., Any]) -> OpaqueCall | None:
    """The node that registers a hook; None: it may do another thing in another run."""
    if not is_self_contained_function(hook):
        return None
    call = OpaqueCall(_Registration(hook), (tensor,), {})
    call.returns(None)
    call.forget()
    return call


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
