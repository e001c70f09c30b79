"""The command line of generators of programs by seed, run one after another in this process."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import torch


def run(description: str | None, difference: Callable[[int, Any], str | None]) -> int:
    """`difference(seed, backend)` says where the captured program differs from eager. The exit status."""
    import stator

    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--backend", default="aot_eager")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    differing = 0
    for seed in range(options.seed, options.seed + options.programs):
        found = difference(seed, options.backend)
        stator.reset()
        if found:
            differing += 1
            print(found, flush=True)
    print(f"{options.programs} programs, {differing} different")
    return int(differing > 0)
