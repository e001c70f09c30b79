"""What backends that compile forward and backward are made of: torch's AOT autograd, under its usual names.

Nothing of torch is imported before one of these is used.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

Compiler = Callable[..., Any]
"""`fn(gm, example_inputs) -> callable`, for a graph of ATen operators below autograd."""


class AotBackend:
    """A backend: traces forward and backward of a graph and hands each to its compiler."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.compiler_name = "aot_autograd"
        self._settings = settings
        self._made: Any = None

    def __call__(self, gm: Any, example_inputs: Any, **options: Any) -> Any:
        from stator.api.contexts import disable

        if self._made is None:
            from torch._dynamo.backends.common import aot_autograd as theirs

            self._made = theirs(**self._settings)
        # What it gives is compiled: a capture that meets it must not look inside.
        return disable(self._made(gm, example_inputs, **options))


def aot_autograd(
    *,
    fw_compiler: Compiler,
    bw_compiler: Compiler | None = None,
    inference_compiler: Compiler | None = None,
    decompositions: Mapping[Any, Any] | Callable[[], Mapping[Any, Any]] | None = None,
    partition_fn: Callable[..., Any] | None = None,
    **others: Any,
) -> AotBackend:
    """A backend of compilers for the forward, the backward, and for graphs without gradients.

    The last two default to the first. `decompositions` may be a function that gives them. Counted in
    `torch._dynamo.utils.counters["aot_autograd"]`: `total`, `ok`, `not_ok`.
    """
    given = {
        "fw_compiler": fw_compiler,
        "bw_compiler": bw_compiler,
        "inference_compiler": inference_compiler,
        "decompositions": decompositions,
        "partition_fn": partition_fn,
    }
    for name in ("fw_compiler", "bw_compiler", "inference_compiler", "partition_fn"):
        if given[name] is not None and not callable(given[name]):
            raise TypeError(f"aot_autograd: {name} is a callable, not {type(given[name]).__name__}")
    return AotBackend({**{name: value for name, value in given.items() if value is not None}, **others})


def mem_efficient_fusion_kwargs(use_decomps: bool) -> dict[str, Any]:
    """Arguments for `aot_autograd` that fuse through TorchScript and keep little for the backward."""
    from torch._dynamo.backends import common

    return common.mem_efficient_fusion_kwargs(use_decomps)


def fake_tensor_unsupported(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator for backends that need real inputs: fake ones are replaced by zeros."""
    from torch._dynamo.backends import common

    decorated: Callable[..., Any] = common.fake_tensor_unsupported(fn)
    return decorated


def device_from_inputs(example_inputs: Iterable[Any]) -> Any:
    """The device of the first input that has one; else the CPU."""
    import torch

    return next((each.device for each in example_inputs if hasattr(each, "device")), torch.device("cpu"))


def dtype_from_inputs(example_inputs: Iterable[Any]) -> Any:
    """The dtype of the first input that has one; else float32."""
    import torch

    return next((each.dtype for each in example_inputs if hasattr(each, "dtype")), torch.float32)
