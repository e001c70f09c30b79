"""Which Pythons and torches Stator supports, and what to do when something is missing."""

import functools
import importlib
import importlib.metadata
import importlib.util
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

PYTHONS = ("3.11", "3.12", "3.13")
TORCHES = ("2.11", "2.12", "2.13")


def _listed(versions: tuple[str, ...]) -> str:
    return f"{', '.join(versions[:-1])} and {versions[-1]}"


def require_python(implementation: str, version: tuple[int, ...], gil: bool = True) -> None:
    """Raise ImportError unless Stator's frames are known to fit this interpreter."""
    found = ".".join(str(part) for part in version[:2])
    if implementation != "cpython" or found not in PYTHONS or not gil:
        build = "" if gil else " without the GIL"
        raise ImportError(
            f"Stator supports CPython {_listed(PYTHONS)} (with the GIL); "
            f"this is {implementation} {found}{build}"
        )


def require_torch(version: str | None) -> None:
    """Raise ImportError unless `version` (None: not installed) is a torch that the torch layer fits."""
    if version is None:
        raise ImportError(f"This part of Stator needs torch {_listed(TORCHES)}, and torch is not installed")
    if ".".join(version.split(".")[:2]) not in TORCHES:
        raise ImportError(f"Stator supports torch {_listed(TORCHES)}; this is torch {version}")


def load_extension(name: str) -> ModuleType:
    """Import the extension module stator.<name>, or say how to build it."""
    qualified = f"stator.{name}"
    if qualified not in sys.modules and importlib.util.find_spec(qualified) is None:
        suffix = sysconfig.get_config_var("EXT_SUFFIX")
        root = Path(__file__).resolve().parent.parent
        command = "make build" if (root / "CMakeLists.txt").exists() else "pip install --no-build-isolation ."
        where = root if (root / "CMakeLists.txt").exists() else "Stator's source folder"
        raise ImportError(
            f"{qualified} is not built for this Python (no {name}{suffix} in {Path(__file__).parent}): "
            f"run `{command}` in {where}",
            name=qualified,
        )
    return importlib.import_module(qualified)


@functools.cache  # every `compile` asks, and reading what a package says of itself takes 2 ms
def torch_version() -> str | None:
    """The version of the torch that is installed, or None."""
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return None


def load_torch_extension() -> ModuleType:
    """Import torch, then stator._torch, whose libraries torch has loaded by then."""
    require_torch(torch_version())
    importlib.import_module("torch")
    loaded = sys.modules.get("stator._torch")
    extension = load_extension("_torch") if loaded is not None else _load_without_modes()
    setting = importlib.import_module("stator.config").config.is_compiling
    importlib.import_module("stator.api.compiling").follow_torch(setting)
    for name in ("operator_lookup", "hooks", "arrays", "generation_tags", "module_calls"):
        importlib.import_module(f"stator.runtime.{name}").replace()
    return extension


def _load_without_modes() -> ModuleType:
    """The extension, loaded outside of the caller's modes.

    It asks torch for operators while it is loaded; a dispatch mode that compiles would load it once more.
    """
    library = importlib.import_module("torch._C")
    with library._DisableTorchDispatch(), library.DisableTorchFunction():
        return load_extension("_torch")


def check_if_supported() -> None:
    """Raise RuntimeError, saying which are supported, unless this Python, platform and torch are."""
    try:
        require_this_python()
        if not sys.platform.startswith("linux"):
            raise ImportError(f"Stator supports Linux; this is {sys.platform}")
        load_torch_extension()
    except ImportError as error:
        raise RuntimeError(str(error)) from error


def is_supported() -> bool:
    """Whether `check_if_supported` has nothing to say."""
    try:
        check_if_supported()
    except RuntimeError:
        return False
    return True


def require_this_python() -> None:
    """Check the running interpreter."""
    gil = not sysconfig.get_config_var("Py_GIL_DISABLED")
    require_python(sys.implementation.name, sys.version_info[:2], gil)
