"""Programs of two processes that train together (run by test_distributed.py).

    python tests/torch/distributed_programs.py PROGRAM FOLDER

The first process prints a line for each thing that the program found out: a name and what it is.
"""

import multiprocessing
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

sys.path[:0] = [str(Path(__file__).parent.parent)]

from comparison import alike  # noqa: E402

import stator  # noqa: E402
import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402

Trained = tuple[list[float], list[Tensor]]
BACKENDS = ("native", "aot_eager")
PROGRAMS: dict[str, Callable[[int], dict[str, Any]]] = {}


def program(function: Callable[[int], dict[str, Any]]) -> Callable[[int], dict[str, Any]]:
    PROGRAMS[function.__name__] = function
    return function


def model() -> nn.Sequential:
    torch.manual_seed(0)
    blocks = [
        nn.Sequential(nn.Linear(32, 32), nn.ReLU(inplace=True), nn.LayerNorm(32), nn.Dropout(0.1))
        for _ in range(4)
    ]
    return nn.Sequential(*blocks, nn.Linear(32, 4))


def in_ddp(inner: nn.Module) -> nn.Module:
    return DistributedDataParallel(inner, bucket_cap_mb=0.005)  # about a layer


def in_fsdp(inner: nn.Module) -> nn.Module:
    for block in inner.children():
        fully_shard(block)
    fully_shard(inner)
    return inner


def batches(rank: int) -> list[tuple[Tensor, Tensor]]:
    """Of two sizes, other ones for each process."""
    source = torch.Generator().manual_seed(rank)
    return [
        (torch.randn(n, 32, generator=source), torch.randint(0, 4, (n,), generator=source))
        for n in (8, 8, 8, 6, 6)
    ]


def train(called: nn.Module, rank: int, backend: str | None = None) -> tuple[Trained, Any]:
    """`backend`: the whole step is compiled with it."""
    optimizer = torch.optim.AdamW(called.parameters(), 1e-2)

    def step(x: Tensor, y: Tensor) -> Tensor:
        loss = nn.functional.cross_entropy(called(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    compiled = stator.compile(step, backend=backend) if backend else step
    torch.manual_seed(1)
    losses = [compiled(x, y).item() for x, y in batches(rank)]
    local = [getattr(each, "to_local", lambda each=each: each)() for each in called.parameters()]
    return (losses, [each.detach().clone() for each in local]), compiled


def hits(compiled: Any) -> int:
    return sum(entry.hits for entry in stator.cache_entries(compiled))


def compare(rank: int, wrap: Callable[[nn.Module], nn.Module]) -> dict[str, Any]:
    """The wrapped model compiled, the model compiled and then wrapped, the whole step compiled."""
    plain, _ = train(wrap(model()), rank)
    found: dict[str, Any] = {}
    for backend in BACKENDS:
        outside = stator.compile(wrap(model()), backend=backend)
        found[f"{backend}, compiled outside"] = alike(plain, train(outside, rank)[0]), hits(outside) >= 4
        inside = stator.compile(model(), backend=backend)
        found[f"{backend}, compiled inside"] = (
            alike(plain, train(wrap(inside), rank)[0]),
            hits(inside) >= 2,
        )
        trained, step = train(wrap(model()), rank, backend)
        found[f"{backend}, step"] = alike(plain, trained), hits(step) >= 4
    return found


@program
def data_parallel(rank: int) -> dict[str, Any]:
    return compare(rank, in_ddp)


@program
def fully_sharded(rank: int) -> dict[str, Any]:
    return compare(rank, in_fsdp)


@program
def hooks_of_fsdp(rank: int) -> dict[str, Any]:
    """Whether anything was captured of what gathers and frees parameters."""
    compiled = stator.compile(in_fsdp(model()), backend="native")
    train(compiled, rank)
    begins = [entry.begins[0] for entry in stator.cache_entries(compiled) if entry.begins]
    return {"captured": hits(compiled) >= 4, "of fsdp": any("_fully_shard" in file for file in begins)}


@program
def buckets(rank: int) -> dict[str, Any]:
    """The order of parts of the backward (p) and of buckets that are sent (b), in the last step."""
    dist._DEFAULT_FIRST_BUCKET_BYTES = 5000  # type: ignore[attr-defined]
    order: list[str] = []

    def noting(part: str) -> Callable[[Any, Any], Callable[..., Any]]:
        def compiled(gm: Any, _: Any) -> Callable[..., Any]:
            def run(*given: Any) -> Any:
                order.append(part)
                return gm(*given)

            return run

        return compiled

    def send(_: object, bucket):  # type: ignore[no-untyped-def]  # DDP reads annotations
        order.append("b")
        gradients = bucket.buffer().div_(2)  # as DDP does without a hook
        return dist.all_reduce(gradients, async_op=True).get_future().then(lambda done: done.value()[0])

    backend = stator.backends.aot_autograd(fw_compiler=noting("f"), bw_compiler=noting("p"))
    uncompiled = in_ddp(model())
    uncompiled.register_comm_hook(None, send)  # type: ignore[operator]
    plain, _ = train(uncompiled, rank)
    found: dict[str, Any] = {}
    for name, wanted in (("parts", True), ("whole", False)):
        with torch._dynamo.config.patch(optimize_ddp=wanted):
            stator.reset()
            wrapped = in_ddp(model())
            wrapped.register_comm_hook(None, send)  # type: ignore[operator]
            compiled = stator.compile(wrapped, backend=backend)
            found[name] = alike(plain, train(compiled, rank)[0])
            found[f"order of {name}"] = "".join(order).rpartition("f")[2]
    return found


def process(rank: int, name: str, folder: str) -> None:
    torch.set_num_threads(1)
    store = dist.FileStore(str(Path(folder) / name), 2)  # type: ignore[attr-defined]
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
    found = PROGRAMS[name](rank)
    everybody: list[Any] = [None, None]
    dist.all_gather_object(everybody, found)
    if rank == 0:
        for each, here in found.items():
            print(each, here if everybody[1][each] == here else f"{here} and {everybody[1][each]}", sep=": ")
    dist.barrier()
    dist.destroy_process_group()
    # Not by way of static destructors: on a busy machine a process aborts there now and then, for a thread of
    # C++ that nobody joined ("terminate called without an active exception"); Stator starts none.
    sys.stdout.flush()
    os._exit(0)


def main() -> int:
    name, folder = sys.argv[1:]
    spawned = multiprocessing.get_context("spawn")
    processes = [spawned.Process(target=process, args=(rank, name, folder)) for rank in range(2)]
    for each in processes:
        each.start()
    for each in processes:
        each.join()
    return int(any(each.exitcode for each in processes))


if __name__ == "__main__":
    sys.exit(main())
