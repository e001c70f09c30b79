"""What AOT autograd and Inductor find around a compilation: torch's TracingContext.

torch.fx keeps operators without readers that draw random numbers unless there is one: without it a backward
would draw those of its forward once more.
"""

import functools
import sys
from collections.abc import Callable
from typing import Any

from stator._capture import call_with_attributes


def call(module: Any, overlapping: bool, function: Callable[[], Any]) -> Any:
    """`overlapping`: the graph's own fake tensors, whose memory is not shared, are not what is compiled."""
    guards = sys.modules.get("torch._guards")
    fakes = module.meta.get("stator_fakes")
    if guards is None or fakes is None:
        return function()
    context = _context_class()(_mode_of_constant_sizes if overlapping else lambda: fakes.mode)
    if not overlapping:
        fakes.make_ragged()
    try:
        # Not `guards.tracing`: an interrupt in its Python code would leave the context there for good.
        return call_with_attributes(guards._TLS, {"tracing_context": context}, function)
    finally:
        context.make_mode = None
        if context.fake_mode is not None and context.fake_mode.shape_env is not None:
            context.fake_mode.shape_env.cleanup()


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
