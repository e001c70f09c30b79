"""What eager code raises is raised; what the runtime cannot do is said, and the process goes on."""

import ctypes
import logging
from collections.abc import Callable
from typing import Any

import pytest
import torch.nn.functional as F

import stator
import torch
from stator.backends.openxla import runtime
from stator.backends.openxla.executables import counts


@pytest.fixture(autouse=True)
def _fresh() -> None:
    stator.reset()


def raised(function: Callable[..., Any], inputs: tuple[Any, ...]) -> tuple[type, str]:
    with pytest.raises((IndexError, RuntimeError)) as info:
        function(*inputs)
    return type(info.value), str(info.value).splitlines()[0]


FOUR, PLACES = torch.randn(4), torch.tensor([0, 1])
# A function of values and places, places that are fine, places that are not.
RAISING: dict[str, tuple[Callable[..., Any], torch.Tensor, torch.Tensor, torch.Tensor]] = {
    "an index": (lambda x, i: x[i] * 2, FOUR, PLACES, torch.tensor([0, 4])),
    "an index before the first": (lambda x, i: x[i] * 2, FOUR, PLACES, torch.tensor([0, -5])),
    "gather": (lambda x, i: x.gather(0, i) * 2, FOUR, PLACES, torch.tensor([0, 4])),
    "gather from one number": (lambda x, i: x[0].gather(0, i) * 2, FOUR, PLACES * 0, torch.tensor([3, 0])),
    "gather before": (lambda x, i: x.gather(0, i) * 2, FOUR, PLACES, torch.tensor([0, -1])),
    "index_select": (lambda x, i: x.index_select(0, i) * 2, FOUR, PLACES, torch.tensor([0, -1])),
    "scatter": (lambda x, i: x.scatter(0, i, 1.0) * 2, FOUR, PLACES, torch.tensor([0, 4])),
    "scatter_add": (lambda x, i: x.scatter_add(0, i, x) * 2, FOUR, PLACES, torch.tensor([0, -1])),
    "index_put": (lambda x, i: x.index_put((i,), torch.tensor(1.0)), FOUR, PLACES, torch.tensor([0, 4])),
    "index_add": (lambda x, i: x.index_add(0, i, x[:2]) * 2, FOUR, PLACES, torch.tensor([0, -1])),
    "index_copy": (lambda x, i: x.index_copy(0, i, x[:2]) * 2, FOUR, PLACES, torch.tensor([0, 7])),
    "index_fill": (lambda x, i: x.index_fill(0, i, 0) * 2, FOUR, PLACES, torch.tensor([0, 7])),
    "take": (lambda x, i: x.take(i) * 2, FOUR, PLACES, torch.tensor([0, 4])),
    "embedding": (lambda x, i: F.embedding(i, x) * 2, torch.randn(4, 2), PLACES, torch.tensor([0, -1])),
    "a class of a loss": (
        lambda x, i: F.cross_entropy(x, i),
        torch.randn(2, 3),
        PLACES,
        torch.tensor([0, 3]),
    ),
    "floor division": (lambda x, i: x // i, torch.tensor([5, 7]), PLACES + 1, torch.tensor([1, 0])),
    "remainder": (lambda x, i: x % i, torch.tensor([5, 7]), PLACES + 1, torch.tensor([1, 0])),
    "fmod": (lambda x, i: torch.fmod(x, i), torch.tensor([5, 7]), PLACES + 1, torch.tensor([1, 0])),
    "a probability": (
        lambda x, i: F.binary_cross_entropy(i, x),
        torch.tensor([1.0, 0.0]),
        torch.tensor([0.5, 0.2]),
        torch.tensor([2.0, 0.5]),
    ),
}


@pytest.mark.parametrize("name", RAISING)
def test_eager_code_raises(name: str) -> None:
    """The same program serves good values, raises for bad ones, and serves good ones again."""
    function, x, good, bad = RAISING[name]
    compiled = stator.compile(function, backend="openxla_eval")
    before = counts["uses"]
    with torch.no_grad():
        torch.testing.assert_close(compiled(x, good), function(x, good))
        assert raised(compiled, (x, bad)) == raised(function, (x, bad))
        torch.testing.assert_close(compiled(x, good), function(x, good))
    assert counts["uses"] > before


def test_nothing_is_written_before_an_error() -> None:
    def write_and_read(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x[i]

    compiled = stator.compile(write_and_read, backend="openxla_eval")
    x = torch.zeros(4)
    with torch.no_grad():
        compiled(x, PLACES)
        with pytest.raises(IndexError):
            compiled(x, torch.tensor([9]))
    assert x.tolist() == [2.0] * 4  # eager code writes before it raises, once


def test_errors_with_gradients() -> None:
    weight = torch.randn(4, 2, requires_grad=True)
    compiled = stator.compile(lambda w, i: F.embedding(i, w).sum(), backend="openxla")
    compiled(weight, PLACES).backward()
    with pytest.raises(IndexError):
        compiled(weight, torch.tensor([7]))
    assert weight.grad is not None


def test_the_extreme_of_nothing() -> None:
    with torch.no_grad(), pytest.raises(RuntimeError, match=r"max\(\)"):
        stator.compile(lambda x: x.max() + 1, backend="openxla_eval")(torch.randn(0))


def test_a_device_without_a_runtime() -> None:
    with pytest.raises(RuntimeError, match=r"no runtime for tensors on 'xpu'; move .* 'native'"):
        runtime.client_for("xpu:0")


def test_cuda_without_a_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "_cuda_plugin", lambda major: None)
    with pytest.raises(ImportError, match=r"no PJRT plugin for CUDA \d+: pip install 'jax-cuda\d+-plugin"):
        runtime.client_for("cuda:0")
    assert runtime.client_for("cpu")


def test_a_plugin_that_does_not_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    library = tmp_path / "xla_cuda_plugin.so"
    library.write_bytes(b"no library")
    monkeypatch.setattr(runtime, "_cuda_plugin", lambda major: library)
    with pytest.raises(ImportError, match=r"does not start: (.|\n)*pip install"):
        runtime.client_for("cuda:0")


def test_a_type_that_xla_does_not_get(caplog: pytest.LogCaptureFixture) -> None:
    """These operators run outside, with one line that says which."""

    def convert(x: torch.Tensor) -> torch.Tensor:
        return (x * 2).to(torch.float8_e4m3fn).float() + 1

    x = torch.randn(8)
    with caplog.at_level(logging.INFO, "stator.openxla"), torch.no_grad():
        assert torch.equal(stator.compile(convert, backend="openxla_eval")(x), convert(x))
    assert "run outside XLA" in caplog.text
    assert "float8_e4m3fn" in caplog.text


@pytest.mark.parametrize("backend", ["openxla_eval", "openxla"])
def test_out_of_memory_in_a_run(backend: str) -> None:
    """XLA's error is raised, and says what to do; the process goes on."""

    def huge(x: torch.Tensor) -> torch.Tensor:
        return x.expand(2**20, 2**22).cos()

    compiled = stator.compile(huge, backend=backend)
    for _ in range(2):
        with torch.no_grad(), pytest.raises(MemoryError, match="XLA_CLIENT_MEM_FRACTION"):
            compiled(torch.ones(1, 1))
    small = stator.compile(lambda x: x + 1, backend="openxla_eval")
    with torch.no_grad():
        assert small(torch.ones(3)).sum().item() == 6


MESSAGE = "RESOURCE_EXHAUSTED: Out of memory allocating 5 bytes."


def short_of_memory(*arguments: Any) -> Any:
    raise RuntimeError(MESSAGE)


@pytest.mark.parametrize("step", ["execute", "from_dlpack", "to_dlpack"])
@pytest.mark.parametrize("backend", ["openxla_eval", "openxla"])
def test_every_step_of_a_run_may_be_short_of_memory(
    step: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where eager code would not raise: it is not run instead, behind a warning."""
    compile_program = runtime.Client.compile

    def compiled_short(*arguments: Any) -> Any:
        return compile_program(*arguments)._replace(**{step: short_of_memory})

    monkeypatch.setattr(runtime.Client, "compile", compiled_short)
    compiled = stator.compile(lambda x: x.sin() * 3.25, backend=backend)
    with torch.no_grad(), pytest.raises(MemoryError, match="XLA_CLIENT_MEM_FRACTION") as info:
        compiled(torch.ones(7))
    assert str(info.value.__cause__) == MESSAGE


class ManagedTensor(ctypes.Structure):
    """DLManagedTensor, as far as its deleter."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("dtype", ctypes.c_uint32),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    )


@pytest.mark.parametrize("deletions", [0, 1, 3])
def test_a_runtime_that_deletes_what_it_refuses(deletions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """jaxlib deletes the tensor and leaves the capsule's name as it was: it is deleted once all the same."""
    pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_in.restype, pointer_in.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]

    def refuse(capsule: Any, device: Any, stream: Any) -> Any:
        address = pointer_in(capsule, b"dltensor")
        assert address is not None
        for _ in range(deletions):
            ManagedTensor.from_address(address).deleter(address)
        raise RuntimeError(MESSAGE)

    compile_program = runtime.Client.compile
    monkeypatch.setattr(
        runtime.Client, "compile", lambda *given: compile_program(*given)._replace(from_dlpack=refuse)
    )
    compiled = stator.compile(lambda x: x.cos() * 4.5, backend="openxla_eval")
    with torch.no_grad():
        for _ in range(200):
            with pytest.raises(MemoryError):
                compiled(torch.ones(11))


def test_what_is_said_when_memory_is_short() -> None:
    error = runtime.explained(RuntimeError(MESSAGE))
    assert isinstance(error, MemoryError)
    assert "XLA_CLIENT_MEM_FRACTION" in str(error)
    other = RuntimeError("INTERNAL: something else")
    assert runtime.explained(other) is other


def test_unknown_options() -> None:
    with pytest.raises(stator.BackendFailed, match="take no options"):
        stator.compile(lambda x: (x + 1).requires_grad_(), backend="openxla", options={"a": 1})(torch.ones(3))


def test_precision_follows_torchs_settings() -> None:
    """Read for CUDA, where XLA would use TF32 by itself; the CPU always computes in full."""
    from stator import _torch

    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    try:
        torch.set_float32_matmul_precision("highest")
        torch.backends.cudnn.allow_tf32 = False
        assert _torch.xla_precision("cuda:0") == ("HIGHEST", "HIGHEST")
        torch.set_float32_matmul_precision("high")
        assert _torch.xla_precision("cuda:0") == ("DEFAULT", "HIGHEST")
        torch.backends.cudnn.allow_tf32 = True
        assert _torch.xla_precision("cuda:0") == ("DEFAULT", "DEFAULT")
        assert _torch.xla_precision("cpu") == ("HIGHEST", "HIGHEST")
    finally:
        torch.set_float32_matmul_precision(before[0])
        torch.backends.cudnn.allow_tf32 = before[1]


def test_precision_is_part_of_the_program() -> None:
    from stator import _torch

    graph = """graph {
  %0: f32[2,2]{2,1} = input a
  %1: f32[2,2]{2,1} = aten::mm(self=%0, mat2=%0)
  return %1
}
"""
    text, tells = _torch.stablehlo(graph, ("DEFAULT", "HIGHEST"), True)
    assert "precision DEFAULT" in text
    assert "HIGHEST" not in text
    assert not tells


@pytest.mark.parametrize("compare", [torch.gt, torch.ge, torch.lt, torch.le])
def test_complex_numbers_have_no_order(compare: Callable[..., torch.Tensor]) -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return compare(x * 2, 0)

    with pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
        stator.compile(program, backend="openxla_eval")(torch.ones(3, dtype=torch.complex64))
