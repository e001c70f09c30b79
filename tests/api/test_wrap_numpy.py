"""`wrap_numpy`: NumPy code as tensor work, or NumPy's own where it cannot be."""

import gc
import sys
import weakref
from typing import Any

import numpy as np
import pytest

import stator
import torch

SCALE = 2.0


def pointwise(a: Any) -> Any:
    return np.sin(a) * SCALE + np.maximum(a, 0.0) ** 2


def reductions(a: Any) -> Any:
    return {"mean": a.mean(axis=0), "pair": [np.sum(a, axis=1), np.linalg.norm(a)]}


def structure(a: Any) -> Any:
    both = np.concatenate([a, a[::-1]], axis=0).reshape(-1)
    return np.where(both > 0, both, np.zeros_like(both)), a.T


def helper(a: Any) -> Any:
    return np.exp(-np.abs(a))


def through_helpers(a: Any) -> Any:
    return helper(a) + helper(2 * a)


def tensors_of(value: Any) -> list[torch.Tensor]:
    return [each for each in torch.utils._pytree.tree_leaves(value) if isinstance(each, torch.Tensor)]


@pytest.mark.parametrize("backend", ["native", "eager", "aot_eager"])
@pytest.mark.parametrize(
    "fn", [pointwise, reductions, structure, through_helpers], ids=lambda fn: fn.__name__
)
def test_captured_whole(fn: Any, backend: str) -> None:
    x = torch.randn(3, 4)
    wrapped = stator.wrap_numpy(fn)
    compiled = stator.compile(wrapped, backend=backend, fullgraph=True)
    for _ in range(2):
        expected, found = tensors_of(wrapped(x)), tensors_of(compiled(x))
        assert len(expected) == len(found) > 0
        for one, other in zip(expected, found, strict=True):
            torch.testing.assert_close(other, one)


def test_gradients() -> None:
    x = torch.randn(3, 4, requires_grad=True)
    compiled = stator.compile(stator.wrap_numpy(pointwise), backend="native", fullgraph=True)
    compiled(x).sum().backward()
    assert x.grad is not None
    got, x.grad = x.grad, None
    (torch.sin(x) * SCALE + torch.clamp(x, min=0.0) ** 2).sum().backward()
    torch.testing.assert_close(got, x.grad)


def test_globals_are_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randn(3)
    wrapped = stator.wrap_numpy(pointwise)
    compiled = stator.compile(wrapped, backend="native")
    torch.testing.assert_close(compiled(x), wrapped(x))
    monkeypatch.setattr(sys.modules[__name__], "SCALE", 5.0)
    torch.testing.assert_close(compiled(x), wrapped(x))


def unknown(a: Any) -> Any:
    return np.sin(a) + np.packbits(np.array([1], dtype=np.uint8))[0]


def drawn(a: Any) -> Any:
    return a + np.random.default_rng(3).normal(size=a.shape)


def branching(a: Any) -> Any:
    return np.cos(a) if a.sum() > 0 else np.sin(a)


@pytest.mark.parametrize("fn", [unknown, drawn, branching], ids=lambda fn: fn.__name__)
def test_numpy_runs_what_is_not_captured(fn: Any) -> None:
    """All of the function, from its start, on NumPy's own arrays; around it captures go on."""
    wrapped = stator.wrap_numpy(fn)

    def program(x: torch.Tensor) -> torch.Tensor:
        return wrapped(x * 2) + 1

    compiled = stator.compile(program, backend="native")
    for x in (torch.ones(3), -torch.ones(3), torch.ones(3)):
        assert torch.equal(compiled(x), program(x))


def test_nothing_is_kept_alive() -> None:
    class Holder:
        def __call__(self, a: Any) -> Any:
            return np.sin(a)

    holder = Holder()
    compiled = stator.compile(stator.wrap_numpy(holder), backend="native")
    compiled(torch.ones(2))
    alive = weakref.ref(holder)
    del holder, compiled
    gc.collect()
    assert alive() is None


def test_by_torchs_name() -> None:
    """With install(), torch's function gives the same, and captured code meets it."""
    stator.install()
    try:
        compiled = torch.compile(torch.compiler.wrap_numpy(pointwise), backend="eager", fullgraph=True)
        x = torch.randn(3)
        torch.testing.assert_close(compiled(x), stator.wrap_numpy(pointwise)(x))
    finally:
        stator.uninstall()


def test_plain_calls_and_mistakes() -> None:
    wrapped = stator.wrap_numpy(pointwise)
    assert wrapped.__name__ == "pointwise"
    assert torch.equal(wrapped(torch.ones(2)), torch.as_tensor(pointwise(np.ones(2, dtype=np.float32))))
    with pytest.raises(TypeError, match="a callable is needed, not int"):
        stator.wrap_numpy(3)  # type: ignore[arg-type]


def test_numpy_functions_of_numbers_stay_numpys() -> None:
    """Only where an argument is an array of torch's layer are its functions called."""
    stator.wrap_numpy(pointwise)
    compiled = stator.compile(lambda x: x * np.sqrt(64), backend="native", fullgraph=True)
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 8.0))
