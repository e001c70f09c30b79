"""Results of a compiled graph that get no gradient take no part in its backward.

AOT autograd traces one backward for all results of a graph and runs it with zeros for those that get no
gradient. Eager code has nothing there: zeros times an infinite derivative are NaN, and what only such results
depend on gets a gradient of zeros. A segment makes such results of all variables that nobody reads again.
So a backward without them is derived from the traced one, for each set of them that comes.

And gradients that it gives as views of one memory are separated: torch adds the next ones to them in place.
"""

import copy
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from stator._torch import undefined_gradients, watch_gradients, without_shared_memory
from torch import fx

# A mark in the class, not a set of weak references: an interrupt in their callbacks would be lost.
_PREPARED = "_stator_prepared"


@contextmanager
def left_out() -> Iterator[None]:
    """Graphs that AOT autograd compiles in here do so."""
    before = set(torch.autograd.Function.__subclasses__())
    yield
    if "torch._functorch.aot_autograd" in sys.modules:
        for each in torch.autograd.Function.__subclasses__():
            if each not in before and "_lazy_backward_info" in vars(each):
                _prepare(each)


class _Undefined:
    """Stands for a gradient that does not come: what AOT autograd makes of gradients passes it on."""

    def __init__(self, zeros: torch.Tensor) -> None:
        self.zeros = zeros


def _prepare(function: Any) -> None:
    """A class of AOT autograd, whose `forward` and `backward` run a compiled graph."""
    if _PREPARED in vars(function):
        return
    setattr(function, _PREPARED, True)
    _separate(function)
    parts = _Parts(function)
    if function.maybe_subclass_metadata is None and parts.traced() is not None:
        _leave_out(function, parts)


def _separate(function: Any) -> None:
    backward = function.backward

    def separate_backward(ctx: Any, *given: Any) -> Any:
        return without_shared_memory(backward(ctx, *given))

    function.backward = staticmethod(separate_backward)


def _leave_out(function: Any, parts: "_Parts") -> None:
    forward, backward, run_compiled = function.forward, function.backward, function._backward_impl

    def watched_forward(ctx: Any, *inputs: Any) -> Any:
        watch_gradients(ctx)
        return forward(ctx, *inputs)

    def marked_backward(ctx: Any, *given: Any) -> Any:
        undefined = undefined_gradients(ctx)
        if undefined:
            boxed = len(given) == 1 and isinstance(given[0], list)
            gradients = given[0] if boxed else list(given)
            for i in undefined:
                if isinstance(gradients[i], torch.Tensor):
                    gradients[i] = _Undefined(gradients[i])
            given = given if boxed else tuple(gradients)
        return backward(ctx, *given)

    def run_what_is_defined(ctx: Any, arguments: list[Any]) -> Any:
        places = frozenset(i for i, each in enumerate(arguments) if isinstance(each, _Undefined))
        # torch's own may write to what the forward kept. It refuses to where the graph is to be used again.
        keeps_graph = torch._C._autograd._get_current_graph_task_keep_graph()
        if not places and not (keeps_graph and function.metadata.bw_donated_idxs):
            return run_compiled(ctx, arguments)
        ctx.maybe_clear_saved_tensors()
        return parts.backward_without(places).run(arguments)

    function.forward = staticmethod(watched_forward)
    function.backward = staticmethod(marked_backward)
    function._backward_impl = staticmethod(run_what_is_defined)


class _Parts:
    """The traced backward of a compiled graph, and those that were taken out of it."""

    def __init__(self, function: Any) -> None:
        self._info = function._lazy_backward_info
        cells = dict(_cells(function._backward_impl))
        holders = (cells.get(name) for name in ("backward_compiler", "aot_config"))
        self._compiler = next((holder.bw_compiler for holder in holders if holder is not None), None)
        self._without_autocast = bool(cells.get("disable_amp"))
        self._made: dict[frozenset[int], _Backward] = {}

    def traced(self) -> Any:
        """Its graph; None where torch did not keep it."""
        if hasattr(self._info, "bw_module"):
            return self._info.bw_module
        return self._info.bw_module_fn() if hasattr(self._info, "bw_module_fn") else None

    def backward_without(self, places: frozenset[int]) -> "_Backward":
        made = self._made.get(places)
        if made is None:
            module, left = without(self.traced(), places)
            made = self._made[places] = _Backward(self._compiled(module, left), left, self._without_autocast)
        return made

    def _compiled(self, module: fx.GraphModule, left: list[int]) -> Callable[..., Any]:
        from torch._functorch._aot_autograd.utils import make_boxed_func

        examples = getattr(self._info, "placeholder_list", None)
        computes = any(node.op not in ("placeholder", "output") for node in module.graph.nodes)
        if self._compiler is None or examples is None or not computes:
            return make_boxed_func(module.forward)
        with self._as_when_traced():
            compiled: Callable[..., Any] = self._compiler(module, [examples[i] for i in left])
        return compiled

    @contextmanager
    def _as_when_traced(self) -> Iterator[None]:
        from torch._guards import compile_context, tracing

        context = self._info.saved_context
        metadata: Any = getattr(context, "fw_metadata", None)
        lent = getattr(metadata, "bw_donated_idxs", None)
        with ExitStack() as entered:
            entered.enter_context(tracing(context))
            entered.enter_context(compile_context(self._info.saved_compile_context))
            if self._without_autocast:
                entered.enter_context(torch._C._DisableAutocast())
            if lent is not None:
                # Memory that the whole backward may write to. Whether it may depends on a run of the engine.
                metadata.bw_donated_idxs = []
                entered.callback(setattr, metadata, "bw_donated_idxs", lent)
            yield


