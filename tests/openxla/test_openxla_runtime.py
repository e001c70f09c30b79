"""What crosses into XLA and what does not, and how clients are made."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import stator
import torch
from stator import _torch
from stator.backends.openxla import compiler, runtime
from stator.backends.openxla.executables import counts, loaded_of

FULL = ("HIGHEST", "HIGHEST")
PRODUCT = """graph {
  %0: f32[16,16]{16,1} = input x
  %1: f32[16,16]{16,1} = input weight
  %2: f32[16,16]{16,1} = aten::mm(self=%0, mat2=%1)
  return %2
}
"""


class Crossings:
    """A program that tells what was handed to it: the addresses of the tensors that crossed, call by call."""

    def __init__(self) -> None:
        stablehlo, tells_if_valid = _torch.stablehlo(PRODUCT, FULL, True)
        loaded = loaded_of(stablehlo, "cpu")
        self.count = 0

        def from_dlpack(*arguments: Any) -> Any:
            self.count += 1
            return loaded.from_dlpack(*arguments)

        counted = loaded._replace(from_dlpack=from_dlpack)
        self.program = _torch.XlaExecutable(PRODUCT, counted, "cpu", tells_if_valid)

    def call(self, *inputs: torch.Tensor) -> int:
        before = self.count
        (result,) = self.program(*inputs) or ()
        torch.testing.assert_close(result, inputs[0] @ inputs[1])
        return self.count - before


def test_parameters_cross_once() -> None:
    crossings = Crossings()
    x, weight = torch.randn(16, 16), torch.randn(16, 16)
    assert crossings.call(x, weight) == 2
    assert crossings.call(x, weight) == 0
    weight.add_(1)  # the same memory
    assert crossings.call(x, weight) == 0
    assert crossings.call(torch.randn(16, 16), weight) == 1


def test_memory_that_xla_cannot_take_is_made_compact() -> None:
    crossings = Crossings()
    weight = torch.randn(16, 16)
    odd = torch.randn(16 * 16 + 1)[1:].view(16, 16)
    assert crossings.call(odd, weight) == 2
    assert crossings.call(odd, weight) == 1
    assert crossings.call(weight.t(), weight) == 1


def test_inputs_of_other_sizes_or_types_are_refused() -> None:
    program = Crossings().program
    with pytest.raises(ValueError, match=r"Float\[16, 3\], compiled for Float\[16, 16\]"):
        program(torch.randn(16, 3), torch.randn(16, 16))
    with pytest.raises(ValueError, match="Double"):
        program(torch.randn(16, 16).double(), torch.randn(16, 16))


def test_results_that_are_constants_can_be_written() -> None:
    compiled = stator.compile(lambda x: (x + 1, torch.zeros(3)), backend="openxla_eval")
    with torch.no_grad():
        compiled(torch.ones(3))[1].add_(5)
        assert compiled(torch.ones(3))[1].tolist() == [0.0] * 3


def test_copies_are_copies() -> None:
    compiled = stator.compile(lambda x: (x.clone(), x * 1), backend="openxla_eval")
    x = torch.ones(64)
    with torch.no_grad():
        for result in compiled(x):
            result.zero_()
    assert x.sum().item() == 64


def test_inference_mode() -> None:
    compiled = stator.compile(lambda x: x * 2, backend="openxla_eval")
    with torch.inference_mode():
        assert compiled(torch.ones(3)).is_inference()


@pytest.mark.parametrize("backend", ["openxla", "openxla_eval"])
def test_inference_goes_from_the_graph_to_xla_in_cpp(backend: str) -> None:
    before = counts["direct"]
    with torch.no_grad():
        stator.compile(lambda x: x.relu() + 0.5, backend=backend)(torch.randn(4, 4))
    assert counts["direct"] == before + 1


def test_whole_graphs_with_gradients_are_called_in_cpp() -> None:
    """What AOT autograd is given is the extension's own type, forward and backward."""
    made: list[Any] = []
    functional = compiler.compile_functional
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiler, "compile_functional", lambda *a: made.append(functional(*a)) or made[-1])
        x = torch.randn(4, requires_grad=True)
        stator.compile(lambda t: (t * 2).sin().sum(), backend="openxla")(x).backward()
    assert [type(program) for program in made] == [_torch.XlaWholeGraph] * 2
    torch.testing.assert_close(x.grad, 2 * (2 * x.detach()).cos())


# -- Clients


class Plugin:
    """What jaxlib.xla_client offers of plugins, and the calls that were made."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self._xla = SimpleNamespace(
            dlpack_managed_tensor_to_buffer=None, buffer_to_dlpack_managed_tensor=None
        )

    def pjrt_plugin_loaded(self, name: str) -> bool:
        return False

    def pjrt_plugin_initialized(self, name: str) -> bool:
        return False

    def load_pjrt_plugin_dynamically(self, name: str, library: str) -> None:
        self.calls.append(("load", name, Path(library).name))

    def initialize_pjrt_plugin(self, name: str) -> None:
        self.calls.append(("initialize", name))

    def make_c_api_client(self, name: str, options: dict[str, Any], distributed: Any) -> Any:
        self.calls.append(("client", name, options))
        devices = [SimpleNamespace(local_hardware_id=number) for number in range(2)]
        return SimpleNamespace(local_devices=lambda: devices, compile_and_load=self.compile_and_load)

    def CompileOptions(self) -> None:
        return None

    def compile_and_load(self, text: str, devices: list[Any], options: Any) -> Any:
        self.calls.append(("compile", [device.local_hardware_id for device in devices]))
        return SimpleNamespace(execute_sharded=None)


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Plugin:
    """A plugin that is installed, in a package that must not be imported: it would import jax."""
    for major in (12, 13):
        folder = tmp_path / "jax_plugins" / f"xla_cuda{major}"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("raise ImportError('imported')")
        (folder / "xla_cuda_plugin.so").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    made = Plugin()
    monkeypatch.setattr(runtime, "_xla_client", lambda: made)
    monkeypatch.setattr(runtime, "_clients", {})
    monkeypatch.delenv("XLA_CLIENT_MEM_FRACTION", raising=False)
    return made


def test_the_client_follows_the_device(plugin: Plugin, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = runtime.compile_for("module {}", "cuda:1")
    assert loaded.device.local_hardware_id == 1
    options = {"preallocate": False, "memory_fraction": runtime.MEMORY_SHARE}
    assert plugin.calls == [
        ("load", "cuda", "xla_cuda_plugin.so"),
        ("initialize", "cuda"),
        ("client", "cuda", options),
        ("compile", [1]),
    ]
    runtime.compile_for("module {}", "cuda:0")
    assert plugin.calls[4:] == [("compile", [0])]  # one client for all devices
    with pytest.raises(RuntimeError, match="no device 7"):
        runtime.compile_for("module {}", "cuda:7")


def test_the_share_of_memory_can_be_set(plugin: Plugin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_CLIENT_MEM_FRACTION", "0.25")
    runtime.client_for("cuda:0")
    assert plugin.calls[2][2]["memory_fraction"] == 0.25
