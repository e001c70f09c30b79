"""The backends of Stator's own."""

import dataclasses
import logging
from typing import Any

from stator.backends.registry import register_backend
from stator.backends.traits import Traits, replayed, traits_of


@register_backend(traits=replayed("native", records=True))
def native(gm: Any, example_inputs: Any) -> Any:
    """Replay from C++. Captures do not come here: they go to src/backends/native without a torch.fx graph."""
    return gm.forward


@register_backend(tags=("debug",), traits=replayed("empty"))
def empty(gm: Any, example_inputs: Any) -> Any:
    """Answer every call with the outputs of the first. Captures go to src/backends/empty instead."""
    first: list[Any] = []

    def answer(*inputs: Any) -> Any:
        if not first:
            first.append(gm.forward(*inputs))
        return first[0]

    return answer


@register_backend(traits=Traits(changes_tensors=True, reads_values=True))
def eager(gm: Any, example_inputs: Any, **ignored: Any) -> Any:
    """Run the torch.fx graph as it is: shows whether a fault is the graph's or a backend's."""
    if ignored:
        logging.getLogger("stator").warning("the backend 'eager' ignores %s", ignored)
    return gm.forward


class Recorded:
    """A backend of the engine's own whose work on CUDA is recorded in CUDA graphs."""

    def __init__(self, backend: Any) -> None:
        traits = traits_of(backend)
        self.backend = backend
        self.__name__ = backend.__name__
        self.stator_traits = dataclasses.replace(traits, engine=f"{traits.engine}+cuda_graphs", records=False)

    def __call__(self, gm: Any, example_inputs: Any) -> Any:
        return self.backend(gm, example_inputs)

    def __getattr__(self, name: str) -> Any:
        if name == "reset":
            return getattr(self.backend, name)
        raise AttributeError(name)


def in_engine(backend: Any) -> Any:
    """What the engine is given: the name of a program of its own, the backend itself otherwise."""
    from stator.config import config

    traits = traits_of(backend)
    if traits.records and config.cuda_graphs:
        return Recorded(backend).stator_traits.engine
    return traits.engine or backend
