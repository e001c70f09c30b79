"""NumPy's arrays in captured code: torch's NumPy layer computes with tensors on their memory.

With `config.trace_numpy`, an array among the arguments of a compiled function, and what `Tensor.numpy`
gives, is an array of the layer while the function is captured. What leaves the captured code, at its end or
at a break, is NumPy's again.
"""

import functools
import sys
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from stator import _capture

_followed: list[Any] = []
"""Functions that have a substitute while arrays are followed."""


def _substitute(original: Any, function: Callable[..., Any], of: type | None = None) -> None:
    _capture.substitute(original, function, of)
    _followed.append(original)


@functools.cache
def _mend_layer() -> None:
    """Once: these are methods of torch's own classes."""
    import torch._numpy
    from torch._numpy import ndarray  # type: ignore[attr-defined]

    _DTYPES.update(_dtypes())
    _mend(ndarray)
    layer: Any = torch._numpy
    _accept_dtypes(type(layer.dtype("float64")))


def follow() -> None:
    """From now on captures compute with arrays; done once torch's layer has been loaded."""
    import numpy
    import torch._numpy
    from torch._numpy import ndarray  # type: ignore[attr-defined]

    import torch
    from stator import _torch

    ours: Any = torch._numpy
    _mend_layer()
    dtype_class = type(ours.dtype("float64"))
    by_scalar_type = {dtype_class(each).type: _DTYPES[each] for each in _DTYPES}
    _torch.follow_arrays(numpy, ndarray, dtype_class, by_scalar_type, torch.from_numpy, _array_of, _result_of)
    for name, original, function in functions():
        if name in _OTHERWISE:
            _capture.forget_substitute(original)  # of functions that `wrap_numpy` made
            continue
        if name in _MAKERS:
            _substitute(original, _making(function))
        else:
            # NumPy computes with 16 bits what is the first of its dtypes that fits a bool.
            most = original.nin if isinstance(original, numpy.ufunc) else None
            of_bools = most != 1 or name in _OF_BOOLS
            _substitute(original, _with_plain_dtypes(function, of_bools, most), ndarray)
    _settle_default_dtypes(ours._dtypes_impl)
    _substitute(ours._util._coerce_to_tensor, _coercion(ours._util._coerce_to_tensor))
    _substitute(torch._C.TensorBase.numpy, _as_array)
    for original in (torch.from_numpy, torch.as_tensor, torch.asarray):
        _substitute(original, _as_tensor, ndarray)
    _substitute(torch.tensor, _as_new_tensor, ndarray)
    _substitute(isinstance, _is_instance, ndarray)
    for name in ("divide", "true_divide"):
        _substitute(getattr(numpy, name), _quotient, ndarray)


def is_followed() -> bool:
    return bool(_followed)


def unfollow() -> None:
    """Captures know nothing of arrays, save those that `wrap_numpy` makes."""
    while _followed:
        _capture.forget_substitute(_followed.pop())
    if _wrapped:
        substitute_in_wrapped()


_wrapped: list[bool] = []


def substitute_in_wrapped() -> None:
    """Captures call the layer's functions where NumPy's are given arrays of its class."""
    from torch._numpy import ndarray  # type: ignore[attr-defined]

    _wrapped[:] = [True]
    if not is_followed():
        for _, original, function in functions():
            _capture.substitute(original, function, ndarray)


def functions() -> Iterator[tuple[str, Any, FunctionType]]:
    """Functions of NumPy's that torch's layer has too: the name, NumPy's, the layer's."""
    import numpy
    import torch._numpy as ours

    for theirs, layer in ((numpy, ours), (numpy.linalg, ours.linalg), (numpy.fft, ours.fft)):
        for name, function in _functions_of(layer):
            original = getattr(theirs, name, None)
            if callable(original) and not isinstance(original, type):
                yield name, original, function


_MAKERS = {
    *("array", "asarray", "zeros", "ones", "empty", "full", "arange", "linspace", "eye", "identity"),
    *("zeros_like", "ones_like", "empty_like", "full_like"),
}
"""Functions that give arrays without dimensions, where others give numbers; of plain numbers, too."""

_OTHERWISE = {
    # Other values, or other dtypes for ints.
    *(
        "cbrt",
        "fix",
        "ldexp",
        "reciprocal",
        "square",
        "trunc",
        "fabs",
        "rint",
        "arctan2",
        "copysign",
        "angle",
    ),
    *(
        "i0",
        "sinc",
        "modf",
        "heaviside",
        "divmod",
        "kron",
        "vander",
        "around",
        "round",
        "power",
        "float_power",
        "logaddexp",
        "logaddexp2",
        "sign",
    ),
    # Results of other types: lists for tuples, numbers for arrays, torch's dtypes.
    *("atleast_1d", "atleast_2d", "atleast_3d", "array_split", "split", "hsplit", "vsplit", "dsplit"),
    *("meshgrid", "gradient", "broadcast_arrays", "fill_diagonal", "tensordot", "common_type", "result_type"),
    *(
        "issubdtype",
        "can_cast",
        "min_scalar_type",
        "real_if_close",
        "pad",
        "roll",
        "tril_indices_from",
        "triu_indices_from",
    ),
    *("tril_indices", "triu_indices", "diag_indices", "diag_indices_from", "indices"),
    # No error where NumPy raises one.
    *("squeeze", "searchsorted", "clip", "resize"),
}
"""Functions of torch's layer that do not do as NumPy's; found by `tests/torch/test_array_functions.py`."""

