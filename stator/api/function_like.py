"""What users ask of a function, answered by the callables of ours that wrap one.

`_capture.Wrapper` is the base of compiled, marked and interpreted callables. When one is made it copies the
names, documentation, annotations and attributes of the function, as `functools.update_wrapper` does. What is
here is written in Python so that captured code that asks for it is captured.
"""

import copy
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from stator import _capture


def _of_wrapped(name: str, *, settable: bool = False) -> Any:
    """An attribute that is the wrapped function's own."""

    def get(self: Any) -> Any:
        return getattr(self.wrapped_function, name)

    def change(self: Any, value: Any) -> None:
        setattr(self.wrapped_function, name, value)

    return property(get, change if settable else None)


class FunctionLike:
    """The methods that the wrapping types get."""

    wrapped_function: Any
    __qualname__: str

    def __getattr__(self, name: str) -> Any:
        """Look an attribute up in the wrapped callable (a partial, a callable object), where it may change.

        Those of a function were copied: whoever deleted one from the wrapper does not find it again.
        """
        wrapped = self.wrapped_function
        if type(wrapped) is FunctionType:
            raise AttributeError(f"{type(self).__name__.lower()} function has no attribute {name!r}")
        return getattr(wrapped, name)

    def __copy__(self) -> Any:
        return _copied(self, copy.copy)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return _copied(self, lambda value: copy.deepcopy(value, memo), memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """By name where it is found by name, as functions are; else the wrapped callable and the options."""
        if _is_found_by_name(self):
            return self.__qualname__
        make, options = _maker(self)
        return make, (self.wrapped_function, *options)

    @property
    def __wrapped__(self) -> Any:
        """The wrapped callable, unless it was assigned to, as functools.update_wrapper does."""
        return vars(self).get("__wrapped__", self.wrapped_function)

    @__wrapped__.setter
    def __wrapped__(self, value: Any) -> None:
        vars(self)["__wrapped__"] = value

    __globals__ = _of_wrapped("__globals__")
    __closure__ = _of_wrapped("__closure__")
    __builtins__ = _of_wrapped("__builtins__")
    # Assigned to, these change what a call does.
    __code__ = _of_wrapped("__code__", settable=True)
    __defaults__ = _of_wrapped("__defaults__", settable=True)
    __kwdefaults__ = _of_wrapped("__kwdefaults__", settable=True)


def _copied(self: Any, copier: Callable[[Any], Any], memo: dict[int, Any] | None = None) -> Any:
    """A function is its own copy, and so is its compiled form; other callables have state of their own."""
    wrapped = copier(self.wrapped_function)
    if wrapped is self.wrapped_function:
        return self
    if memo and id(self) in memo:  # what it wraps leads back to it
        return memo[id(self)]
    make, options = _maker(self)
    made = make(wrapped, *options)
    for name, value in vars(self).items():
        if name not in vars(made):
            vars(made)[name] = copier(value)
    return made


def _is_found_by_name(self: Any) -> bool:
    found: Any = sys.modules.get(getattr(self, "__module__", None) or "")
    for part in getattr(self, "__qualname__", "<nameless>").split("."):
        found = getattr(found, part, None)
    return found is self


def _compiled_again(fn: Callable[..., Any], context: Any) -> Any:
    return context.function(fn)


def _maker(self: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """What makes a wrapper of another callable with the same options, and the options."""
    if isinstance(self, _capture.Marked):
        return _capture.Marked, (self.mark,)
    if isinstance(self, _capture.Interpreted):
        return _capture.interpret, (self.instructions,)
    if self.context is None:
        raise TypeError(f"cannot copy {self!r}: it was not made by stator.compile")
    return _compiled_again, (self.context,)


def complete_wrappers() -> None:
    """Give the wrapping types the methods; called when the package is loaded."""
    for name, member in vars(FunctionLike).items():
        if callable(member) or isinstance(member, property):
            setattr(_capture.Wrapper, name, member)
