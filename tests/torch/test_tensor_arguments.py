"""Tensors and modules as arguments: other objects are served alike, one and the same object is noticed."""

from typing import Any

import stator
import torch

KNOWN = torch.ones(2)


def test_a_tensor_that_the_function_reaches_by_itself() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x * 100 if x is KNOWN else x + 1

    compiled = stator.compile(function, backend="native")
    for x in (torch.ones(2), KNOWN, torch.ones(2), KNOWN):
        assert torch.equal(compiled(x), function(x))
    assert [entry.hits for entry in stator.cache_entries(compiled)] == [1, 1]


def test_modules_of_one_kind_share_a_capture() -> None:
    modules = [torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()) for _ in range(10)]
    compiled = stator.compile(lambda module, x: module(x), backend="native", fullgraph=True)
    x = torch.randn(3, 4)
    for module in modules + modules:
        assert torch.equal(compiled(module, x), module(x))
    assert [entry.hits for entry in stator.cache_entries(compiled)] == [1, 17]
    modules[3].eval()
    modules[4][0].bias = None
    modules[5].register_forward_hook(lambda module, args, output: output + 1)
    modules[6].half()
    with torch.no_grad():
        for module in modules:
            given = x.half() if module is modules[6] else x
            assert torch.equal(compiled(module, given), module(given))


def test_batch_norm_of_several_modules_updates_each_ones_own_statistics() -> None:
    torch.manual_seed(0)
    compiled = stator.compile(lambda module, x: module(x), backend="native", fullgraph=True)
    for _ in range(4):
        ours, plain = torch.nn.BatchNorm1d(3), torch.nn.BatchNorm1d(3)
        for _ in range(2):
            x = torch.randn(5, 3)
            assert torch.equal(compiled(ours, x), plain(x))
        assert all(torch.equal(a, b) for a, b in zip(ours.buffers(), plain.buffers(), strict=True))
    assert len(stator.cache_entries(compiled)) == 2


def test_tensors_of_the_call_in_sets_and_as_keys() -> None:
    """Which of them are one is guarded."""

    def function(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> tuple[Any, ...]:
        both = {x, y}
        names = {x: "x", y: "y"}
        return x + 1 if z in both else x, len(both), names[x], x is y, z in names

    compiled = stator.compile(function, backend="native", fullgraph=True)
    a, b, c = torch.ones(2), torch.zeros(2), torch.full((2,), 3.0)
    for given in ((a, b, c), (a, b, a), (a, a, b), (b, a, a), (a, b, c)):
        found, wanted = compiled(*given), function(*given)
        assert torch.equal(found[0], wanted[0])
        assert found[1:] == wanted[1:]
    assert compiled(c, b, a)[1:] == function(c, b, a)[1:]


def test_numbers_of_tensors_of_the_call() -> None:
    """id() and hash() may be compared with numbers that the program kept from an earlier call."""
    last = [0, 0]
    results: dict[int, torch.Tensor] = {}

    def cached(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        if id(x) in results:
            return results[id(x)] + y
        results[id(x)] = y
        return y

    def compared(x: torch.Tensor) -> Any:
        y = x * 2
        same = id(x) == last[0], hash((x, 1)) == last[1]
        last[:] = id(x), hash((x, 1))
        return y, same

    a, b = torch.ones(2), torch.zeros(2)
    for function in (cached, compared):
        found = []
        for each in (function, stator.compile(function, backend="native")):
            last[:] = 0, 0
            results.clear()
            given = [each(x) for x in (a, a, b, b, a)]
            if function is compared:
                found.append([(y.tolist(), same) for y, same in given])
            else:
                found.append([y.tolist() for y in given])
        assert found[0] == found[1]
    plain = stator.compile(lambda x: (id(x), hash(x), x + 1), backend="native")
    assert plain(a)[:2] == (id(a), hash(a))
    assert plain(b)[:2] == (id(b), hash(b))
