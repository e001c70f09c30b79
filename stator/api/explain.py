"""`explain(f)(*args)`: what of a program was captured, where it broke and why, what is guarded."""

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from stator.api.cache import CacheEntry, Guard, entry_of, rows_of
from stator.api.contexts import OptimizeContext, innermost_fn, is_module
from stator.runtime.user_lines import stack_lines


@dataclass(frozen=True, slots=True)
class BreakReason:
    """Why something was not captured."""

    code: str
    """The name of the reason: docs and searches go by it."""
    reason: str
    detail: str
    hint: str
    """What can be done about it; may be empty."""
    user_stack: tuple[str, ...]
    """`file:line: source`, innermost last."""

    def __str__(self) -> str:
        where = f"{self.user_stack[-1]}\n    " if self.user_stack else ""
        detail = f" ({self.detail})" if self.detail else ""
        hint = f"\n    hint: {self.hint}" if self.hint else ""
        return f"{where}{self.code}: {self.reason}{detail}{hint}"


@dataclass
class ExplainOutput:
    """What `explain` found; `print` gives a summary."""

    graphs: list[Any]
    """torch.fx.GraphModules, in the order they were captured; of a backend in C++, the graphs as text.

    Only graphs with operators: no backend is given others.
    """
    graph_count: int
    graph_break_count: int
    break_reasons: list[BreakReason]
    op_count: int
    ops_per_graph: list[list[Any]]
    """The operators of each graph, in order."""
    out_guards: list[Guard]
    compile_times: list[float]
    """Seconds, by graph."""
    entries: list[CacheEntry] = field(default_factory=list, repr=False)
    """All captures, also those without operators."""
    left_to_python: list[str] = field(default_factory=list)
    """Functions that, after a break, were served a few times without any operator: CPython runs them now."""

    def __str__(self) -> str:
        lines = [
            f"Graphs: {self.graph_count}",
            f"Breaks: {self.graph_break_count}",
            f"Operators: {self.op_count}",
            f"Guards: {len(self.out_guards)}",
            f"Time: {sum(self.compile_times) * 1e3:.1f} ms",
        ]
        for i, why in enumerate(self.break_reasons):
            lines.append(f"Break {i + 1}: {why}")
        told = [entry.told_compiling for entry in self.entries if entry.nodes]
        for i, ops in enumerate(self.ops_per_graph):
            shown = ", ".join(str(op) for op in ops[:12]) + (", …" if len(ops) > 12 else "")
            asked = "" if told[i] is None else f" (is_compiling() was {told[i]})"
            lines.append(f"Graph {i + 1}: {len(ops)} operators{asked}: {shown}")
        for name in self.left_to_python:
            lines.append(f"Runs without capture, for it has no operators: {name}")
        return "\n".join(lines)


def explain(f: Any, *args: Any, **kwargs: Any) -> Any:
    """A function that calls `f` once and tells what was captured: `print(explain(f)(x))`.

    A compiled `f` is explained as its backend would see it, another one as a backend in Python would.
    """

    def explained(*args: Any, **kwargs: Any) -> ExplainOutput:
        return _explain(f, args, kwargs)

    if args or kwargs:
        warnings.warn(
            "explain(f, *args) is an old form: write explain(f)(*args)", FutureWarning, stacklevel=2
        )
        return explained(*args, **kwargs)
    return explained


def _explain(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> ExplainOutput:
    fn = f._orig_mod if is_module(f) and hasattr(f, "_orig_mod") else innermost_fn(f)
    compiled = _context_of(f).function(fn)
    compiled(*args, **kwargs)
    entries = [entry_of(row) for row in rows_of(compiled)]
    with_operators = [entry for entry in entries if entry.nodes]
    graphs = [entry.graph_module or entry.graph for entry in with_operators]
    ops = [_operators(graph) for graph in graphs]
    reasons = _break_reasons(compiled)
    return ExplainOutput(
        graphs=graphs,
        graph_count=len(graphs),
        graph_break_count=len(reasons),
        break_reasons=reasons,
        op_count=sum(len(each) for each in ops),
        ops_per_graph=ops,
        out_guards=[guard for entry in entries for guard in entry.guards],
        compile_times=[entry.seconds for entry in with_operators],
        entries=entries,
        left_to_python=[callee["name"] for callee in compiled.callees if callee["left_to_python"]],
    )


def _run_graph(gm: Any, example_inputs: Any) -> Any:
    """What any backend in Python is given."""
    return gm.forward


def _context_of(f: Any) -> OptimizeContext:
    """The options of a compiled function or module, without what it asked to be told."""
    context = getattr(f, "_context", None) if is_module(f) else getattr(f, "context", None)
    if not isinstance(context, OptimizeContext):
        return OptimizeContext(_run_graph)
    return OptimizeContext(context.backend, dynamic=context.dynamic)


def _operators(graph: Any) -> list[Any]:
    """The operators of a graph in order; names where the graph is text."""
    if isinstance(graph, str):
        return re.findall(r"= ([a-z_]\w*::[\w.]+)", graph)
    return [node.target for node in graph.graph.nodes if node.op == "call_function"]


def _break_reasons(compiled: Any) -> list[BreakReason]:
    """Each place once: after a break the functions around it run natively and, called again, meet it too."""
    stops = [*compiled.stops, *(stop for callee in compiled.callees for stop in callee["stops"])]
    places: dict[Any, BreakReason] = {}
    for stop in stops:
        innermost = tuple(stop["stack"][-1:])
        places.setdefault((stop["code"], stop["detail"], innermost), _break_reason(stop))
    return list(places.values())


def _break_reason(stop: Any) -> BreakReason:
    return BreakReason(
        stop["code"], stop["message"], stop["detail"], stop["hint"], stack_lines(stop["stack"])
    )