def _cells(function: Any) -> Iterable[tuple[str, Any]]:
    return zip(
        function.__code__.co_freevars, (cell.cell_contents for cell in function.__closure__), strict=True
    )


class _Backward:
    """A compiled backward for some of the results."""

    def __init__(self, compiled: Callable[..., Any], left: list[int], without_autocast: bool) -> None:
        self._compiled = compiled
        self._left = left
        self._without_autocast = without_autocast

    def run(self, arguments: list[Any]) -> Any:
        from torch._functorch._aot_autograd.utils import call_func_at_runtime_with_args

        given = [_zeros_for(arguments[i]) for i in self._left]
        arguments.clear()
        return call_func_at_runtime_with_args(
            self._compiled, given, steal_args=True, disable_amp=self._without_autocast
        )


def _zeros_for(argument: Any) -> Any:
    return argument.zeros if isinstance(argument, _Undefined) else argument


def without(module: fx.GraphModule, places: frozenset[int]) -> tuple[fx.GraphModule, list[int]]:
    """The backward where the gradients at these places of its arguments are undefined; what it still takes.

    An operator whose gradients are all undefined gives none, whatever it computes: autograd does not call it.
    A sum of gradients is the other one. What else takes an undefined gradient beside others takes zeros.
    """
    module = copy.deepcopy(module)
    graph = module.graph
    arguments = graph.find_nodes(op="placeholder")
    gradients = {node for node in arguments if "tangents" in node.name}
    undefined = {arguments[i] for i in places}
    for node in list(graph.nodes):
        given = [each for each in node.all_input_nodes if each in gradients]
        if not given or node.op == "output":
            continue
        gradients.add(node)
        missing = [each for each in given if each in undefined]
        if not missing:
            continue
        if len(missing) == len(given) and not _writes(node):
            undefined.add(node)
        elif not _writes(node) and (other := _other_summand(node, missing)) is not None:
            node.replace_all_uses_with(other)
        else:
            for each in missing:
                _put_zeros(graph, node, each)
    output = graph.output_node()
    output.args = fx.map_arg(output.args, lambda node: None if node in undefined else node)
    graph.eliminate_dead_code()
    left = [i for i, node in enumerate(arguments) if i not in places or node.users]
    for i in places.difference(left):
        graph.erase_node(arguments[i])
    module.recompile()
    return module, left


def _writes(node: fx.Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return node.is_impure() or (schema is not None and schema.is_mutable)


def _other_summand(node: fx.Node, missing: list[fx.Node]) -> fx.Node | None:
    """What a sum of two gradients is without the one that is missing; None if it is no such sum."""
    if node.target is not torch.ops.aten.add.Tensor or node.kwargs or len(node.args) != 2:
        return None
    (other,) = [each for each in node.args if each not in missing] or [None]
    if not isinstance(other, fx.Node):
        return None
    mine: Any = node.meta.get("val")
    its: Any = other.meta.get("val")
    alike = isinstance(mine, torch.Tensor) and isinstance(its, torch.Tensor) and mine.dtype == its.dtype
    return other if alike and mine.shape == its.shape else None


def _put_zeros(graph: fx.Graph, node: fx.Node, gradient: fx.Node) -> None:
    """Where the gradient stands. Of that only sizes are read that are symbols."""
    value: Any = gradient.meta.get("val")
    if value is None:  # read from torch's cache: nobody compiles it
        with graph.inserting_before(node):
            node.replace_input_with(
                gradient, graph.call_function(torch.ops.aten.zeros_like.default, (gradient,))
            )
        return
    with graph.inserting_before(node):
        sizes: list[Any] = list(value.shape)
        for i, size in enumerate(sizes):
            if not isinstance(size, int):
                sizes[i] = graph.call_function(torch.ops.aten.sym_size.int, (gradient, i))
                sizes[i].meta["val"] = size
        like = {"dtype": value.dtype, "layout": value.layout, "device": value.device, "pin_memory": False}
        zeros = graph.call_function(torch.ops.aten.full.default, (sizes, 0), like)
    zeros.meta["val"] = torch.empty_like(value, memory_format=torch.contiguous_format)
    node.replace_input_with(gradient, zeros)
