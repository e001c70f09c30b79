"""What `compile`, `optimize`, `run` and `disable` give: objects that turn a callable into a compiled one."""

import dataclasses
import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType, MethodType, TracebackType
from typing import Any, TypeVar, overload

from stator import _capture, support
from stator.api import cache
from stator.api.argument_types import require
from stator.api.guard_filter import GuardEntry, guard_filter
from stator.backends.builtin import in_engine
from stator.config import config, is_disabled

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class OptimizeContext:
    """A decorator that compiles functions, callable objects, modules and classes with these settings."""

    backend: Any
    fullgraph: bool = False
    dynamic: bool | None = None
    guard_export_fn: Callable[[list[str]], object] | None = None
    guard_fail_fn: Callable[[str], object] | None = None
    asked: tuple[Any, str | None, Mapping[str, Any] | None] | None = field(default=None, compare=False)
    """The backend as the user gave it, its mode and options: another process chooses it again by these."""
    recompile_limit: int | None = None
    """Captures of one function before it runs natively; None: the setting's."""
    guard_filter_fn: Callable[[list[GuardEntry]], Sequence[bool]] | None = None
    """Says which guards of a capture count. Answers may be wrong where one is dropped: the user's wish."""

    def __reduce__(self) -> Any:
        settings = (self.fullgraph, self.dynamic, self.guard_export_fn, self.guard_fail_fn)
        asked = self.asked or (self.backend, None, None)
        return _context_again, (asked, *settings, self.recompile_limit, self.guard_filter_fn)

    def with_backend(self, backend: Any) -> "OptimizeContext":
        """The same settings with another backend."""
        return dataclasses.replace(self, backend=backend, asked=None)

    def __call__(self, fn: Any) -> Any:
        if isinstance(fn, staticmethod | classmethod):
            return type(fn)(self(fn.__func__))
        if is_module(fn):
            from stator.api.optimized_module import OptimizedModule

            return OptimizedModule(fn, self)
        if inspect.isclass(fn):
            return self._class(fn)
        return self.function(fn)

    def function(self, fn: Callable[..., Any]) -> "_capture.Compiled[..., Any]":
        """A compiled form of one callable, with entries of its own."""
        if not callable(fn):
            raise TypeError(f"stator.compile: a callable is needed, not {type(fn).__name__}")
        support.load_torch_extension()
        backend = in_engine(self.backend)
        compiled: _capture.Compiled[..., Any] = _capture.Compiled(
            innermost_fn(fn),
            fullgraph=self.fullgraph,
            backend=backend,
            dynamic=self.dynamic,
            on_entry=self.guard_export_fn,
            on_miss=self.guard_fail_fn,
            context=self,
            limit=-1 if self.recompile_limit is None else self.recompile_limit,
            guard_filter=guard_filter(self.guard_filter_fn) if self.guard_filter_fn else None,
        )
        if isinstance(fn, _capture.Wrapper):  # what was set on the outer one counts
            vars(compiled).update(vars(fn))
        if type(compiled.wrapped_function) is FunctionType:
            # Dynamo takes whatever looks like a function for one, and looks through what has this attribute.
            vars(compiled)["_torchdynamo_inline"] = compiled.wrapped_function
            # Programs and torch ask by this whether, and of what, a function is a compiled form.
            vars(compiled)["_torchdynamo_orig_callable"] = compiled.wrapped_function
        compiler_config = getattr(self.backend, "get_compiler_config", None)
        if compiler_config is not None:
            vars(compiled)["get_compiler_config"] = compiler_config
        cache.remember(compiled)
        return compiled

    def _class(self, cls: type) -> type:
        """Instances of a class are compiled where they are called."""
        name = "_call_impl" if is_module_class(cls) else "__call__"
        if not hasattr(cls, name) or (name == "__call__" and "__call__" not in _own_names(cls)):
            raise TypeError(f"stator.compile: instances of {cls.__name__} are not callable")
        setattr(cls, name, self.function(getattr(cls, name)))
        return cls

    def __enter__(self) -> None:
        if config.raise_on_ctx_manager_usage:
            raise RuntimeError(
                "stator.optimize(...) is meant as a decorator, or to be called with the function: "
                "compiled = stator.optimize(...)(fn). With config.raise_on_ctx_manager_usage = False a "
                "with-block captures the functions that are called in it, each on its own"
            )
        block = self.function(_nothing)
        _blocks.entered.append(block)
        block.enter_block()

    def __exit__(self, *exception: object) -> None:
        _blocks.entered.pop().leave_block()


