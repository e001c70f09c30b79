"""The modules whose calls led to a node: "nn_module_stack" and "source_fn_stack", as TorchDynamo has them."""

import functools
import re
from dataclasses import dataclass

import torch
from stator import _capture


@dataclass(frozen=True)
class ModuleCall:
    """One of them."""

    key: str
    """The number that tells modules of one class apart."""
    kind: type
    path: str
    """`L['self'].layers.0`"""

    @functools.cached_property
    def is_torchs(self) -> bool:
        """A layer of torch's own, which tools look for by its class."""
        return self.kind.__module__.startswith("torch.nn.")


class ModuleCalls:
    """Of the capture that is being made, by the lines of its nodes."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[ModuleCall, ...]] = {}
        self._modules: dict[int, ModuleCall | None] = {}

    def of(self, line: int) -> tuple[ModuleCall, ...]:
        """Outermost first."""
        known = self._known.get(line)
        if known is None:
            calls = (self._call(*owner) for owner in _capture.owners_of_line(line))
            self._known[line] = known = tuple(call for call in calls if call is not None)
        return known

    def _call(self, number: int, kind: type, source: str) -> ModuleCall | None:
        if number not in self._modules:
            is_module = issubclass(kind, torch.nn.Module)
            self._modules[number] = ModuleCall(str(number), kind, path_of(source)) if is_module else None
        return self._modules[number]

    def stack(self, line: int) -> dict[str, tuple[str, type]]:
        """What `meta["nn_module_stack"]` holds."""
        return {call.key: (call.path, call.kind) for call in self.of(line)}


def path_of(source: str) -> str:
    """How a module was reached, in TorchDynamo's words.

    >>> path_of("fn._modules['layers']._modules['0']")
    "L['self'].layers.0"
    >>> path_of("fn.__globals__['model']._modules['head']")
    "G['model'].head"
    """
    path = re.sub(r"\._modules\[(['\"])(.*?)\1\]", r".\2", source)
    path = re.sub(r"^.*\.__globals__\[(['\"])(\w+)\1\]", r"G['\2']", path)
    path = re.sub(r"^.*\.__closure__\[\d+\]\.(\w+)", r"L['\1']", path)
    path = re.sub(r"""^L\["(\w+)"\]""", r"L['\1']", path)
    return re.sub(r"^fn(?:\.__self__)?(?=$|\.)", "L['self']", path)
