"""`torch.ops.library.name` in captured code: looking one up for the first time is no part of the program."""

from torch._ops import OpOverloadPacket, _OpNamespace

from stator import _capture


def replace() -> None:
    """Captures look an operator up once, outside of what is captured: torch keeps what it finds."""
    for owner in (_OpNamespace, OpOverloadPacket):
        _capture.mark_function(owner.__getattr__, "constant")
