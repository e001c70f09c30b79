"""Calls a function when a module has been imported, or at once where it has been already."""

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_waiting: dict[str, list[Callable[[ModuleType], object]]] = {}


def after_import(name: str, then: Callable[[ModuleType], object]) -> None:
    """Call `then(module)` once, when the module `name` is there; this imports nothing."""
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        then(module)
        return
    _waiting.setdefault(name, []).append(then)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def forget(name: str, then: Callable[[ModuleType], object]) -> None:
    """Take back what `after_import` was told, where the module has not been imported yet."""
    waiting = _waiting.get(name, [])
    if then in waiting:
        waiting.remove(then)
    if not waiting:
        _waiting.pop(name, None)
    if not _waiting and _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


class _Finder:
    """Finds nothing by itself: it asks the others, and watches how the module that they found is run."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _waiting:
            return None
        for finder in list(sys.meta_path):
            find: Any = getattr(finder, "find_spec", None)
            spec: ModuleSpec | None = find(name, path, target) if find and finder is not self else None
            if spec is not None:
                if spec.loader is not None:
                    _watch(spec.loader, name)
                return spec
        return None


_finder = _Finder()


def _watch(loader: Any, name: str) -> None:
    run = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        vars(loader).pop("exec_module", None)
        run(module)
        for then in _waiting.pop(name, []):
            then(module)
        if not _waiting and _finder in sys.meta_path:
            sys.meta_path.remove(_finder)

    # On the object, not around it: modules show their loader to whoever asks for source or resources.
    loader.exec_module = exec_module
