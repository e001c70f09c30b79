"""Captured graphs as torch.fx graphs, and the backends that take them."""

import gc
import math
import operator
import os
from typing import Any

import pytest
from comparison import assert_alike, same

import stator
import torch
from torch import nn


class Collected:
    """A backend that keeps what it is given and runs it as it is."""

    def __init__(self) -> None:
        self.modules: list[torch.fx.GraphModule] = []
        self.examples: list[list[torch.Tensor]] = []

    def __call__(self, gm: torch.fx.GraphModule, examples: list[torch.Tensor]) -> Any:
        self.modules.append(gm)
        self.examples.append(examples)
        return gm.forward


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
        self.register_buffer("scale", torch.full((8,), 0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.layers(x) * self.scale


def block() -> Block:
    torch.manual_seed(0)
    return Block().train()


def nodes(gm: torch.fx.GraphModule, op: str = "call_function") -> list[torch.fx.Node]:
    return [node for node in gm.graph.nodes if node.op == op]


def test_nodes_are_operators_in_order() -> None:
    def f(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values, where = torch.max(x, dim=1)
        return torch.add(x, y, alpha=3), values, where, *torch.split(x, 1)

    backend, x, y = Collected(), torch.randn(2, 3), torch.randn(2, 3)
    compiled = stator.compile(f, backend=backend, fullgraph=True)
    for got, wanted in zip(compiled(x, y), f(x, y), strict=True):
        assert torch.equal(got, wanted)
    (gm,) = backend.modules
    aten = torch.ops.aten
    assert [node.target for node in nodes(gm) if node.target is not operator.getitem] == [
        aten.max.dim,
        aten.add.Tensor,
        aten.split.Tensor,
    ]
    (add,) = [node for node in nodes(gm) if node.target is aten.add.Tensor]
    assert dict(add.kwargs) == {"alpha": 3}
    assert [example is given for example, given in zip(backend.examples[0], (x, y), strict=True)] == [
        True,
        True,
    ]
    gm.graph.lint()


def test_placeholders_are_named_after_their_sources() -> None:
    backend, model = Collected(), block()
    stator.compile(model, backend=backend)(torch.randn(1, 2, 8))
    names = [str(node.target) for node in nodes(backend.modules[0], "placeholder")]
    assert "p_layers_0_weight" in names
    assert "p_attention_in_proj_bias" in names
    assert any("scale" in name for name in names)
    assert all(name.isidentifier() for name in names)
    assert len(set(names)) == len(names)


def test_values_have_the_layout_that_was_captured() -> None:
    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y = (x.t() @ w).to(torch.float64)
        return y.transpose(0, 1)[1:].mul_(2)

    backend = Collected()
    x, w = torch.randn(4, 3), torch.randn(4, 5, requires_grad=True)
    stator.compile(f, backend=backend)(x, w)
    real = dict.fromkeys(backend.modules[0].graph.nodes)
    checked = 0

    class Checks(torch.fx.Interpreter):
        def run_node(self, node: torch.fx.Node) -> Any:
            nonlocal checked
            result = super().run_node(node)
            if isinstance(result, torch.Tensor):
                fake = node.meta["val"]
                assert type(fake).__name__ == "FakeTensor"
                assert (fake.shape, fake.stride(), fake.dtype, fake.device, fake.storage_offset()) == (
                    result.shape,
                    result.stride(),
                    result.dtype,
                    result.device,
                    result.storage_offset(),
                )
                assert fake.requires_grad == result.requires_grad
                checked += 1
            return result

    Checks(backend.modules[0]).run(x, w)
    assert checked >= 6
    view = {node.target: node.meta["val"] for node in real if node.op == "call_function"}
    transposed, sliced = view[torch.ops.aten.transpose.int], view[torch.ops.aten.slice.Tensor]
    assert transposed.untyped_storage()._cdata == sliced.untyped_storage()._cdata
    assert "val" in dict(next(iter(real)).meta)


def test_modes_are_calls() -> None:
    def f(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        with torch.no_grad():
            a = x * 2
        with torch.enable_grad():
            b = x * 3
        return a, b, x.data + 1, x @ x

    x = torch.randn(3, 3, requires_grad=True)
    for backend in ("eager", "aot_eager"):
        compiled = stator.compile(f, backend=backend, fullgraph=True)
        for _ in range(2):
            for got, wanted in zip(compiled(x), f(x), strict=True):
                assert torch.equal(got, wanted)
                assert (got.requires_grad, got.dtype) == (wanted.requires_grad, wanted.dtype)
        assert torch.is_grad_enabled()


def test_literals_and_random_factories() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        y = torch.tensor([1.0, 2.0])
        y.add_(1)
        return x + y + torch.rand_like(x) + torch.randint_like(x, 5)

    x = torch.zeros(2, requires_grad=True)
    compiled = stator.compile(f, backend="eager", fullgraph=True)
    for seed in range(3):
        torch.manual_seed(seed)
        got = compiled(x)
        torch.manual_seed(seed)
        assert torch.equal(got, f(x))


def test_an_argument_that_is_returned_is_the_argument() -> None:
    for backend in ("eager", "aot_eager"):
        compiled = stator.compile(lambda x: (x.add_(1), x * 2), backend=backend)
        x = torch.zeros(3)
        for n in range(1, 4):
            first, second = compiled(x)
            assert first is x
            assert torch.equal(x, torch.full((3,), float(n)))
            assert torch.equal(second, x * 2)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "aot_eager_decomp_partition"])
def test_a_model_and_its_gradients(backend: str) -> None:
    model, twin, x = block(), block(), torch.randn(2, 4, 8)
    compiled = stator.compile(model, backend=backend)
    for _ in range(2):
        got, wanted = compiled(x), twin(x)
        torch.testing.assert_close(got, wanted)
        got.square().sum().backward()
        wanted.square().sum().backward()
    for ours, eagers in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, eagers.grad)
    assert stator.cache_entries(compiled)[0].hits == 1


@pytest.mark.skipif(os.environ.get("STATOR_SKIP_INDUCTOR") == "1", reason="asked for")
def test_inductor() -> None:
    """One small function: what it costs is Inductor's own start."""

    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x).sin() * 2 + x.sum()

    compiled, x = stator.compile(f), torch.randn(8, 8)
    for _ in range(2):
        torch.testing.assert_close(compiled(x), f(x))
    assert stator.cache_entries(compiled)[0].hits == 1


