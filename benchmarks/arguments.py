"""benchmarks/arguments.py: what a hit costs beside the size of arguments that nobody reads.

Each row is a function that reads little of an argument which is given with 0, 10, 1,000 and 100,000 items.
Microseconds a call, the least of several rounds; `captures` is how many the calls needed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import stator
import torch

SIZES = (0, 10, 1_000, 100_000)


def unread_list(x: torch.Tensor, items: list[int]) -> torch.Tensor:
    return x + 1


def first_item(x: torch.Tensor, items: list[int]) -> torch.Tensor:
    return x + items[0] if items else x


def last_item(x: torch.Tensor, items: list[int]) -> torch.Tensor:
    return x + items[-1] if items else x


def appended(x: torch.Tensor, items: list[Any]) -> torch.Tensor:
    items.append(x)
    return x + 1


def one_key(x: torch.Tensor, batch: dict[str, Any]) -> torch.Tensor:
    return x + batch["scale"]


def changing_id(x: torch.Tensor, batch: dict[str, Any]) -> torch.Tensor:
    return x * batch["scale"]


def items_of(size: int, call: int) -> list[int]:
    return list(range(size))


def batch_of(size: int, call: int) -> dict[str, Any]:
    return {"scale": 2, "id": call, "tokens": list(range(size))}


def keys_of(size: int, call: int) -> dict[str, Any]:
    return {"scale": 2, **{str(i): i for i in range(size)}}


CASES: dict[str, tuple[Callable[..., Any], Callable[[int, int], Any]]] = {
    "unread list": (unread_list, items_of),
    "first item": (first_item, items_of),
    "last item": (last_item, items_of),
    "append": (appended, items_of),
    "one key": (one_key, keys_of),
    "changing id": (changing_id, batch_of),
}


def measure(
    function: Callable[..., Any], make: Callable[[int, int], Any], size: int, rounds: int
) -> dict[str, Any]:
    compiled = stator.compile(function)
    x = torch.ones(4)
    given = [make(size, call) for call in range(12)]
    start = time.perf_counter()
    compiled(x, given[0])
    first = time.perf_counter() - start
    for value in given:
        compiled(x, value)
    best = float("inf")
    calls = 200 if size < 10_000 else 20
    for _ in range(rounds):
        start = time.perf_counter()
        for i in range(calls):
            compiled(x, given[i % len(given)])
        best = min(best, (time.perf_counter() - start) / calls)
    return {
        "hit_us": round(best * 1e6, 2),
        "first_ms": round(first * 1e3, 2),
        "captures": len(stator.cache_entries(compiled)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = {
        name: {size: measure(function, make, size, options.rounds) for size in SIZES}
        for name, (function, make) in CASES.items()
    }
    if options.json:
        json.dump(results, sys.stdout, indent=1)
        return
    for name, row in results.items():
        print(
            f"{name:12}",
            *(f"{size:>7}: {found['hit_us']:9.2f} us {found['captures']}" for size, found in row.items()),
        )


if __name__ == "__main__":
    main()
