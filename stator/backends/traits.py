"""What a backend can do with a captured graph, said when it is registered."""

import weakref
from dataclasses import dataclass
from typing import Any

ATTRIBUTE = "stator_traits"
"""Where a backend carries its traits. The engine reads it (src/torch/domain/backend_traits.h)."""


@dataclass(frozen=True, slots=True)
class Traits:
    """The default is what every function of torch.compile's protocol can do: compile the operators."""

    engine: str | None = None
    """The program of src/backends that runs the graph: no torch.fx graph is made."""
    runs_python: bool = False
    """Each node runs in its place in every run: numbers read off tensors (`item`), `print`, `backward()`."""
    changes_tensors: bool = False
    """Nodes that change what a tensor is (`requires_grad_`, `.data =`, resizing) run in their order."""
    records: bool = False
    """Of an engine: its work on CUDA can be recorded in CUDA graphs."""
    takes_wrappers: bool = True
    """Operators on tensors of classes with a `__torch_dispatch__` are nodes of the graph like others."""
    reads_values: bool = False
    """Graphs are run node by node: numbers read off tensors (`item`), `backward()`, and at the end operators
    whose result depends on values (`nonzero`, a mask)."""


PLAIN = Traits()


def replayed(engine: str, records: bool = False) -> Traits:
    """Of a program of the engine's own: it runs whatever a capture may hold."""
    return Traits(engine, runs_python=True, changes_tensors=True, records=records, reads_values=True)


def traits_of(backend: Any) -> Traits:
    found = getattr(backend, ATTRIBUTE, PLAIN)
    return found if isinstance(found, Traits) else PLAIN


_refused: "dict[int, weakref.ref[Any]]" = {}
"""Backends without traits that have refused such a graph, by identity."""


def takes_reads(backend: Any) -> bool:
    """Whether graphs that read values are offered to it (called by the engine).

    What says nothing about itself is offered one, unless it is torch's or ours: those go through fake
    tensors, which refuse such operators.
    """
    said = getattr(backend, ATTRIBUTE, None)
    if isinstance(said, Traits):
        return said.reads_values
    inner = getattr(backend, "backend", backend)  # with options: choice.py
    module = getattr(inner, "__module__", None) or type(inner).__module__
    if str(module).partition(".")[0] in ("torch", "stator"):
        return False
    try:
        weakref.ref(backend)
    except TypeError:  # what it refuses could not be kept
        return False
    refused = _refused.get(id(backend))
    return refused is None or refused() is not backend


def note_refusal(backend: Any, module: Any) -> None:
    """The backend failed with this graph: it is given none that ends like it."""
    from torch import Tag

    reads = {Tag.data_dependent_output, Tag.dynamic_output_shape}
    targets = [getattr(node.target, "_opname", "") for node in module.graph.nodes]
    tags = [set(getattr(node.target, "tags", ())) for node in module.graph.nodes]
    runs_backward = any(hasattr(node.target, "stator_reads") for node in module.graph.nodes)
    if runs_backward or any(each & reads for each in tags) or not {"item", "is_nonzero"}.isdisjoint(targets):
        _refused[id(backend)] = weakref.ref(backend)
