"""A graph inside of DistributedDataParallel is compiled in parts, so that gradients are exchanged early.

DDP sends a bucket of gradients as soon as it is complete, while the backward goes on. What a backend compiles
is one node of autograd, whose gradients all come at its end: a graph that holds the parameters of several
buckets is therefore cut between them, and each part compiled for itself. torch.compile does the same
(`torch._dynamo.config.optimize_ddp`, which switches this off, too).
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import fx

Backend = Callable[[fx.GraphModule, list[Any]], Callable[..., Any]]


def _is_wanted() -> bool:
    """Unless the program has switched it off."""
    settings = sys.modules.get("torch._dynamo.config")
    return settings is None or settings.optimize_ddp in (True, "ddp_optimizer")


def _gradient_sizes(module: fx.GraphModule, inputs: Sequence[torch.Tensor]) -> dict[fx.Node, int]:
    """The bytes of each gradient that DDP exchanges, by the placeholder of its parameter."""
    # Symbols come before tensors.
    places = [node for node in module.graph.nodes if node.op == "placeholder"][-len(inputs) :]
    return {
        node: each.nbytes
        for node, each in zip(places, inputs, strict=True)
        if isinstance(each, torch.nn.Parameter)
        and each.requires_grad
        and not getattr(each, "_ddp_ignored", False)
    }


def in_parts(
    backend: Backend, wrapped: Any, module: fx.GraphModule, inputs: Sequence[torch.Tensor]
) -> Backend:
    """The backend, given one part of the graph after the other; `wrapped`: the DistributedDataParallel."""
    if not _is_wanted():
        return backend
    sizes = _gradient_sizes(module, inputs)
    first = min(torch.distributed._DEFAULT_FIRST_BUCKET_BYTES, wrapped.bucket_bytes_cap)  # type: ignore[attr-defined]
    limits = (first, wrapped.bucket_bytes_cap)

    def compile_parts(module: fx.GraphModule, examples: list[Any]) -> Callable[..., Any]:
        parts = _parts(module.graph, sizes, limits)
        return _compiled(backend, module, parts, examples) if len(parts) > 1 else backend(module, examples)

    return compile_parts


def _parts(graph: fx.Graph, sizes: dict[fx.Node, int], limits: tuple[int, int]) -> list[list[fx.Node]]:
    """The operators of the graph, in order, cut where a bucket is full: gradients come from the end on."""
    nodes = [node for node in graph.nodes if node.op not in ("placeholder", "output", "get_attr")]
    places = _places_to_cut(nodes, graph)
    seen: set[fx.Node] = set()
    parts: list[list[fx.Node]] = [[]]
    held = 0
    for i in range(len(nodes) - 1, -1, -1):
        if held >= limits[len(parts) > 1] and i + 1 in places:
            parts.append([])
            held = 0
        parts[-1].append(nodes[i])
        new = [each for each in nodes[i].all_input_nodes if each in sizes and each not in seen]
        seen.update(new)
        held += sum(sizes[each] for each in new)
    if held == 0 and len(parts) > 1:  # operators before all parameters
        parts[-2] += parts.pop()
    return [part[::-1] for part in reversed(parts)]


def _places_to_cut(nodes: list[fx.Node], graph: fx.Graph) -> set[int]:
    """Before which operators a part may begin: no mode is open, and what is in use are tensors or sizes."""
    index = {node: i for i, node in enumerate(nodes)}
    last = {node: max((index.get(user, len(nodes)) for user in node.users), default=-1) for node in nodes}
    places: set[int] = set()
    open_until = -1  # tuples and modes: up to which operator they reach
    plain_gradients = True
    for i, node in enumerate(nodes):
        if i > open_until and plain_gradients:
            places.add(i)
        value = node.meta.get("val")
        if node.target is torch._C._set_grad_enabled:
            plain_gradients = bool(node.args[0])
        elif not isinstance(value, torch.Tensor | torch.SymInt):
            open_until = max(open_until, last[node])
    return places - {0}


def _compiled(
    backend: Backend, module: fx.GraphModule, parts: list[list[fx.Node]], examples: list[Any]
) -> Callable[..., Any]:
    """What calls the parts one after the other, as the backend compiled them."""
    given = [node for node in module.graph.nodes if node.op == "placeholder"]
    example_of = dict(zip(given, examples, strict=True))
    place = {node: i for i, node in enumerate(given)}
    steps: list[tuple[Callable[..., Any], list[int]]] = []
    (results,) = module.graph.output_node().args
    # Every part is given them: backends that keep what they compiled look for the symbols of its sizes there.
    sizes = [node for node in given if isinstance(node.meta.get("val"), torch.SymInt)]
    for part, read_behind in zip(parts, _still_read(parts, results), strict=True):
        inputs, outputs, graph = _part_graph(part, sizes, read_behind)
        inner = fx.GraphModule(module, graph)
        inner.meta = module.meta.copy()
        seen = [example_of[node] if node in example_of else node.meta["val"] for node in inputs]
        steps.append((backend(inner, seen), [place[node] for node in inputs]))
        place.update((node, len(place) + i) for i, node in enumerate(outputs))
    constants = {node: getattr(module, str(node.target)) for node in module.graph.find_nodes(op="get_attr")}

    def run(*values: Any) -> Any:
        held = list(values)
        for step, reads in steps:
            held += step(*[held[i] for i in reads])
        return fx.map_arg(results, lambda node: constants[node] if node in constants else held[place[node]])

    return run


def _still_read(parts: list[list[fx.Node]], results: Any) -> Iterator[set[fx.Node]]:
    """For each part what is read behind it."""
    read: list[set[fx.Node]] = [set()]
    fx.map_arg(results, read[0].add)
    for part in reversed(parts[1:]):
        read.append(read[-1].union(*(node.all_input_nodes for node in part)))
    return reversed(read)


def _part_graph(
    part: list[fx.Node], sizes: list[fx.Node], read_behind: set[fx.Node]
) -> tuple[list[fx.Node], list[fx.Node], fx.Graph]:
    """What it is given of what stands before, what it gives, and its graph."""
    graph = fx.Graph()
    inner: dict[fx.Node, fx.Node] = {}
    own = set(part)
    read = dict.fromkeys(each for node in part for each in node.all_input_nodes if each not in own)
    inputs = list(dict.fromkeys([*sizes, *(node for node in read if node.op != "get_attr")]))
    for node in inputs:
        inner[node] = graph.placeholder(node.name)
        inner[node].meta = node.meta.copy()

    def inside(node: fx.Node) -> fx.Node:
        if node not in inner:
            assert node.op == "get_attr"
            inner[node] = graph.get_attr(str(node.target))
        return inner[node]

    for node in part:
        inner[node] = graph.node_copy(node, inside)
    outputs = [node for node in part if node in read_behind]
    graph.output(tuple(inner[node] for node in outputs))
    return inputs, outputs, graph
