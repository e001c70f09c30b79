"""Stands for `stator._capture` in tests of the conformance runner; the counts come from the environment."""

import os

_on = 0


def interpret_everything(on: bool) -> None:
    global _on
    _on += on


def statistics() -> dict[str, object]:
    finished = int(os.environ.get("FAKE_FINISHED", "98"))
    return {
        "frames": 100,
        "finished": finished if _on else 0,
        "passed": 0,
        "handed_over": 100 - finished,
        "handover_reasons": {"opcode SEND": 100 - finished},
    }


def reset_statistics() -> None:
    pass
