"""LLVM text to machine code (called from src/backends/fused/program/fused_program.cpp)."""

import logging
import threading
import time
import warnings
from typing import Any

log = logging.getLogger("stator.fused")
text_log = logging.getLogger("stator.fused.llvm")

counts = {"kernels": 0, "uses": 0, "seconds": 0.0}
"""Since the process began: kernels compiled, kernels that graphs use, the time that LLVM took."""


def addresses_of(prelude: str, texts: list[str]) -> list[int] | None:
    """The addresses of functions, one for each text; None where nothing can compile them.

    A text names its function KERNEL. Functions with the same text are compiled once in a process.
    """
    compiler = _compiler()
    if compiler is None:
        return None
    try:
        return compiler.addresses_of(prelude, texts)
    except RuntimeError as error:  # of LLVM: a processor without what a kernel needs, no memory for code
        warnings.warn(
            f"LLVM cannot compile the kernels of a graph ({error}): it runs as by the backend 'native'.",
            stacklevel=2,
        )
        return None


def forget_kernels() -> None:
    """Functions that programs use stay where they are; texts are compiled anew."""
    if _made:
        _made[0].known.clear()


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
        self.known: dict[str, int] = {}
        self.libraries: list[Any] = []
        self.lock = threading.Lock()

    def addresses_of(self, prelude: str, texts: list[str]) -> list[int]:
        with self.lock:
            new = [text for text in dict.fromkeys(texts) if text not in self.known]
            if new:
                self._compile(prelude, new)
            counts["uses"] += len(texts)
            return [self.known[text] for text in texts]

    def _compile(self, prelude: str, texts: list[str]) -> None:
        """All in one module."""
        start = time.perf_counter()
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
        for text, name in zip(texts, names, strict=True):
            self.known[text] = linked[name]
        counts["kernels"] += len(texts)
        seconds = time.perf_counter() - start
        counts["seconds"] += seconds
        log.info("%d kernels compiled in %.0f ms", len(texts), seconds * 1e3)


_made: list[Compiler] = []
_making = threading.Lock()
_missing: list[str] = []


def _compiler() -> Compiler | None:
    with _making:
        if not _made and not _missing:
            try:
                import llvmlite.binding as llvm

                _made.append(Compiler(llvm))
            except (ImportError, OSError, RuntimeError) as error:
                _missing.append(str(error))
                warnings.warn(
                    f"the backend 'fused' compiles kernels with llvmlite, which cannot be used ({error}): "
                    "pip install stator[fused]. Until then graphs run as by the backend 'native'.",
                    stacklevel=2,
                )
        return _made[0] if _made else None
