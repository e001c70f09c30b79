"""The OpenXLA runtime that is installed: jaxlib's client, in this process, without jax."""

import logging
import os
import threading
from typing import Any, NamedTuple

log = logging.getLogger("stator.openxla")

OLDEST = (0, 8, 0)
"""The oldest jaxlib whose client has the calls that are used here."""

_lock = threading.Lock()
_clients: dict[str, "Client"] = {}
_of_parent: list[Any] = []


class Loaded(NamedTuple):
    """A compiled program and the functions that give it tensors: what _torch.XlaExecutable is made of."""

    execute: Any
    from_dlpack: Any
    to_dlpack: Any
    device: Any


class Client:
    """One device's client and what a program needs of it."""

    def __init__(self, client: Any, extension: Any, xla_client: Any) -> None:
        self.client = client
        self.device = client.local_devices()[0]
        self.from_dlpack = extension.dlpack_managed_tensor_to_buffer
        self.to_dlpack = extension.buffer_to_dlpack_managed_tensor
        self._xla_client = xla_client

    def compile(self, stablehlo: str) -> Loaded:
        """The program, ready to be called."""
        options = self._xla_client.CompileOptions()
        try:
            loaded = self.client.compile_and_load(stablehlo, [self.device], options)
        except Exception as error:
            raise RuntimeError(
                f"XLA does not compile this graph: {error}\n"
                "STATOR_LOGS=stablehlo shows the StableHLO that it was given."
            ) from error
        return Loaded(loaded.execute_sharded, self.from_dlpack, self.to_dlpack, self.device)


def client_for(device_type: str) -> Client:
    """The client of the devices that the inputs are on."""
    if device_type != "cpu":
        raise RuntimeError(
            f"the openxla backend has no runtime for tensors on {device_type!r}; move the model and its "
            "inputs to the CPU, or use the backend 'native' or 'inductor' there"
        )
    with _lock:
        found = _clients.get(device_type)
        if found is None:
            found = _clients[device_type] = _cpu_client()
        return found


def _cpu_client() -> Client:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    try:
        import jaxlib
    except ImportError as error:
        raise ImportError(
            "the openxla backend needs an OpenXLA runtime, and jaxlib is not installed: "
            "pip install 'stator[openxla]'"
        ) from error
    version = tuple(int(part) for part in jaxlib.version.__version__.split(".")[:3])
    if version < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        raise ImportError(
            f"the openxla backend needs jaxlib {wanted} or newer, {jaxlib.version.__version__} is installed: "
            "pip install --upgrade 'stator[openxla]'"
        )
    from jaxlib import xla_client

    # Synchronous: when a call returns, XLA has read its inputs, which are torch's memory.
    client = xla_client.make_cpu_client(asynchronous=False)
    return Client(client, vars(xla_client)["_xla"], xla_client)


def lost_by_fork() -> bool:
    """Whether this is a child of a process that had a client: its threads and locks do not survive a fork."""
    return bool(_of_parent)


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    if _clients:
        _of_parent.extend(_clients.values())  # never torn down here
        _clients.clear()
        log.info("this process was forked from one that uses XLA: torch's own kernels run its graphs")


os.register_at_fork(after_in_child=_after_fork)
