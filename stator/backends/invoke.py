"""Hands a captured graph to a Python backend (called from src/backends/fx/fx_program.cpp)."""

import contextlib
import functools
import itertools
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from types import MethodType
from typing import Any

from stator._capture import call_with_attributes
from stator.backends import reproduction, tracing_context
from stator.backends.error_classes import raised_as
from stator.backends.progress import told_on_terminal
from stator.backends.traits import note_refusal, traits_of
from stator.config import config

log = logging.getLogger("stator")


BACKEND_SECONDS = "stator_backend_seconds"
"""Where the `meta` of a graph module says how long its backend took."""


class BackendFailed(RuntimeError):
    """A backend raised while it compiled a graph; its own exception is the cause."""

    def __init__(self, backend: Callable[..., Any], error: BaseException, module: Any = None) -> None:
        self.backend_name = name_of(backend)
        self.inner_exception = error
        self.graph_module = module
        """What the backend was given."""
        parts = [f"backend {self.backend_name!r} raised {type(error).__name__}: {error}"]
        if module is not None:
            parts += ["The graph that it was given:", _shortened(str(module.code).strip())]
            parts.append(_reproduction(backend, module, error))
        parts.append(
            "The backend's own error is above. stator.config.suppress_errors = True runs such code natively."
        )
        RuntimeError.__init__(self, "\n".join(parts))  # not super(): see error_classes.py


def _shortened(code: str, most: int = 40) -> str:
    lines = code.splitlines()
    if len(lines) > most:
        left_out = len(lines) - most
        half = most // 2
        lines = [*lines[:half], f"    … {left_out} lines (the whole is .graph_module) …", *lines[-half:]]
    return "\n".join(f"  {line}" for line in lines)


def _reproduction(backend: Callable[..., Any], module: Any, error: BaseException) -> str:
    """Where the file is that does the same, or how to get one."""
    if not reproduction.is_wanted():
        return "STATOR_REPRO=after_capture in the environment writes it as a file that runs by itself."
    try:
        return f"A file that does the same: {reproduction.write(backend, name_of(backend), module, error)}"
    except Exception as failure:  # must not hide the backend's own error
        return f"No file could be written that does the same: {type(failure).__name__}: {failure}"


def name_of(backend: Callable[..., Any]) -> str:
    """The name that the backend gives itself, for messages."""
    name = getattr(backend, "compiler_name", None) or getattr(backend, "__name__", None)
    return str(name or type(backend).__name__)


def compile_graph(
    backend: Callable[..., Any],
    module: Any,
    examples: list[Any],
    symbols: Any = None,
    overlapping: bool = False,
    data_parallel: Any = None,
) -> Callable[..., Any] | frozenset[int] | None:
    """The callable that the backend makes of the graph; None: run the function natively.

    `overlapping`: an input that is written shares memory with another one. Then the numbers of this call are
    all that the backend is given: it must see which memory is shared, and fake tensors of symbolic sizes do
    not show it.

    `data_parallel`: the DistributedDataParallel that exchanges the gradients of the graph's parameters.

    A set: the numbers of the floats that must not be symbols; the backend wants the graph made with these.
    """
    context = getattr(backend, "backend_ctx_ctor", contextlib.nullcontext)

    from stator.backends import aot_settings, undefined_gradients  # import torch

    def compile_part(part: Any, given: list[Any]) -> Any:
        def call_backend() -> Any:
            with aot_settings.around(part), undefined_gradients.left_out():
                return backend(part, given)

        return tracing_context.call(part, overlapping, call_backend)

    compile_parts: Any = compile_part
    if data_parallel is not None and not overlapping and not traits_of(backend).reads_values:
        from stator.backends.gradient_buckets import in_parts  # imports torch

        compile_parts = in_parts(compile_part, data_parallel, module, examples)
    try:
        if symbols is not None and overlapping:
            examples = [*symbols.fixed_values(), *examples]
        elif symbols is not None:
            examples = _symbolic_examples(module)
        start = time.perf_counter()
        with _compiling, context(), told_on_terminal(_task(backend, module)):
            compiled = _as_dynamo_calls(lambda: compile_parts(module, examples))
        module.meta[BACKEND_SECONDS] = time.perf_counter() - start
        if not callable(compiled):
            raise TypeError(f"the backend returned {type(compiled).__name__}, not a callable")
        compiled = _past_hooks(compiled, module)
        _count(module)
    except Exception as error:
        if symbols is not None and (refused := _refused_floats(error, symbols, module)):
            fixed: frozenset[int] = symbols.fixed
            return fixed | refused
        note_refusal(backend, module)
        if isinstance(error, IndexError) and not config.suppress_errors:
            raise  # a dimension out of range is the program's, and torch.compile passes it on as it is
        if not config.suppress_errors and not _is_fallback(error, module):
            raise raised_as(BackendFailed)(backend, error, module) from error
        log.warning("backend %r failed, the function runs natively", name_of(backend), exc_info=True)
        return None
    if context is contextlib.nullcontext:
        return compiled  # type: ignore[no-any-return]

    @functools.wraps(compiled)
    def in_context(*inputs: Any) -> Any:
        with context():
            return compiled(*inputs)

    return in_context