_OF_BOOLS = {"logical_not", "isnan", "isinf", "isfinite", "invert", "absolute"}
"""Functions of one array that give for bools what NumPy's give."""

_KNOWN = {"bool", "int64", "float32", "float64", "complex64", "complex128"}
"""Dtypes with which the others do as NumPy's."""


def _settle_default_dtypes(layer: Any) -> None:
    """The layer makes them when it first needs them, by settings of TorchDynamo, which it would load."""
    import torch

    if "torch._dynamo" in sys.modules:
        layer.default_dtypes()
    elif layer._default_dtypes is None:
        layer._default_dtypes = layer.DefaultDTypes(torch.float64, torch.complex128, torch.int64)


def _functions_of(module: ModuleType) -> list[tuple[str, FunctionType]]:
    named = vars(module).items()
    return [(name, each) for name, each in named if not name.startswith("_") and type(each) is FunctionType]


def _plain(value: Any) -> Any:
    """A dtype of NumPy's by its name, which torch's layer knows."""
    import numpy

    if isinstance(value, numpy.dtype) or (type(value) is type and issubclass(value, numpy.generic)):
        value = numpy.dtype(value).name
        if value not in _KNOWN:
            _refuse()
    return value


def _with_plain_dtypes(function: FunctionType, of_bools: bool, most: int | None) -> FunctionType:
    """`most`: arguments that do not say where the result is put; None: all."""
    import torch

    def call(*args: Any, **kwargs: Any) -> Any:
        if most is not None and len(args) != most:
            _refuse()
        if not of_bools and args[0].tensor.dtype is torch.bool:
            _refuse()
        return function(*[_plain(each) for each in args], **{key: _plain(kwargs[key]) for key in kwargs})

    return call  # type: ignore[return-value]


def _making(function: FunctionType) -> FunctionType:
    def make(*args: Any, **kwargs: Any) -> Any:
        made = function(*[_plain(each) for each in args], **{key: _plain(kwargs[key]) for key in kwargs})
        made.stator_is_array = True
        return made

    return make  # type: ignore[return-value]


def _quotient(a: Any, b: Any) -> Any:
    return a / b


def _coercion(original: FunctionType) -> FunctionType:
    """What makes tensors of numbers, with a dtype by itself: torch's changes the default dtype meanwhile."""
    import torch

    # A function of its own: captures would call ours again in its place.
    alike = FunctionType(original.__code__, original.__globals__, original.__name__, original.__defaults__)

    def coerce(obj: Any, dtype: Any = None, copy: bool = False, ndmin: int = 0) -> Any:
        kind = _kind_of(obj)
        if kind is bool or kind is int:
            obj = torch.tensor(obj)
        elif kind is float:
            obj = torch.tensor(obj, dtype=torch.float64)
        return alike(obj, dtype, copy, ndmin)

    return coerce  # type: ignore[return-value]


def _kind_of(value: Any) -> Any:
    """bool, int or float: the kind of numbers that it is, or that its lists hold; None: others."""
    if type(value) in (bool, int, float):
        return type(value)
    if type(value) is not list or not value:
        return None
    kinds = [_kind_of(each) for each in value]
    if float in kinds:
        return None if None in kinds else float
    return kinds[0] if all(kind is kinds[0] for kind in kinds) else None


def _array_of(tensor: Any) -> Any:
    return tensor.detach().numpy()


def _result_of(tensor: Any) -> Any:
    """What NumPy's functions give: a number where no dimension is left."""
    array = tensor.detach().numpy()
    return array if array.ndim else array[()]


def _as_array(tensor: Any, *, force: bool = False) -> Any:
    """`Tensor.numpy`."""
    if tensor.dtype not in _DTYPES:
        _refuse()
    if force:
        tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    elif tensor.requires_grad or not tensor.is_cpu or tensor.is_conj() or tensor.is_neg():
        _refuse()
    array = _layer_class()(tensor)
    array.stator_is_array = True
    return array


def _layer_class() -> Any:
    from torch._numpy import ndarray  # type: ignore[attr-defined]

    return ndarray


