"""The function `export` and what it gives."""

import inspect
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from stator.api.cache import Guard, guard_of
from stator.api.contexts import innermost_fn, is_module


class ExportResult(NamedTuple):
    """What `export` found; unpacks as a pair."""

    graph_module: Any
    """A torch.fx.GraphModule that takes and returns what the program does."""
    guards: list[Guard]
    """What the graph relies on."""


def export(
    f: Callable[..., Any],
    *extra_args: Any,
    aten_graph: bool = False,
    pre_dispatch: bool = False,
    decomposition_table: Mapping[Any, Callable[..., Any]] | None = None,
    tracing_mode: str = "symbolic",
    dynamic_shapes: Mapping[str, Any] | Sequence[Any] | None = None,
    specialize_float: bool = True,
    assume_static_by_default: bool = False,
    same_signature: bool = True,
    disable_constraint_solver: bool = False,
    prefer_deferred_runtime_asserts_over_guards: bool = False,
    _log_export_usage: bool = True,
    **extra_kwargs: Any,
) -> Any:
    """A function that, called with example arguments, gives one graph of all that `f` does: `export(f)(x)`.

    A program that breaks is an error. `aten_graph` traces the graph once more, to operators of ATen below
    autograd (`pre_dispatch`: above it), with `decomposition_table`. `tracing_mode="symbolic"` leaves sizes
    open, unless `assume_static_by_default`; `dynamic_shapes`, as `torch.export` takes them, names those that
    must stay open: a program that fixes one is an error. With `same_signature` the module takes and
    returns what `f` does; without it, the tensors that the graph reads and gives.

    >>> import torch
    >>> module, guards = export(lambda x: {"sum": x + 1})(torch.zeros(2))
    >>> module(torch.ones(2))
    {'sum': tensor([2., 2.])}
    """
    if not callable(f):
        raise TypeError(f"stator.export: a callable is needed, not {type(f).__name__}")
    if decomposition_table is not None and not aten_graph:
        raise AssertionError("stator.export: a decomposition_table needs aten_graph=True")
    if pre_dispatch and not aten_graph:
        raise AssertionError("stator.export: pre_dispatch=True needs aten_graph=True")

    def exported(*args: Any, **kwargs: Any) -> ExportResult:
        from stator.export import capture, constraint, signature, size_asserts

        plain = f._orig_mod if is_module(f) and hasattr(f, "_orig_mod") else innermost_fn(f)
        parameters = _signature_of(plain)
        is_symbolic = tracing_mode == "symbolic" and not assume_static_by_default
        arguments = signature.Arguments(args, kwargs, parameters)
        captured = capture.capture(plain, arguments, is_symbolic or dynamic_shapes is not None)
        if captured is None and not same_signature:
            raise AssertionError(
                "Failed to produce a graph during tracing as no tensor operations were found and "
                "same_signature is False."
            )
        captured = captured or capture.nothing(plain, arguments)
        graph = signature.flat_graph(captured, arguments, plain)
        if dynamic_shapes is not None and not disable_constraint_solver:
            constraint.check(graph, captured, plain, arguments, dynamic_shapes)
        if aten_graph:
            graph = signature.traced_again(graph, decomposition_table, pre_dispatch)
        if is_symbolic or dynamic_shapes is not None:
            size_asserts.add(graph, captured.guards, parameters, arguments)
        else:
            size_asserts.add_fixed(graph)
        if same_signature:
            graph = signature.with_signature(graph, captured, arguments, parameters)
        return ExportResult(graph, [guard_of(text, "") for text in captured.guards])

    if extra_args or extra_kwargs:
        warnings.warn(
            "export(f, *args, **kwargs) is an old form: write export(f)(*args, **kwargs)",
            FutureWarning,
            stacklevel=2,
        )
        return exported(*extra_args, **extra_kwargs)
    return exported


def _signature_of(f: Any) -> inspect.Signature:
    return inspect.signature(f.forward if is_module(f) else f)


def setting(name: str) -> bool:
    """A setting of TorchDynamo's for its own export."""
    config: Any = sys.modules.get("torch._dynamo.config")
    return bool(getattr(config, name, False))
