"""`cudagraph_mark_step_begin`: where an iteration of a training or inference loop begins."""

import sys


def cudagraph_mark_step_begin() -> None:
    """Tell backends with CUDA graphs that what earlier iterations returned is no longer needed."""
    trees = sys.modules.get("torch._inductor.cudagraph_trees")
    if trees is not None:  # otherwise nothing has been recorded that could be reused
        trees.mark_step_begin()
