"""`stator.compile`: the front door."""

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from stator.api.argument_types import require
from stator.api.contexts import OptimizeContext
from stator.backends.choice import choose
from stator.config import is_disabled

F = TypeVar("F", bound=Callable[..., Any])


@overload
def compile(
    model: F,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "inductor",
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
) -> F: ...
@overload
def compile(
    model: None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "inductor",
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
) -> Callable[[F], F]: ...
def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "inductor",
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
) -> Any:
    """Capture what `model` does with tensors once, and serve later calls from the capture.

    `model` is a function, a method, a callable object, a module or a class; without it the call gives a
    decorator. `fullgraph=True` makes a break an error that shows the line and how to mend it. `dynamic` is
    True (sizes are symbolic), False (never) or None (those that change). `backend` is a name of
    `list_backends()` or a function `fn(gm, example_inputs) -> callable`; `mode` and `options` are for it,
    but for `options["guard_filter_fn"]`, which says which guards of a capture count.
    `recompile_limit` is the number of captures after which it runs natively (`config.recompile_limit`).

    >>> import torch
    >>> double = compile(lambda x: x * 2, backend="native")
    >>> double(torch.ones(2))
    tensor([2., 2.])
    >>> @compile(backend="native", fullgraph=True)
    ... def halved(x):
    ...     return x / 2
    >>> halved(torch.ones(2))
    tensor([0.5000, 0.5000])
    """
    _check(fullgraph, dynamic, backend, mode, options, disable, recompile_limit)
    if model is None:
        return functools.partial(
            compile,
            fullgraph=fullgraph,
            dynamic=dynamic,
            backend=backend,
            mode=mode,
            options=options,
            disable=disable,
            recompile_limit=recompile_limit,
        )
    if mode is not None and options is not None:
        raise RuntimeError("mode and options cannot both be given: a mode is a set of options")
    if disable or is_disabled():
        return model
    chosen = choose(backend, mode, options, dynamic)
    context = OptimizeContext(
        chosen,
        fullgraph,
        dynamic,
        asked=(backend, mode, options),
        recompile_limit=recompile_limit,
        guard_filter_fn=options.get("guard_filter_fn") if options else None,
    )
    return context(model)


def _check(
    fullgraph: Any, dynamic: Any, backend: Any, mode: Any, options: Any, disable: Any, recompile_limit: Any
) -> None:
    for name, flag in (("fullgraph", fullgraph), ("disable", disable)):
        require("compile", name, flag, bool)
    require("compile", "dynamic", dynamic, bool, None)
    require("compile", "mode", mode, str, None)
    require("compile", "options", options, Mapping, None)
    require("compile", "recompile_limit", recompile_limit, int, None)
    if not isinstance(backend, str) and not callable(backend):
        raise TypeError(f"stator.compile: backend is a name or a callable, not {type(backend).__name__}")
