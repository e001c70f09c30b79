"""CUDA C++ to functions on a device, by NVRTC (called from src/backends/fused/program/fused_program.cpp)."""

import ctypes
import glob
import logging
import os
import sys
import warnings
from typing import Any

from stator.backends.fused.disk_cache import name_of, user_cache
from stator.backends.fused.kernels import Kernels, OnlyOne

text_log = logging.getLogger("stator.fused.cuda")

counts = {"kernels": 0, "uses": 0, "seconds": 0.0}
"""Since the process began: kernels compiled, kernels that graphs use, the time that NVRTC took."""


class CompileError(RuntimeError):
    """NVRTC or the driver refuses."""


def functions_of(prelude: str, texts: list[str], device: int) -> list[int] | None:
    """Handles of functions (CUfunction) on the device, one for each text; None where nothing makes them.

    A text names its function KERNEL. Functions with the same text are compiled once in a process.
    """
    compiler = _compiler.get()
    if compiler is None:
        return None
    keys = [(device, text) for text in texts]
    try:
        return compiler.kernels.of(
            keys, lambda new: compiler.load(prelude, [text for _, text in new], device)
        )
    except (CompileError, OSError) as error:
        warnings.warn(
            f"the kernels of a graph cannot be compiled for CUDA ({error}): it runs as by "
            "the backend 'native'.",
            stacklevel=2,
        )
        return None


def forget_kernels() -> None:
    """Functions that programs use stay where they are; texts are compiled anew."""
    if _compiler.made:
        _compiler.made.kernels.forget()


class Compiler:
    """NVRTC and the driver. Modules live as long as the process: programs keep handles of their functions."""

    def __init__(self, nvrtc: Any, driver: Any) -> None:
        self.nvrtc = nvrtc
        self.driver = driver
        self.kernels: Kernels[tuple[int, str]] = Kernels(counts)

    def load(self, prelude: str, texts: list[str], device: int) -> list[int]:
        """Handles of their functions on the device, all of one program."""
        import torch

        names = [f"stator_kernel_{i}" for i in range(len(texts))]
        bodies = [text.replace("KERNEL", name) for text, name in zip(texts, names, strict=True)]
        source = prelude + "".join(bodies)
        text_log.debug("%s", source)
        major, minor = torch.cuda.get_device_capability(device)
        image = self.compile(source, f"{major}{minor}")
        with torch.cuda.device(device):
            torch.cuda.current_stream().query()  # the device's context is this thread's from here on
            module = ctypes.c_void_p()
            self._check(self.driver.cuModuleLoadData(ctypes.byref(module), image), "cuModuleLoadData")
            functions = []
            for name in names:
                function = ctypes.c_void_p()
                found = self.driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
                self._check(found, "cuModuleGetFunction")
                assert function.value is not None
                functions.append(function.value)
        return functions

    def compile(self, source: str, architecture: str) -> bytes:
        """The machine code for an architecture such as `90`; PTX where this NVRTC is older than that."""
        supported = self._architectures()
        if int(architecture) in supported:
            option, get = f"--gpu-architecture=sm_{architecture}", "CUBIN"
        else:
            older = [each for each in supported if each < int(architecture)]
            if not older:
                raise CompileError(f"NVRTC does not know the architecture sm_{architecture}")
            option, get = f"--gpu-architecture=compute_{max(older)}", "PTX"
        cache = user_cache()
        entry = name_of("nvrtc", repr(self._version()), option, get, source)
        code = cache.get(entry) if cache else None
        if code is None:
            code = self._compiled(source, option, get)
            if cache:
                cache.put(entry, code)
        return code

    def _compiled(self, source: str, option: str, get: str) -> bytes:
        program = ctypes.c_void_p()
        made = self.nvrtc.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), b"stator_fused.cu", 0, None, None
        )
        self._check(made, "nvrtcCreateProgram")
        try:
            options = (ctypes.c_char_p * 2)(option.encode(), b"--std=c++17")
            if self.nvrtc.nvrtcCompileProgram(program, 2, options) != 0:
                raise CompileError(self._get(program, "ProgramLog").decode(errors="replace").strip("\0\n"))
            return self._get(program, get)
        finally:
            self.nvrtc.nvrtcDestroyProgram(ctypes.byref(program))

    def _version(self) -> tuple[int, int]:
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._check(self.nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)), "nvrtcVersion")
        return major.value, minor.value

    def _architectures(self) -> list[int]:
        count = ctypes.c_int()
        self._check(self.nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count)), "nvrtcGetNumSupportedArchs")
        known = (ctypes.c_int * count.value)()
        self._check(self.nvrtc.nvrtcGetSupportedArchs(known), "nvrtcGetSupportedArchs")
        return list(known)

    def _get(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._check(getattr(self.nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)), what)
        space = ctypes.create_string_buffer(size.value)
        self._check(getattr(self.nvrtc, f"nvrtcGet{what}")(program, space), what)
        return space.raw

    @staticmethod
    def _check(status: int, call: str) -> None:
        if status != 0:
            raise CompileError(f"{call} failed with status {status}")


def find_nvrtc() -> Any:
    """The libnvrtc that came with torch, or that the system has. OSError if there is none."""
    import torch

    major = (torch.version.cuda or "").partition(".")[0]
    wanted = f"libnvrtc.so.{major}" if major else "libnvrtc.so*"
    folders = [os.path.join(os.path.dirname(torch.__file__), "lib")]
    for path in sys.path:
        folders += glob.glob(os.path.join(path, "nvidia", "*", "lib"))
    for folder in folders:
        for library in sorted(glob.glob(os.path.join(folder, wanted))):
            return ctypes.CDLL(library)
    return ctypes.CDLL(wanted.rstrip("*"))


def _with_nvrtc() -> Compiler:
    return Compiler(find_nvrtc(), ctypes.CDLL("libcuda.so.1"))


_compiler = OnlyOne(
    _with_nvrtc,
    (OSError,),
    "the backend 'fused' compiles CUDA kernels with NVRTC, which cannot be used ({error}): "
    "pip install nvidia-cuda-nvrtc. Until then graphs on CUDA run as by 'native'.",
)
