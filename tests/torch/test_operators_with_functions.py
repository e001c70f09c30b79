"""Operators that take functions, in captured code: graphs inside of the graph that a backend is given."""

from collections.abc import Callable
from typing import Any

import pytest
from comparison import same
from functorch.experimental.control_flow import map as torch_map
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch._higher_order_ops.wrap import wrap
from torch.nn.attention.flex_attention import flex_attention
from torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts

import stator
import torch
from torch import fx, nn

LINEAR = nn.Linear(3, 3)
SHIFT = torch.arange(3.0)


def one_condition(x: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, lambda a: a.sin() + SHIFT, lambda a: LINEAR(a), (x,))


def nested_conditions(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = x * 2

    def inner(a: torch.Tensor) -> torch.Tensor:
        return torch.cond(a.sum() > 3, lambda b: b + y, lambda b: b - y, (a,))

    first = torch.cond(x.sum() > 0, inner, lambda a: inner(a + 1) * y, (x,))
    return first, first + torch.cond(x.sum() > 1, torch.cos, torch.sin, (x,))


def structures(x: torch.Tensor) -> dict[str, Any]:
    def made(a: torch.Tensor) -> dict[str, Any]:
        b = a.clone()
        b.add_(1)
        return {"pair": (a * 2, [b]), "number": 3, "nothing": None}

    return torch.cond(x.sum() > 0, made, made, (x,))


def wrapped(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = x + SHIFT
    a, b = wrap(lambda q, scale: (q * y * scale, LINEAR(q)), x, 2)
    return a + b, y


def mapped(x: torch.Tensor) -> torch.Tensor:
    rows = torch.stack([x, x + 1, x + 2])
    return torch_map(lambda row, shift: (row * shift).sin() + x, rows, SHIFT)


def constant_condition(x: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.dim() > 1, torch.sin, torch.cos, (x,))


def eager(function: Callable[..., Any], x: torch.Tensor) -> Any:
    """What the program does where the operators are Python's own."""
    names = {
        "cond": lambda p, t, f, operands: t(*operands) if p else f(*operands),
        "wrap": lambda f, *args: f(*args),
        "map": lambda f, rows, *args: torch.stack([f(row, *args) for row in rows]),
    }

    class Torch:
        def __getattr__(self, name: str) -> Any:
            return names["cond"] if name == "cond" else getattr(torch, name)

    scope = {**globals(), "torch": Torch(), "wrap": names["wrap"], "torch_map": names["map"]}
    return type(function)(function.__code__, scope)(x)  # type: ignore[call-arg]


PROGRAMS = [
    one_condition,
    nested_conditions,
    structures,
    wrapped,
    mapped,
    constant_condition,
]
INPUTS = [torch.ones(3), -torch.ones(3), torch.tensor([4.0, -1.0, 2.0])]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("function", PROGRAMS)
def test_as_without_capture(function: Callable[..., Any], backend: str) -> None:
    graphs: list[fx.GraphModule] = []

    def noting(graph: fx.GraphModule, examples: Any) -> Any:
        graph.graph.lint()
        graphs.append(graph)
        return stator.lookup_backend(backend)(graph, examples)

    compiled = stator.compile(function, backend=noting, fullgraph=True)
    for x in INPUTS:
        torch.testing.assert_close(compiled(x), eager(function, x))
    assert len(graphs) == 1
    bodies = [module for module in graphs[0].children() if isinstance(module, fx.GraphModule)]
    assert bool(bodies) is (function is not constant_condition)


def test_gradients() -> None:
    compiled = stator.compile(one_condition, backend="aot_eager", fullgraph=True)
    for x in INPUTS:
        ours, plain = x.clone().requires_grad_(), x.clone().requires_grad_()
        compiled(ours).sum().backward()
        eager(one_condition, plain).sum().backward()
        assert ours.grad is not None
        torch.testing.assert_close(ours.grad, plain.grad)


def test_native_breaks() -> None:
    with pytest.raises(stator.CaptureError, match=r"backends in Python|torch\.cond"):
        stator.compile(one_condition, backend="native", fullgraph=True)(INPUTS[0])


LOG: list[int] = []


def writes_global(x: torch.Tensor) -> torch.Tensor:
    def body(a: torch.Tensor) -> torch.Tensor:
        LOG.append(1)
        return a + 1

    return wrap(body, x)


def writes_own_list(x: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
    own: list[int] = []

    def body(a: torch.Tensor) -> torch.Tensor:
        own.append(1)
        return a + 1

    return wrap(body, x), own


def writes_variable(x: torch.Tensor) -> tuple[torch.Tensor, int]:
    count = 0

    def body(a: torch.Tensor) -> torch.Tensor:
        nonlocal count
        count += 1
        return a + 1

    return wrap(body, x), count


def writes_tensor(x: torch.Tensor) -> torch.Tensor:
    y = x * 2

    def body(a: torch.Tensor) -> torch.Tensor:
        y.add_(1)
        return a + y

    return torch.cond(x.sum() > 0, body, lambda a: a - y, (x,))


def writes_tensor_of_wrap(x: torch.Tensor) -> torch.Tensor:
    y = x * 2

    def body(a: torch.Tensor) -> torch.Tensor:
        y.add_(a)
        return y * 2

    return wrap(body, x) + y


@pytest.mark.parametrize(
    "function",
    [writes_global, writes_own_list, writes_variable, writes_tensor, writes_tensor_of_wrap],
)
def test_bodies_that_write_break(function: Callable[..., Any]) -> None:
    """A body may run otherwise than it is captured: both branches of a condition are."""
    with pytest.raises(stator.CaptureError, match="writes to"):
        stator.compile(function, backend="eager", fullgraph=True)(INPUTS[0])
    if function is writes_tensor:  # torch refuses it too
        return
    found = stator.compile(function, backend="eager")(INPUTS[0])
    LOG.clear()
    torch.testing.assert_close(found, eager(function, INPUTS[0]))


def test_branches_that_differ_break() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda a: a, lambda a: a[:1], (x,))

    with pytest.raises(stator.CaptureError, match=r"torch\.cond"):
        stator.compile(function, backend="eager", fullgraph=True)(INPUTS[0])


def test_sizes_that_change() -> None:
    compiled = stator.compile(mapped, backend="aot_eager", fullgraph=True, dynamic=True)
    torch.testing.assert_close(compiled(INPUTS[0]), eager(mapped, INPUTS[0]))


def test_a_body_that_raises() -> None:
    def fails(a: torch.Tensor) -> torch.Tensor:
        raise ValueError("no")

    def function(x: torch.Tensor) -> torch.Tensor:
        try:
            return wrap(fails, x)
        except ValueError:
            return x + 1

    compiled = stator.compile(function, backend="eager")
    assert torch.equal(compiled(INPUTS[0]), INPUTS[0] + 1)


def test_graphs_inside_of_graphs_are_named_and_know_their_operators() -> None:
    def program(p: torch.Tensor, q: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        def inner(x: torch.Tensor) -> torch.Tensor:
            result: torch.Tensor = torch.cond(q, lambda x: x.sin(), lambda x: x.cos(), [x])
            return result

        result: torch.Tensor = torch.cond(p, lambda x: x + 1, inner, [x])
        return result

    graphs: list[torch.fx.GraphModule] = []

    def keep(module: torch.fx.GraphModule, _: object) -> object:
        graphs.append(module)
        return module.forward

    yes, x = torch.tensor(True), torch.ones(3)
    assert same(stator.compile(program, backend=keep, fullgraph=True)(yes, yes, x), program(yes, yes, x))
    (whole,) = graphs
    names = {name for name, _ in whole.named_modules()}
    assert names == {
        "",
        "cond_true_1",
        "cond_false_1",
        "cond_false_1.cond_true_0",
        "cond_false_1.cond_false_0",
    }
    stacks = {
        node.name: [name for name, _ in node.meta["source_fn_stack"]]
        for module in whole.modules()
        if isinstance(module, torch.fx.GraphModule)
        for node in module.graph.nodes
        if "source_fn_stack" in node.meta
    }
    assert stacks["add"] == ["cond", "add"]
    assert stacks["sin"] == ["cond", "cond", "sin"]
    outer = next(node for node in whole.graph.nodes if node.name == "cond")
    assert "torch.cond(p," in outer.meta["stack_trace"].splitlines()[-1]


def counts(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    def rounds(i: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return i + 1, LINEAR(y) * SHIFT

    count, last = while_loop(lambda i, y: i < 4, rounds, (torch.tensor(0), x + 1))
    return count, last


def running(x: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    rows = torch.stack([x, x * 2, x + 1])

    def combine(carry: torch.Tensor, row: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        return carry * SHIFT + row, {"product": carry * row, "next": row + 1}

    last, outputs = scan(combine, x.clone(), rows, reverse=True)
    return last, outputs


def cumulated(x: torch.Tensor) -> torch.Tensor:
    rows = torch.stack([x, x * 2, x + 1, x - 3])
    result: torch.Tensor = associative_scan(lambda a, b: a * b + 1, rows, 0, combine_mode="generic")
    return result


def attended(x: torch.Tensor) -> torch.Tensor:
    q = (x[:, None] * torch.arange(64.0)).sin().view(1, 2, 6, 16)

    def biased(score: torch.Tensor, b: Any, h: Any, i: Any, j: Any) -> torch.Tensor:
        return score + SHIFT[h] * (i - j)

    result: torch.Tensor = flex_attention(q, q + 1, q, score_mod=biased)
    return result


def checkpointed(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = x * 2

    def region(a: torch.Tensor, scale: int) -> tuple[torch.Tensor, torch.Tensor]:
        return nn.functional.dropout(LINEAR(a).sin() * y, 0.5) * scale, a

    result, same_one = checkpoint(region, x, 3, use_reentrant=False)
    return result, same_one + 1


LOOPS = [counts, running, cumulated, attended, checkpointed]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("function", LOOPS)
def test_loops_and_regions(function: Callable[..., Any], backend: str) -> None:
    graphs: list[fx.GraphModule] = []

    def noting(graph: fx.GraphModule, examples: Any) -> Any:
        graph.graph.lint()
        graphs.append(graph)
        return stator.lookup_backend(backend)(graph, examples)

    compiled = stator.compile(function, backend=noting, fullgraph=True)
    for x in INPUTS:
        torch.manual_seed(0)
        found = compiled(x)
        torch.manual_seed(0)
        torch.testing.assert_close(found, function(x))
    assert len(graphs) == 1
    bodies = [module for module in graphs[0].children() if isinstance(module, fx.GraphModule)]
    assert bool(bodies) is (function is not cumulated)


def drawing(x: torch.Tensor, **settings: Any) -> torch.Tensor:
    def inner(a: torch.Tensor) -> torch.Tensor:
        return nn.functional.dropout(LINEAR(a), 0.5).sin()

    def outer(a: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = checkpoint(inner, a * torch.rand_like(a), use_reentrant=False)
        return nn.functional.dropout(result, 0.3).exp()

    result: torch.Tensor = checkpoint(outer, x, use_reentrant=False, **settings)
    return result * torch.rand_like(x)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "a wrapper of eager", "native"])
@pytest.mark.parametrize("settings", [{}, {"early_stop": False}])
def test_regions_draw_once(backend: str, settings: dict[str, Any]) -> None:
    """The backward computes with the numbers of the forward, and leaves the generator as in eager code."""
    kept = []

    def wrapper(graph: fx.GraphModule, examples: Any) -> Any:
        kept.append(graph)
        return graph.forward

    chosen: Any = wrapper if backend.startswith("a ") else backend
    compiled = stator.compile(drawing, backend=chosen, fullgraph=backend != "native")
    for given in INPUTS:
        x = given.clone().requires_grad_()
        found = []
        for function in (drawing, compiled, compiled):
            torch.manual_seed(0)
            LINEAR.zero_grad()
            result = function(x, **settings)
            x.grad = None
            result.sum().backward()
            assert x.grad is not None
            assert LINEAR.weight.grad is not None
            found.append([result.detach(), x.grad, LINEAR.weight.grad.clone(), torch.rand(2)])
        torch.testing.assert_close(found[1], found[0])
        torch.testing.assert_close(found[2], found[0])
    for graph in kept:
        assert "tag_activation_checkpoint" in graph.code


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("reentrant", [True, False])
def test_gradients_of_regions(backend: str, reentrant: bool) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = checkpoint(lambda a: LINEAR(a).sin().exp(), x, use_reentrant=reentrant)
        return result * x

    compiled = stator.compile(function, backend=backend, fullgraph=True)
    ours, plain = INPUTS[2].clone().requires_grad_(), INPUTS[2].clone().requires_grad_()
    compiled(ours).sum().backward()
    function(plain).sum().backward()
    assert ours.grad is not None
    torch.testing.assert_close(ours.grad, plain.grad)


@pytest.mark.parametrize("function", LOOPS)
def test_loops_under_native(function: Callable[..., Any]) -> None:
    compiled = stator.compile(function, backend="native")
    torch.manual_seed(0)
    found = compiled(INPUTS[0])
    torch.manual_seed(0)
    torch.testing.assert_close(found, function(INPUTS[0]))


def test_policies_of_regions_reach_the_backend() -> None:
    def policy() -> Any:
        return create_selective_checkpoint_contexts([torch.ops.aten.sin.default])

    def function(x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = checkpoint(lambda a: a.sin().exp(), x, use_reentrant=False, context_fn=policy)
        return result

    graphs: list[fx.GraphModule] = []

    def keep(module: fx.GraphModule, _: object) -> object:
        graphs.append(module)
        return module.forward

    x = INPUTS[2].clone().requires_grad_()
    torch.testing.assert_close(stator.compile(function, backend=keep, fullgraph=True)(x), function(x))
    (body,) = [module for module in graphs[0].children() if isinstance(module, fx.GraphModule)]
    assert body.meta["_checkpoint_context_fn"] is policy


def test_a_body_that_gives_its_argument_back_breaks() -> None:
    """The operator gives tensors with memory of their own."""

    def function(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        count, same_one = while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, y), (torch.tensor(0), x))
        return count, same_one

    with pytest.raises(stator.CaptureError, match="shares memory"):
        stator.compile(function, backend="eager", fullgraph=True)(INPUTS[0])


def test_writes_in_regions_break() -> None:
    norm = nn.BatchNorm1d(3)

    def function(x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = checkpoint(lambda a: norm(a[None].expand(2, 3)), x, use_reentrant=False)
        return result

    with pytest.raises(stator.CaptureError, match="writes to"):
        stator.compile(function, backend="aot_eager", fullgraph=True)(INPUTS[0])


def test_calls_of_generic_aliases() -> None:
    def function(x: torch.Tensor) -> tuple[dict[str, torch.Tensor], list[int]]:
        found = dict[str, torch.Tensor]()
        found["y"] = x + 1
        return found, list[int]((1, 2))

    compiled = stator.compile(function, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(INPUTS[0]), function(INPUTS[0]))
