"""Backends by name: those registered here, torch's own, and those of installed packages."""

import difflib
import functools
import importlib.metadata
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, overload

from stator.backends.error_classes import raised_as
from stator.backends.traits import ATTRIBUTE, PLAIN, Traits

Backend = Callable[..., Any]
"""`fn(gm: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> callable`"""

F = TypeVar("F", bound=Backend)

GROUPS = ("torch_dynamo_backends", "stator_backends")
"""Groups of entry points; packages written for torch.compile register in the first."""

_registered: dict[str, Backend] = {}
_tags: dict[str, tuple[str, ...]] = {}


class InvalidBackend(RuntimeError):
    """No backend has this name."""

    def __init__(self, name: str) -> None:
        near = difflib.get_close_matches(name, list_backends(exclude_tags=()), n=3)
        hint = f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
        message = f"Invalid backend: {name!r}. {hint}stator.list_backends() gives the names."
        RuntimeError.__init__(self, message)  # not super(): see error_classes.py
        self.name = name


@overload
def register_backend(
    fn: F, name: str | None = None, tags: Sequence[str] = (), traits: Traits = PLAIN
) -> F: ...
@overload
def register_backend(
    fn: None = None, name: str | None = None, tags: Sequence[str] = (), traits: Traits = PLAIN
) -> Callable[[F], F]: ...
def register_backend(
    fn: F | None = None, name: str | None = None, tags: Sequence[str] = (), traits: Traits = PLAIN
) -> Any:
    """Give a backend a name for `stator.compile(backend=name)`. A decorator with or without arguments.

    `traits` says what it can do with a graph beyond compiling its operators.

    >>> import stator, torch
    >>> @register_backend(name="doctest_backend")
    ... def counts(gm, example_inputs):
    ...     print(len(example_inputs), "input")
    ...     return gm.forward
    >>> stator.compile(torch.sin, backend="doctest_backend")(torch.zeros(1))
    1 input
    tensor([0.])
    """
    if fn is None:
        return functools.partial(register_backend, name=name, tags=tags, traits=traits)
    if not callable(fn):
        raise TypeError(f"a backend is a callable, not {type(fn).__name__}")
    key = name or getattr(fn, "__name__", None)
    if not isinstance(key, str):
        raise TypeError(f"this backend has no __name__, so it needs name=: {fn!r}")
    if key in _registered:
        raise ValueError(
            f"duplicate backend name {key!r}: {_described(fn)} was registered after "
            f"{_described(_registered[key])}"
        )
    if traits is not PLAIN:
        setattr(fn, ATTRIBUTE, traits)
    _registered[key] = fn
    _tags[key] = tuple(tags)
    return fn


register_debug_backend = functools.partial(register_backend, tags=("debug",))
register_experimental_backend = functools.partial(register_backend, tags=("experimental",))


def lookup_backend(backend: str | Backend) -> Backend:
    """The backend of this name; a callable is its own answer.

    >>> lookup_backend("natve")
    Traceback (most recent call last):
    stator.backends.registry.InvalidBackend: Invalid backend: 'natve'. Did you mean 'native'? ...
    """
    if not isinstance(backend, str):
        if not callable(backend):
            raise TypeError(f"a backend is a name or a callable, not {type(backend).__name__}")
        return backend
    found = _registered.get(backend) or _from_torch(backend) or _from_entry_point(backend)
    if found is None:
        raise raised_as(InvalidBackend)(backend)
    return found


def list_backends(exclude_tags: Iterable[str] | None = ("debug", "experimental")) -> list[str]:
    """The names of all backends, sorted, save those with one of the tags.

    >>> {"native", "inductor", "eager"} <= set(list_backends())
    True
    """
    excluded = set(exclude_tags or ())
    tags: dict[str, tuple[str, ...]] = dict.fromkeys(_entry_points(), ())
    for name, backend in _torch_backends().items():
        tags[name] = tuple(getattr(backend, "_tags", ()))
    tags.update(_tags)
    return sorted(name for name, own in tags.items() if not excluded.intersection(own))


def _torch_backends() -> dict[str, Any]:
    """torch's own registry, without entry points: loading it costs seconds the first time."""
    try:
        from torch._dynamo.backends import registry
    except ImportError:
        return {}
    registry._lazy_import()
    return {name: fn for name, fn in registry._COMPILER_FNS.items() if name not in _entry_points()}


def _from_torch(name: str) -> Backend | None:
    if name == "inductor":  # without torch's registry, which would load every other backend
        return inductor("default", None, None)
    return _torch_backends().get(name)


def inductor(mode: str | None, options: dict[str, Any] | None, dynamic: bool | None) -> Backend:
    """Inductor with a mode or options, as torch.compile makes it."""
    from torch import _TorchCompileInductorWrapper

    made: Backend = _TorchCompileInductorWrapper(mode, options, dynamic)  # type: ignore[no-untyped-call]
    return made


def _entry_points() -> dict[str, importlib.metadata.EntryPoint]:
    return {point.name: point for group in GROUPS for point in importlib.metadata.entry_points(group=group)}


def _from_entry_point(name: str) -> Backend | None:
    point = _entry_points().get(name)
    if point is None:
        return None
    backend: Backend = point.load()
    return _registered.setdefault(name, backend)


def _described(fn: Backend) -> str:
    place = getattr(fn, "__code__", None)
    name = f"{getattr(fn, '__module__', '?')}.{getattr(fn, '__qualname__', type(fn).__name__)}"
    return f"{name} ({place.co_filename}:{place.co_firstlineno})" if place else name
