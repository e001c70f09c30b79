"""The backends `openxla` and `openxla_eval`: graphs as StableHLO, run by the OpenXLA runtime that is there.

What is loaded here must not import torch or jaxlib: both are optional, the backends always registered.
"""

import logging
from typing import Any

from stator.backends.registry import register_backend
from stator.backends.traits import Traits


@register_backend(traits=Traits(takes_wrappers=False))
def openxla(gm: Any, example_inputs: list[Any], **options: Any) -> Any:
    """Forward and backward compiled by XLA, through torch's AOT autograd."""
    from stator.backends.openxla.compiler import compile_graph

    return compile_graph(gm, example_inputs, **options)


@register_backend(tags=("experimental",), traits=Traits(takes_wrappers=False))
def openxla_eval(gm: Any, example_inputs: list[Any], **options: Any) -> Any:
    """Inference: one program for the forward. Where gradients are asked for, it is as `openxla`."""
    from stator.backends.openxla.compiler import compile_graph

    return compile_graph(gm, example_inputs, **options)


def _reset() -> None:
    import sys

    loaded = sys.modules.get("stator.backends.openxla.executables")
    if loaded is not None:
        loaded.forget_programs()


def _compile_stablehlo(stablehlo: str, device: str) -> Any:
    """Called by src/backends/openxla/direct_program.cpp for graphs that need nothing but the emitter.

    None: not this way. What stands in the way of AOT autograd, too, is raised there, as backends' errors are.
    """
    from stator.backends.openxla.executables import compile_stablehlo

    try:
        return compile_stablehlo(stablehlo, device)
    except Exception as error:
        _not_direct(f"{type(error).__name__}: {error}")
        return None


def _not_direct(reason: str) -> None:
    logging.getLogger("stator.openxla").info("this graph is not compiled as it was captured: %s", reason)


for _backend in (openxla, openxla_eval):
    setattr(_backend, "compile_stablehlo", _compile_stablehlo)  # noqa: B010
    setattr(_backend, "not_direct", _not_direct)  # noqa: B010
    setattr(_backend, "reset", _reset)  # noqa: B010
