"""Objects that libraries keep in torch's thread-local state outlive captures and what backends compile."""

import ctypes
import gc
import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

import stator
import torch


class Kept:
    """What a library keeps."""


def stash(key: str) -> Kept:
    kept = Kept()
    # torch gives a reference back that it never took, when it lets go of the object.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    torch._C._stash_obj_in_tls(key, kept)
    return kept


def check(key: str, kept: Kept) -> None:
    gc.collect()
    assert torch._C._is_key_in_tls(key)
    assert torch._C._get_obj_in_tls(key) is kept


def test_backend_keeps_an_object() -> None:
    held: list[Kept] = []

    def backend(module: Any, examples: Any) -> Any:
        held.append(stash("backend"))
        return module.forward

    compiled = stator.compile(lambda x: x + 1, backend=backend)
    for n in range(3):
        assert compiled(torch.tensor(float(n))) == n + 1
        check("backend", held[0])
    assert len(held) == 1


def test_backend_that_raises_keeps_an_object() -> None:
    held: list[Kept] = []

    def backend(module: Any, examples: Any) -> Any:
        held.append(stash("raises"))
        raise ValueError("refused")

    with pytest.raises(stator.BackendFailed):
        stator.compile(lambda x: x + 1, backend=backend)(torch.ones(2))
    check("raises", held[0])


def test_program_of_a_backend_keeps_an_object_and_raises() -> None:
    held: list[Kept] = []

    def backend(module: Any, examples: Any) -> Any:
        def run(*inputs: Any) -> Any:
            held.append(stash(f"run{len(held)}"))
            raise RuntimeError("refused")

        return run

    def fn(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            y = x + 1
        return y * 2

    compiled = stator.compile(fn, backend=backend)
    with pytest.warns(RuntimeWarning, match="refused"):
        torch.testing.assert_close(compiled(torch.ones(2)), fn(torch.ones(2)))
    check("run0", held[0])
    assert torch.is_grad_enabled()


@pytest.fixture
def module_that_stashes(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module that keeps an object in torch's state when it is imported, as cudagraph_trees does."""
    name = "stashes_on_import"
    (tmp_path / f"{name}.py").write_text(
        "import ctypes, torch\n"
        "state = {'threads': 1}\n"
        "ctypes.pythonapi.Py_IncRef(ctypes.py_object(state))  # see stash\n"
        "torch._C._stash_obj_in_tls('imported', state)\n"
        "def scale(): return 3\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield name
    sys.modules.pop(name, None)


@pytest.mark.parametrize("backend", ["native", "eager", "aot_eager"])
def test_module_imported_in_a_capture(module_that_stashes: str, backend: str) -> None:
    sys.modules.pop(module_that_stashes, None)

    def fn(x: torch.Tensor) -> torch.Tensor:
        import stashes_on_import

        return x * stashes_on_import.scale()

    compiled = stator.compile(fn, backend=backend)
    for _ in range(3):
        torch.testing.assert_close(compiled(torch.ones(2)), torch.full((2,), 3.0))
        gc.collect()
        module: types.ModuleType = sys.modules[module_that_stashes]
        assert torch._C._is_key_in_tls("imported")
        assert torch._C._get_obj_in_tls("imported") is module.state
        assert module.state == {"threads": 1}


def test_module_imported_by_a_backend(module_that_stashes: str) -> None:
    sys.modules.pop(module_that_stashes, None)

    def backend(graph: Any, examples: Any) -> Any:
        import stashes_on_import

        assert stashes_on_import.scale() == 3
        return graph.forward

    compiled = stator.compile(lambda x: x + 1, backend=backend)
    for _ in range(2):
        compiled(torch.ones(2))
    gc.collect()
    module = sys.modules[module_that_stashes]
    assert torch._C._get_obj_in_tls("imported") is module.state
    assert module.state == {"threads": 1}


def test_objects_of_before_stay() -> None:
    kept = stash("before")
    compiled = stator.compile(lambda x: x + 1, backend="native")
    for _ in range(2):
        compiled(torch.ones(2))
    check("before", kept)


def test_capture_that_is_given_up_restores_modes_and_keeps_objects() -> None:
    held: list[Kept] = []

    @stator.assume_constant_result
    def keeps() -> int:
        held.append(stash("given up"))
        return 1

    def fn(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            y = x + keeps()
            y.numpy()  # memory cannot be captured
        return y

    compiled = stator.compile(fn, backend="native")
    torch.testing.assert_close(compiled(torch.ones(2)), torch.full((2,), 2.0))
    check("given up", held[-1])
    assert torch.is_grad_enabled()
