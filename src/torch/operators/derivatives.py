"""Writes derivatives.def: which arguments and outputs of torch's operators take part in derivatives.

Run with the torch whose facts are wanted, from src/torch/operators: python derivatives.py > derivatives.def
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import torchgen

import torch

NOT_ARGUMENTS = {"name", "result", "output_differentiability", "dispatch", "Default", "AutogradNestedTensor"}


def entries(text: str) -> Iterator[tuple[str, set[str], list[bool], str]]:
    """Name with overload, differentiable arguments, differentiability of outputs (or nothing), formulas."""
    for block in re.split(r"(?m)^- name: ", text)[1:]:
        name = block.split("(", 1)[0].strip()
        arguments: set[str] = set()
        for keys, value in re.findall(r"(?m)^\s+([\w, ]+?):[ \t]*(\S?.*)$", block):
            if "non_differentiable" not in value:
                arguments |= {key.strip() for key in keys.split(",")} - NOT_ARGUMENTS
        outputs = re.search(r"(?m)^\s+output_differentiability: \[(.*)\]", block)
        flags = [word.strip() not in ("False", "false") for word in outputs[1].split(",")] if outputs else []
        yield name, arguments, flags, block


def main() -> None:
    packaged = Path(torchgen.__file__).parent / "packaged" / "autograd" / "derivatives.yaml"
    text = re.sub(r"(?m)^\s*#.*$", "", packaged.read_text())
    schemas = {
        s.name.removeprefix("aten::") + (f".{s.overload_name}" if s.overload_name else ""): s
        for s in torch._C._jit_get_all_schemas()
        if s.name.startswith("aten::")
    }
    rows: dict[str, tuple[int, int]] = {}
    for name, arguments, flags, formulas in entries(text):
        base, _, overload = name.partition(".")
        in_place = f"{base}_" + (f".{overload}" if overload else "")
        for form in (name, in_place):
            if form not in schemas or (form == in_place and form in rows):
                continue
            schema = schemas[form]
            mask = sum(1 << i for i, argument in enumerate(schema.arguments) if argument.name in arguments)
            # Formulas that know of one gradient only mean that of the first output.
            names = [f"grad_{result.name}" for result in schema.returns if result.name]
            several = "grads" in formulas or any(name in formulas for name in names)
            said = flags or [i == 0 or several for i in range(len(schema.returns))]
            outputs = sum(1 << i for i in range(len(schema.returns)) if i < len(said) and said[i])
            known = rows.get(form, (0, 0))
            rows[form] = (known[0] | mask, known[1] | outputs)
    print("// src/torch/operators/derivatives.def: arguments and outputs in derivatives, as bit masks.")
    print(f"// Written by derivatives.py from the tables of torch {torch.__version__.split('+')[0]}.")
    print("// clang-format off")
    for name, (mask, outputs) in sorted(rows.items()):
        print(f'STATOR_DERIVATIVE("aten::{name}", {mask:#x}, {outputs:#x})')
    print("#undef STATOR_DERIVATIVE")
    print(f"{len(rows)} operators", file=sys.stderr)


main()
