"""The functions of `torch._dynamo` that start its engine or tell it something, as Stator hears them."""

import functools
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from stator import _capture
from stator.api import cache, contexts, stance
from stator.api.explain import explain
from stator.api.numpy_functions import wrap_numpy
from stator.backends import registry
from stator.dropin import settings
from stator.dropin.callers import is_program
from stator.dropin.guard_words import ExportedGuard, in_torch_words
from stator.dropin.optimized_modules import known_as_optimized
from stator.dropin.replacements import Replacements
from stator.dropin.torch_compile import sizes_by_settings


def replace(dynamo: ModuleType, replacements: Replacements, is_installed: Callable[[], bool]) -> None:
    """Put ours in the places of the names that programs use."""
    decorators: Any = sys.modules["torch._dynamo.decorators"]
    eval_frame: Any = sys.modules["torch._dynamo.eval_frame"]

    def everywhere(name: str, new: Any) -> None:
        old = getattr(dynamo, name, None) or getattr(decorators, name, None) or getattr(eval_frame, name)
        for owner in (dynamo, decorators, eval_frame):
            if vars(owner).get(name) is old:
                replacements.replace(owner, name, new)

    def for_programs(name: str, ours: Callable[..., Any]) -> None:
        """Ours where the program calls, torch's where torch does."""
        original = getattr(dynamo, name)

        @functools.wraps(original)
        def called(*args: Any, **kwargs: Any) -> Any:
            if not is_installed() or not is_program(sys._getframe(1)):
                return original(*args, **kwargs)
            return ours(*args, **kwargs)

        everywhere(name, called)

    def and_tell(name: str, then: Callable[..., Any]) -> None:
        """torch's function, then ours with what it gave and the arguments."""
        original = getattr(decorators, name)

        @functools.wraps(original)
        def called(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            return then(result, *args, **kwargs) if is_installed() else result

        everywhere(name, called)

    for_programs("optimize", optimize)
    for_programs("optimize_assert", optimize_assert)
    for_programs("explain", explain)
    for_programs("run", contexts.run)
    for_programs("list_backends", registry.list_backends)
    for_programs("lookup_backend", registry.lookup_backend)
    and_tell("allow_in_graph", lambda fn, *_, **__: _mark(fn, "opaque"))
    and_tell("assume_constant_result", lambda fn, *_, **__: _mark(fn, "constant"))
    if hasattr(decorators, "nonstrict_trace"):
        and_tell("nonstrict_trace", lambda fn, *_, **__: _mark(fn, "opaque"))
    and_tell("skip", lambda fn, *given, **_: _mark(fn, "skipped") if given else fn)
    and_tell("get_nonrecursive_disable_wrapper", _skip_frame_of)
    and_tell("_set_stance", _follow_stance)

    and_tell("substitute_in_graph", _substitute)

    reset = dynamo.reset

    @functools.wraps(reset)
    def reset_both() -> None:
        reset()
        cache.reset()

    replacements.replace(dynamo, "reset", reset_both)
    # torch.compiler.wrap_numpy looks there when it is called.
    replacements.replace(sys.modules["torch._dynamo.external_utils"], "wrap_numpy", wrap_numpy)
    everywhere("OptimizedModule", known_as_optimized(eval_frame.OptimizedModule))
    settings.follow(sys.modules["torch._dynamo.config"], replacements, is_installed)
    _capture.configure(error_region=_error_region(decorators))
    _follow_stance(None, eval_frame._stance)


def undo() -> None:
    """What `replace` changed in Stator's own state."""
    _capture.configure(error_region=None)
    stance.set_for_all("default")


def _substitute(decorate: Callable[..., Any], original_fn: Any, **_: Any) -> Callable[..., Any]:
    """Captures call the user's function in place of the original, and of what stands for it."""

    @functools.wraps(decorate)
    def decorator(traceable_fn: Any) -> Any:
        stands = decorate(traceable_fn)
        for each in (original_fn, stands):
            _capture.substitute(each, traceable_fn)
        return stands

    return decorator


def _error_region(decorators: Any) -> tuple[dict[str, Any], str] | None:
    """Where `torch._dynamo.error_on_graph_break` keeps what the program wants: a global variable."""
    get = getattr(decorators, "_get_error_on_graph_break", None)
    if type(get) is not FunctionType or not {*get.__code__.co_names[:1]} <= get.__globals__.keys():
        return None
    return get.__globals__, get.__code__.co_names[0]


def optimize(
    backend: Any = "inductor",
    *,
    nopython: bool = False,
    guard_export_fn: Callable[..., object] | None = None,
    guard_fail_fn: Callable[[Any], object] | None = None,
    disable: bool = False,
    dynamic: bool | None = None,
    error_on_graph_break: bool | None = None,
    recompile_limit: int | None = None,
    guard_filter_fn: Callable[[list[Any]], Any] | None = None,
    **without_meaning: Any,  # package
) -> Any:
    """`torch._dynamo.optimize`."""
    return contexts.optimize(
        backend,
        nopython=nopython or bool(error_on_graph_break),
        guard_export_fn=_with_guards(guard_export_fn),
        guard_fail_fn=_with_reason(guard_fail_fn),
        disable=disable,
        dynamic=sizes_by_settings(dynamic),
        recompile_limit=recompile_limit,
        guard_filter_fn=guard_filter_fn,
    )


def optimize_assert(backend: Any = "inductor", *, hooks: Any = None, **settings: Any) -> Any:
    """`torch._dynamo.optimize_assert`."""
    if hooks is not None:
        settings = {
            "guard_export_fn": hooks.guard_export_fn,
            "guard_fail_fn": hooks.guard_fail_fn,
            **settings,
        }
    return optimize(backend, nopython=True, **settings)


def _with_guards(guard_export_fn: Callable[..., object] | None) -> Callable[[list[str]], object] | None:
    """The user's function takes torch's guards, and asks each for its code."""
    if guard_export_fn is None:
        return None
    return lambda texts: guard_export_fn([ExportedGuard(text) for text in texts])


def _with_reason(guard_fail_fn: Callable[[Any], object] | None) -> Callable[[str], object] | None:
    """The user's function takes torch's record of a failure."""
    if guard_fail_fn is None:
        return None
    from torch._dynamo.types import GuardFail

    return lambda text: guard_fail_fn(GuardFail(in_torch_words(text), None))  # type: ignore[arg-type]


def _mark(fn: Any, mark: str) -> Any:
    """Python functions are marked in place. Of other callables, torch's own are known to Stator anyway."""
    for each in fn if isinstance(fn, list) else [fn]:
        if type(each) is FunctionType:
            _capture.mark_function(each, mark)
    return fn


def _skip_frame_of(wrapper: Any, fn: Any) -> Any:
    """`disable(recursive=False)`: the call ends a capture, and the frame of `fn` is not captured."""
    return _capture.Marked(fn, "skipped")


def _follow_stance(before: Any, now: Any) -> Any:
    stance.set_for_all(now.stance, now.backend)
    return before
