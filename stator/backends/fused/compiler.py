"""LLVM text to machine code (called from src/backends/fused/program/fused_program.cpp)."""

import logging
import warnings
from collections.abc import Callable
from typing import Any

from stator.backends.fused.kernels import Kernels, OnlyOne

text_log = logging.getLogger("stator.fused.llvm")

counts = {"kernels": 0, "uses": 0, "seconds": 0.0}
"""Since the process began: kernels compiled, kernels that graphs use, the time that LLVM took."""

cuda_emulator: Callable[..., int] | None = None
"""Tests set it to run the kernels for CUDA on the CPU (tests/fused/cuda_emulator.py)."""


def addresses_of(prelude: str, texts: list[str]) -> list[int] | None:
    """The addresses of functions, one for each text; None where nothing can compile them.

    A text names its function KERNEL. Functions with the same text are compiled once in a process.
    """
    compiler = _compiler.get()
    if compiler is None:
        return None
    try:
        return compiler.kernels.of(texts, lambda new: compiler.compile(prelude, new))
    except RuntimeError as error:  # of LLVM: a processor without what a kernel needs, no memory for code
        warnings.warn(
            f"LLVM cannot compile the kernels of a graph ({error}): it runs as by the backend 'native'.",
            stacklevel=2,
        )
        return None


def forget_kernels() -> None:
    """Functions that programs use stay where they are; texts are compiled anew."""
    if _compiler.made:
        _compiler.made.kernels.forget()


class Compiler:
    """One LLVM session. Its functions live as long as the process: programs keep addresses of them."""

    def __init__(self, llvm: Any) -> None:
        self.llvm = llvm
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_default_triple()
        self.machine = target.create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3
        )
        self.session = llvm.create_lljit_compiler(self.machine)
        self.kernels: Kernels[str] = Kernels(counts)
        self.libraries: list[Any] = []

    def compile(self, prelude: str, texts: list[str]) -> list[int]:
        """The addresses of their functions, all in one module."""
        first = counts["kernels"]
        names = [f"stator_kernel_{int(first) + i}" for i in range(len(texts))]
        bodies = [text.replace("@KERNEL", f"@{name}") for text, name in zip(texts, names, strict=True)]
        module_text = prelude + "".join(bodies)
        text_log.debug("%s", module_text)
        module = self.llvm.parse_assembly(module_text)
        options = self.llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_unrolling = False  # halves the time to compile, and kernels are no slower
        builder = self.llvm.create_pass_builder(self.machine, options)
        builder.getModulePassManager().run(module, builder)
        # As an object: given the module, the session would optimise and compile it once more.
        code = self.machine.emit_object(module)
        library = self.llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for name in names:
            library.export_symbol(name)
        linked = library.link(self.session, f"stator_{int(first)}")
        self.libraries.append(linked)
        return [linked[name] for name in names]


def _with_llvm() -> Compiler:
    import llvmlite.binding as llvm

    return Compiler(llvm)


_compiler = OnlyOne(
    _with_llvm,
    (ImportError, OSError, RuntimeError),
    "the backend 'fused' compiles kernels with llvmlite, which cannot be used ({error}): "
    "pip install stator[fused]. Until then graphs run as by the backend 'native'.",
)