def test_a_backend_that_fails_is_shown() -> None:
    def refuses(gm: Any, inputs: Any) -> Any:
        raise NotImplementedError("no such operator here")

    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    with pytest.raises(stator.BackendFailed, match="'refuses' raised NotImplementedError") as caught:
        stator.compile(f, backend=refuses)(torch.ones(1))
    assert isinstance(caught.value.__cause__, NotImplementedError)
    compiled = stator.compile(f, backend=refuses)
    with stator.config.patch(suppress_errors=True):
        assert compiled(torch.ones(1)).item() == 2
    assert "backend-failed" in compiled.breaks[0]
    with pytest.raises(stator.BackendFailed, match="not a callable"):
        stator.compile(f, backend=lambda gm, inputs: None)(torch.ones(1))


def test_wrong_answers_of_a_backend_are_errors() -> None:
    compiled = stator.compile(lambda x: x + 1, backend=lambda gm, inputs: lambda *args: ())
    with pytest.raises(RuntimeError, match="returned 0 values, the graph has 1"):
        compiled(torch.ones(1))


@pytest.mark.parametrize(
    "backend",
    ["eager", lambda gm, examples: gm, lambda gm, examples: gm.forward],
    ids=["eager", "gm", "forward"],
)
def test_hooks_of_all_modules_do_not_see_the_graph(backend: Any) -> None:
    """The graph runs in a module too, but it is not one of the program's."""
    linear = nn.Linear(3, 3)
    x = torch.ones(2, 3)
    seen: list[str] = []

    def hook(module: nn.Module, args: Any, out: torch.Tensor) -> torch.Tensor:
        seen.append(type(module).__name__)
        return out * 2

    def program(x: torch.Tensor) -> torch.Tensor:
        return linear(x) + 1  # type: ignore[no-any-return]

    compiled = stator.compile(program, backend=backend)
    assert torch.equal(compiled(x), program(x))
    handle = nn.modules.module.register_module_forward_hook(hook)
    try:
        for _ in range(3):
            seen.clear()
            assert torch.equal(compiled(x), linear.forward(x) * 2 + 1)
            assert seen == ["Linear"]
    finally:
        handle.remove()
    assert torch.equal(compiled(x), program(x))


def test_contexts_of_a_backend() -> None:
    entered: list[str] = []

    class Context:
        def __enter__(self) -> None:
            entered.append("in")

        def __exit__(self, *exception: object) -> None:
            entered.append("out")

    backend = Collected()
    backend.backend_ctx_ctor = Context  # type: ignore[attr-defined]
    compiled = stator.compile(lambda x: x + 1, backend=backend)
    compiled(torch.ones(1))
    assert entered == ["in", "out"] * 2
    compiled(torch.ones(1))
    assert entered == ["in", "out"] * 3


