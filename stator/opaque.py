"""A Python function as one node of a graph (`allow_in_graph`); driven by src/torch/domain/opaque_call.cpp."""

from collections.abc import Callable
from typing import Any

from torch.utils import _pytree as pytree

import torch

CONSTANTS = (type(None), bool, int, float, complex, str, torch.dtype, torch.device, torch.Size)


class OpaqueCall:
    """One call as it was captured: which of its leaves are tensors, what else it was given and returned."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        leaves, self._given = pytree.tree_flatten((args, kwargs))
        self.tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        self._leaves = [_TENSOR if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        for leaf in self._leaves:
            if leaf is not _TENSOR and not isinstance(leaf, CONSTANTS):
                raise TypeError(f"an argument is a {type(leaf).__name__}")
        self._returned: Any = None
        self._results: list[Any] = []

    def infer(self) -> list[tuple[Any, ...]]:
        """What the outputs look like, from a run on fake tensors."""
        from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

        mode = FakeTensorMode()

        def fake(tensor: torch.Tensor) -> torch.Tensor:
            element = torch.empty_strided(
                tuple(tensor.shape), tensor.stride(), dtype=tensor.dtype, device="meta"
            ).requires_grad_(tensor.requires_grad)
            made: torch.Tensor = FakeTensor(mode, element, tensor.device)
            return made if tensor.is_leaf or not tensor.requires_grad else made.view_as(made)

        with mode:
            args, kwargs = self.arguments([fake(tensor) for tensor in self.tensors])
            leaves, self._returned = pytree.tree_flatten(self.function(*args, **kwargs))
        rows = []
        for leaf in leaves:
            if isinstance(leaf, torch.Tensor):
                rows.append((leaf.shape, leaf.stride(), leaf.dtype, leaf.device, leaf.requires_grad))
                self._results.append(_TENSOR)
            elif isinstance(leaf, CONSTANTS):
                self._results.append(leaf)
            else:
                raise TypeError(f"a result is a {type(leaf).__name__}")
        return rows

    def forget(self) -> None:
        """Drop the tensors of the capture."""
        self.tensors = []

    def arguments(self, tensors: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with these in the places of the tensors."""
        args, kwargs = pytree.tree_unflatten(_filled(self._leaves, tensors), self._given)
        return args, kwargs

    def result(self, tensors: list[Any]) -> Any:
        """The result with these in the places of the tensors."""
        return pytree.tree_unflatten(_filled(self._results, tensors), self._returned)

    def __call__(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        """Run the function; called by every replay of the graph."""
        args, kwargs = self.arguments(tensors)
        return self.tensors_of(self.function(*args, **kwargs))

    def tensors_of(self, result: Any) -> list[Any]:
        """The tensors of a result, which must be of the shape that was captured."""
        leaves, returned = pytree.tree_flatten(result)
        if returned != self._returned:
            raise RuntimeError(
                f"stator: {self.name}, allowed in the graph, returns another structure: {returned}"
            )
        return [leaf for leaf, known in zip(leaves, self._results, strict=True) if known is _TENSOR]

    def places(self) -> list[Any]:
        """How to take each tensor out of the result: None for the result itself, or an index of it."""
        if len(self._results) == 1 and self._returned.is_leaf():
            return [None]
        if self._returned.type in (tuple, list) and all(
            child.is_leaf() for child in self._returned.children()
        ):
            return [i for i, known in enumerate(self._results) if known is _TENSOR]
        raise NotImplementedError(f"torch.fx has no form of what {self.name} returns")


class _Tensor:
    """Stands where a tensor was."""


_TENSOR = _Tensor()


def _filled(leaves: list[Any], tensors: list[Any]) -> list[Any]:
    rest = iter(tensors)
    return [next(rest) if leaf is _TENSOR else leaf for leaf in leaves]
