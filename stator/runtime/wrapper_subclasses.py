"""Tensors whose class has a `__torch_dispatch__` and says what they are made of (`__tensor_flatten__`).

Called by src/torch/tracing/wrapper_tensors.cpp and src/torch/guards/wrapper_guard.cpp.
"""

import weakref
from collections.abc import Callable, Iterator
from typing import Any

from torch.utils._python_dispatch import is_traceable_wrapper_subclass

import torch
from stator.runtime.allowed_call import OpaqueCall

CONSTANTS = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device, torch.Size)


def stand_in(
    real: torch.Tensor,
    part: Callable[[torch.Tensor], torch.Tensor],
    plain: tuple[type, ...] = (torch.Tensor, torch.nn.Parameter),
) -> torch.Tensor:
    """An instance of the class of `real`, made of what `part` gives for each of its plain tensors."""
    names, context = _flattened(real)
    parts = {}
    for name, inner in _parts(real, names):
        parts[name] = stand_in(inner, part, plain) if _is_wrapper(inner) else part(_plain(inner, plain))
    size, stride = torch.Size(_ints(real.size())), _ints(real.stride())
    kind: Any = type(real)
    made: torch.Tensor = kind.__tensor_unflatten__(parts, context, size, stride)
    if type(made) is not type(real):  # inherited code makes one of the class that it was written for
        made.__class__ = type(real)
    own = vars(made)
    for name, value in _others(real, names):
        if name not in own and isinstance(value, CONSTANTS):
            own[name] = value
        elif name not in own or not _alike(own[name], value):
            raise TypeError(f"the attribute {name} of a {type(real).__name__}")
    if set(own) != set(vars(real)):
        raise TypeError(f"the attributes of a {type(real).__name__}")
    return made


