"""Arguments of the wrong type are refused where they are given, not where they would be used."""

from typing import Any


def require(caller: str, name: str, value: Any, *types: type | None) -> None:
    """Raise TypeError unless the value is of one of the types; None among them stands for itself.

    A bool is no int here: `recompile_limit=True` is a mistake.
    """
    for each in types:
        if each is None:
            if value is None:
                return
        elif isinstance(value, each) and not (each is int and isinstance(value, bool)):
            return
    wanted = " or ".join("None" if each is None else each.__name__ for each in types)
    raise TypeError(f"stator.{caller}: {name} is {wanted}, not {type(value).__name__}: {value!r}")
