"""Who calls `torch.compile`: the program, or torch for a purpose of its own."""

from types import FrameType

FRONT_DOORS = (
    "torch.nn.modules.module",
    "torch.compiler",
    "torch._dynamo.testing",
    "torch._dynamo.test_case",
)
"""Modules of torch that compile what they are given by the program."""


def is_program(frame: FrameType) -> bool:
    """Whether the code of this frame is the program's, or asks for it.

    torch compiles functions of its own with Dynamo: operators that take functions (cond, flex_attention) when
    they run eagerly, symbolic shapes. These rely on how Dynamo treats them.
    """
    name = str(frame.f_globals.get("__name__", ""))
    if name != "torch" and not name.startswith("torch."):
        return True
    return name in FRONT_DOORS or name.startswith("torch.testing.")
