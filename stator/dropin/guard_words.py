"""Guards that failed, in the words of TorchDynamo: programs and their tests look for these."""

import inspect
import re
import sys
from typing import Any

from stator import _capture

_TENSOR = re.compile(
    r"(?P<source>L\[.*\]) is (?P<class>\w+) (?P<dtype>\w+) \[(?P<sizes>[^\]]*)\]"
    r"(?: strides \[(?P<strides>[^\]]*)\])? on (?P<device>[\w:]+)(?P<gradient>, requires grad)?"
)
_IDENTITY = re.compile(r"L\[.*\] is (?:not )?L\[.*\]")
_NAME = re.compile(r'L\["(\w+)"\]')
_SIZE = re.compile(r"(?P<source>L\[.*\])\.size\((?P<dim>\d+)\) == (?P<size>\d+)")


class ExportedGuard(str):
    """A guard in words, which answers what programs ask one of TorchDynamo's."""

    __slots__ = ()

    @property
    def code_list(self) -> list[str]:
        """The conditions, of which there is one."""
        return [str(self)]


def in_torch_words(guard: str) -> str:
    """What failed of a guard on tensors, with what the call brought; other guards as they are."""
    if re.fullmatch(_IDENTITY, guard):
        return re.sub(_NAME, r"\1", guard).replace('"', "'")
    missed = _capture.missed_arguments()
    found = re.match(_TENSOR, guard) or re.match(_SIZE, guard)
    if missed is None or found is None:
        return guard
    function, args, kwargs = missed
    try:
        bound = inspect.signature(getattr(function, "forward", function)).bind(*args, **kwargs)
        value = eval(found["source"], {"__builtins__": {}, "L": bound.arguments})
    except Exception:  # a source of another form, a function without signature
        return guard
    if not isinstance(value, sys.modules["torch"].Tensor):
        return guard
    name = re.sub(_NAME, r"\1", found["source"], count=1).replace('"', "'")
    said = _size(found, value) if "dim" in found.groupdict() else _difference(found, value)
    return f"tensor '{name}' {said}. {guard}" if said else guard


def _size(found: re.Match[str], tensor: Any) -> str:
    dim = int(found["dim"])
    return f"size mismatch at index {dim}. expected {found['size']}, actual {tensor.shape[dim]}"


def _difference(found: re.Match[str], tensor: Any) -> str | None:
    if bool(found["gradient"]) != tensor.requires_grad:
        return f"requires_grad mismatch. expected requires_grad={int(bool(found['gradient']))}"
    sizes = _numbers(found["sizes"])
    if len(sizes) != tensor.dim():
        return f"rank mismatch. expected {len(sizes)}, actual {tensor.dim()}"
    for what, expected, actual in (
        ("size", sizes, tensor.shape),
        ("stride", _numbers(found["strides"] or ""), tensor.stride()),
    ):
        for i, (one, other) in enumerate(zip(expected, actual, strict=False)):
            if one is not None and one != other:
                return f"{what} mismatch at index {i}. expected {one}, actual {other}"
    return None


def _numbers(text: str) -> list[int | None]:
    """The sizes of a guard; None: any."""
    return [int(part) if part.strip().isdigit() else None for part in text.split(",") if part.strip()]
