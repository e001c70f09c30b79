"""`wrap_numpy`: functions on NumPy's arrays as functions on tensors.

Captured, such a function computes with tensors: torch has NumPy's functions for an array class of its own
(`torch._numpy`), and captures call those where one of NumPy's is given such an array. What torch does not
have, and what cannot be captured, makes the call of the whole function a break: NumPy runs it.
"""

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

from stator import _capture, support

P = ParamSpec("P")


def wrap_numpy(fn: Callable[P, Any]) -> Callable[..., Any]:
    """A function on tensors that does what `fn` does on NumPy's arrays.

    Tensors among its arguments arrive as arrays, and arrays that it returns become tensors. Compiled, it
    is tensor work: part of the graph, on the device of its arguments, and with gradients.

    >>> import numpy, stator, torch
    >>> @stator.compile(backend="native", fullgraph=True)
    ... @wrap_numpy
    ... def norms(a):
    ...     return numpy.sqrt(numpy.sum(a * a, axis=1))
    >>> x = torch.tensor([[3.0, 4.0]], requires_grad=True)
    >>> norms(x).sum().backward()
    >>> x.grad
    tensor([[0.6000, 0.8000]])
    """
    if not callable(fn):
        raise TypeError(f"stator.wrap_numpy: a callable is needed, not {type(fn).__name__}")

    import numpy  # noqa: F401, captures know what the program has imported

    support.load_torch_extension()
    _follow_numpy()

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return _on_arrays(fn, args, kwargs)

    return wrapped


def _on_arrays(fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """With NumPy's arrays."""
    import numpy
    from torch.utils._pytree import tree_map_only

    import torch

    args, kwargs = tree_map_only(torch.Tensor, lambda x: x.numpy(), (args, kwargs))
    # Numbers of NumPy's own too: they are arrays without dimensions in the captured form.
    return tree_map_only((numpy.ndarray, numpy.generic), torch.as_tensor, fn(*args, **kwargs))


def _on_tensors(fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """With arrays of torch's layer: what captures call in the place of `_on_arrays`."""
    return _as_tensors(fn(*_as_arrays(args), **_as_arrays(kwargs)))


def _as_arrays(value: Any) -> Any:
    """Tensors as arrays of torch's layer, in tuples, lists and dictionaries."""
    import torch

    if isinstance(value, torch.Tensor):
        return _array_class()(value)
    return _each(value, _as_arrays)


def _as_tensors(value: Any) -> Any:
    if isinstance(value, _array_class()):
        return value.tensor
    return _each(value, _as_tensors)


def _array_class() -> Any:
    from torch._numpy import ndarray  # type: ignore[attr-defined]

    return ndarray


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    if type(value) is dict:
        return {key: change(item) for key, item in value.items()}
    if type(value) is list or type(value) is tuple:
        return type(value)([change(item) for item in value])
    return value


@functools.cache
def _follow_numpy() -> None:
    """Captures call torch's functions where NumPy's are given arrays of torch's layer."""
    from stator.runtime import arrays

    # As a substitute it is captured whole, or not at all: then NumPy's form runs.
    _capture.substitute(_on_arrays, _on_tensors)
    arrays.substitute_in_wrapped()
