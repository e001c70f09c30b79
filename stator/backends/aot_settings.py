"""The settings of AOT autograd that a graph is compiled with."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from stator.backends import corrected_decompositions
from torch import fx


@contextmanager
def around(module: fx.GraphModule) -> Iterator[None]:
    from torch._functorch import config

    settings: dict[str, Any] = {}
    if len(module.graph.output_node().all_input_nodes) > 1:
        # What torch keeps on disk of a backward cannot be compiled again (undefined_gradients.py).
        settings["enable_autograd_cache"] = False
    if any(node.target in _detaching() for node in module.graph.nodes):
        # torch takes the result of `v.detach()` for a view of `v`, where that is a result, too, and would
        # make it by all views that lead to `v`: of `v = y.t()` twice transposed, of a part another part.
        settings["view_replay_for_aliased_outputs"] = False
    with config.patch(settings), corrected_decompositions.installed_for(module):
        yield


def _detaching() -> tuple[Any, ...]:
    return torch.ops.aten.detach.default, torch._C._autograd._get_data_attr  # type: ignore[attr-defined]
