"""The Python under test: its version, its test modules, and Stator's extension for it."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

# Packages whose modules are tests of their own, in the way `python -m test` splits some of them;
# the __init__ of these does no more than load what lies beside it.
SPLIT_PACKAGES = (
    "test_asyncio",
    "test_concurrent_futures",
    "test_ctypes",
    "test_email",
    "test_future_stmt",
    "test_inspect",
    "test_multiprocessing_fork",
    "test_multiprocessing_forkserver",
    "test_multiprocessing_spawn",
    "test_pydoc",
)

_QUESTION = """
import importlib.machinery, importlib.util, json, sys
spec = importlib.util.find_spec(sys.argv[1])
print(json.dumps({
    "version": ".".join(map(str, sys.version_info[:3])),
    "suffixes": importlib.machinery.EXTENSION_SUFFIXES,
    "package": list(spec.submodule_search_locations) if spec else [],
}))
"""


class NoSuchModule(ValueError):
    """A name that is no module of the test package."""


@dataclass(frozen=True)
class Python:
    """A Python executable and the package of tests it has."""

    executable: str
    version: str
    suffixes: tuple[str, ...]
    package: str
    directory: Path
    path: tuple[str, ...] = ()  # further entries of PYTHONPATH

    @classmethod
    def ask(cls, executable: str, package: str = "test", path: tuple[str, ...] = ()) -> Python:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
        command = [executable, "-c", _QUESTION, package]
        answer = subprocess.run(command, env=environment, check=True, capture_output=True, cwd="/")
        told = json.loads(answer.stdout)
        if not told["package"]:
            raise NoSuchModule(f"{executable} has no package {package!r}")
        directory = Path(told["package"][0])
        return cls(executable, told["version"], tuple(told["suffixes"]), package, directory, path)

    @property
    def short_version(self) -> str:
        return ".".join(self.version.split(".")[:2])

    def extension(self) -> Path | None:
        """Stator's extension built for this Python, if there is one."""
        if self.version == ".".join(map(str, sys.version_info[:3])):
            spec = importlib.util.find_spec("stator._capture")
            return Path(spec.origin) if spec and spec.origin else None
        beside = Path(__file__).resolve().parent.parent
        for suffix in self.suffixes:
            if suffix != ".so" and (beside / f"_capture{suffix}").exists():
                return beside / f"_capture{suffix}"
        return None

    def module(self, name: str) -> str:
        """The plain name (`test_json`, `test_asyncio.test_tasks`) of what the user named."""
        plain = name.removeprefix(f"{self.package}.").removesuffix(".py").replace("/", ".")
        place = self.directory.joinpath(*plain.split("."))
        if not place.with_suffix(".py").is_file() and not (place / "__init__.py").is_file():
            raise NoSuchModule(f"{self.package}.{plain} is no module of Python {self.version}")
        return plain

    def all_modules(self) -> list[str]:
        """Every test module; a package is one, except for those that are split."""
        return sorted(self._modules_in(self.directory, ""))

    def _modules_in(self, directory: Path, prefix: str) -> list[str]:
        found = []
        for entry in directory.iterdir():
            name = entry.name.removesuffix(".py")
            if not name.startswith("test_") or (entry.suffix != ".py" and not entry.is_dir()):
                continue
            if entry.is_dir() and not (entry / "__init__.py").is_file():
                continue
            if not prefix and entry.is_dir() and name in SPLIT_PACKAGES:
                found += self._modules_in(entry, f"{name}.")
            else:
                found.append(prefix + name)
        return found


def default_executable() -> str:
    """The Python behind a virtual environment: tests of CPython skip a lot inside of one."""
    return str(getattr(sys, "_base_executable", "") or sys.executable)
