"""The shapes of a layer norm's gradients, as captured code sees them, beside those of the real kernel."""

import subprocess
import sys
from typing import Any

import pytest

import stator
import torch

LAYOUTS = {
    "contiguous": lambda: torch.randn(2, 3, 4, 5),
    "transposed": lambda: torch.randn(3, 2, 5, 4).transpose(0, 1).transpose(2, 3),
    "channels last": lambda: torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
    "expanded": lambda: torch.randn(1, 3, 1, 5).expand(2, 3, 4, 5),
    "sliced": lambda: torch.randn(2, 3, 8, 10)[..., ::2, ::2],
    "no rows": lambda: torch.randn(0, 3, 4, 5),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("mask", [[True, True, True], [True, False, True], [True, False, False]])
@pytest.mark.parametrize("types", ["float32", "bfloat16", "mixed"])
def test_layer_norm(layout: str, count: int, mask: list[bool], types: str) -> None:
    dtype = torch.float32 if types == "float32" else torch.bfloat16
    x, gradient = LAYOUTS[layout]().to(dtype), torch.randn(2, 3, 4, 5).to(dtype)
    gradient = gradient[: x.shape[0]]
    shape = list(x.shape[-count:])
    weight = torch.randn(shape, dtype=torch.float32 if types == "mixed" else dtype)
    _, mean, rstd = torch.native_layer_norm(x, shape, weight, weight, 1e-5)

    def facts(x: Any, gradient: Any, mean: Any, rstd: Any, weight: Any) -> Any:
        made = torch.ops.aten.native_layer_norm_backward(gradient, x, shape, mean, rstd, weight, weight, mask)
        return made, [None if t is None else (t.shape, t.stride(), t.dtype) for t in made]

    stator.reset()
    given = (x, gradient, mean, rstd, weight)
    compiled = stator.compile(facts, backend="native")
    assert compiled(*given)[1] == facts(*given)[1]
    assert compiled.breaks == []


def test_a_first_step_imports_no_meta_functions() -> None:
    program = (
        "import sys, torch, stator\n"
        "m = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.LayerNorm(8))\n"
        "torch.set_num_threads(1); before = len(sys.modules)\n"
        "y = stator.compile(m, backend='fused')(torch.randn(4, 8))\n"
        "y.sum().backward(); assert y.grad_fn.name() in ('StatorBackward', 'NativeLayerNormBackward0')\n"
        "print('sympy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
