"""Under modes that see every operator compiled functions run as they are, and are captured later."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from torch.utils._python_dispatch import TorchDispatchMode

import stator
import torch

BACKENDS = ["native", "eager"]


class Counting(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def flattened(x: torch.Tensor) -> torch.Tensor:
    return x.reshape(x.shape[0] * x.shape[1]).sin() + x.size(0)


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("backend", BACKENDS)
def test_traced_by_torch_jit(backend: str, dynamic: bool | None) -> None:
    """Tracing a compiled function gives what tracing the plain one does: sizes stay open."""
    compiled = stator.compile(flattened, backend=backend, dynamic=dynamic)
    x, larger = torch.rand(3, 4), torch.rand(5, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = torch.jit.trace(flattened, (x,), check_trace=False)  # type: ignore[no-untyped-call]
        before = torch.jit.trace(compiled, (x,), check_trace=False)  # type: ignore[no-untyped-call]
        assert torch.equal(compiled(x), flattened(x))
        after = torch.jit.trace(compiled, (x,), check_trace=False)  # type: ignore[no-untyped-call]
    for traced in (before, after):
        assert torch.equal(traced(larger), plain(larger))
    assert len(stator.cache_entries(compiled)) == 1


@contextmanager
def hooks_on_saved_tensors() -> Iterator[None]:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        yield


@pytest.mark.parametrize("mode", [Counting, hooks_on_saved_tensors])
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_mode_is_no_reason_to_give_a_function_up(backend: str, mode: Callable[[], Any]) -> None:
    told: list[str] = []
    compiled = stator.optimize(backend, guard_fail_fn=told.append)(flattened)
    x = torch.rand(3, 4, requires_grad=True)
    for _ in range(2):
        with mode():
            for _ in range(12):
                assert torch.equal(compiled(x), flattened(x))
        for _ in range(3):
            assert torch.equal(compiled(x), flattened(x))
    (entry,) = stator.cache_entries(compiled)
    assert entry.hits == 6 - 1
    assert [stop["code"] for stop in compiled.stops] == ["unsupported-mode"]
    assert not told
    assert not compiled.misses


def test_a_dispatch_mode_sees_every_operator_of_a_compiled_function() -> None:
    compiled = stator.compile(flattened, backend="native")
    x = torch.rand(3, 4)
    compiled(x)
    with Counting() as plain:
        flattened(x)
    with Counting() as mode:
        compiled(x)
    assert mode.seen == plain.seen != []
