"""What torch decomposes before the emitter sees it: every operator that has no rule, and a decomposition.

The rules come first (src/backends/openxla/emit/rules.def). Random operators are left whole: torch's own
kernels draw the numbers, from torch's generator, outside XLA.
"""

import functools
from typing import Any

import torch
from stator import _torch
from stator.backends.corrected_decompositions import CORRECTED


def name_of(op: Any) -> str:
    """The operator's name as the graph has it: aten::add.Tensor."""
    schema = op._schema
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)


def is_random(op: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in op.tags


LEFT_WHOLE = frozenset({"aten::bucketize.Tensor", "aten::bucketize.Scalar", "aten::searchsorted.Tensor"})
"""Their decompositions read values while they are traced."""


WIDENED = frozenset({"aten::grid_sampler_2d"})
"""Their decompositions compute places, which 16-bit floats cannot hold: in 32 bits, as kernels do."""


def all_dropped(x: torch.Tensor, p: float, train: bool | None) -> Any:
    """Where everything is dropped, eager code draws no numbers."""
    if p != 1 or train is False:
        return NotImplemented
    return x * 0, torch.zeros_like(x, dtype=torch.bool)


@functools.cache
def table() -> dict[Any, Any]:
    from torch._decomp import decomposition_table
    from torch._decomp.decompositions import pw_cast_for_opmath

    ruled = LEFT_WHOLE.union(_torch.stablehlo_rules())
    decomposed = {
        op: pw_cast_for_opmath(function) if name_of(op) in WIDENED else function
        for op, function in decomposition_table.items()
        if isinstance(op, torch._ops.OpOverload) and name_of(op) not in ruled and not is_random(op)
    }
    return {**decomposed, torch.ops.aten.native_dropout.default: all_dropped, **CORRECTED}
