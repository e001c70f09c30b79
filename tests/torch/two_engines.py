"""Programs with Stator and TorchDynamo in one process: `python two_engines.py NAME...`, by test_two_engines.

Each one compares with eager and says how many captures served, where Stator is to have captured something.
"""

import ctypes
import functools
import itertools
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path[:0] = [str(Path(__file__).parent.parent)]

from comparison import assert_alike  # noqa: E402

import stator  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

PROGRAMS: dict[str, Callable[[], None]] = {}

dynamo = functools.partial(torch.compile, backend="eager")
own = functools.partial(stator.compile, backend="native")


def program(fn: Callable[[], None]) -> Callable[[], None]:
    PROGRAMS[fn.__name__] = fn
    return fn


def served(compiled: Any) -> int:
    return sum(entry.hits for entry in stator.cache_entries(compiled))


def inner(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(x) * 2 + x.shape[0]


def middle(call: Callable[..., Any], x: torch.Tensor) -> torch.Tensor:
    return call(x + 1) - 1


X = torch.arange(6.0).reshape(2, 3)


def memory_sum(x: torch.Tensor) -> float:
    """Ends every capture: it looks at memory."""
    return float(x.detach().numpy().sum())


def evaluator() -> int:
    """The function that evaluates frames: CPython's own, or somebody's hook."""
    python = ctypes.pythonapi
    python.PyInterpreterState_Get.restype = ctypes.c_void_p
    python._PyInterpreterState_GetEvalFrameFunc.argtypes = [ctypes.c_void_p]
    python._PyInterpreterState_GetEvalFrameFunc.restype = ctypes.c_void_p
    return python._PyInterpreterState_GetEvalFrameFunc(python.PyInterpreterState_Get())


CPYTHONS = evaluator()


@program
def torch_inside_stator() -> None:
    theirs = dynamo(inner)
    compiled = own(lambda x: theirs(x + 1) * 3)
    for n in range(4):
        assert_alike(compiled(X + n), inner(X + n + 1) * 3)
    assert served(compiled) == 3, served(compiled)
    assert len(stator.cache_entries(compiled)) == 1


@program
def stator_inside_torch() -> None:
    """Dynamo looks through what Stator compiled: one graph holds it."""
    graphs: list[Any] = []

    def backend(graph: Any, _: Any) -> Any:
        graphs.append(graph)
        return graph

    ours = own(inner)
    compiled = torch.compile(lambda x: ours(x + 1) * 3, backend=backend)
    for n in range(4):
        assert_alike(compiled(X + n), inner(X + n + 1) * 3)
    (graph,) = graphs
    assert "sin" in graph.code, graph.code


@program
def nested_in_every_order() -> None:
    """Four levels, each of them under one engine or none."""

    def level(make: Callable[..., Any], call: Callable[..., Any]) -> Callable[..., Any]:
        def step(x: torch.Tensor) -> torch.Tensor:
            return call(x * 2) + 1

        return make(step)

    plain = lambda fn: fn  # noqa: E731
    for makers in itertools.product([own, dynamo, plain], repeat=4):
        call, expected = inner, inner
        for make in makers:
            call, expected = level(make, call), level(plain, expected)
        for _ in range(2):
            assert_alike(call(X), expected(X))
    torch._dynamo.reset()


@program
def breaks_between() -> None:
    """A break in each function: code of the one engine is run natively by the other."""

    def broken(call: Callable[..., Any]) -> Callable[..., Any]:
        def fn(x: torch.Tensor) -> torch.Tensor:
            y = x * 2
            if memory_sum(y) > -1e9:
                y = call(y)
            return y + 1

        return fn

    for makers in itertools.product([own, dynamo], repeat=3):
        call, expected = inner, inner
        for make in makers:
            call, expected = make(broken(call)), broken(expected)
        for n in range(3):
            assert_alike(call(X + n), expected(X + n))
    torch._dynamo.reset()


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x)) + x


@program
def modules() -> None:
    torch.manual_seed(0)
    plain = nn.Sequential(Block(), Block(), Block())
    expected = plain(X)
    with_optimized = nn.Sequential(plain[0], dynamo(plain[1]), plain[2])
    compiled = own(with_optimized)
    for _ in range(3):
        assert_alike(compiled(X), expected)
    assert served(compiled) == 2
    plain[1].compile(backend="eager")  # in place
    compiled = own(plain)
    for _ in range(3):
        assert_alike(compiled(X), expected)
    assert served(compiled) == 2
    whole = dynamo(nn.Sequential(plain[0], own(plain[1]), plain[2]))
    for _ in range(3):
        assert_alike(whole(X), expected)
    for module in (compiled, whole):
        module(X).sum().backward()
        assert plain[0].linear.weight.grad is not None
        plain.zero_grad()