def _is_fallback(error: Exception, module: Any) -> bool:
    """Whether the backend says that it cannot compile the graph, which costs torch.compile but a break.

    Fake tensors say so of operators whose result depends on values, or that they do not know; a function of
    the program's that is one node is to blame itself.
    """
    fakes, dynamo = sys.modules.get("torch._subclasses.fake_tensor"), sys.modules.get("torch._dynamo.exc")
    if dynamo is not None and isinstance(error, dynamo.SkipFrame):
        return True
    kinds = tuple(getattr(fakes, name) for name in _FAKE_REFUSALS if hasattr(fakes, name))
    values = module.meta.get("stator_fakes")
    return isinstance(error, kinds) and not getattr(values, "finds_tensors", False)


_FAKE_REFUSALS = (
    "DataDependentOutputException",
    "DynamicOutputShapeException",
    "UnsupportedOperatorException",
    "UnsupportedFakeTensorException",
    "UnsupportedMutationAliasingException",
)


# Lets one thread at a time compile: what traces graphs in torch keeps its state in the process. A lock of C
# code: an interrupt between taking it and entering the block, in Python code, would leave it taken for good.
_compiling = threading.RLock()


def _renew_lock() -> None:
    global _compiling
    _compiling = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)  # the thread that held it is not in the child


def _task(backend: Callable[..., Any], module: Any) -> str:
    return f"backend {name_of(backend)!r} compiles a graph of {len(module.graph.nodes)} nodes"


_compilations = itertools.count()


def _as_dynamo_calls(function: Callable[[], Any]) -> Any:
    """What backends and programs find around a compilation by TorchDynamo: its number, their callbacks."""
    guards = sys.modules.get("torch._guards")
    if guards is None or guards.CompileContext.try_get() is not None:
        return _between_callbacks(function)
    number = guards.CompileId(frame_id=next(_compilations), frame_compile_id=0)
    # Not `guards.compile_context`: an interrupt in its Python code would leave the number there for good.
    context = {"compile_context": guards.CompileContext(number)}
    return call_with_attributes(guards._TLS, context, _between_callbacks, function)


def _between_callbacks(function: Callable[[], Any]) -> Any:
    callback = sys.modules.get("torch._dynamo.callback")
    if callback is None:
        return function()
    handler, trigger = callback.callback_handler, callback.CallbackTrigger.DYNAMO
    if not handler.start_callbacks and not handler.end_callbacks:
        return function()
    guards = sys.modules.get("torch._guards")
    number = guards.CompileContext.current_compile_id() if guards is not None else None
    with handler.install_callbacks(trigger, str(number)):
        return function()


def _count(module: Any) -> None:
    """Add to the counts that programs read from `torch._dynamo.utils.counters`, where that was loaded."""
    theirs = sys.modules.get("torch._dynamo.utils")
    if theirs is not None:
        calls = sum(node.op.startswith("call_") for node in module.graph.nodes)
        theirs.counters["stats"]["unique_graphs"] += 1
        theirs.counters["stats"]["calls_captured"] += calls
        theirs.counters["frames"]["total"] += 1
        theirs.counters["frames"]["ok"] += 1


def _refused_floats(error: Exception, symbols: Any, module: Any) -> frozenset[int]:
    """AOT autograd makes tensors of floats and wants a new graph where it cannot; Inductor returns none."""
    if type(error).__name__ != "TensorifyScalarRestartAnalysis":
        results = module.graph.output_node().all_input_nodes
        is_float = any(type(node.meta.get("val")).__name__ == "SymFloat" for node in results)
        return symbols.free_floats() if is_float else frozenset()
    from torch._dynamo.symbolic_convert import TensorifyState

    numbers = [symbols.number_of(name) for name in TensorifyState.force_specializations]
    TensorifyState.clear()
    return frozenset(number for number in numbers if number is not None)


def _past_hooks(compiled: Any, module: Any) -> Any:
    """What runs the graph and nothing else, where a backend gives its module back, or the module's forward.

    A call of the module would run the hooks of all modules, on one that the program does not have; so does a
    forward whose code is yet to be made.
    """
    is_module = compiled is module and not (module._forward_hooks or module._forward_pre_hooks)
    if not is_module and not (isinstance(compiled, MethodType) and compiled == module.forward):
        return compiled
    from stator.backends import checkpointed_regions  # imports torch

    module = checkpointed_regions.drawing_once(module)
    if hasattr(module, "real_recompile"):
        module.real_recompile()
    return module.forward


def _symbolic_examples(module: Any) -> list[Any]:
    """Inputs whose sizes are symbols: symbolic ints and fake tensors, in the order of the placeholders."""
    return [node.meta["val"] for node in module.graph.nodes if node.op == "placeholder"]
