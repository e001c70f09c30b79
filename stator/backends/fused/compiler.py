"""LLVM text to machine code (called from src/backends/fused/program/fused_program.cpp)."""

import hashlib
import itertools
import logging
import warnings
from collections.abc import Callable
from typing import Any

from stator.backends.fused.disk_cache import name_of, user_cache
from stator.backends.fused.kernels import Kernels, OnlyOne

text_log = logging.getLogger("stator.fused.llvm")

counts = {"kernels": 0, "uses": 0, "loaded": 0, "seconds": 0.0}
"""Since the process began: kernels made, kernels that graphs use, those of the made ones that came from disk,
the time that it took to make them."""

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


_OPTIONS = "O3, loops not unrolled"
"""Of `machine_code`, for the cache: one that changes there changes here."""


class Compiler:
    """One LLVM session. Its functions live as long as the process: programs keep addresses of them."""

    def __init__(self, llvmlite: Any, llvm: Any) -> None:
        self.llvm = llvm
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_default_triple()
        cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
        self.machine = target.create_target_machine(cpu=cpu, features=features, opt=3)
        self.version = (
            llvmlite.__version__,
            repr(llvm.llvm_version_info),
            self.machine.triple,
            cpu,
            features,
        )
        """What machine code depends on besides its text."""
        self.session = llvm.create_lljit_compiler(self.machine)
        self.kernels: Kernels[str] = Kernels(counts)
        self.libraries: list[Any] = []
        self.numbers = itertools.count()

    def compile(self, prelude: str, texts: list[str]) -> list[int]:
        """The addresses of their functions, all in one module."""
        names = [f"stator_kernel_{hashlib.sha256(text.encode()).hexdigest()[:24]}" for text in texts]
        bodies = [text.replace("@KERNEL", f"@{name}") for text, name in zip(texts, names, strict=True)]
        module_text = prelude + "".join(bodies)
        text_log.debug("%s", module_text)
        cache = user_cache()
        entry = name_of("llvm", *self.version, _OPTIONS, module_text)
        code = cache.get(entry) if cache else None
        if code is not None:
            try:
                addresses = self.link(code, names)
                counts["loaded"] += len(names)
                return addresses
            except RuntimeError as error:
                text_log.info("kernels on disk cannot be linked: %s", error)
        code = self.machine_code(module_text)
        addresses = self.link(code, names)
        if cache:
            cache.put(entry, code)
        return addresses

    def machine_code(self, module_text: str) -> bytes:
        module = self.llvm.parse_assembly(module_text)
        options = self.llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_unrolling = False  # halves the time to compile, and kernels are no slower
        builder = self.llvm.create_pass_builder(self.machine, options)
        builder.getModulePassManager().run(module, builder)
        # As an object: given the module, the session would optimise and compile it once more.
        return bytes(self.machine.emit_object(module))

    def link(self, code: bytes, names: list[str]) -> list[int]:
        library = self.llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for name in names:
            library.export_symbol(name)
        linked = library.link(self.session, f"stator_{next(self.numbers)}")
        self.libraries.append(linked)
        return [linked[name] for name in names]


def _with_llvm() -> Compiler:
    import llvmlite
    import llvmlite.binding as llvm

    return Compiler(llvmlite, llvm)


_compiler = OnlyOne(
    _with_llvm,
    (ImportError, OSError, RuntimeError),
    "the backend 'fused' compiles kernels with llvmlite, which cannot be used ({error}): "
    "pip install stator[fused]. Until then graphs run as by the backend 'native'.",
)