def test_no_garbage_is_collected_while_a_graph_is_made() -> None:
    """A collection looks through everything that the process holds; a graph under way has no garbage."""
    collections = 0

    def count(phase: str, info: dict[str, int]) -> None:
        nonlocal collections
        collections += phase == "stop"

    def many(x: torch.Tensor) -> torch.Tensor:
        for i in range(300):
            x = x * 2 + i
        return x

    backend = Collected()
    compiled = stator.compile(many, backend=backend)
    thresholds = gc.get_threshold()
    gc.callbacks.append(count)
    gc.set_threshold(20)
    try:
        compiled(torch.ones(2))
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(count)
    assert len(backend.modules[0].graph.nodes) > 600
    assert collections < 60
    assert gc.isenabled()


def test_empty_answers_from_memory() -> None:
    compiled = stator.compile(lambda x: x + 1, backend="empty")
    first = compiled(torch.ones(2))
    assert torch.equal(first, torch.full((2,), 2.0))
    assert compiled(torch.zeros(2)) is first
    assert stator.cache_entries(compiled)[0].hits == 1


class Mixed(nn.Module):
    """Sizes in views, slices, joins and numbers that are returned."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, int]:
        b, t, d = x.shape
        h = self.layers(self.norm(x)).view(b * t, d).t().reshape(d, b, t).permute(1, 2, 0)
        y = torch.cat([h, x], dim=1)[:, 1:]
        return (y * 2 if b > 40 else y), b * 2 + t


FLOATS: dict[str, tuple[Any, int]] = {
    "product": (lambda x, n, f: x * (f * 2 + 1), 2),
    "quotient": (lambda x, n, f: x * (f / n), 2),
    "root": (lambda x, n, f: x * n**0.5, 2),
    "power": (lambda x, n, f: x * f**0.5, 2),
    "cosine": (lambda x, n, f: x * (1 + math.cos(f)) / 2, 2),
    "floor": (lambda x, n, f: x + math.floor(f), 2),
    "size": (lambda x, n, f: x.new_ones(int(f * 2)).sum() + x, 2),
    "not used": (lambda x, n, f: x * (n if f > 0 else -n), 2),
    # AOT autograd takes these for numbers, each its own.
    "limit": (lambda x, n, f: x.clamp(max=f), 6),
    "value": (lambda x, n, f: torch.addcmul(x, x, x, value=f) * (f + n), 6),
}


@pytest.mark.parametrize("name", FLOATS)
def test_floats_that_aot_autograd_makes_tensors_of(name: str) -> None:
    function, captures = FLOATS[name]
    compiled: Any = stator.compile(function, backend="aot_eager")
    for i in range(6):
        arguments = (torch.arange(4.0), 5 + i, 2.3 + 0.7 * i)
        torch.testing.assert_close(compiled(*arguments), function(*arguments))
    assert len(compiled.entries) == captures, compiled.misses


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("dynamic", [None, True])
def test_symbolic_sizes(backend: str, dynamic: bool | None) -> None:
    torch.manual_seed(0)
    model = Mixed()
    compiled = stator.compile(model, backend=backend, dynamic=dynamic, fullgraph=True)
    for b, t in ((2, 3), (4, 5), (6, 7), (3, 9), (50, 2), (60, 3), (5, 5)):
        x = torch.randn(b, t, 8, requires_grad=True)
        (got, n), (wanted, m) = compiled(x), model(x)
        torch.testing.assert_close(got, wanted)
        assert n == m
        inputs = [x, *model.parameters()]
        for ours, eagers in zip(
            torch.autograd.grad(got.square().sum(), inputs),
            torch.autograd.grad(wanted.square().sum(), inputs),
            strict=True,
        ):
            torch.testing.assert_close(ours, eagers, rtol=1e-4, atol=1e-4)
    # One for each side of `b > 40`, and with dynamic=None the static one before them.
    assert len(stator.cache_entries(compiled)) == (2 if dynamic else 3)


def test_symbolic_graphs_are_as_dynamos() -> None:
    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        return x.view(x.shape[0] // 2, -1) * n

    backend = Collected()
    compiled = stator.compile(f, backend=backend)
    for rows, n in ((4, 3), (6, 5), (8, 7)):
        x = torch.randn(rows, 2)
        assert torch.equal(compiled(x, n), f(x, n))
    assert len(backend.modules) == 2
    gm, examples = backend.modules[1], backend.examples[1]
    inputs = nodes(gm, "placeholder")
    assert len(inputs) == len(examples) == 3
    assert all(isinstance(example, torch.SymInt) for example in examples[:2])
    fake = inputs[2].meta["val"]
    assert type(fake).__name__ == "FakeTensor"
    assert isinstance(fake.shape[0], torch.SymInt)
    assert operator.floordiv in [node.target for node in nodes(gm)]
    gm.graph.lint()


def test_what_a_backend_relies_on_is_checked() -> None:
    compiled_for: list[int] = []

    def picky(gm: torch.fx.GraphModule, examples: list[Any]) -> Any:
        (size,) = (each for each in examples if isinstance(each, torch.SymInt))
        compiled_for.append(int(size % 3 == 0) if size < 100 else -1)
        return gm.forward

    compiled = stator.compile(lambda x: x + 1, backend=picky, dynamic=True)
    for n in (3, 6, 9, 4, 5, 12, 200):
        x = torch.randn(n)
        assert torch.equal(compiled(x), x + 1)
    assert compiled_for == [1, 0, -1]
    texts = [str(guard) for entry in stator.cache_entries(compiled) for guard in entry.guards]
    assert any("% 3 == 0" in text for text in texts)


def test_an_overload_whose_name_is_a_keyword() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x.random_(-3, 4)

    compiled = stator.compile(function, backend="eager", fullgraph=True)
    for _ in range(2):
        torch.manual_seed(5)
        got = compiled(torch.zeros(8))
        torch.manual_seed(5)
        assert torch.equal(got, function(torch.zeros(8)))


def test_placeholders_have_the_attributes_of_their_tensors() -> None:
    seen: dict[str, Any] = {}

    def backend(module: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Any:
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        seen.update({node.target: node.meta["tensor_dict"] for node in placeholders})
        return module.forward

    x, y = torch.ones(2), torch.ones(2)
    x.tag = "weights"  # type: ignore[attr-defined]
    stator.compile(lambda x, y: x + y, backend=backend)(x, y)
    assert seen == {"L_x_": {"tag": "weights"}, "L_y_": {}}


NOT_ORDINARY = [math.nan, math.inf, -math.inf, 0.0, -0.0]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("odd", NOT_ORDINARY)
@pytest.mark.parametrize("before", [[], [1.0], [1.0, 2.0]])
def test_floats_that_sympy_takes_for_constants(backend: str, odd: float, before: list[float]) -> None:
    def scaled(x: torch.Tensor, scale: float) -> tuple[torch.Tensor, torch.Tensor, float]:
        return torch.full((2,), scale) * x, x + 1, scale * 2

    compiled = stator.compile(scaled, backend=backend)
    x = torch.ones(2)
    for scale in [*before, odd, 3.0, odd, 5.0, 7.0]:
        assert repr(compiled(x, scale)) == repr(scaled(x, scale))
    # AOT autograd takes no float that is a result: each value has a capture of its own there.
    served = sum(entry.hits for entry in stator.cache_entries(compiled))
    assert served >= (2 if backend == "eager" else 1)


FOUND = torch.full((1,), 3.0)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_functions_in_the_graph_may_find_tensors_by_themselves(backend: str) -> None:
    @stator.allow_in_graph
    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * FOUND

    def program(x: torch.Tensor) -> torch.Tensor:
        return scaled(x) + 1

    compiled = stator.compile(program, backend=backend, fullgraph=True)
    x = torch.arange(3.0)
    assert same(compiled(x), program(x))


@pytest.mark.parametrize("dynamic", [False, True])
def test_backends_find_a_mode_for_fake_tensors(dynamic: bool) -> None:
    found: list[object] = []

    def backend(module: torch.fx.GraphModule, examples: object) -> object:
        from torch._guards import TracingContext, detect_fake_mode

        context = TracingContext.try_get()
        assert context is not None
        mode = context.fake_mode
        assert mode is not None
        assert detect_fake_mode(examples) is mode
        value = next(iter(module.graph.nodes)).meta["val"]
        if isinstance(value, torch.Tensor):
            assert value.fake_mode is mode  # type: ignore[attr-defined]
        found.append(mode)
        return module.forward

    x = torch.arange(3.0)
    compiled = stator.compile(lambda x: x + 1, backend=backend, fullgraph=True, dynamic=dynamic)
    assert same(compiled(x), x + 1)
    assert len(found) == 1


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "number", [complex(0, -0.0), complex(-0.0, 1), complex(0, math.inf), complex(1, math.nan)]
)
def test_complex_numbers_that_python_reads_otherwise(number: complex, backend: str) -> None:
    def program(x: torch.Tensor) -> Any:
        return x * number, torch.full((2,), number)

    compiled = stator.compile(program, backend=backend)
    for _ in range(3):
        assert_alike(compiled(torch.ones(2)), program(torch.ones(2)))
    assert [entry.hits for entry in stator.cache_entries(compiled)] == [2]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_results_of_inference_mode_are_inference_tensors(backend: str) -> None:
    weight = nn.Parameter(torch.ones(3))

    @torch.inference_mode()
    def program(x: torch.Tensor) -> Any:
        return x * weight, x[0], weight + 1

    compiled = stator.compile(program, backend=backend)
    for size in (2, 2, 4, 5):
        x = torch.ones(size, 3)
        assert_alike(compiled(x), program(x))
    assert len(stator.cache_entries(compiled)) == 2
