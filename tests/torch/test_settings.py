"""tests/torch/test_settings.py: functions that ask for settings of the process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import stator
import torch


@pytest.fixture(autouse=True)
def _settings_stay() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
    torch.set_float32_matmul_precision("highest")
    torch.backends.mkldnn.set_flags(True)
    torch.backends.cudnn.set_flags(True)
    torch.backends.cuda.matmul.allow_tf32 = False


def flag(value: object) -> float:
    return float(len(str(value)))


CASES: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
    "mkldnn": (lambda: torch.backends.mkldnn.enabled, lambda: torch.backends.mkldnn.set_flags(False)),
    "cudnn": (lambda: torch.backends.cudnn.enabled, lambda: torch.backends.cudnn.set_flags(False)),
    "matmul precision": (
        torch.get_float32_matmul_precision,
        lambda: torch.set_float32_matmul_precision("medium"),
    ),
    "tf32": (
        lambda: torch.backends.cuda.matmul.allow_tf32,
        lambda: setattr(torch.backends.cuda.matmul, "allow_tf32", True),
    ),
    "threads": (
        lambda: "x" * torch.get_num_threads(),
        lambda: torch.set_num_threads(torch.get_num_threads() + 1),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_setting_is_read_and_guarded(name: str) -> None:
    ask, change = CASES[name]

    def function(x: torch.Tensor) -> torch.Tensor:
        return x * flag(ask())

    compiled: Any = stator.compile(function, backend="native")
    x = torch.ones(2)
    for _ in range(2):
        assert torch.equal(compiled(x), function(x))
    assert compiled.breaks == []
    before = function(x)
    change()
    assert not torch.equal(before, function(x)), "the change is one that the function sees"
    for _ in range(2):
        assert torch.equal(compiled(x), function(x))
    assert compiled.breaks == []
