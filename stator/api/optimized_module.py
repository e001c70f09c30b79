"""What `compile` makes of a module: a module with the same state, whose calls are served by captures."""

import abc
import copy
from typing import Any

from torch.nn import Module
from torch.nn.parameter import is_lazy

from stator.api.contexts import OptimizeContext


class OptimizedModule(Module):
    """A module that shares the attributes of another one and differs from it in how it is called.

    `OptimizedModule(module, context)` is an instance of a class made for it, which derives from the module's
    own. Both instances have one and the same `__dict__`, so parameters, hooks, `train()`, `to()`,
    `state_dict()`, attributes set and deleted are those of the module, under the same names, and methods that
    its class overrides are found. (Rejected: forwarding by `__getattr__`, which hides overridden methods and
    puts a prefix before every key of the state dictionary.)
    """

    _orig_mod: Module
    _compiled: Any
    _context: OptimizeContext

    def __new__(cls, module: Module, context: OptimizeContext) -> "OptimizedModule":
        original = module._orig_mod if isinstance(module, OptimizedModule) else module
        compiled = context.function(original)
        body = {
            "_orig_mod": original,
            "_compiled": staticmethod(compiled),
            "_context": context,
            "dynamo_ctx": context,  # what trainers compile further methods of the module with
            "__call__": _initialise_first if _is_uninitialised(original) else staticmethod(compiled),
            "__module__": cls.__module__,
            "__doc__": type(original).__doc__,
        }
        self: OptimizedModule = object.__new__(_derived(cls, type(original), body))
        object.__setattr__(self, "__dict__", vars(original))
        return self

    def __init_subclass__(cls, **_: Any) -> None:
        """Stands before that of the module's class, which is for classes of the program."""

    def __init__(self, module: Module, context: OptimizeContext) -> None:
        """Everything is the module's already."""

    def __setattr__(self, name: str, value: Any) -> None:
        """As the module does it. Trainers put `_orig_mod` back after they unwrapped it, or what was in it."""
        if name != "_orig_mod":
            super().__setattr__(name, value)
        elif value is not self._orig_mod:
            compiled = self._context.function(value)
            for attribute, part in (("_orig_mod", value), ("_compiled", staticmethod(compiled))):
                setattr(type(self), attribute, part)
            type(self).__call__ = staticmethod(compiled)  # type: ignore[method-assign]
            object.__setattr__(self, "__dict__", vars(value))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return optimized, (self._orig_mod, self._context)

    def __copy__(self) -> "OptimizedModule":
        return optimized(copy.copy(self._orig_mod), self._context)

    def __deepcopy__(self, memo: dict[int, Any]) -> "OptimizedModule":
        return optimized(copy.deepcopy(self._orig_mod, memo), self._context)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), "_orig_mod"})  # type: ignore[no-untyped-call]


def _derived(cls: type, kind: type, body: dict[str, Any]) -> type:
    """The class for one module. Metaclasses are not told of it: they may list the program's classes."""
    meta = type(kind)
    # A class with abstract base classes needs what ABCMeta keeps for it.
    new = abc.ABCMeta.__new__ if issubclass(meta, abc.ABCMeta) else type.__new__
    return new(meta, f"Optimized{kind.__name__}", (cls, kind), body)


def optimized(module: Module, context: OptimizeContext) -> OptimizedModule:
    """The compiled form of a module (how pickle and copy make it again)."""
    return OptimizedModule(module, context)


def _is_uninitialised(module: Module) -> bool:
    parts = {id(module): module}  # not module.modules(), which wants modules that can be hashed
    waiting = [module]
    while waiting:
        children = [child for child in waiting.pop()._modules.values() if child is not None]
        waiting += [child for child in children if id(child) not in parts]
        parts.update((id(child), child) for child in children)
    tensors = (t for part in parts.values() for t in (*part._parameters.values(), *part._buffers.values()))
    return any(tensor is not None and is_lazy(tensor) for tensor in tensors)


def _initialise_first(self: OptimizedModule, *args: Any, **kwargs: Any) -> Any:
    """The call of a lazy module: run as it is until every parameter has a shape, compiled from then on."""
    if _is_uninitialised(self._orig_mod):
        return self._orig_mod(*args, **kwargs)
    type(self).__call__ = staticmethod(self._compiled)  # type: ignore[method-assign]
    return self._compiled(*args, **kwargs)
