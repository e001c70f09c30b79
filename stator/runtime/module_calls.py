"""Calls of modules: captures know whose frames led to an operator, which graphs say as `nn_module_stack`."""

import functools

from stator import _capture


@functools.cache
def replace() -> None:
    """Frames of `nn.Module.__call__` belong to their modules."""
    from torch.nn import Module

    for method in (Module._wrapped_call_impl, Module._call_impl):
        _capture.own_code(method.__code__)
