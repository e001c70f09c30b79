"""Operators that XLA does not run: no rule, and no decomposition into operators that have one.

python tests/openxla/operators_without_rules.py [--write]
prints docs/openxla-operators.md, or writes it.
"""

import sys
from pathlib import Path
from typing import Any

import torch
from stator import _torch
from stator.backends.openxla.decompositions import is_random, name_of, table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "openxla-operators.md"
# Kinds of tensors and of programs that the backend does not take at all, and tests of torch's own.
LEFT_OUT = ("sparse", "nested", "quantize", "mkldnn", "_test_", "_foreach", "_fused_", "_indices", "_values")


def has_kernel(name: str, key: str) -> bool:
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, key))


def functional_operators() -> list[tuple[str, Any]]:
    """ATen's operators that write nothing and are no compositions, by their full names."""
    found = []
    for name in sorted(torch._C._dispatch_get_all_op_names()):
        namespace, _, rest = name.partition("::")
        base, _, overload = rest.partition(".")
        if namespace != "aten" or overload.endswith("out") or any(part in base for part in LEFT_OUT):
            continue
        operator = getattr(getattr(torch.ops.aten, base, None), overload or "default", None)
        if operator is None or operator._schema.is_mutable or has_kernel(name, "CompositeImplicitAutograd"):
            continue
        kernels = ("CPU", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
        if not any(has_kernel(name, key) for key in kernels):
            continue
        if any("Dimname" in str(argument.type) for argument in operator._schema.arguments):
            continue
        found.append((name_of(operator), operator))
    return found


def page() -> str:
    ruled, decomposed = set(_torch.stablehlo_rules()), table()
    sections: dict[str, list[str]] = {"core": [], "random": [], "other": []}
    for name, operator in functional_operators():
        base = name.removeprefix("aten::")
        if (
            name in ruled
            or (operator in decomposed and not is_random(operator))
            or (base.startswith("_") and torch.Tag.core not in operator.tags)
        ):
            continue
        core = torch.Tag.core in operator.tags
        kind = "random" if is_random(operator) else "core" if core else "other"
        sections[kind].append(base)
    core = sum(torch.Tag.core in operator.tags for _, operator in functional_operators())

    def shown(kind: str) -> str:
        names = sorted({base.partition(".")[0] for base in sections[kind]})
        return ", ".join(f"`{name}`" for name in names)

    version = torch.__version__.partition("+")[0]
    return f"""# Operators that XLA does not run

Written by `tests/openxla/operators_without_rules.py`, for torch {version}; a test holds it against the code.
Torch's kernels run these, and the graph is split there ([openxla.md](openxla.md)). Everything else that
captured programs have is a rule of `src/backends/openxla/emit/rules.def`, or a composition of operators
that have one. Sparse, nested and quantized tensors are not taken at all; internal operators are left out.

## Of the {core} core operators of ATen
{shown("core")}

## Random
Torch's generator draws the numbers, so that they are those of eager code: {shown("random")}

## Others
{shown("other")}
"""


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page())
    else:
        print(page())
