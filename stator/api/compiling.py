"""Whether the program is being captured, as captured code may ask, and what it is told.

The flags stand in torch.compiler's dictionary, where src/torch/domain/compiling_flag.cpp sets them for the
length of a capture. What a capture was told is part of it: it is guarded by the setting.
"""

import importlib
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

_compiler: ModuleType | None = None


def is_compiling() -> bool:
    """True in captured code, whatever `config.is_compiling` says, and under torch's own compilers.

    >>> import stator, torch
    >>> stator.compile(lambda x: x + 1 if is_compiling() else x, backend="native")(torch.zeros(1))
    tensor([1.])
    >>> is_compiling()
    False
    """
    return _compiler is not None and bool(_compiler._is_stator_capturing_flag or _compiler.is_compiling())


def is_dynamo_compiling() -> bool:
    """The same: Stator stands where Dynamo stands."""
    return is_compiling()


def follow_torch(setting: bool | str) -> None:
    """Ask torch's flag, which a capture sets; called when the torch layer is loaded.

    `torch.compiler.is_dynamo_compiling` is a function that returns False; Dynamo knows it by identity. It
    gets code that asks the flag of our captures, so that callers who imported it earlier see the same.
    """
    global _compiler
    if _compiler is not None:
        return
    compiler = sys.modules["torch.compiler"]
    vars(compiler).setdefault("_is_stator_capturing_flag", False)
    vars(compiler).setdefault("_is_stator_compiling_flag", False)
    compiler.is_dynamo_compiling.__code__ = _asks_flag.__code__
    _compiler = compiler
    from stator.dropin.after_import import after_import
    from stator.dropin.asked_breaks import mark_breaks

    sys.modules["stator._torch"].never_tell(codes_that_compute_otherwise())
    tell_programs(setting)
    after_import("torch._dynamo", mark_breaks)


def tell_programs(setting: bool | str) -> None:
    """What captured code is told from now on; before torch is loaded there is nobody to tell."""
    if _compiler is not None:
        sys.modules["stator._torch"].tell_programs(setting)


def _asks_flag() -> bool:
    return _is_stator_compiling_flag  # type: ignore[name-defined,no-any-return]  # noqa: F821  (torch.compiler's)


OTHERWISE = ("torch.optim", "torch.nn.modules.transformer")
"""Modules of torch whose functions compute something else where they are told of a compiler.

Optimizers calculate their bias corrections with tensors, in single precision, where eager code has Python's
floats; nn.TransformerEncoder leaves out a path that puts zeros, or nothing, where its input is padding.
"""


def codes_that_compute_otherwise() -> set[CodeType]:
    """The code of every function of those modules: they are never told."""
    import pkgutil

    found: set[CodeType] = set()
    for name in OTHERWISE:
        module = importlib.import_module(name)
        parts = [module]
        for part in pkgutil.iter_modules(getattr(module, "__path__", ())):
            parts.append(importlib.import_module(f"{name}.{part.name}"))
        for each in parts:
            for code in _codes_of(vars(each), each.__name__):
                found.add(code)
    return found


def _codes_of(namespace: Any, module: str) -> Iterator[CodeType]:
    """The code of the functions that a module or a class of it defines, and of those defined inside them."""
    for value in list(namespace.values()):
        if isinstance(value, type) and value.__module__ == module:
            yield from _codes_of(vars(value), module)
            continue
        part: Any
        for part in (value, *(getattr(value, name, None) for name in ("__func__", "fget", "fset"))):
            while part is not None:
                if isinstance(part, FunctionType) and part.__globals__.get("__name__") == module:
                    yield from _nested(part.__code__)
                part = getattr(part, "__wrapped__", None)


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)
