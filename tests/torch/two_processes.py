"""Two processes train one model with gloo, plainly and compiled; run by test_two_processes.py."""

import os
import sys
from typing import Any

import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.fsdp import fully_shard

import stator
import torch
from torch import nn

STEPS = 4
RESULT = "compiled as plain"


def train(kind: str, backend: str | None, rank: int) -> tuple[list[float], int]:
    """The losses, and how many calls captures served."""
    torch.manual_seed(0)
    model: Any = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 2))
    if kind == "ddp":
        model = nn.parallel.DistributedDataParallel(model)
    else:
        for layer in model:
            if isinstance(layer, nn.Linear):
                fully_shard(layer)
        fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    called = stator.compile(model, backend=backend) if backend is not None else model
    losses = []
    for step in range(STEPS):
        torch.manual_seed(100 * step + rank)
        x, y = torch.randn(4, 8), torch.randn(4, 2)
        loss = (called(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses, sum(entry.hits for entry in stator.cache_entries(called)) if backend is not None else 0


def work(rank: int, kind: str, backend: str, port: str) -> None:
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    plain, _ = train(kind, None, rank)
    found, hits = train(kind, backend, rank)
    torch.testing.assert_close(found, plain)
    assert hits > STEPS
    if rank == 0:
        print(RESULT)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(sys.argv[1], sys.argv[2], sys.argv[3]), nprocs=2)
