"""A story: a program, what happens to it call after call, and what it leaves behind.

A story is told twice from its start, plainly and compiled; results, exceptions and what was left must be the
same after each step.
"""

import copy
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

Change = Callable[[], object]


@dataclass
class Call:
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]


@dataclass
class Story:
    function: Callable[..., Any]
    steps: list[Call | Change]
    left: Callable[[], Any] = tuple
    whole: bool = True  # every call is captured
    served: int = 1  # calls that an older capture serves, at least


Telling = Callable[[], Story]
STORIES: dict[str, Telling] = {}


def story(build: Telling) -> Telling:
    assert build.__name__ not in STORIES
    STORIES[build.__name__] = build
    return build


def call(*arguments: Any, **keywords: Any) -> Call:
    return Call(arguments, keywords)


def tensor(*sizes: int) -> torch.Tensor:
    return torch.arange(float(math.prod(sizes))).reshape(sizes) / 7 - 0.3


def shown(value: Any) -> Any:
    """By types and values, so that a number in disguise is told from a number."""
    if isinstance(value, torch.Tensor):
        return "tensor", str(value.dtype), value.detach().tolist()
    if isinstance(value, dict):
        return type(value).__name__, [(shown(key), shown(item)) for key, item in value.items()]
    if isinstance(value, list | tuple | deque):
        return type(value).__name__, [shown(item) for item in value]
    if isinstance(value, set | frozenset):
        return type(value).__name__, sorted(map(repr, value))
    if hasattr(value, "__dict__") and not isinstance(value, type) and type(value).__module__ != "builtins":
        return type(value).__name__, shown(vars(value))
    return type(value).__name__, repr(value)


def told(tale: Story, function: Callable[..., Any]) -> list[Any]:
    seen: list[Any] = []
    for step in tale.steps:
        if not isinstance(step, Call):
            step()
            continue
        given = copy.deepcopy(step)
        try:
            seen.append(shown(function(*given.arguments, **given.keywords)))
        except Exception as error:
            seen.append((type(error).__name__, str(error)))
        seen.append(shown(given.arguments))
        seen.append(shown(tale.left()))
    return seen
