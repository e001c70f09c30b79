"""What a captured operator costs, by the source of its shape.

python benchmarks/shape_rules.py prints the median microseconds of one operator in a capture, recording
and the tracer included, and writes them to benchmarks/results/shape_rules.json.
"""

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import stator._torch as st
import torch

Operator = Callable[[torch.Tensor], torch.Tensor]

REPEATS = 400

# A name, the operator, and where its shape comes from when the memo does not know it.
OPERATORS: list[tuple[str, Operator, str]] = [
    ("add number", lambda x: x + 1, "rule"),
    ("mul tensor", lambda x: x * x, "rule"),
    ("transpose", lambda x: x.transpose(0, 1), "rule"),
    ("view", lambda x: x.view(-1), "rule"),
    ("sum", lambda x: x.sum(1), "rule"),
    ("softmax", lambda x: x.softmax(-1), "rule"),
    ("linear", lambda x: torch.nn.functional.linear(x, x), "rule"),
    ("layer_norm", lambda x: torch.nn.functional.layer_norm(x, x.shape[-1:]), "rule"),
    ("pow number first", lambda x: 2.0**x, "rule"),
    ("cat", lambda x: torch.cat([x, x]), "rule"),
    ("attention", lambda x: torch.nn.functional.scaled_dot_product_attention(*[x[None, None]] * 3), "rule"),
    ("hermite", lambda x: torch.special.hermite_polynomial_h(x, x), "meta"),
    ("smooth_l1_loss", lambda x: torch.nn.functional.smooth_l1_loss(x, x), "meta"),
    ("einsum", lambda x: torch.einsum("ij,kj->ik", x, x), "composite"),
]


def costs(operator: Operator, sizes: list[int]) -> list[float]:
    """Microseconds of each call in one capture, for inputs of these sizes."""
    times: list[float] = []

    def run(*inputs: torch.Tensor) -> None:
        clock = time.perf_counter_ns
        for x in inputs:
            start = clock()
            operator(x)
            times.append((clock() - start) / 1000)

    st.trace(run, [torch.empty(n, 4) for n in sizes])
    return times


def main() -> None:
    torch.set_num_threads(1)
    rows = []
    print(f"{'operator':16} {'source':10} {'first, us':>10} {'memo, us':>10}")
    for index, (name, operator, source) in enumerate(OPERATORS):
        # Sizes that no other row uses, so that the first round never hits the memo.
        sizes = [2 + index * REPEATS + i for i in range(REPEATS)]
        first = statistics.median(costs(operator, sizes))
        memo = min(statistics.median(costs(operator, sizes)) for _ in range(3))
        rows.append({"operator": name, "source": source, "first_us": first, "memo_us": memo})
        print(f"{name:16} {source:10} {first:10.2f} {memo:10.2f}", flush=True)
    median = statistics.median(row["memo_us"] for row in rows)  # type: ignore[type-var]
    print(f"median with the memo: {median:.2f} us (must: under 5)")
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "shape_rules.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
