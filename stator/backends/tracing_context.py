"""What AOT autograd and Inductor find around a compilation: torch's TracingContext.

torch.fx keeps operators without readers that draw random numbers unless there is one: without it a backward
would draw those of its forward once more.
"""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def around(module: Any, overlapping: bool) -> Iterator[None]:
    """`overlapping`: the graph's own fake tensors, whose memory is not shared, are not what is compiled."""
    guards = sys.modules.get("torch._guards")
    fakes = module.meta.get("stator_fakes")
    if guards is None or fakes is None:
        yield
        return
    context = _context_class()(_mode_of_constant_sizes if overlapping else lambda: fakes.mode)
    if not overlapping:
        fakes.make_ragged()
    with guards.tracing(context):
        try:
            yield
        finally:
            context.make_mode = None


def _mode_of_constant_sizes() -> Any:
    from torch._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode()


@functools.cache
def _context_class() -> Any:
    from torch._guards import TracingContext

    class LazyContext(TracingContext):
        """Makes its mode when asked for it: that costs seconds the first time, and few backends do so."""

        def __init__(self, make_mode: Callable[[], Any]) -> None:
            self.make_mode: Callable[[], Any] | None = make_mode
            self._mode: Any = None
            super().__init__(None)

        @property
        def fake_mode(self) -> Any:
            if self._mode is None and self.make_mode is not None:
                self._mode = self.make_mode()
            return self._mode

        @fake_mode.setter
        def fake_mode(self, mode: Any) -> None:
            self._mode = mode

    return LazyContext
