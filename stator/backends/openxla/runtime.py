"""The OpenXLA runtime that is installed: jaxlib's clients, in this process, without jax."""

import ctypes
import importlib.util
import logging
import os
import re
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

log = logging.getLogger("stator.openxla")

OLDEST = (0, 8, 0)
"""The oldest jaxlib whose client has the calls that are used here."""

_lock = threading.Lock()
_clients: dict[str, "Client"] = {}
_of_parent: list[Any] = []


class Loaded(NamedTuple):
    """A compiled program and what gives it tensors: Runtime in src/backends/openxla/runtime/executable.h."""

    execute: Any
    from_dlpack: Any
    to_dlpack: Any
    device: Any
    explained: Any


class Client:
    """What compiles for the devices of one type."""

    def __init__(self, client: Any, xla_client: Any) -> None:
        extension = vars(xla_client)["_xla"]
        self.client = client
        self.from_dlpack = extension.dlpack_managed_tensor_to_buffer
        self.to_dlpack = extension.buffer_to_dlpack_managed_tensor
        self._xla_client = xla_client

    def compile(self, stablehlo: str, index: int = 0) -> Loaded:
        """The program, ready to be called with tensors of the device `index`."""
        device = next((d for d in self.client.local_devices() if d.local_hardware_id == index), None)
        if device is None:
            raise RuntimeError(
                f"the OpenXLA runtime has no device {index}; it has {self.client.local_devices()}"
            )
        options = self._xla_client.CompileOptions()
        try:
            loaded = self.client.compile_and_load(stablehlo, [device], options)
        except Exception as error:
            if is_out_of_memory(error):
                raise out_of_memory(error) from error
            raise RuntimeError(
                f"XLA does not compile this graph: {error}\n"
                "STATOR_LOGS=stablehlo shows the StableHLO that it was given."
            ) from error
        return Loaded(loaded.execute_sharded, self.from_dlpack, self.to_dlpack, device, explained)


def is_out_of_memory(error: BaseException) -> bool:
    return "RESOURCE_EXHAUSTED" in str(error) or "out of memory" in str(error).lower()


def out_of_memory(error: BaseException) -> MemoryError:
    return MemoryError(
        f"XLA has not enough memory for this program: {error}\n"
        "Use smaller inputs; on CUDA, XLA_CLIENT_MEM_FRACTION sets the share of the device's memory that XLA "
        f"may use beside torch ({MEMORY_SHARE} if it is not set), and torch.cuda.empty_cache() gives back "
        "what torch holds without need."
    )


def explained(error: BaseException) -> BaseException:
    """What to raise for an error of a run."""
    made = out_of_memory(error) if is_out_of_memory(error) else error
    if made is not error:
        made.__cause__ = error
    return made


def client_for(device: str) -> Client:
    """The client of the devices that the inputs are on: `cpu`, or `cuda:0`."""
    kind = device.partition(":")[0]
    makers = {"cpu": _cpu_client, "cuda": _cuda_client}
    if kind not in makers:
        raise RuntimeError(
            f"the openxla backend has no runtime for tensors on {kind!r}; move the model and its inputs to "
            "the CPU or to CUDA, or use the backend 'native' or 'inductor' there"
        )
    with _lock:
        found = _clients.get(kind)
        if found is None:
            found = _clients[kind] = makers[kind]()
        return found


def compile_for(stablehlo: str, device: str) -> Loaded:
    """The program for the device `cpu` or `cuda:0`."""
    return client_for(device).compile(stablehlo, int(device.partition(":")[2] or 0))


def _xla_client() -> Any:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    try:
        import jaxlib
    except ImportError as error:
        raise ImportError(
            "the openxla backend needs an OpenXLA runtime, and jaxlib is not installed: "
            "pip install 'stator[openxla]'"
        ) from error
    installed = jaxlib.version.__version__
    if tuple(map(int, re.findall(r"\d+", installed)[:3])) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise ImportError(
            f"the openxla backend needs jaxlib {wanted} or newer, {installed} is installed: "
            "pip install --upgrade 'stator[openxla]'"
        )
    from jaxlib import xla_client

    return xla_client


def _cpu_client() -> Client:
    xla_client = _xla_client()
    # Synchronous: when a call returns, XLA has read its inputs, which are torch's memory.
    return Client(xla_client.make_cpu_client(asynchronous=False), xla_client)


MEMORY_SHARE = 0.5
"""Of a CUDA device, for XLA's results and temporaries: taken as needed, not at once."""


def _cuda_client() -> Client:
    import torch

    xla_client = _xla_client()
    major = (torch.version.cuda or "13").partition(".")[0]
    library = _cuda_plugin(major)
    install = f"pip install 'jax-cuda{major}-plugin[with-cuda]', in the version of jaxlib"
    if library is None:
        raise ImportError(
            f"the openxla backend finds no PJRT plugin for CUDA {major}: {install}; or move the model and "
            "its inputs to the CPU"
        )
    share = os.environ.get("XLA_CLIENT_MEM_FRACTION") or os.environ.get("XLA_PYTHON_CLIENT_MEM_FRACTION")
    options = {"preallocate": False, "memory_fraction": float(share or MEMORY_SHARE)}
    try:
        if not xla_client.pjrt_plugin_loaded("cuda"):
            xla_client.load_pjrt_plugin_dynamically("cuda", str(library))
        if not xla_client.pjrt_plugin_initialized("cuda"):
            xla_client.initialize_pjrt_plugin("cuda")
        client = xla_client.make_c_api_client("cuda", options, None)
    except Exception as error:
        raise ImportError(
            f"the PJRT plugin {library} does not start: {error}\nIt must fit jaxlib and the driver: {install}"
        ) from error
    return Client(client, xla_client)


def _cuda_plugin(major: str) -> Path | None:
    """The plugin's library, found without importing the packages, which would import jax."""
    try:
        spec = importlib.util.find_spec(f"jax_plugins.xla_cuda{major}")
    except ModuleNotFoundError:
        return None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        library = Path(folder) / "xla_cuda_plugin.so"
        if library.exists():
            return library
    return None


def lost_by_fork() -> bool:
    """Whether this is a child of a process that had a client: its threads and locks do not survive a fork."""
    return bool(_of_parent)


def leave_to_parent(objects: Iterable[Any]) -> None:
    """Keeps them beyond the end of this process: to tear them down waits for threads that are not there."""
    for left in objects:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(left))
        _of_parent.append(left)


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    if _clients:
        leave_to_parent(_clients.values())
        _clients.clear()
        log.info("this process was forked from one that uses XLA: torch's own kernels run its graphs")


os.register_at_fork(after_in_child=_after_fork)
