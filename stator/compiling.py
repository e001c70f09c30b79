"""Whether the program is being captured, as captured code may ask."""

import sys
from types import ModuleType

_compiler: ModuleType | None = None


def is_compiling() -> bool:
    """True in captured code and under torch's own compilers; False elsewhere."""
    return _compiler is not None and bool(_compiler.is_compiling())


def is_dynamo_compiling() -> bool:
    """The same: Stator stands where Dynamo stands."""
    return _compiler is not None and bool(_compiler.is_compiling())


def follow_torch() -> None:
    """Ask torch's flag, which a capture sets; called when the torch layer is loaded.

    `torch.compiler.is_dynamo_compiling` is a function that returns False; Dynamo knows it by identity. It
    gets code that asks the flag of our captures, so that callers who imported it earlier see the same.
    """
    global _compiler
    _compiler = sys.modules["torch.compiler"]
    vars(_compiler).setdefault("_is_stator_capturing_flag", False)
    _compiler.is_dynamo_compiling.__code__ = _asks_flag.__code__


def _asks_flag() -> bool:
    return _is_stator_capturing_flag  # type: ignore[name-defined,no-any-return]  # noqa: F821  (torch.compiler's)
