"""Backends: what runs a captured graph, by name or as a function of yours."""

from stator.backends import builtin as _builtin  # noqa: F401  (registers the built-in ones)
from stator.backends import fused as _fused  # noqa: F401
from stator.backends import openxla as _openxla  # noqa: F401
from stator.backends.aot import (
    aot_autograd,
    device_from_inputs,
    dtype_from_inputs,
    fake_tensor_unsupported,
    mem_efficient_fusion_kwargs,
)
from stator.backends.invoke import BackendFailed
from stator.backends.registry import (
    InvalidBackend,
    list_backends,
    lookup_backend,
    register_backend,
    register_debug_backend,
    register_experimental_backend,
)

__all__ = [
    "BackendFailed",
    "InvalidBackend",
    "aot_autograd",
    "device_from_inputs",
    "dtype_from_inputs",
    "fake_tensor_unsupported",
    "list_backends",
    "lookup_backend",
    "mem_efficient_fusion_kwargs",
    "register_backend",
    "register_debug_backend",
    "register_experimental_backend",
]
