"""A program as users write it, for mypy --strict: what is compiled keeps its signature (test_types.py)."""

from typing import assert_type

import stator
import torch
from torch import Tensor, nn


@stator.compile
def plain(x: Tensor, scale: float = 1.0) -> Tensor:
    return x * scale


@stator.compile(backend="eager", fullgraph=True)
def with_arguments(x: Tensor, *, name: str) -> tuple[Tensor, str]:
    return x, name


@stator.disable
def kept(x: Tensor) -> int:
    return len(x)


@stator.disable(recursive=False)
def skipped(x: Tensor) -> int:
    return len(x)


@stator.set_stance("force_eager")
def eager(x: Tensor) -> list[Tensor]:
    return [x]


@stator.assume_constant_result
def constant() -> dict[str, int]:
    return {"a": 1}


@stator.allow_in_graph
def opaque(x: Tensor) -> Tensor:
    return x + 1


@stator.config.patch(recompile_limit=2)
def patched(x: Tensor) -> Tensor:
    return x


class Model(nn.Module):
    def extra(self) -> str:
        return "own method"


assert_type(plain(torch.ones(1), scale=2.0), Tensor)
assert_type(with_arguments(torch.ones(1), name="x"), tuple[Tensor, str])
assert_type(kept(torch.ones(1)), int)
assert_type(skipped(torch.ones(1)), int)
assert_type(eager(torch.ones(1)), list[Tensor])
assert_type(constant(), dict[str, int])
assert_type(opaque(torch.ones(1)), Tensor)
assert_type(stator.compile(Model()), Model)
assert_type(stator.compile(Model)().extra(), str)
assert_type(patched(torch.ones(1)), Tensor)
assert_type(stator.config.recompile_limit, int)
assert_type(stator.explain(plain)(torch.ones(1)), stator.ExplainOutput)
assert_type(stator.explain(plain)(torch.ones(1)).captured_share, float)
assert_type(stator.cache_entries(plain), list[stator.CacheEntry])
stator.explain(plain)("text")  # type: ignore[arg-type]
stator.config.recompile_limit = "many"  # type: ignore[assignment]
stator.config.recompile_limt = 4  # type: ignore[attr-defined]
plain("text")  # type: ignore[arg-type]
plain(torch.ones(1), factor=2)  # type: ignore[call-arg]
stator.compile(plain, fullgraph="yes")  # type: ignore[call-overload]
stator.set_logs(brakes=True)  # type: ignore[call-arg]
