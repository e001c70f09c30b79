"""`set_stance`: how calls of compiled functions are treated, in the whole process."""

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from stator import _capture
from stator.api.argument_types import require

P = ParamSpec("P")
R = TypeVar("R")

_ENGINES = {
    "default": "normal",
    "force_eager": "force_eager",
    "eager_on_recompile": "run_only",
    "fail_on_recompile": "fail_on_recompile",
    "eager_then_compile": "eager_then_compile",
    "aot_eager_then_compile": "eager_then_compile",
}
"""Names as users give them, and the engine's."""

_now: tuple[str, Any] = ("default", None)


class set_stance:
    """Treat calls of compiled functions in one way: a function, a context manager and a decorator.

    `default`; `force_eager`: compiled functions run as they are; `eager_on_recompile`: what was captured
    serves, nothing new is captured; `fail_on_recompile`: a call that no capture serves is an error;
    `eager_then_compile`: the first call of a function runs eagerly. With `default`, `force_backend` is used
    in place of every function's own backend.

    >>> import stator, torch
    >>> double = stator.compile(lambda x: x * 2, backend="native")
    >>> with set_stance("force_eager"):
    ...     double(torch.ones(1))
    tensor([2.])
    >>> stator.cache_entries(double)
    []
    """

    def __init__(self, stance: str = "default", *, force_backend: Any = None) -> None:
        self._stance = (stance, force_backend)
        self._before = set_for_all(stance, force_backend)

    def __call__(self, fn: Callable[P, R]) -> Callable[P, R]:
        set_for_all(*self._before)
        stance, backend = self._stance

        @functools.wraps(fn)
        def in_stance(*args: P.args, **kwargs: P.kwargs) -> R:
            with set_stance(stance, force_backend=backend):
                return fn(*args, **kwargs)

        return in_stance

    def __enter__(self) -> None:
        set_for_all(*self._stance)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        set_for_all(*self._before)


def set_for_all(stance: str, force_backend: Any = None) -> tuple[str, Any]:
    """Set the stance of the process; what was."""
    global _now
    require("set_stance", "stance", stance, str)
    if stance not in _ENGINES:
        raise RuntimeError(f"no such stance: {stance!r}. There are: {', '.join(_ENGINES)}")
    if force_backend is not None and stance != "default":
        raise RuntimeError("force_backend goes with the stance 'default' only")
    _capture.set_process_stance(_ENGINES[stance])
    _capture.configure(backend_hook=None if force_backend is None else _forced(force_backend))
    before, _now = _now, (stance, force_backend)
    return before


def current() -> str:
    """The stance of the process."""
    return _now[0]


def _forced(backend: Any) -> Callable[[Any], Any]:
    """What gives, for a compiled function, the one with this backend."""
    from stator.backends.choice import choose

    chosen = choose(backend, None, None, None)

    def with_backend(compiled: Any) -> Any:
        context = compiled.context
        if context is None or context.backend is chosen:
            return compiled
        forms = vars(compiled).setdefault("_with_other_backends", [])
        for made in forms:
            if made.context.backend is chosen:
                return made
        forms.append(context.with_backend(chosen).function(compiled.wrapped_function))
        return forms[-1]

    return with_backend
