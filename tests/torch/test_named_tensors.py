"""Tensors whose dimensions have names, which torch has up to 2.12: they run eagerly, with their names."""

from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch
from torch import Tensor

pytestmark = [
    pytest.mark.skipif(not hasattr(Tensor, "has_names"), reason="this torch has no named tensors"),
    pytest.mark.filterwarnings("ignore:Named tensors"),
]

PROGRAMS: dict[str, Callable[[Tensor], Any]] = {
    "operator": lambda x: x + 1,
    "asked": lambda x: x * 2 if x.has_names() else x + 2,
    "read": lambda x: (x.names, x + 1),
    "renamed": lambda x: x.rename("q") * 2,
    "made": lambda x: torch.zeros(3, names=("b",)) + x.rename(None),
    "summed": lambda x: x.rename("c").sum("c"),
}


def shown(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(map(shown, result))
    return (result.names, result.rename(None).tolist()) if isinstance(result, Tensor) else result


@pytest.mark.parametrize("backend", ["native", "eager", "aot_eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_names_are_kept(name: str, backend: str) -> None:
    program = PROGRAMS[name]
    compiled = stator.compile(program, backend=backend)
    for _ in range(3):
        for names in (None, ("a",), ("b",)):
            x = torch.randn(3, names=names)
            assert shown(compiled(x)) == shown(program(x))


def test_programs_that_ask_for_names_are_captured() -> None:
    compiled = stator.compile(PROGRAMS["asked"], backend="native", fullgraph=True)
    for _ in range(3):
        assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 3.0))
    assert [entry.hits for entry in stator.cache_entries(compiled)] == [2]
