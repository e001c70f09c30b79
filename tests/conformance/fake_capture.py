"""Stands for `stator._capture` in tests of the conformance runner; the counts come from the environment.

It is loaded before `os` can be.
"""

import posix

_on = 0


def interpret_everything(on: bool) -> None:
    global _on
    _on += on


def statistics() -> dict[str, object]:
    finished = int(posix.environ.get(b"FAKE_FINISHED", b"98"))
    return {
        "frames": 100,
        "finished": finished if _on else 0,
        "passed": 0,
        "handed_over": 100 - finished,
        "handover_reasons": {"opcode SEND": 100 - finished},
    }


def reset_statistics() -> None:
    pass


def capture_statistics() -> dict[str, int]:
    return {}
