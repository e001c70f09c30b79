"""A change of a program's world, and the changes that put something else at a place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

ITEMS = 3  # of a container, each changed; further ones are like them


@dataclass(frozen=True)
class Change:
    text: str
    kind: str
    setting: bool = False


def slot(path: str, value: Any, kind: str, assign: Callable[[str], str]) -> Iterator[Change]:
    """What stands at a place is replaced: by another value, an equal one, one of another type."""
    for how in ("changed", "equal", "retyped"):
        yield Change(assign(f"{how}({path})"), f"{kind} {how}")
    if isinstance(value, torch.Tensor) and value.layout is torch.strided:
        for text in (
            f"{path}.detach().clone().requires_grad_()",
            f"other_layout({path})",
            f"inference({path})",
        ):
            yield Change(assign(text), f"{kind} another tensor")
