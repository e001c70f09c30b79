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
    """Ask torch's flag, which a capture sets; called when the torch layer is loaded."""
    global _compiler
    _compiler = sys.modules["torch.compiler"]
