"""A module or function and its twin, one compiled and one eager, called side by side."""

import copy
import random
from collections.abc import Callable
from typing import Any

from comparison import all_same, same, tensors_of

import stator
import torch
from torch import nn

# What is compiled, and the arguments of each call.
Built = tuple[Callable[..., Any], list[tuple[Any, ...]]]


def copied(argument: Any) -> Any:
    if not isinstance(argument, torch.Tensor):
        return argument
    return argument.detach().clone().requires_grad_(argument.requires_grad)


def called(run: Callable[..., Any], owner: Any, args: tuple[Any, ...], seed: int) -> dict[str, Any]:
    """One call with its own random numbers, and all that it leaves behind."""
    torch.manual_seed(seed)
    random.seed(seed)
    module = owner if isinstance(owner, nn.Module) else None
    if module is not None:
        module.zero_grad()
    args = tuple(map(copied, args))
    result = run(*args)
    losses = [t.float().sum() for t in tensors_of(result) if t.requires_grad]
    if losses:
        torch.stack(losses).sum().backward()
    return {
        "result": result,
        "gradients": [a.grad for a in args if isinstance(a, torch.Tensor)]
        + [p.grad for p in (module.parameters() if module is not None else ())],
        "buffers": list(module.buffers()) if module is not None else [],
        "random": [torch.get_rng_state(), random.getstate()],
        "attributes": list(tensors_of({k: v for k, v in vars(module).items() if not k.startswith("_")}))
        if module is not None
        else [],
    }


def compare(built: Built, training: bool) -> Any:
    """Calls both with each of the arguments and gives the compiled one back."""
    plain, calls = built
    if isinstance(plain, nn.Module):
        plain.train(training)
    twin = copy.deepcopy(plain) if isinstance(plain, nn.Module) else plain
    compiled = stator.compile(twin, backend="native")
    for seed, args in enumerate(calls):
        ours, eagers = called(compiled, twin, args, seed), called(plain, plain, args, seed)
        assert all_same(ours["result"], eagers["result"])
        for kind in ("gradients", "buffers", "attributes"):
            assert len(ours[kind]) == len(eagers[kind])
            assert all(map(same, ours[kind], eagers[kind])), kind
        assert torch.equal(ours["random"][0], eagers["random"][0])
        assert ours["random"][1] == eagers["random"][1]
    return compiled


def assert_whole(compiled: Any, calls: int) -> None:
    """One capture, which served every call but the first."""
    assert [entry.hits for entry in stator.cache_entries(compiled)] == [calls - 1]
