"""What the compilers of kernels share: one of each in a process, and each text compiled once."""

import logging
import threading
import time
import warnings
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

log = logging.getLogger("stator.fused")

Key = TypeVar("Key", bound=Hashable)
C = TypeVar("C")


class Kernels(Generic[Key]):
    """Addresses or handles of functions, by what they were compiled from."""

    def __init__(self, counts: dict[str, Any]) -> None:
        self.known: dict[Key, int] = {}
        self.counts = counts
        self._lock = threading.Lock()

    def of(self, keys: list[Key], make: Callable[[list[Key]], list[int]]) -> list[int]:
        """One for each key; `make` compiles those that are new."""
        with self._lock:
            new = [key for key in dict.fromkeys(keys) if key not in self.known]
            if new:
                start = time.perf_counter()
                self.known.update(zip(new, make(new), strict=True))
                self.counts["kernels"] += len(new)
                seconds = time.perf_counter() - start
                self.counts["seconds"] += seconds
                log.info("%d kernels compiled in %.0f ms", len(new), seconds * 1e3)
            self.counts["uses"] += len(keys)
            return [self.known[key] for key in keys]

    def forget(self) -> None:
        """Functions that programs use stay where they are; texts are compiled anew."""
        self.known.clear()


class OnlyOne(Generic[C]):
    """A compiler, made when it is first asked for. Where it cannot be made: None, and one warning."""

    def __init__(self, make: Callable[[], C], errors: tuple[type[Exception], ...], advice: str) -> None:
        self._make = make
        self._errors = errors
        self._advice = advice
        self._lock = threading.Lock()
        self._asked = False
        self.made: C | None = None

    def get(self) -> C | None:
        with self._lock:
            if not self._asked:
                self._asked = True
                try:
                    self.made = self._make()
                except self._errors as error:
                    warnings.warn(self._advice.format(error=error), stacklevel=3)
            return self.made
