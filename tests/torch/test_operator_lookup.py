"""Operators of libraries from the first call on: looking one up, and its kernels in Python."""

import subprocess
import sys

PROGRAM = """
import torch, stator

@torch.library.custom_op("stator_lookup::sine", mutates_args=())
def sine(x: torch.Tensor) -> torch.Tensor:
    return x.sin()

@sine.register_fake
def _(x):
    return torch.empty_like(x)

library = torch.library.Library("stator_lookup2", "DEF")
library.define("cosine(Tensor x) -> Tensor")
library.impl("cosine", lambda x: x.cos(), "CompositeExplicitAutograd")
library.impl("cosine", lambda x: torch.empty_like(x), "Meta")
x = torch.arange(3.0)
for backend in ("native", "eager", "aot_eager"):
    for function in (
        lambda x: torch.ops.stator_lookup.sine(x) + torch.ops.stator_lookup2.cosine(x),
        lambda x: sine(x) * torch.ops.stator_lookup2.cosine.default(x),
    ):
        compiled = stator.compile(function, backend=backend, fullgraph=True)
        for _ in range(2):
            assert torch.equal(compiled(x), function(x))
        assert sum(entry.hits for entry in stator.cache_entries(compiled)) == 1
print("done")
"""


def test_first_use_is_captured() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=200, check=False
    )
    assert done.stdout.split() == ["done"], done.stderr[-3000:]
