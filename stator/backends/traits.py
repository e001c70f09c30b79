"""What a backend can do with a captured graph, said when it is registered."""

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


PLAIN = Traits()


def replayed(engine: str, records: bool = False) -> Traits:
    """Of a program of the engine's own: it runs whatever a capture may hold."""
    return Traits(engine, runs_python=True, changes_tensors=True, records=records)


def traits_of(backend: Any) -> Traits:
    found = getattr(backend, ATTRIBUTE, PLAIN)
    return found if isinstance(found, Traits) else PLAIN
