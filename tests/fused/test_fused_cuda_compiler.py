"""Compiling for CUDA where it cannot be done: sentences, never a crash. NVRTC is a stand-in."""

import ctypes
import warnings
from pathlib import Path
from typing import Any

import pytest

from stator.backends.fused import cuda_compiler
from stator.backends.fused.cuda_compiler import CompileError, Compiler


class Nvrtc:
    """Knows two architectures; a program is its own machine code."""

    def __init__(self) -> None:
        self.programs: list[bytes] = []
        self.options: list[bytes] = []
        self.log = b""

    def nvrtcVersion(self, major: Any, minor: Any) -> int:
        major._obj.value, minor._obj.value = 12, 8
        return 0

    def nvrtcGetNumSupportedArchs(self, count: Any) -> int:
        count._obj.value = 2
        return 0

    def nvrtcGetSupportedArchs(self, known: Any) -> int:
        known[0], known[1] = 75, 90
        return 0

    def nvrtcCreateProgram(self, program: Any, source: bytes, *_: Any) -> int:
        self.programs.append(source)
        return 0

    def nvrtcCompileProgram(self, program: Any, count: int, options: Any) -> int:
        self.options.append(options[0])
        return 6 if self.log else 0

    def _size(self, program: Any, size: Any) -> int:
        size._obj.value = len(self.log or self.programs[-1])
        return 0

    def _text(self, program: Any, space: Any) -> int:
        ctypes.memmove(space, self.log or self.programs[-1], len(space))
        return 0

    nvrtcGetCUBINSize = nvrtcGetPTXSize = nvrtcGetProgramLogSize = _size
    nvrtcGetCUBIN = nvrtcGetPTX = nvrtcGetProgramLog = _text

    def nvrtcDestroyProgram(self, program: Any) -> int:
        return 0


@pytest.fixture
def nvrtc() -> Nvrtc:
    return Nvrtc()


def test_without_nvrtc_the_package_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise OSError("libnvrtc.so.12: cannot open shared object file")

    monkeypatch.setattr(cuda_compiler, "find_nvrtc", missing)
    monkeypatch.setattr(cuda_compiler._compiler, "_asked", False)
    with pytest.warns(UserWarning, match="pip install nvidia-cuda-nvrtc"):
        assert cuda_compiler.functions_of("", ["KERNEL"], 0) is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cuda_compiler.functions_of("", ["KERNEL"], 0) is None


def test_a_known_architecture_gets_machine_code(nvrtc: Nvrtc) -> None:
    assert Compiler(nvrtc, None).compile("text", "90") == b"text"
    assert nvrtc.options == [b"--gpu-architecture=sm_90"]


def test_a_newer_architecture_gets_ptx(nvrtc: Nvrtc) -> None:
    Compiler(nvrtc, None).compile("text", "120")
    assert nvrtc.options == [b"--gpu-architecture=compute_90"]


def test_an_older_architecture_is_named(nvrtc: Nvrtc) -> None:
    with pytest.raises(CompileError, match="does not know the architecture sm_60"):
        Compiler(nvrtc, None).compile("text", "60")


def test_what_nvrtc_says_is_told(nvrtc: Nvrtc) -> None:
    nvrtc.log = b"stator_fused.cu(3): error: out of registers"
    with pytest.raises(CompileError, match="out of registers"):
        Compiler(nvrtc, None).compile("text", "90")


def test_a_status_of_the_driver_is_told(nvrtc: Nvrtc) -> None:
    with pytest.raises(CompileError, match="cuModuleLoadData failed with status 2"):
        Compiler._check(2, "cuModuleLoadData")


def test_what_cannot_be_compiled_runs_natively(monkeypatch: pytest.MonkeyPatch, nvrtc: Nvrtc) -> None:
    compiler = Compiler(nvrtc, None)

    def load(prelude: str, texts: list[str], device: int) -> list[int]:
        compiler.compile(prelude + "".join(texts), "60")
        raise AssertionError("not reached")

    monkeypatch.setattr(compiler, "load", load)
    monkeypatch.setattr(cuda_compiler._compiler, "_asked", True)
    monkeypatch.setattr(cuda_compiler._compiler, "made", compiler)
    with pytest.warns(UserWarning, match=r"sm_60.*runs as by the backend 'native'"):
        assert cuda_compiler.functions_of("", ["KERNEL"], 0) is None


def test_machine_code_comes_from_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, nvrtc: Nvrtc) -> None:
    monkeypatch.setenv("STATOR_CACHE", "1")
    monkeypatch.setenv("STATOR_CACHE_DIR", str(tmp_path / "kernels"))
    compiler = Compiler(nvrtc, None)
    assert compiler.compile("text", "90") == compiler.compile("text", "90") == b"text"
    assert len(nvrtc.programs) == 1
    compiler.compile("text", "75")
    compiler.compile("text", "120")
    compiler.compile("other", "90")
    assert len(nvrtc.programs) == 4
