"""The backend that a call of `compile` means: by name or function, with mode and options."""

from collections.abc import Callable, Mapping
from typing import Any

from stator.backends import lookup_backend
from stator.backends.builtin import Recorded
from stator.backends.invoke import name_of
from stator.backends.registry import inductor
from stator.backends.traits import ATTRIBUTE, traits_of


class BackendWithOptions:
    """A backend with the `mode` and `options` that it is to be called with."""

    def __init__(self, backend: Callable[..., Any], settings: Mapping[str, Any]) -> None:
        self.backend = backend
        self.settings = dict(settings)
        self.compiler_name = name_of(backend)

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        return self.backend(gm, example_inputs, **self.settings)

    def __getattr__(self, name: str) -> Any:
        if name in ("reset", "get_compiler_config", "backend_ctx_ctor", ATTRIBUTE):
            return getattr(self.backend, name)
        raise AttributeError(name)


def choose(
    backend: Any, mode: str | None, options: Mapping[str, Any] | None, dynamic: bool | None
) -> Callable[..., Any]:
    """The backend, ready to be called with a graph and its example inputs."""
    if mode is not None and options is not None:
        raise RuntimeError("mode and options cannot both be given: a mode is a set of options")
    # Which guards count is no matter of the backend's (stator/api/guard_filter.py).
    if options is not None and "guard_filter_fn" in options:
        options = {name: value for name, value in options.items() if name != "guard_filter_fn"}
    if isinstance(backend, str) and backend == "inductor":
        return inductor(None if options else mode or "default", dict(options) if options else None, dynamic)
    chosen = lookup_backend(backend)
    given = {"mode": mode if mode != "default" else None, "options": options}
    settings = {name: value for name, value in given.items() if value}
    if not settings:
        return chosen
    traits = traits_of(chosen)
    if traits.records and settings == {"mode": "reduce-overhead"}:
        return Recorded(chosen)
    if traits.engine is not None:
        modes = " but mode='reduce-overhead'" if traits.records else ""
        raise TypeError(f"the backend {backend!r} takes no {' or '.join(settings)}{modes}")
    return BackendWithOptions(chosen, settings)
