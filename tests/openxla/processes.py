"""Programs for test_openxla_processes.py that need a process of their own; each prints `done`."""

import os
import re
import sys
import threading
from typing import Any

import pytest


def compiled_sum() -> Any:
    import stator
    import torch

    compiled = stator.compile(lambda x: (x * 2).sum(), backend="openxla_eval")
    with torch.no_grad():
        assert compiled(torch.ones(100)).item() == 200
    return compiled


def torch_first() -> None:
    import torch  # noqa: F401  # isort: skip
    import jaxlib.xla_client  # noqa: F401

    compiled_sum()


def jaxlib_first() -> None:
    import jaxlib.xla_client  # noqa: F401  # isort: skip
    import torch  # noqa: F401

    compiled_sum()


def after_fork() -> None:
    import torch

    compiled = compiled_sum()
    child = os.fork()
    if child == 0:
        with torch.no_grad():
            good = compiled(torch.ones(100)).item() == 200 and compiled(torch.ones(50)).item() == 100
        os._exit(0 if good else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    assert compiled(torch.ones(100)).item() == 200


def exit_after_fork() -> None:
    """A child that ends as programs end, with what its parent compiled."""
    import torch

    compiled = compiled_sum()
    trained = stator_trained()
    child = os.fork()
    with torch.no_grad():
        assert compiled(torch.ones(100)).item() == 200
    trained(torch.ones(4, requires_grad=True)).backward()
    if child == 0:
        sys.exit(7)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7, status


def stator_trained() -> Any:
    import stator
    import torch

    compiled = stator.compile(lambda x: (x * 3).sin().sum(), backend="openxla")
    compiled(torch.ones(4, requires_grad=True)).backward()
    return compiled


def compiling_in_threads() -> None:
    import stator
    import torch

    wrong: list[Any] = []

    def work(number: int) -> None:
        with torch.no_grad():
            compiled = stator.compile(lambda x: (x * number).sum(), backend="openxla_eval")
            for size in range(10, 15):
                if compiled(torch.ones(size)).item() != number * size:
                    wrong.append((number, size))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def in_threads() -> None:
    import torch

    compiled = compiled_sum()
    wrong: list[Any] = []

    def work(number: int) -> None:
        with torch.no_grad():
            for step in range(50):
                x = torch.full((100,), float(number * step))
                if compiled(x).item() != 200 * number * step:
                    wrong.append((number, step))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def resident_mb() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def memory_stays() -> None:
    """Inputs at new addresses: what is left of each call would keep its memory from being used again."""
    import stator
    import torch

    compiled = stator.compile(lambda x: (x * 2).sum(0), backend="openxla_eval")
    trained = stator.compile(lambda x: (x * 3).tanh().sum(), backend="openxla")

    def call() -> None:
        with torch.no_grad():
            compiled(torch.ones(256, 256))
        trained(torch.ones(256, 256, requires_grad=True)).backward()

    for _ in range(50):
        call()
    before = resident_mb()
    for _ in range(400):
        call()
    assert resident_mb() - before < 40, (before, resident_mb())


def behind_torch_compile() -> None:
    """An unchanged program's torch.compile(backend="openxla")."""
    import stator
    import torch
    from stator.backends.openxla.executables import counts

    stator.install()
    x = torch.ones(3, requires_grad=True)
    torch.compile(lambda t: (t * t).sum(), backend="openxla")(x).backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0] * 3
    assert counts["programs"] == 2


def without_jaxlib() -> None:
    sys.modules["jaxlib"] = None  # type: ignore[assignment]
    import stator
    import torch

    with pytest.raises(stator.BackendFailed, match=re.escape("pip install 'stator[openxla]'")) as raised:
        stator.compile(lambda x: x + 1, backend="openxla")(torch.ones(3))
    assert isinstance(raised.value.__cause__, ImportError)
    assert stator.compile(lambda x: x + 1, backend="native")(torch.ones(3)).sum().item() == 6


def old_jaxlib() -> None:
    import jaxlib.version

    jaxlib.version.__version__ = "0.4.30"
    import stator
    import torch

    with pytest.raises(stator.BackendFailed, match=r"0\.4\.30 is installed.*--upgrade"):
        stator.compile(lambda x: x + 1, backend="openxla")(torch.ones(3))


def jax_is_not_imported() -> None:
    compiled_sum()
    assert "jax" not in sys.modules


def compile_error_shows_what_to_do() -> None:
    import stator.backends.openxla.runtime as runtime

    with pytest.raises(RuntimeError, match="STATOR_LOGS=stablehlo"):
        runtime.client_for("cpu").compile("module { nonsense }")
    compiled_sum()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    print("done")