class Fakes:
    """The fake tensors on which the code of classes runs in one capture."""

    def __init__(self) -> None:
        from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

        self._class = FakeTensor
        self.mode = FakeTensorMode(allow_non_fake_inputs=True)

    def is_fake(self, tensor: torch.Tensor) -> bool:
        """Whether a result is a plain tensor."""
        if not isinstance(tensor, self._class) and not _is_wrapper(tensor):
            raise TypeError(f"code of a subclass gives a {type(tensor).__name__} that existed before")
        return isinstance(tensor, self._class)

    def fake(self, tensor: torch.Tensor) -> torch.Tensor:
        """One that looks like a plain tensor."""
        size, stride = [int(n) for n in tensor.shape], [int(n) for n in tensor.stride()]
        element = torch.empty_strided(size, stride, dtype=tensor.dtype, device="meta")
        element.requires_grad_(tensor.requires_grad)
        made: torch.Tensor = self._class(self.mode, element, tensor.device)
        return made if tensor.is_leaf or not tensor.requires_grad else made.view_as(made)

    def shadow(self, real: torch.Tensor) -> torch.Tensor:
        """The same for a tensor that is made of others."""
        return stand_in(real, self.fake)

    def on_tracers(self, shadow: torch.Tensor, part: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        """One that the program is to see, in place of one on fake tensors."""
        return stand_in(shadow, part, (self._class,))

    def make(
        self,
        kind: type[torch.Tensor],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        fake: Callable[[torch.Tensor], torch.Tensor],
    ) -> tuple[OpaqueCall, list[torch.Tensor], torch.Tensor]:
        """A call of a class: as a node, the tensors that it is given, and what it makes of fake ones."""
        call = OpaqueCall(kind, args, kwargs)
        given = call.tensors
        fake_args, fake_kwargs = call.arguments([fake(tensor) for tensor in given])
        made = kind(*fake_args, **fake_kwargs)
        if type(made) is not kind or not _is_wrapper(made):
            raise TypeError(f"{kind.__name__}() makes a {type(made).__name__}")
        for name, value in _others(made, _flattened(made)[0]):
            if not isinstance(value, CONSTANTS):
                raise TypeError(f"the attribute {name} of a {kind.__name__}")
        call.returns(made)
        call.forget()
        return call, given, made


def read_of(whole: torch.Tensor, part: torch.Tensor) -> OpaqueCall | None:
    """The call that reads `part` of `whole`; None: it is no part of it."""
    for path, inner in _all_parts(whole):
        if inner is part:
            call = OpaqueCall(read_path if len(path) > 1 else getattr, (whole, ".".join(path)), {})
            call.returns(part)
            call.forget()
            return call
    return None


def read_path(whole: torch.Tensor, path: str) -> Any:
    """An attribute of an attribute."""
    found: Any = whole
    for name in path.split("."):
        found = getattr(found, name)
    return found


def guard_of(tensor: torch.Tensor, in_capture: bool) -> Callable[[Any], bool]:
    """Whether a tensor is like this one in all that a capture may rely on; it runs plainly."""
    from stator.api.contexts import disable

    # A capture runs this code plainly, and takes a call of what is disabled for the program's.
    made: Guard = Guard(tensor) if in_capture else disable(Guard)(tensor)
    holds: Callable[[Any], bool] = disable(made.holds)
    return holds


class Guard:
    """What a capture relied on of such a tensor: class, layout, context and parts."""

    def __init__(self, tensor: torch.Tensor) -> None:
        with torch._C.DisableTorchFunctionSubclass():
            names, context = _flattened(tensor)
            self._class = weakref.ref(type(tensor))
            self._layout = _layout(tensor)
            self._names = list(names)
            self._context = _kept(context)
            self._others = {name: _kept(value) for name, value in _others(tensor, names)}
            self._parts = [_part_guard(inner) for _, inner in _parts(tensor, names)]

    def holds(self, tensor: Any) -> bool:
        """Whether a capture of the guarded tensor fits this one."""
        if type(tensor) is not self._class():
            return False
        with torch._C.DisableTorchFunctionSubclass():
            names, context = _flattened(tensor)
            if list(names) != self._names or _layout(tensor) != self._layout:
                return False
            compare = getattr(type(tensor), "__metadata_guard__", None)
            if not (compare(self._context, context) if compare is not None else self._context == context):
                return False
            others = dict(_others(tensor, names))
            if others.keys() != self._others.keys():
                return False
            return all(_alike(others[name], value) for name, value in self._others.items()) and all(
                guard(inner) for guard, (_, inner) in zip(self._parts, _parts(tensor, names), strict=True)
            )


def _part_guard(inner: torch.Tensor) -> Callable[[Any], bool]:
    if _is_wrapper(inner):
        return Guard(inner).holds
    layout = _layout(_plain(inner, (torch.Tensor, torch.nn.Parameter)))
    return lambda other: type(other) is type(inner) and _layout(other) == layout


def _layout(tensor: torch.Tensor) -> tuple[Any, ...]:
    return (
        tensor.dtype,
        tensor.device,
        tensor.layout,
        _ints(tensor.size()),
        _ints(tensor.stride()),
        tensor.storage_offset(),
        tensor.requires_grad,
        tensor.is_leaf,
        tensor.is_conj(),
        tensor.is_neg(),
        tensor.is_inference(),
        torch._C._dispatch_keys(tensor).raw_repr(),
    )


def _flattened(tensor: Any) -> tuple[list[str], Any]:
    if not _is_wrapper(tensor):
        raise TypeError(f"{type(tensor).__name__} has no __tensor_flatten__ and __tensor_unflatten__")
    made: tuple[list[str], Any] = tensor.__tensor_flatten__()
    return made


def _parts(tensor: torch.Tensor, names: list[str]) -> Iterator[tuple[str, torch.Tensor]]:
    for name in names:
        yield name, getattr(tensor, name)


def _all_parts(tensor: torch.Tensor) -> Iterator[tuple[tuple[str, ...], torch.Tensor]]:
    for name, inner in _parts(tensor, _flattened(tensor)[0]):
        yield (name,), inner
        if _is_wrapper(inner):
            for path, each in _all_parts(inner):
                yield (name, *path), each


def _others(tensor: torch.Tensor, names: list[str]) -> Iterator[tuple[str, Any]]:
    """Attributes of the instance that are none of its parts."""
    for name, value in vars(tensor).items():
        if name not in names:
            yield name, value


def _is_wrapper(tensor: Any) -> bool:
    return isinstance(tensor, torch.Tensor) and is_traceable_wrapper_subclass(tensor)


def _plain(tensor: Any, kinds: tuple[type, ...]) -> Any:
    if type(tensor) not in kinds or tensor.layout is not torch.strided:
        raise TypeError(f"a part that is a {type(tensor).__name__}")
    if tensor.is_quantized:
        raise TypeError("a part that is quantized")
    return tensor


def _ints(numbers: Any) -> tuple[int, ...]:
    """Sizes that are symbols, as those of nested tensors, are not followed."""
    if not all(type(n) is int for n in numbers):
        raise TypeError("a tensor of a subclass with symbolic sizes")
    return tuple(numbers)


def _kept(value: Any) -> Any:
    """A copy of what Python can change without giving it another identity."""
    if type(value) is dict:
        return {key: _kept(item) for key, item in value.items()}
    if type(value) in (list, tuple, set):
        return type(value)(map(_kept, value))
    return value


def _alike(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, CONSTANTS):
        return bool(one == other)
    if type(one) in (list, tuple):
        return len(one) == len(other) and all(map(_alike, one, other))
    if type(one) is dict:
        return list(one) == list(other) and all(_alike(one[key], other[key]) for key in one)
    return False
