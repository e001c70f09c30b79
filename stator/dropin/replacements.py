"""Names of torch's modules that hold something of ours for a while, and get back what they held."""

from typing import Any

_MISSING = object()


class Replacements:
    """Each name that was replaced, with what was there and what was put there."""

    def __init__(self) -> None:
        self._done: list[tuple[Any, str, Any, Any]] = []

    def replace(self, owner: Any, name: str, new: Any) -> None:
        """Put `new` where `owner` has `name`; nothing happens where it has none."""
        before = vars(owner).get(name, _MISSING)
        if before is _MISSING:
            return
        setattr(owner, name, new)
        self._done.append((owner, name, before, new))

    def add(self, owner: Any, name: str, new: Any) -> None:
        """The same, also where `owner` had no such name of its own."""
        self._done.append((owner, name, vars(owner).get(name, _MISSING), new))
        setattr(owner, name, new)

    def undo(self) -> None:
        """Put everything back, save what others have replaced in the meantime: they may hold ours inside."""
        while self._done:
            owner, name, before, new = self._done.pop()
            if vars(owner).get(name, _MISSING) is not new:
                continue
            if before is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
