"""Arguments, results and effects nested far deeper than the native stack: run eagerly, never a crash."""

import dataclasses
import functools
import subprocess
import sys
import threading
import time
from collections import OrderedDict, namedtuple
from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch

DEPTHS = (300, 1_000, 20_000, 100_000)


@dataclasses.dataclass
class Node:
    value: Any
    rest: Any = None


Pair = namedtuple("Pair", "value rest")


class Plain:
    def __init__(self, rest: Any) -> None:
        self.rest = rest


WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "list": lambda inner: [inner],
    "tuple": lambda inner: (inner,),
    "dict": lambda inner: {"k": inner},
    "ordered": lambda inner: OrderedDict(k=inner),
    "named tuple": lambda inner: Pair(1, inner),
    "dataclass": lambda inner: Node(1, inner),
    "instance": lambda inner: Plain(inner),
    "partial": lambda inner: functools.partial(len, inner),
    "method": lambda inner: [inner].append,
    "mixed": lambda inner: {"a": [(inner, 1)]},
}


def nested(kind: str, depth: int, inner: Any) -> Any:
    wrap = WRAPPERS[kind]
    for _ in range(depth):
        inner = wrap(inner)
    return inner


def unlink(value: Any) -> None:
    """Instances that hold each other die by recursion in CPython up to 3.11: taken apart from the outside."""
    while isinstance(value, Plain | Node):
        value.rest, value = None, value.rest


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("kind", [kind for kind in WRAPPERS if kind not in ("partial", "method")])
def test_arguments(kind: str, depth: int) -> None:
    def first(x: torch.Tensor, more: Any) -> torch.Tensor:
        return x + 1

    compiled = stator.compile(first, backend="native")
    x = torch.ones(2)
    given = nested(kind, depth, torch.ones(1))
    start = time.perf_counter()
    for _ in range(2):
        assert torch.equal(compiled(x, given), x + 1)
    assert time.perf_counter() - start < 20
    assert torch.equal(compiled(x, None), x + 1)
    unlink(given)


def test_other_arguments_after_deep_ones() -> None:
    compiled = stator.compile(lambda x, more: x + len(more), backend="native")
    x = torch.ones(2)
    for more in ([1], nested("list", 50_000, 1), [1], nested("list", 10, 1)):
        for _ in range(2):
            assert torch.equal(compiled(x, more), x + 1)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("kind", ["list", "tuple", "dict", "dataclass", "partial", "method", "mixed"])
def test_results(kind: str, depth: int) -> None:
    wrap = WRAPPERS[kind]

    def makes(x: torch.Tensor, depth: int) -> Any:
        made = x + 1
        for _ in range(depth):
            made = wrap(made)
        return made

    compiled = stator.compile(makes, backend="native", dynamic=False)
    depth = min(depth, 20_000) if kind in ("partial", "method", "mixed") else depth
    for _ in range(2):
        found = compiled(torch.ones(2), depth)
        count, value = 0, found
        while not isinstance(value, torch.Tensor) and kind in ("list", "tuple", "dict", "dataclass"):
            value = value.rest if kind == "dataclass" else value["k"] if kind == "dict" else value[0]
            count += 1
        if kind in ("list", "tuple", "dict", "dataclass"):
            assert count == depth
            assert torch.equal(value, torch.full((2,), 2.0))
        unlink(found)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("place", ["item", "attribute", "append", "cell", "argument"])
def test_effects(place: str, depth: int) -> None:
    items: list[Any] = [None]
    holder = Plain(None)
    variable: Any = None

    def writes(x: torch.Tensor, given: list[Any], depth: int) -> torch.Tensor:
        nonlocal variable
        made: Any = x + 1
        for _ in range(depth):
            made = [made]
        if place == "item":
            items[0] = made
        elif place == "attribute":
            holder.rest = made
        elif place == "append":
            items.append(made)
        elif place == "cell":
            variable = made
        else:
            given[0] = made
        return x * 2

    compiled = stator.compile(writes, backend="native", dynamic=False)
    for _ in range(2):
        given: list[Any] = [0]
        assert torch.equal(compiled(torch.ones(2), given, depth), torch.full((2,), 2.0))
        written = {
            "item": lambda: items[0],
            "attribute": lambda: holder.rest,
            "append": lambda: items[-1],
            "cell": lambda: variable,
            "argument": lambda given=given: given[0],
        }[place]()
        count = 0
        while isinstance(written, list):
            written, count = written[0], count + 1
        assert count == depth
        assert torch.equal(written, torch.full((2,), 2.0))


