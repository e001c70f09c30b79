"""Sizes that the caller of `export` wants to stay open, and whether the program keeps them so."""

import contextlib
from collections.abc import Iterator
from typing import Any


class Wanted:
    """The constraints on the sizes of the arguments."""

    def __init__(self, constraints: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.constraints = constraints
        self._args = (args, kwargs)

    @contextlib.contextmanager
    def marked(self) -> Iterator[None]:
        """The dimensions are symbols in captures that are made meanwhile."""
        yield


def wanted(f: Any, args: Any, kwargs: Any, dynamic_shapes: Any, constraints: Any) -> Wanted:
    """What `dynamic_shapes` asks for, in torch.export's own words."""
    if constraints:
        return Wanted(list(constraints), args, kwargs)
    if dynamic_shapes is None:
        return Wanted([], args, kwargs)
    from torch.export.dynamic_shapes import _combine_args, _process_dynamic_shapes

    combined = _combine_args(f, args, kwargs)
    return Wanted(list(_process_dynamic_shapes(combined, dynamic_shapes)), args, kwargs)


def check(
    captured: Any, parameters: Any, arguments: Any, wanted: Wanted, dynamic_shapes: Any, solve: bool
) -> None:
    """An error where the program fixes a size that is to stay open."""
    if not wanted.constraints:
        return
