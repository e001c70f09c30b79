"""Where the program was when an operator of a graph raised (called from src/backends/fx/fx_program.cpp)."""

from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import torch
from torch import fx

LINE = "stator_line"
"""Where the `meta` of a node says which line of the program it comes from, by its number."""

_GENERATED = "<eval_with_key>"
_TORCH = str(Path(torch.__file__).parent)


def failed_line(error: BaseException, module: Any) -> int:
    """The number of the line whose node raised; 0: not known, or raised by code of the backend's own.

    `module`: the graph as the backend was given it. In what it made of that the lines of nodes are texts. An
    error out of torch's own code is as if that line had raised it.
    """
    frames = list(_frames(error.__traceback__))
    places = [i for i, (frame, _) in enumerate(frames) if frame.f_code.co_filename.startswith(_GENERATED)]
    if not places:
        return 0
    frame, line = frames[places[-1]]
    number = _number_of(_node_at(frame.f_locals.get("self"), line), module)
    below = frames[places[-1] + 1 :]
    if number and all(each.f_code.co_filename.startswith(_TORCH) for each, _ in below):
        error.__traceback__ = None
    return number


def _frames(traceback: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    while traceback is not None:
        yield traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next


def _number_of(node: fx.Node | None, module: Any) -> int:
    if node is None:
        return 0
    if LINE in node.meta:
        return int(node.meta[LINE])
    text = node.meta.get("stack_trace")
    for each in module.graph.nodes:
        if text is not None and LINE in each.meta and each.meta.get("stack_trace") == text:
            return int(each.meta[LINE])
    return 0


def _node_at(module: Any, line: int) -> fx.Node | None:
    """The node of a graph module that this line of its generated code runs."""
    if not isinstance(module, fx.GraphModule) or not module._lineno_map:
        return None
    place = module._lineno_map.get(line - module._prologue_start)
    nodes = list(module.graph.nodes)
    return nodes[place] if place is not None and place < len(nodes) else None
