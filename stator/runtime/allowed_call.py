"""A Python function as one node of a graph (`allow_in_graph`); see torch/replacements/allowed_call.cpp."""

import dataclasses
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from torch.utils import _pytree as pytree

import torch

CONSTANTS = (type(None), bool, int, float, complex, str, torch.dtype, torch.device, torch.Size)

SYMBOLS = (torch.SymInt, torch.SymFloat)


class OpaqueCall:
    """One call as it was captured: which of its leaves are tensors, what else it was given and returned."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        symbols: bool = False,
    ) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        opened = pytree.tree_map(_opened, (args, kwargs), is_leaf=_is_known_size)
        leaves, self._given = pytree.tree_flatten(opened, is_leaf=_is_known_size)
        if not symbols:  # what comes out is known for these numbers only
            leaves = [_number(leaf) if isinstance(leaf, SYMBOLS) else leaf for leaf in leaves]
        self.tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        self.numbers = [leaf for leaf in leaves if isinstance(leaf, SYMBOLS)]
        self._leaves = [_place(leaf) for leaf in leaves]
        for leaf in self._leaves:
            if not isinstance(leaf, (_Place, *CONSTANTS)):
                raise TypeError(f"an argument is a {type(leaf).__name__}")
        self._returned: Any = None
        self._results: list[Any] = []

    def infer(self) -> list[tuple[Any, ...]]:
        """What the outputs look like, from a run on fake tensors."""
        from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

        mode = FakeTensorMode(allow_non_fake_inputs=True)  # tensors that the function finds by itself

        def fake(tensor: torch.Tensor) -> torch.Tensor:
            size, stride = [int(n) for n in tensor.shape], [int(n) for n in tensor.stride()]
            element = torch.empty_strided(size, stride, dtype=tensor.dtype, device="meta").requires_grad_(
                tensor.requires_grad
            )
            made: torch.Tensor = FakeTensor(mode, element, tensor.device)
            return made if tensor.is_leaf or not tensor.requires_grad else made.view_as(made)

        with mode:
            args, kwargs = self.arguments([fake(tensor) for tensor in self.tensors])
            results = self.returns(self.function(*args, **kwargs))
        return [(each.shape, each.stride(), each.dtype, each.device, each.requires_grad) for each in results]

    def returns(self, result: Any) -> list[torch.Tensor]:
        """Take note of what the function returns; the tensors of it."""
        leaves, self._returned = pytree.tree_flatten(result)
        for leaf in leaves:
            if not isinstance(leaf, (torch.Tensor, *CONSTANTS)):
                raise TypeError(f"a result is a {type(leaf).__name__}")
        self._results = [_TENSOR if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]

    @property
    def result_count(self) -> int:
        """How many tensors it returns."""
        return sum(known is _TENSOR for known in self._results)

    def forget(self) -> None:
        """Drop the tensors and symbols of the capture."""
        self.tensors, self.numbers = [], []

    def leaves(self, tensors: list[Any], numbers: Iterable[Any] = ()) -> list[Any]:
        """The leaves of the arguments, with these in the places of the tensors and numbers."""
        return _filled(self._leaves, tensors, numbers)

    def arguments(
        self, tensors: list[Any], numbers: Iterable[Any] = ()
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with these in the places of the tensors and of the symbolic numbers."""
        opened = pytree.tree_unflatten(self.leaves(tensors, numbers), self._given)
        args, kwargs = pytree.tree_map(_closed, opened, is_leaf=_is_whole)
        return args, kwargs

    def result(self, tensors: list[Any]) -> Any:
        """The result with these in the places of the tensors."""
        return pytree.tree_unflatten(_filled(self._results, tensors), self._returned)

    def __call__(self, tensors: list[torch.Tensor], *numbers: float) -> list[torch.Tensor]:
        """Run the function; called by every replay of the graph."""
        args, kwargs = self.arguments(tensors, numbers)
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
        if self._returned.is_leaf():
            return [None] if self._results == [_TENSOR] else []  # a constant, or nothing
        if self._returned.type in (tuple, list) and all(
            child.is_leaf() for child in self._returned.children()
        ):
            return [i for i, known in enumerate(self._results) if known is _TENSOR]
        raise NotImplementedError(f"torch.fx has no form of what {self.name} returns")

    def is_plain(self) -> bool:
        """Whether torch.fx can hold what it is given and returns: containers of Python's own."""
        try:
            self.places()
        except NotImplementedError:
            return False
        return _has_plain_containers(self._given)

    def on_leaves(self) -> Callable[..., list[torch.Tensor]]:
        """The call as a function of its tensors and numbers alone, which gives the tensors of the result."""
        count = sum(leaf is _TENSOR for leaf in self._leaves)

        def call(*leaves: Any) -> list[torch.Tensor]:
            return self(list(leaves[:count]), *leaves[count:])

        call.__name__ = call.__qualname__ = self.name
        return call


