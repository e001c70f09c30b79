"""`torch._dynamo.graph_break()` and its like, by which programs ask for a break."""

from types import FunctionType, ModuleType

from stator import _capture

NAMES = ("graph_break", "skip_frame", "step_unsupported")


def mark_breaks(dynamo: ModuleType) -> None:
    """Make calls of them end a capture. They do nothing else, and torch knows them by their identity."""
    for name in NAMES:
        function = getattr(dynamo, name, None)
        if type(function) is FunctionType:
            _capture.mark_function(function, "skipped")
