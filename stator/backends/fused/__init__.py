"""The backend `fused`: kernels for pointwise operators, reductions and norms, compiled by LLVM or NVRTC.

What is loaded here must import neither torch nor llvmlite: both are optional, the backend always registered.
"""

from typing import Any

from stator.backends.registry import register_backend
from stator.backends.traits import replayed


@register_backend(traits=replayed("fused", records=True))
def fused(gm: Any, example_inputs: Any) -> Any:
    """Fused kernels and torch's. Captures do not come here: they go to src/backends/fused."""
    return gm.forward


def _reset() -> None:
    import sys

    for name in ("compiler", "cuda_compiler"):
        loaded = sys.modules.get(f"stator.backends.fused.{name}")
        if loaded is not None:
            loaded.forget_kernels()


setattr(fused, "reset", _reset)  # noqa: B010