class Apply:
    """`torch.autograd.Function.apply` of a class, which it does not keep alive."""

    def __init__(self, function: type) -> None:
        self.__name__ = self.__qualname__ = function.__name__
        # torch.fx writes names of torch's as they are, which would be the class itself.
        self.__module__ = __name__ if function.__module__.split(".")[0] == "torch" else function.__module__
        self._function = weakref.ref(function)

    def __call__(self, *args: Any) -> Any:
        """Make the call as autograd makes it: the forward, and a history that leads to the backward."""
        return _APPLY.__get__(None, self._function())(*args)


_APPLY: Any = vars(torch._C._FunctionBase)["apply"]


def _has_plain_containers(structure: Any) -> bool:
    return structure.is_leaf() or (
        structure.type in (tuple, list, dict) and all(map(_has_plain_containers, structure.children()))
    )


class _Fields:
    """The fields of an instance of a frozen dataclass, in its place."""

    def __init__(self, kind: type, values: dict[str, Any]) -> None:
        self.kind = kind
        self.values = values


pytree.register_pytree_node(
    _Fields,
    lambda fields: (list(fields.values.values()), (fields.kind, tuple(fields.values))),
    lambda values, of: _Fields(of[0], dict(zip(of[1], values, strict=True))),
)


def _is_opened(value: Any) -> bool:
    return type(value) is _Fields


def _is_whole(value: Any) -> bool:
    return _is_opened(value) or _is_known_size(value)


def _opened(leaf: Any) -> Any:
    """Its fields in place of an instance that nobody can change, made by a dataclass alone."""
    kind = type(leaf)
    parameters = vars(kind).get("__dataclass_params__")
    if parameters is None or not parameters.frozen or hasattr(kind, "__post_init__"):
        return leaf
    names = [field.name for field in dataclasses.fields(leaf)]
    if not names or set(getattr(leaf, "__dict__", names)) != set(names):
        return leaf
    values = {name: getattr(leaf, name) for name in names}
    return _Fields(kind, pytree.tree_map(_opened, values, is_leaf=_is_known_size))


def _closed(value: Any) -> Any:
    """The instance again."""
    if not _is_opened(value):
        return value
    made = object.__new__(value.kind)
    for name, content in value.values.items():
        object.__setattr__(made, name, pytree.tree_map(_closed, content, is_leaf=_is_whole))
    return made


class _Place:
    """Stands where a tensor was, or a number that differs from call to call."""


_TENSOR, _NUMBER = _Place(), _Place()


def _is_known_size(value: Any) -> bool:
    """A constant as a whole: torch's trees would make a tuple of it."""
    return type(value) is torch.Size and all(type(size) is int for size in value)


def _place(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor):
        return _TENSOR
    return _NUMBER if isinstance(leaf, SYMBOLS) else leaf


def _number(symbol: torch.SymInt | torch.SymFloat) -> int | float:
    return int(symbol) if isinstance(symbol, torch.SymInt) else float(symbol)


def _filled(leaves: list[Any], tensors: list[Any], numbers: Iterable[Any] = ()) -> list[Any]:
    rest = {_TENSOR: iter(tensors), _NUMBER: iter(numbers)}
    return [next(rest[leaf]) if isinstance(leaf, _Place) else leaf for leaf in leaves]
