"""Compiled modules of Stator are instances of `torch._dynamo.OptimizedModule`, as trainers ask."""

from typing import Any


class _KnowsBoth(type):
    """The metaclass of a subclass of torch's OptimizedModule that also knows Stator's."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return any(cls.__subclasscheck__(kind) for kind in (type(instance), instance.__class__))

    def __subclasscheck__(cls, subclass: type) -> bool:
        from stator.api.optimized_module import OptimizedModule

        return issubclass(subclass, (OptimizedModule, cls.__base__))  # type: ignore[arg-type]


def known_as_optimized(theirs: type) -> type:
    """A class that makes what torch's class makes, and takes Stator's modules for its instances."""
    body = {"__module__": theirs.__module__, "__qualname__": theirs.__qualname__, "__doc__": theirs.__doc__}
    return _KnowsBoth(theirs.__name__, (theirs,), body)