def _context_again(
    asked: tuple[Any, str | None, Mapping[str, Any] | None],
    fullgraph: bool,
    dynamic: bool | None,
    guard_export_fn: Any,
    guard_fail_fn: Any,
    recompile_limit: int | None,
    guard_filter_fn: Any,
) -> OptimizeContext:
    from stator.backends.choice import choose

    return OptimizeContext(
        choose(*asked, dynamic),
        fullgraph,
        dynamic,
        guard_export_fn,
        guard_fail_fn,
        asked,
        recompile_limit,
        guard_filter_fn,
    )


class _Blocks(threading.local):
    """The with-blocks that a thread has entered."""

    def __init__(self) -> None:
        self.entered: list[_capture.Compiled[..., Any]] = []


_blocks = _Blocks()


def _nothing() -> None:
    """What a with-block compiles: the captures that matter are those of the functions called in it."""


def optimize(
    backend: Any = "inductor",
    *,
    nopython: bool = False,
    guard_export_fn: Callable[[list[str]], object] | None = None,
    guard_fail_fn: Callable[[str], object] | None = None,
    disable: bool = False,
    dynamic: bool | None = None,
    recompile_limit: int | None = None,
    guard_filter_fn: Callable[[list[GuardEntry]], Sequence[bool]] | None = None,
) -> Any:
    """A context that compiles what it is called with; `nopython=True` wants one whole graph.

    `guard_export_fn` receives the guards of each new entry; `guard_fail_fn` the guard that failed before a
    further capture, in words. `guard_filter_fn` receives the guards of each new entry and says for each
    whether it counts.

    >>> import torch
    >>> optimize("native")(torch.sin)(torch.zeros(2))
    tensor([0., 0.])
    """
    for name, flag in (("nopython", nopython), ("disable", disable)):
        require("optimize", name, flag, bool)
    require("optimize", "dynamic", dynamic, bool, None)
    require("optimize", "recompile_limit", recompile_limit, int, None)
    if disable or is_disabled():
        return _unchanged
    from stator.backends.choice import choose

    return OptimizeContext(
        choose(backend, None, None, dynamic),
        nopython,
        dynamic,
        guard_export_fn,
        guard_fail_fn,
        (backend, None, None),
        recompile_limit,
        guard_filter_fn,
    )


def optimize_assert(backend: Any = "inductor", **settings: Any) -> Any:
    """`optimize` with one whole graph or an error."""
    return optimize(backend, nopython=True, **settings)


def _unchanged(fn: Any) -> Any:
    return fn


class _Stance:
    """Treats this thread's calls of compiled functions in one way for a while."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._before: list[str] = []

    def __enter__(self) -> None:
        self._before.append(_capture.set_stance(self._name))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _capture.set_stance(self._before.pop())


@overload
def run(fn: F) -> F: ...
@overload
def run(fn: None = None) -> "_RunOnly": ...
def run(fn: Any = None) -> Any:
    """A callable that uses what is cached for `fn` and never captures.

    Without `fn`: a decorator, and a context manager in which compiled functions do the same.

    >>> import stator, torch
    >>> double = stator.compile(lambda x: x * 2, backend="native")
    >>> run(double)(torch.ones(1))
    tensor([2.])
    >>> stator.cache_entries(double)
    []
    """
    if fn is None:
        return _RunOnly()
    target = fn if isinstance(fn, _capture.Compiled) or is_module(fn) else _latest(fn)

    @functools.wraps(fn if callable(fn) and hasattr(fn, "__name__") else type(fn))
    def only_cached(*args: Any, **kwargs: Any) -> Any:
        with _Stance("run_only"):
            return target(*args, **kwargs)

    return only_cached


class _RunOnly(_Stance):
    """`run` without a function."""

    def __init__(self) -> None:
        super().__init__("run_only")

    def __call__(self, fn: F) -> F:
        return run(fn)


def _latest(fn: Any) -> Any:
    """The compiled form of a function that was made last, or the function itself."""
    found = cache.compiled_forms(fn)
    return found[-1] if found else fn


class _Disable:
    """`disable` without a function: a decorator and a context manager."""

    def __init__(self, recursive: bool) -> None:
        self._recursive = recursive
        self._stance = _Stance("force_eager")

    def __call__(self, fn: F) -> F:
        return disable(fn, recursive=self._recursive)

    def __enter__(self) -> None:
        self._stance.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stance.__exit__(kind, error, trace)


@overload
def disable(fn: F, recursive: bool = True, *, reason: str | None = None) -> F: ...
@overload
def disable(fn: None = None, recursive: bool = True, *, reason: str | None = None) -> _Disable: ...
def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Never capture `fn`, nor (unless `recursive=False`) what it calls.

    Functions, modules, and classes, whose `__init__` and `__call__` are marked. Without `fn`: a decorator,
    and a context manager in which compiled functions run as they are.

    >>> @disable
    ... def looks_around():
    ...     return sorted(globals())
    """
    require("disable", "recursive", recursive, bool)
    if fn is None:
        return _Disable(recursive)
    if not callable(fn) and not isinstance(fn, staticmethod | classmethod):
        raise TypeError(f"stator.disable: a callable is needed, not {type(fn).__name__}")
    mark = "disabled" if recursive else "skipped"
    if is_module(fn):
        fn.forward = _capture.Marked(fn.forward, mark)
        return fn
    if inspect.isclass(fn):
        names = ["__init__", "forward"] if is_module_class(fn) else ["__init__", "__call__"]
        for name in names:
            if name in _own_names(fn):
                setattr(fn, name, _capture.Marked(getattr(fn, name), mark))
        return fn
    if isinstance(fn, staticmethod | classmethod):
        return type(fn)(disable(fn.__func__, recursive))
    return _capture.Marked(innermost_fn(fn), mark)


