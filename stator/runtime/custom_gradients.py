"""Which `torch.autograd.Function`s a compiler may follow: those whose code reads nothing that may change."""

import builtins
import dis
import functools
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from torch.nn.modules._functions import BackwardHookFunction

TRUSTED = ("torch", "math", "operator", "typing")
"""Modules whose functions are taken for what they are."""


EFFECTS = {
    "__import__", "breakpoint", "compile", "delattr", "eval", "exec", "exit", "globals", "help", "input",
    "locals", "open", "print", "quit", "setattr", "vars",
}  # fmt: skip
"""Builtins that do more than give a result, or look at more than their arguments."""

CONSTANTS = (type(None), bool, int, float, complex, str, bytes)


def is_self_contained_function(function: Any) -> bool:
    """The same of one function, with what it is bound to."""
    if type(function) is functools.partial:
        bound = (*function.args, *function.keywords.values())
        return is_self_contained_function(function.func) and all(type(each) in CONSTANTS for each in bound)
    if type(function) is FunctionType:
        defaults = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
        if not all(type(each) in CONSTANTS for each in defaults):
            return False
    return function is not None and _is_trusted(function)


def is_self_contained(function: type) -> bool:
    """Whether forward and backward depend on their arguments alone, as far as their code shows.

    A compiler runs the backward when it compiles, and no guard looks at what that reads: global variables
    and variables of enclosing functions may be other ones later. What the forward keeps for the backward
    comes out of such code, too.
    """
    if function is BackwardHookFunction:
        # Hooks of modules look for its node in the history, where a compiler leaves one of its own.
        return False
    return all(
        _is_trusted(getattr(function, name, None)) for name in ("forward", "backward", "setup_context")
    )


def _is_trusted(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, BuiltinFunctionType):
        # Methods of C objects, as `list.append`, change these.
        is_of_object = not isinstance(value.__self__, ModuleType | type | None)
        return not is_of_object and (value.__module__ != "builtins" or value.__name__ not in EFFECTS)
    if isinstance(value, ModuleType):
        return _is_of_trusted_module(value.__name__)
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        # Decorators of torch's: what they wrap is looked at.
        wraps = _is_of_trusted_module(value.__module__) or _is_of_trusted_module(
            str(value.__globals__.get("__name__"))
        )
        if wraps:
            return all(not isinstance(cell, FunctionType) or _is_trusted(cell) for cell in cells)
        return not cells and _reads_trusted_globals(value.__code__, value.__globals__)
    if isinstance(value, type):
        return value.__module__ == "builtins" or _is_of_trusted_module(value.__module__)
    return callable(value) and _is_of_trusted_module(str(getattr(value, "__module__", "")))


def _reads_trusted_globals(code: CodeType, variables: dict[str, Any]) -> bool:
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"):
            return False
        if instruction.opname == "LOAD_GLOBAL":
            name = instruction.argval
            if name in variables:
                if not _is_trusted(variables[name]) or variables[name] is None:
                    return False
            elif not hasattr(builtins, name) or name in EFFECTS:
                return False
    inner = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return all(_reads_trusted_globals(each, variables) for each in inner)


def _is_of_trusted_module(name: str | None) -> bool:
    return (name or "").split(".")[0] in TRUSTED
