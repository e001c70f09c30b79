"""`traceback.clear_frames` as captures know it."""

import traceback
from types import TracebackType

from stator import _capture


def clear_frames(tb: TracebackType | None) -> None:
    """Frames of captured calls hold no local variables once they are left: there are none.

    A traceback that existed before the capture ends it: what `tb_next` reads cannot be guarded.
    """
    if tb is not None:
        _ = tb.tb_next


def replace() -> None:
    """Captures call ours: `unittest`'s assertRaises calls it for every error that it expects."""
    _capture.substitute(traceback.clear_frames, clear_frames)
