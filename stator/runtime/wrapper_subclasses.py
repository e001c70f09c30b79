"""Tensors whose class has a `__torch_dispatch__` and says what they are made of (`__tensor_flatten__`).

Called by src/torch/tracing/wrapper_tensors.cpp and src/torch/guards/wrapper_guard.cpp.
"""

import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch.utils._python_dispatch import is_traceable_wrapper_subclass

import torch
from stator.runtime import nested_sizes
from stator.runtime.allowed_call import OpaqueCall

CONSTANTS = (type(None), bool, int, float, complex, str, bytes, torch.dtype, torch.device, torch.Size)

KEPT_ANSWERS = {f"_sym_{of}_capsule{what}" for of in ("sizes", "strides") for what in ("", "_len")}


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
    size, stride = real.size(), real.stride()
    _layout_numbers(size), _layout_numbers(stride)
    kind: Any = type(real)
    made: torch.Tensor = kind.__tensor_unflatten__(parts, context, size, stride)
    if type(made) is not type(real):  # inherited code makes one of the class that it was written for
        made.__class__ = type(real)
    own = vars(made)
    counterparts = {id(getattr(made, name)): inner for name, inner in _parts(real, names)}
    for name, value in _others(real, names):
        if name not in own and isinstance(value, CONSTANTS):
            own[name] = value
        elif name not in own or not _alike(own[name], value, counterparts):
            raise TypeError(f"the attribute {name} of a {type(real).__name__}")
    if (own.keys() ^ vars(real).keys()) - KEPT_ANSWERS:
        raise TypeError(f"the attributes of a {type(real).__name__}")
    return made


class Fakes:
    """The fake tensors on which the code of classes runs in one capture."""

    def __init__(self) -> None:
        from torch._subclasses.fake_tensor import FakeTensor

        self._class = FakeTensor
        self.mode = nested_sizes.fake_mode()

    def is_fake(self, tensor: torch.Tensor) -> bool:
        """Whether a result is a plain tensor."""
        if not isinstance(tensor, self._class) and not _is_wrapper(tensor):
            raise TypeError(f"code of a subclass gives a {type(tensor).__name__} that existed before")
        return isinstance(tensor, self._class)

    def fake(self, tensor: torch.Tensor, real: torch.Tensor | None = None) -> torch.Tensor:
        """One that looks like a plain tensor. `real`: the one for which a tracer stands."""
        size, stride = [int(n) for n in tensor.shape], [int(n) for n in tensor.stride()]
        element = torch.empty_strided(size, stride, dtype=tensor.dtype, device="meta")
        element.requires_grad_(tensor.requires_grad)
        made: torch.Tensor = self._class(self.mode, element, tensor.device)
        nested_sizes.follow(tensor, made, real)
        return made if tensor.is_leaf or not tensor.requires_grad else made.view_as(made)

    def shadow(self, real: torch.Tensor) -> torch.Tensor:
        """The same for a tensor that is made of others."""
        return stand_in(real, self.fake)

    def on_tracers(self, shadow: torch.Tensor, part: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        """One that the program is to see, in place of one on fake tensors."""
        if not nested_sizes.is_ragged(shadow):
            return stand_in(shadow, part, (self._class,))
        # Nested tensors ask their values for memory when they are made, which tracers have not.
        made = stand_in(shadow, lambda inner: inner, (self._class,))
        for name, inner in _parts(shadow, _flattened(shadow)[0]):
            tracer = self.on_tracers(inner, part) if _is_wrapper(inner) else part(inner)
            nested_sizes.give(tracer, inner)
            setattr(made, name, tracer)
        return made

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
            parts = dict(_parts(tensor, names))
            self._others = {name: _kept(_named(value, parts)) for name, value in _others(tensor, names)}
            self._parts = [_part_guard(inner) for inner in parts.values()]

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
            others, parts = dict(_others(tensor, names)), dict(_parts(tensor, names))
            if others.keys() != self._others.keys():
                return False
            return all(
                _alike(_named(others[name], parts), value) for name, value in self._others.items()
            ) and all(guard(inner) for guard, inner in zip(self._parts, parts.values(), strict=True))


class _Part(str):
    """Stands for a part of a tensor in a copy of another attribute."""


def _named(value: Any, parts: Mapping[str, torch.Tensor]) -> Any:
    """A dictionary in which parts of the tensor are held, with these by name."""
    if type(value) is not dict or not value:
        return value
    names = {id(inner): _Part(name) for name, inner in parts.items()}
    return {key: names.get(id(item), item) for key, item in value.items()}


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
        _layout_numbers(tensor.size()),
        _layout_numbers(tensor.stride()),
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
    """Attributes of the instance that are none of its parts, nor kept there by torch."""
    for name, value in vars(tensor).items():
        if name not in names and name not in KEPT_ANSWERS:
            yield name, value


def _is_wrapper(tensor: Any) -> bool:
    return isinstance(tensor, torch.Tensor) and is_traceable_wrapper_subclass(tensor)


def _plain(tensor: Any, kinds: tuple[type, ...]) -> Any:
    if type(tensor) not in kinds or tensor.layout is not torch.strided:
        raise TypeError(f"a part that is a {type(tensor).__name__}")
    if tensor.is_quantized:
        raise TypeError("a part that is quantized")
    return tensor


def _layout_numbers(numbers: Any) -> tuple[Any, ...]:
    """Sizes or strides, as far as they are alike for tensors that differ in which ragged size they have."""
    return tuple(n if type(n) is int else nested_sizes.multiple_of_one(n) for n in numbers)


def _kept(value: Any) -> Any:
    """A copy of what Python can change without giving it another identity."""
    if type(value) is dict:
        return {key: _kept(item) for key, item in value.items()}
    if type(value) in (list, tuple, set):
        return type(value)(map(_kept, value))
    return value


def _alike(one: Any, other: Any, counterparts: Mapping[int, torch.Tensor] | None = None) -> bool:
    """Whether an attribute may stand for another; `counterparts`: tensors of `other` by those of `one`."""
    if one is other:
        return True
    if isinstance(one, torch.Tensor):
        return counterparts is not None and counterparts.get(id(one)) is other
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.SymInt):
        return nested_sizes.multiple_of_one(one) == nested_sizes.multiple_of_one(other)
    if isinstance(one, CONSTANTS):
        return bool(one == other)
    if type(one) in (list, tuple):
        return len(one) == len(other) and all(
            _alike(a, b, counterparts) for a, b in zip(one, other, strict=True)
        )
    if type(one) is dict:
        return list(one) == list(other) and all(_alike(one[key], other[key], counterparts) for key in one)
    if type(one) is set:
        return all(isinstance(each, CONSTANTS) for each in one) and one == other
    return False