def test_shallow_structures_are_captured() -> None:
    def deepest(x: torch.Tensor, given: Any) -> Any:
        while isinstance(given, list):
            given = given[0]
        return [[[x + given]]]

    compiled = stator.compile(deepest, backend="native")
    for _ in range(3):
        found = compiled(torch.ones(2), nested("list", 100, torch.ones(2)))
        assert torch.equal(found[0][0][0], torch.full((2,), 2.0))
    assert [entry.hits for entry in stator.cache_entries(compiled)] == [2]


def test_long_chains_that_are_walked() -> None:
    """What the function reaches by itself, link by link."""
    head: Any = None
    for n in range(30_000):
        head = Node(n, head)

    def walks(x: torch.Tensor) -> torch.Tensor:
        at, count = head, 0
        while at is not None:
            at, count = at.rest, count + 1
        return x + count

    compiled = stator.compile(walks, backend="native")
    for _ in range(2):
        assert torch.equal(compiled(torch.ones(1)), torch.ones(1) + 30_000)
    unlink(head)


@pytest.mark.parametrize("depth", [1_000, 100_000])
def test_what_c_code_makes(depth: int) -> None:
    def makes(x: torch.Tensor) -> Any:
        return functools.reduce(lambda made, _: [made], range(depth), x + 1)

    compiled = stator.compile(makes, backend="native")
    for _ in range(2):
        found, count = compiled(torch.ones(2)), 0
        while isinstance(found, list):
            found, count = found[0], count + 1
        assert count == depth
        assert torch.equal(found, torch.full((2,), 2.0))


def test_on_small_stacks() -> None:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            for kind in ("list", "dict", "tuple"):
                test_arguments(kind, 20_000)
                test_results(kind, 20_000)
            test_effects("item", 20_000)
        except BaseException as error:
            errors.append(error)

    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    assert not errors, errors


# What cache_entries and explain show of callables without Python code of their own.
ODD_CALLABLES = {
    "C function": "torch.sin",
    "builtin": "max",
    "method of a type": "torch.Tensor.relu",
    "bound C method": "torch.ones(2).add",
    "partial": "functools.partial(torch.add, torch.ones(2))",
    "partial of Python": "functools.partial(lambda a, b: a + b, torch.ones(2))",
    "operator": "operator.neg",
    "itemgetter": "operator.itemgetter(0)",
    "class": "collections.namedtuple('P', 'a')",
    "type": "torch.Size",
    "callable object": "type('C', (), {'__call__': lambda self, x: x + 1})()",
    "module": "torch.nn.Linear(2, 2)",
    "lru_cache": "functools.lru_cache(lambda x: x + 1)",
    "method of a list": "[torch.ones(2)].index",
    "wrapper": "(2.0).__add__",
    "operator of torch": "torch.ops.aten.sin.default",
}


def test_entries_of_odd_callables() -> None:
    """In a process of their own: they used to crash it."""
    script = f"""
import collections, functools, operator, sys
import torch, stator
for name, text in {ODD_CALLABLES!r}.items():
    fn = eval(text)
    for backend in ("native", "eager"):
        try:
            compiled = stator.compile(fn, backend=backend)
        except TypeError as error:  # classes without calls
            print(name, error)
            continue
        for _ in range(3):
            try:
                compiled(torch.ones(2))
            except Exception as error:
                print(name, type(error).__name__, error)
        for shown in (compiled, fn):
            for entry in stator.cache_entries(shown):
                [str(guard) + guard.user_line for guard in entry.guards], entry.graph, entry.nodes, entry.hits
        repr(compiled), getattr(compiled, "stops", None), getattr(compiled, "callees", None)
    try:
        str(stator.explain(fn)(torch.ones(2)))
    except Exception as error:
        print(name, type(error).__name__, error)
    stator.remove_from_cache(fn)
print("done")
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert done.stdout.endswith("done\n")


def test_reset_while_others_compile() -> None:
    errors: list[BaseException] = []
    done = threading.Event()

    def compiles(number: int) -> None:
        try:
            for n in range(40):
                made = [stator.compile(lambda x, n=n: x + n, backend="native") for _ in range(20)]
                assert made[-1](torch.ones(1)) == 1 + n
                stator.cache_entries(made[0])
        except BaseException as error:
            errors.append(error)

    def resets() -> None:
        try:
            while not done.is_set():
                stator.reset()
                stator.reset_code(compiles.__code__)
                stator.cache_entries(compiles)
        except BaseException as error:
            errors.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        resetting = threading.Thread(target=resets)
        resetting.start()
        workers = [threading.Thread(target=compiles, args=(i,)) for i in range(6)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        done.set()
        resetting.join()
    finally:
        sys.setswitchinterval(before)
    assert not errors, errors
