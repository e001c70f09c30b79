"""`explain(f)(*args)`: what of a program was captured, where it broke and why, what is guarded."""

import os
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ParamSpec, overload

from stator import _capture
from stator.api.cache import CacheEntry, Guard, compiled_forms, entry_of, guard_of, rows_of
from stator.api.contexts import OptimizeContext, innermost_fn, is_module
from stator.backends.invoke import name_of
from stator.backends.traits import ATTRIBUTE, Traits
from stator.runtime.user_lines import Frame, line_text, own_position, place_of, stack_lines

P = ParamSpec("P")


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
    frames: tuple[Frame, ...] = ()
    """The same as (file, line, function)."""

    @property
    def own_frame(self) -> Frame | None:
        """The innermost frame of the program's own code; where there is none, of the packages it uses."""
        return self.frames[own_position(self.frames)] if self.frames else None

    @property
    def library_frame(self) -> Frame | None:
        """Where below that line, in code of a library, it happened; None: in that line itself."""
        return self.frames[-1] if self.frames and self.frames[-1] is not self.own_frame else None

    def __str__(self) -> str:
        where = f"{line_text(self.own_frame)}\n    " if self.own_frame else ""
        below = f"below it: {line_text(self.library_frame)}\n    " if self.library_frame else ""
        detail = f" ({self.detail})" if self.detail else ""
        hint = f"\n    hint: {self.hint}" if self.hint else ""
        return f"{where}{below}{self.code}: {self.reason}{detail}{hint}"


@dataclass
class ExplainOutput:
    """What `explain` found; `print` gives a summary, `html` a page, and a notebook shows that page."""

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
    function: str = ""
    """`name (file:line)` of what was explained."""
    backend: str = ""
    """The backend that the graphs went to."""
    recompiles: list[Guard] = field(default_factory=list)
    """The guard that failed before each further capture of a function."""

    @classmethod
    def of(cls, fn: Any) -> "ExplainOutput":
        """What was captured so far of a compiled function or module: nothing is called."""
        forms = compiled_forms(fn)
        if not forms:
            raise TypeError(f"ExplainOutput.of: a compiled function is needed, not {fn!r}")
        return output_of(forms[-1])

    @property
    def captured_share(self) -> float:
        """Of what ran, how much came from graphs: operators in graphs to these and the breaks.

        A break runs one instruction natively; what stands before and behind it is captured.
        """
        met = self.op_count + self.graph_break_count
        return self.op_count / met if met else 1.0

    def __str__(self) -> str:
        lines = [
            f"Function: {self.function}",
            f"Backend: {self.backend}",
            f"Graphs: {self.graph_count}",
            f"Breaks: {self.graph_break_count}",
            f"Operators: {self.op_count}",
            f"Captured: {self.captured_share:.0%}",
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
        lines += self._guard_lines()
        for guard in self.recompiles:
            lines.append(f"Captured again, for this no longer held: {guard}")
        for name in self.left_to_python:
            lines.append(f"Runs without capture, for it has no operators: {name}")
        return "\n".join(lines)

    def _guard_lines(self, most: int = 8) -> list[str]:
        """Guards on arguments, which change most easily; the page has all of them."""
        known = dict.fromkeys(self.out_guards)
        shown = [guard for guard in known if guard.source.startswith("L[")][:most]
        lines = [f"Guard: {guard}  (relied on at {guard.user_line})" for guard in shown]
        return [*lines, f"… and {len(known) - len(shown)} more guards: out_guards"] if shown else lines

    def html(self, path: "str | os.PathLike[str] | None" = None) -> str:
        """The page with everything, in one file that needs nothing else; its text."""
        from stator.report.page import page

        text = page([self], title=f"Stator: {self.function.split(' (')[0]}")
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def _repr_html_(self) -> str:
        from stator.report.page import in_frame

        return in_frame(self.html())


@overload
def explain(f: Callable[P, Any], /) -> Callable[P, ExplainOutput]: ...
@overload
def explain(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> ExplainOutput: ...
def explain(f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A function that calls `f` once and tells what was captured: `print(explain(f)(x))`.

    A compiled `f` is explained as its backend would see it, another one as a backend in Python would.

    >>> import torch
    >>> output = explain(lambda x: x.sin() + 1)(torch.ones(3))
    >>> output.graph_count, output.graph_break_count, output.op_count
    (1, 0, 2)
    """
    if not callable(f):
        raise TypeError(f"stator.explain: a callable is needed, not {type(f).__name__}")

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
    context = _context_of(f)
    compiled = context.function(fn)
    compiled(*args, **kwargs)
    return output_of(compiled)


def output_of(compiled: "_capture.Compiled[..., Any]") -> ExplainOutput:
    """What was captured so far of a compiled function and of what it calls."""
    callees = compiled.callees
    entries = [entry_of(row) for row in rows_of(compiled)]
    with_operators = [entry for entry in entries if entry.nodes]
    graphs = [entry.graph_module or entry.graph for entry in with_operators]
    ops = [_operators(graph) for graph in graphs]
    reasons = _break_reasons(compiled)
    misses = [*compiled.misses, *(miss for callee in callees for miss in callee["misses"])]
    backend = compiled.backend
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
        left_to_python=[callee["name"] for callee in callees if callee["left_to_python"]],
        function=place_of(compiled.wrapped_function),
        backend=backend if isinstance(backend, str) else name_of(backend),
        recompiles=[guard_of(miss) for miss in misses],
    )


def any_backend(gm: Any, example_inputs: Any) -> Any:
    """Stands for the backend of a function that is not compiled: it is given what any one would be given."""
    return gm.forward


setattr(any_backend, "compiler_name", "any")  # noqa: B010  (mypy knows no attributes of functions)
setattr(any_backend, ATTRIBUTE, Traits(reads_values=True))


def _context_of(f: Any) -> OptimizeContext:
    """The options of a compiled function or module, without what it asked to be told."""
    context = getattr(f, "_context", None) if is_module(f) else getattr(f, "context", None)
    if not isinstance(context, OptimizeContext):
        return OptimizeContext(any_backend)
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
        code=stop["code"],
        reason=stop["message"],
        detail=stop["detail"],
        hint=stop["hint"],
        user_stack=stack_lines(stop["stack"]),
        frames=tuple(stop["stack"]),
    )