def assume_constant_result(fn: F) -> F:
    """Call `fn` once, when it is captured, and keep what it returns as a constant of that capture.

    >>> import os, stator, torch
    >>> @assume_constant_result
    ... def processors():
    ...     return os.cpu_count()
    >>> compiled = stator.compile(lambda x: x * processors(), backend="native", fullgraph=True)
    >>> bool(compiled(torch.ones(1)) == os.cpu_count())
    True
    """
    if not callable(fn):
        raise TypeError(f"stator.assume_constant_result: a callable is needed, not {type(fn).__name__}")
    marked: F = _marked(fn, "constant")
    return marked


@overload
def allow_in_graph(fn: F) -> F: ...
@overload
def allow_in_graph(fn: Sequence[F]) -> list[F]: ...
def allow_in_graph(fn: Any) -> Any:
    """Make calls of `fn` (or of each function of a list) one node of the graph, and do not look inside.

    It must take and return tensors and constants, and depend on nothing else that changes.

    >>> import stator, torch
    >>> @allow_in_graph
    ... def looked_up(x):
    ...     return x + 1
    >>> stator.explain(lambda x: looked_up(x) * 2)(torch.zeros(1)).graph_break_count
    0
    """
    if isinstance(fn, list | tuple):
        return [allow_in_graph(each) for each in fn]
    if not callable(fn):
        raise TypeError(f"stator.allow_in_graph: a callable is needed, not {type(fn).__name__}")
    return _marked(fn, "opaque")


def _marked(fn: Callable[..., Any], mark: str) -> Any:
    """A Python function is marked in place, so that those who hold it already are served as well."""
    # Not isinstance: wrappers of ours answer it as functions do.
    return _capture.mark_function(fn, mark) if type(fn) is FunctionType else _capture.Marked(fn, mark)


def innermost_fn(fn: Any) -> Any:
    """The callable inside nested contexts of ours, and of torch's.

    >>> import stator, torch
    >>> innermost_fn(stator.compile(stator.disable(torch.sin), backend="native")) is torch.sin
    True
    """
    while True:
        if isinstance(fn, _capture.Compiled | _capture.Marked):
            fn = fn.wrapped_function
        elif isinstance(fn, MethodType):
            # Attributes of a bound method are those of its function, which knows nothing of `self`.
            inner = innermost_fn(fn.__func__)
            return fn if inner is fn.__func__ else MethodType(inner, fn.__self__)
        elif _is_torch_wrapper(fn):
            fn = fn._torchdynamo_orig_callable
        else:
            return fn


def _is_torch_wrapper(fn: Any) -> bool:
    """Whether `torch.compile` or `torch.compiler.disable` made this function.

    Its attributes alone do not tell: a decorator of the program's around it (`functools.wraps`) has them too.
    """
    if not isinstance(fn, FunctionType) or "_torchdynamo_orig_callable" not in vars(fn):
        return False
    return fn.__code__.co_filename in {
        getattr(sys.modules.get(name), "__file__", None)
        for name in ("torch._dynamo.eval_frame", "torch._dynamo.external_utils")
    }


def is_module(fn: Any) -> bool:
    """Whether it is an instance of torch.nn.Module, asked without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(fn, torch.nn.Module)


def is_module_class(cls: type) -> bool:
    """Whether it is a subclass of torch.nn.Module, asked without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and issubclass(cls, torch.nn.Module)


def _own_names(cls: type) -> Iterable[str]:
    """The names that the class or a base other than object defines."""
    return {name for base in cls.__mro__[:-1] for name in vars(base)}