@program
def gradients() -> None:
    weight = torch.randn(3, 3, requires_grad=True)

    def loss(call: Callable[..., Any], x: torch.Tensor) -> torch.Tensor:
        return (call(x @ weight) ** 2).sum()

    (expected,) = torch.autograd.grad(loss(inner, X), weight)
    for outer, nested in itertools.permutations([own, dynamo]):
        compiled = outer(functools.partial(loss, nested(inner)))
        for _ in range(3):
            (found,) = torch.autograd.grad(compiled(X), weight)
            assert_alike(found, expected)


@program
def operators_with_functions() -> None:
    """torch.cond and its like compile what they are given with Dynamo when they run eagerly."""

    def chooses(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda t: t.sin() + 1, lambda t: t.cos() - 1, (x,)) * 2

    def counts(x: torch.Tensor) -> torch.Tensor:
        (result,) = torch._higher_order_ops.while_loop(
            lambda t: t.sum() < 100, lambda t: (t * 2 + 1,), (x + 1,)
        )
        return result + 1

    for fn in (chooses, counts):
        compiled = own(fn)
        for x in (X, -X, X + 1):
            if fn is counts and x is not X:
                continue
            assert_alike(compiled(x), fn(x))
            assert_alike(compiled(x), fn(x))


@program
def flex_attention() -> None:
    from torch.nn.attention.flex_attention import flex_attention as attend

    q, k, v = (torch.randn(1, 2, 16, 16) for _ in range(3))

    def fn(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return attend(q, k, v, score_mod=lambda score, b, h, i, j: score + (i - j)) + 1

    compiled = own(fn)
    for _ in range(2):
        torch.testing.assert_close(compiled(q, k, v), fn(q, k, v))


@program
def exceptions() -> None:
    def fails(x: torch.Tensor, fail: bool) -> torch.Tensor:
        y = x + 1
        if fail:
            raise KeyError("told to")
        return y

    for outer, nested in itertools.permutations([own, dynamo]):
        call = nested(fails)

        def catches(x: torch.Tensor, fail: bool, call: Callable[..., Any] = call) -> torch.Tensor:
            return call(x * 2, fail)

        compiled = outer(catches)
        for fail in (False, True, False, True, False):
            if fail:
                with pytest.raises(KeyError, match="told to"):
                    compiled(X, fail)
            else:
                assert_alike(compiled(X, fail), X * 2 + 1)
        assert torch._C._dynamo.eval_frame.get_eval_frame_callback() is None
    ours = own(lambda x: inner(x) * 5)
    for _ in range(3):
        assert_alike(ours(X), inner(X) * 5)
    assert served(ours) == 2


@program
def reset_between() -> None:
    for reset in (torch._dynamo.reset, stator.reset, lambda: (torch._dynamo.reset(), stator.reset())):
        for outer, nested in itertools.permutations([own, dynamo]):
            call = nested(inner)
            compiled = outer(functools.partial(middle, call))
            for _ in range(3):
                assert_alike(compiled(X), middle(inner, X))
                reset()
                assert_alike(call(X), inner(X))


@program
def resets_inside() -> None:
    """Dynamo is reset by the program, in the middle of what both have compiled."""

    def resets(x: torch.Tensor) -> torch.Tensor:
        torch._dynamo.reset()
        return x + 1

    theirs = dynamo(inner)
    compiled = own(lambda x: theirs(resets(theirs(x))))
    for _ in range(3):
        assert_alike(compiled(X), inner(inner(X) + 1))


@program
def hook_is_gone_afterwards() -> None:
    compiled = own(functools.partial(middle, dynamo(inner)))
    broken = own(lambda x: middle(dynamo(inner), x) * memory_sum(x))
    for _ in range(3):
        assert_alike(compiled(X), middle(inner, X))
        assert_alike(broken(X), middle(inner, X) * memory_sum(X))
        assert_alike(dynamo(functools.partial(middle, own(inner)))(X), middle(inner, X))
        assert evaluator() == CPYTHONS


@program
def dynamo_still_captures() -> None:
    """A function that torch compiled keeps its own backend where Stator runs natively."""
    graphs: list[Any] = []

    def counting(module: Any, examples: Any) -> Any:
        graphs.append(module)
        return module.forward

    theirs = torch.compile(inner, backend=counting, fullgraph=True)

    def breaks(x: torch.Tensor) -> torch.Tensor:
        y = x * memory_sum(x)
        return next(theirs(y) for _ in range(1) if memory_sum(y) is not None)  # runs natively

    compiled = own(breaks)
    for n in range(3):
        assert_alike(compiled(X + n), inner((X + n) * memory_sum(X + n)))
    assert len(graphs) == 1, len(graphs)


@program
def callees_of_a_broken_function() -> None:
    """Stator captures the callees of what broke, and none of Dynamo's compiler beside them."""
    theirs = dynamo(inner)

    def callee(x: torch.Tensor) -> torch.Tensor:
        return torch.cos(x) + 3

    def breaks(x: torch.Tensor) -> torch.Tensor:
        scale = memory_sum(x)
        return callee(theirs(callee(x * scale)))

    compiled = own(breaks)
    for n in range(4):
        eager = torch.cos(inner(torch.cos((X + n) * memory_sum(X + n)) + 3)) + 3
        assert_alike(compiled(X + n), eager)
    names = {row["name"] for row in compiled.callees}
    assert any("callee" in name for name in names), names
    assert not any("convert" in name or "Instruction" in name or "Variable" in name for name in names), names


@program
def disabled_code() -> None:
    """What torch.compiler.disable marks is not captured, callees included."""

    def callee(x: torch.Tensor) -> torch.Tensor:
        return torch.cos(x) + 3

    @torch.compiler.disable
    def kept(x: torch.Tensor) -> torch.Tensor:
        return callee(x) * 2

    compiled = own(lambda x: kept(x + 1) + 1)
    for n in range(4):
        assert_alike(compiled(X + n), (torch.cos(X + n + 1) + 3) * 2 + 1)
    names = {row["name"] for row in compiled.callees if row["entries"]}
    assert not any("callee" in name or "kept" in name for name in names), names


@program
def optimizers() -> None:
    """One use of torch.compile patches torch's optimizers; Stator captures them as before."""
    dynamo(inner)(X)
    for make in (
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: torch.optim.Adam(p, lr=0.1),
        lambda p: torch.optim.AdamW(p, lr=0.1, foreach=True),
        lambda p: torch.optim.RMSprop(p, lr=0.1),
        lambda p: torch.optim.Adagrad(p, lr=0.1),
    ):
        results = []
        for compile_step in (False, True):
            torch.manual_seed(0)
            model = nn.Linear(3, 3)
            optimizer = make(model.parameters())
            step = own(optimizer.step) if compile_step else optimizer.step
            for _ in range(6):
                optimizer.zero_grad()
                model(X).square().sum().backward()
                step()
            results.append([p.detach().clone() for p in model.parameters()])
            if compile_step:
                assert served(step) >= 2, (optimizer, [stop["detail"] for stop in step.stops])
        assert_alike(results[0], results[1])


@program
def wrapped_otherwise() -> None:
    """A decorator of the program's around a compiled function copies its attributes, and is not skipped."""
    theirs = dynamo(inner)

    @functools.wraps(theirs)
    def decorated(x: torch.Tensor) -> torch.Tensor:
        return theirs(x) + 100

    for compiled in (own(decorated), own(lambda x: decorated(x))):
        for _ in range(3):
            assert_alike(compiled(X), inner(X) + 100)


class Methods:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    @dynamo
    def compiled(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale

    @torch.compiler.disable
    def disabled(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale

    @torch._disable_dynamo
    def kept(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale

    @own
    def ours(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale

    @stator.disable
    def never(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale


@program
def bound_methods() -> None:
    one, two = Methods(2.0), Methods(3.0)
    for name in ("compiled", "disabled", "kept", "ours", "never"):
        for owner in (one, two):
            for compiled in (own(getattr(owner, name)), own(lambda x, o=owner, n=name: getattr(o, n)(x))):
                for n in range(3):
                    assert_alike(compiled(X + n), (X + n) * owner.scale)
        assert_alike(stator.disable(getattr(one, name))(X), X * 2)
        assert_alike(stator.run(getattr(one, name))(X), X * 2)


@program
def interpreted() -> None:
    """The interpreter without capture, over functions of both engines."""
    theirs, ours = dynamo(inner), own(inner)
    run = stator.interpret(lambda x: theirs(x) + ours(x) + theirs(x + 1))
    for _ in range(3):
        assert_alike(run(X), inner(X) * 2 + inner(X + 1))
    inside = dynamo(lambda x: stator.interpret(inner)(x) + 1)
    assert_alike(inside(X), inner(X) + 1)


@program
def threads() -> None:
    """Each thread nests both engines, while others come and go."""
    errors: list[BaseException] = []
    sys.setswitchinterval(1e-4)

    def work(number: int) -> None:
        try:
            first, second = (own, dynamo) if number % 2 else (dynamo, own)

            def base(x: torch.Tensor) -> torch.Tensor:
                return torch.sin(x) * number

            compiled = first(functools.partial(middle, second(base)))
            broken = first(lambda x: compiled(x) * memory_sum(x))
            for _ in range(5):
                assert_alike(compiled(X), middle(base, X))
                assert_alike(broken(X), middle(base, X) * memory_sum(X))
        except BaseException as error:
            errors.append(error)

    for _ in range(2):
        workers = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert not errors, errors
    assert evaluator() == CPYTHONS


@program
def generators_and_callbacks() -> None:
    theirs, ours = dynamo(inner), own(inner)

    def many(x: torch.Tensor) -> Any:
        for n in range(3):
            yield theirs(x + n)
            yield ours(x + n)

    compiled = own(lambda x: sum(many(x)) + sum(map(theirs, [x, x + 1])))
    eager = sum(2 * inner(X + n) for n in range(3)) + inner(X) + inner(X + 1)
    for _ in range(3):
        torch.testing.assert_close(compiled(X), eager)


if __name__ == "__main__":
    for name in sys.argv[1:] or list(PROGRAMS):
        PROGRAMS[name]()
        print("done", name, flush=True)
