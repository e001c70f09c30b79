"""Ragged sizes of nested tensors, which torch numbers by the tensor of offsets or lengths they belong to.

Two sizes of a dimension are equal where they have one number. A capture stands for the numbers of its call by
numbers of its own, or by the same ones; a later call must have equal ones in the same places (`pattern`).
"""

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torch.utils._python_dispatch import is_traceable_wrapper_subclass

import torch

# Never a number of torch's own.
_numbers = itertools.count(1 << 40)


def _library() -> Any:
    """torch's module of nested tensors; None: the program has none."""
    return sys.modules.get("torch.nested._internal.nested_tensor")


def is_ragged(tensor: torch.Tensor) -> bool:
    with torch._C.DisableTorchFunctionSubclass():
        return any(type(size) is not int for size in tensor.size())


def multiple_of_one(number: Any) -> tuple[str, int]:
    """What a ragged size is, but for which one."""
    if not isinstance(number, torch.SymInt) or not number.node.is_nested_int():
        raise TypeError("a tensor of a subclass with symbolic sizes")
    return "ragged", number.node.nested_int_coeff()


def _new_size() -> torch.SymInt:
    from torch.nested._internal.nested_int import NestedIntNode

    return torch.SymInt(NestedIntNode(next(_numbers), 1))  # type: ignore[no-untyped-call]


def fake_mode() -> Any:
    """A mode of fake tensors that gives ragged sizes without symbols."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    class Mode(FakeTensorMode):  # type: ignore[no-untyped-call]
        def create_symbolic_nested_int(self, *, nt_tensor_id: int | None = None) -> torch.SymInt:
            return _new_size()

    return Mode(allow_non_fake_inputs=True)


def follow(tensor: torch.Tensor, fake: Any, real: torch.Tensor | None) -> None:
    """Give `fake` the ragged size that belongs to a tensor of offsets."""
    library = _library()
    if library is None or tensor.dim() != 1 or tensor.dtype.is_floating_point:
        return
    known = library._tensor_symint_registry
    size = known.get(tensor)
    if size is None:
        size = known.get(real) if real is not None else None
        size = _new_size() if size is None else size
        known[tensor] = size
    fake.nested_int_memo = size


def give(tracer: torch.Tensor, fake: Any) -> None:
    """The same for what the program sees in place of `fake`."""
    size = getattr(fake, "nested_int_memo", None)
    if size is not None:
        _library()._tensor_symint_registry[tracer] = size


def relation(*inputs: torch.Tensor) -> Callable[..., bool] | None:
    """Whether the inputs of a call have ragged sizes in common as these have; None: there are none."""
    from stator.api.contexts import disable

    if _library() is None:
        return None
    wanted = _pattern(inputs)
    holds: Callable[..., bool] = disable(lambda *inputs: _pattern(inputs) == wanted)
    return holds if len(wanted) > 1 else None


def _pattern(inputs: Sequence[torch.Tensor]) -> tuple[int, ...]:
    """Which inputs of a graph have one ragged size: for each of these sizes the first place that has it."""
    library = _library()
    first: dict[int, int] = {}
    found: list[int] = []
    for tensor in inputs if library is not None else ():
        for number in _numbers_of(library, tensor):
            found.append(len(found) if number is None else first.setdefault(number, len(found)))
    return tuple(found)


def _numbers_of(library: Any, tensor: Any) -> Iterator[int | None]:
    if isinstance(tensor, library.NestedTensor):
        yield tensor._size[tensor._ragged_idx].node.nested_int()
    elif is_traceable_wrapper_subclass(tensor):
        for name in tensor.__tensor_flatten__()[0]:
            yield from _numbers_of(library, getattr(tensor, name))
    elif tensor.dim() == 1 and not tensor.dtype.is_floating_point:
        size = library._tensor_symint_registry.get(tensor)
        yield None if size is None else size.node.nested_int()