def _as_tensor(data: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """`torch.from_numpy`, `torch.as_tensor`: on the same memory, if they can."""
    from torch._numpy import ndarray  # type: ignore[attr-defined]

    if type(data) is not ndarray:
        _refuse()
    return data.tensor.to(device=device, dtype=dtype) if dtype or device else data.tensor


def _as_new_tensor(data: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """`torch.tensor` of an array: a copy."""
    from torch._numpy import ndarray  # type: ignore[attr-defined]

    if type(data) is not ndarray:
        _refuse()
    return data.tensor.detach().to(device=device, dtype=dtype, copy=True)


def _is_instance(value: Any, classes: Any) -> bool:
    import numpy
    from torch._numpy import ndarray  # type: ignore[attr-defined]

    if type(value) is not ndarray:
        return issubclass(type(value), classes)
    return issubclass(ndarray, classes) or issubclass(numpy.ndarray, classes)


def _not_captured() -> None:
    """Ends the capture: the call is made natively, and torch says what it has to say."""


_refuse = _capture.Marked(_not_captured, "disabled")


def _mend(ndarray: Any) -> None:
    """Arrays without dimensions that were computed behave as NumPy's numbers, which never change."""
    get_item, as_type = ndarray.__getitem__, ndarray.astype

    def __getitem__(self: Any, index: Any) -> Any:
        found = get_item(self, index)
        if found.tensor.ndim != 0:
            return found
        if index is Ellipsis or (type(index) is tuple and any(each is Ellipsis for each in index)):
            found.stator_is_array = True
            return found
        return ndarray(found.tensor.clone())

    def __iter__(self: Any) -> Any:
        for i in range(len(self)):
            yield self[i]

    def astype(self: Any, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        converted = as_type(self, _plain(dtype), *args, **kwargs)
        return ndarray(converted.tensor.clone()) if converted.tensor is self.tensor else converted

    ndarray.__getitem__, ndarray.__iter__, ndarray.astype = __getitem__, __iter__, astype
    for name in ("__truediv__", "__rtruediv__"):
        _divide_as_floats(ndarray, name)
    for name in ("squeeze", "clip", "searchsorted", "resize", "round", "conj", "conjugate"):
        _only_if(ndarray, name, _is_plain_float)
    for name in ("__pow__", "__rpow__", "__ipow__", "__divmod__", "__rdivmod__"):
        _only_if(ndarray, name, _is_float_operation)
    for name in [
        each for each in vars(ndarray) if each.startswith("__i") and f"__{each[3:]}" in vars(ndarray)
    ]:
        _keep_numbers(ndarray, name)


def _dtypes() -> dict[Any, Any]:
    """NumPy's dtypes by torch's."""
    import torch

    empty = [torch.empty(0, dtype=getattr(torch, name)) for name in sorted(_KNOWN)]
    return {each.dtype: each.numpy().dtype for each in empty}


_DTYPES: dict[Any, Any] = {}


def _accept_dtypes(dtype_class: Any) -> None:
    """dtypes of torch's layer are made of NumPy's, too, and equal to them."""
    make = dtype_class.__init__

    def __init__(self: Any, arg: Any) -> None:
        make(self, _plain(arg))

    dtype_class.__init__ = __init__


def _divide_as_floats(ndarray: Any, name: str) -> None:
    """Quotients of ints have NumPy's default dtype and not torch's."""
    import torch

    divide = getattr(ndarray, name)

    def quotient(self: Any, other: Any) -> Any:
        is_exact = not (self.tensor.is_floating_point() or self.tensor.is_complex())
        return divide(ndarray(self.tensor.to(torch.float64)) if is_exact else self, other)

    setattr(ndarray, name, quotient)


def _is_plain_float(array: Any, args: tuple[Any, ...]) -> bool:
    return array.tensor.is_floating_point() and not args


def _is_float_operation(array: Any, args: tuple[Any, ...]) -> bool:
    return bool(array.tensor.is_floating_point())


def _only_if(ndarray: Any, name: str, holds: Callable[[Any, tuple[Any, ...]], bool]) -> None:
    """A method of torch's layer that raises no errors, or gives other dtypes, for other arguments."""
    method = getattr(ndarray, name)

    def called(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs or not holds(self, args):
            _refuse()
        return method(self, *args, **kwargs)

    setattr(ndarray, name, called)


def _keep_numbers(ndarray: Any, name: str) -> None:
    in_place = getattr(ndarray, name)

    def changed(self: Any, other: Any) -> Any:
        if self.tensor.ndim == 0 and "stator_is_array" not in vars(self):
            return NotImplemented  # Python computes a new one
        return in_place(self, other)

    setattr(ndarray, name, changed)


def replace() -> None:
    """Captures know arrays where the setting says so and the program can have some."""
    from stator import _torch
    from stator.config import config

    if config.trace_numpy and "numpy" in sys.modules:
        if not is_followed():
            follow()
    elif is_followed():
        unfollow()
    _torch.trace_arrays(config.trace_numpy)
