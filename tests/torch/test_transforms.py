"""torch.vmap and torch.func inside of captured functions: results, gradients, random numbers, levels."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch.nn.functional as F
from torch.func import (
    functional_call,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    stack_module_state,
    vjp,
    vmap,
)
from torch.utils._pytree import tree_leaves

import stator
import torch
from torch import Tensor, nn

Program = Callable[[Tensor], Any]

torch.manual_seed(0)
WEIGHT = torch.randn(3, requires_grad=True)
LINEAR = nn.Linear(3, 3)
MODEL = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 1))
WATCHED = (WEIGHT, *LINEAR.parameters(), *MODEL.parameters())


def written(row: Tensor) -> Tensor:
    row = row.clone()
    row.add_(1)
    row[0] = 2
    return row


def written_argument(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x.clone()
    return vmap(lambda row: row.add_(1) * 2)(y), y


def trees(x: Tensor) -> Any:
    def mapped(given: dict[str, Any]) -> dict[str, Any]:
        return {"sum": given["a"] + given["b"][0], "pair": (given["b"][1],)}

    in_dims = ({"a": 0, "b": (None, 1)},)
    return vmap(mapped, in_dims, {"sum": 1, "pair": (0,)})({"a": x, "b": (x[0], x.T.contiguous())})


def partly_without_history(x: Tensor) -> Tensor:
    def mapped(row: Tensor) -> Tensor:
        with torch.no_grad():
            scaled = row * WEIGHT
        return scaled + row

    return vmap(mapped)(x)


def caught(x: Tensor) -> Tensor:
    try:
        return vmap(lambda row: row + torch.rand(3))(x)
    except RuntimeError:
        return x + 1


def with_autocast(x: Tensor) -> Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        return vmap(lambda row: torch.outer(row, row) @ row)(x)


MAPS: dict[str, Program] = {
    "simple": lambda x: vmap(lambda row: row.sin() * 2)(x),
    "closure": lambda x: vmap(lambda row: (row * WEIGHT).sum())(x) + x.sum(),
    "dims": lambda x: vmap(lambda a, b: a * b, in_dims=(1, None), out_dims=1)(x, x[:, 0]),
    "nested": lambda x: vmap(vmap(lambda a: a * a + x.sum()), in_dims=1, out_dims=1)(x),
    "keywords": lambda x: vmap(lambda row, scale: row * scale)(x, scale=x),
    "trees": trees,
    "chunks": lambda x: vmap(lambda row: row.sin().sum(), chunk_size=3)(x),
    "module": lambda x: vmap(LINEAR)(x),
    "writes": lambda x: vmap(written)(x),
    "writes its argument": written_argument,
    "reads by index": lambda x: vmap(lambda i: x[i % x.shape[0]])(torch.arange(7)),
    "shape": lambda x: vmap(lambda row: row.reshape(-1) * row.shape[0] + row.dim())(x),
    "factories": lambda x: vmap(lambda row: torch.ones(3) * row + torch.zeros_like(row))(x),
    "kernels in Python": lambda x: vmap(lambda row: F.cross_entropy(row[None], torch.tensor([1])))(x),
    "named results": lambda x: vmap(lambda row: row.max(0))(x)[0] * 2,
    "attention": lambda x: vmap(F.scaled_dot_product_attention)(*[x.reshape(-1, 1, 1, 3)] * 3),
    "partly without history": partly_without_history,
    "autocast": with_autocast,
    "same numbers": lambda x: vmap(lambda row: row + torch.rand(3), randomness="same")(x),
    "other numbers": lambda x: vmap(lambda row: row + torch.rand(3), randomness="different")(x),
    "dropout": lambda x: vmap(F.dropout, randomness="different")(x),
    "numbers that are refused": caught,
}


def parameters() -> dict[str, Tensor]:
    return {name: value.detach() for name, value in MODEL.named_parameters()}


def loss(given: dict[str, Tensor], x: Tensor) -> Tensor:
    result: Tensor = functional_call(MODEL, given, (x,))
    return result.pow(2).mean()


def pulled(x: Tensor) -> Any:
    result, pull = vjp(lambda a: (a.sin() * WEIGHT, a.cos()), x)
    return result, pull((result[1], result[0]))


def adapted(x: Tensor) -> Tensor:
    given = dict(MODEL.named_parameters())
    gradients = grad(loss)(given, x)
    return loss({name: value - 0.1 * gradients[name] for name, value in given.items()}, x)


def without_outer_gradient(x: Tensor) -> Tensor:
    with torch.no_grad():
        return grad(lambda a: (a.sin() * WEIGHT).sum())(x)


def ensemble(x: Tensor) -> Tensor:
    stacked, _ = stack_module_state([LINEAR, LINEAR])
    return vmap(lambda given, a: functional_call(LINEAR, given, (a,)), in_dims=(0, None))(stacked, x)


def kept(x: Tensor) -> tuple[Tensor, Tensor]:
    seen = []

    def inner(a: Tensor) -> Tensor:
        seen.append(a * 2)
        return a.sum()

    return grad(inner)(x), seen[0] + 1  # torch takes such a tensor for what it holds


def twice(x: Tensor) -> Tensor:
    return grad(lambda b: grad(lambda a: (a.sin() * WEIGHT * b).sum())(b).pow(2).sum())(x)


def asks_inside(x: Tensor) -> Tensor:
    def inner(a: Tensor) -> Tensor:
        (found,) = torch.autograd.grad((a * a).sum(), a, create_graph=True)
        return (found * a).sum()

    return grad(inner)(x)


GRADIENTS: dict[str, Program] = {
    "grad": lambda x: grad(lambda a: (a.sin() * WEIGHT).sum())(x),
    "grad and value": lambda x: grad_and_value(lambda a: (a.sin() * WEIGHT).sum())(x),
    "aux": lambda x: grad(lambda a: ((a.sin() * WEIGHT).sum(), a * 2), has_aux=True)(x),
    "argnums": lambda x: grad(lambda a, b: (a * b.exp()).sum(), argnums=(0, 1))(x, x + 1),
    "twice": twice,
    "constant": lambda x: grad(lambda a: torch.ones(()))(x),
    "dropout": lambda x: grad(lambda a: F.dropout(a).pow(2).sum())(x),
    "convolution": lambda x: grad(lambda a: F.conv1d(a[None], torch.ones(2, 5, 2)).pow(2).sum())(x),
    "detached": lambda x: grad(lambda a: (a * a.detach()).sum())(x),
    "writes": lambda x: grad(lambda a: (written(a) * a).sum())(x),
    "inner gradient": asks_inside,
    "without outer gradient": without_outer_gradient,
    "per sample": lambda x: vmap(grad(lambda row: (LINEAR(row) ** 2).sum()))(x),
    "functional call": lambda x: functional_call(MODEL, parameters(), (x,)),
    "gradient of parameters": lambda x: grad(loss)(parameters(), x),
    "parameters per sample": lambda x: vmap(grad(loss), in_dims=(None, 0))(parameters(), x[:, None]),
    "ensemble": ensemble,
    "adapted": adapted,
    "vjp": pulled,
    "jvp": lambda x: jvp(lambda a: a.sin() * WEIGHT, (x,), (x + 1,)),
    "jacrev": lambda x: jacrev(lambda a: a.sin().sum(0) * WEIGHT)(x),
    "jacfwd": lambda x: jacfwd(lambda a: a.sin().sum(0) * WEIGHT)(x),
    "hessian": lambda x: hessian(lambda a: (a.sin() ** 2).sum() * WEIGHT.sum())(x[0]),
    "product with hessian": lambda x: jvp(grad(lambda a: (a.sin() ** 2).sum()), (x,), (x,)),
    "kept": kept,
}


def observed(program: Program, values: Tensor, needs: bool, seed: int) -> Any:
    """All that a call does: results, gradients, what it wrote, the state of the random numbers."""
    leaf = values.clone().requires_grad_(needs)
    for tensor in WATCHED:
        tensor.grad = None
    torch.manual_seed(seed)
    given = leaf * 1 if needs else leaf
    results = tree_leaves(program(given))
    state = torch.random.get_rng_state()
    total = sum(result.double().sum() for result in results)
    if isinstance(total, Tensor) and total.requires_grad:
        total.backward()
    gradients = [None if t.grad is None else t.grad.clone() for t in (leaf, *WATCHED)]
    return [t.detach().clone() for t in results], [t.requires_grad for t in results], gradients, state, given


def no_level_is_open() -> bool:
    level = torch._C._functorch.maybe_current_level()
    with torch.autograd.forward_ad.dual_level():
        return level is None


def check(program: Program, backend: str, needs: bool) -> None:
    compiled = stator.compile(program, backend=backend)
    for seed in (1, 1, 2):
        values = torch.randn(5, 3)
        wanted = observed(program, values, needs, seed)
        found = observed(compiled, values, needs, seed)
        torch.testing.assert_close(found, wanted, rtol=0, atol=0, equal_nan=True)
    assert compiled.breaks == []
    assert [entry["hits"] for entry in compiled.entries] == [2]
    assert no_level_is_open()


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("needs", [False, True])
@pytest.mark.parametrize("name", MAPS)
def test_maps(name: str, needs: bool, backend: str) -> None:
    check(MAPS[name], backend, needs)


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("needs", [False, True])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str, needs: bool, backend: str) -> None:
    check(GRADIENTS[name], backend, needs)


def test_sizes_that_change() -> None:
    def program(x: Tensor) -> Tensor:
        return vmap(lambda row: row.sin() * row.shape[0] + row.sum())(x) * x.shape[0]

    compiled = stator.compile(program, backend="native")
    for count in (3, 4, 5, 6, 7):
        x = torch.randn(count, 2 + count % 3)
        assert torch.equal(compiled(x), program(x))
    assert compiled.breaks == []
    assert len(compiled.entries) == 2


def test_what_a_mapped_function_reads_is_noticed() -> None:
    settings: dict[str, Any] = {"scale": 2.0, "dim": 0}
    model = nn.Linear(3, 3)

    def program(x: Tensor) -> Tensor:
        return vmap(lambda row: model(row) * settings["scale"], in_dims=settings["dim"])(x)

    compiled = stator.compile(program, backend="native")
    x = torch.randn(3, 3)
    assert torch.equal(compiled(x), program(x))
    for change in (
        lambda: settings.update(scale=3.0),
        lambda: settings.update(dim=1),
        lambda: setattr(model, "weight", nn.Parameter(torch.randn(3, 3))),
        lambda: model.weight.data.mul_(2),
        lambda: setattr(model, "bias", None),
    ):
        change()
        assert torch.equal(compiled(x), program(x))


def test_what_a_gradient_reads_is_noticed() -> None:
    power = [2]

    def program(x: Tensor) -> Tensor:
        return grad(lambda a: (a ** power[0]).sum())(x)

    compiled = stator.compile(program, backend="native")
    x = torch.randn(3)
    for value in (2, 3, 1):
        power[0] = value
        assert torch.equal(compiled(x), program(x))


def broken_at(program: Program, x: Tensor) -> str:
    """The reason of the break, where the call does what the plain one does."""
    compiled = stator.compile(program, backend="native")
    torch.testing.assert_close(compiled(x), program(x))
    assert no_level_is_open()
    (reason,) = compiled.breaks
    return reason


@pytest.mark.parametrize("transform", [vmap, grad, lambda f: lambda x: jvp(f, (x,), (x,)), jacrev, jacfwd])
def test_a_capture_that_is_given_up_leaves_no_level(transform: Callable[..., Any]) -> None:
    def inner(a: Tensor) -> Tensor:
        os.getloadavg()
        return a.sum()

    broken_at(lambda x: transform(inner)(x), torch.randn(4))
    assert torch.equal(vmap(lambda a: a + 1)(torch.zeros(2)), torch.ones(2))


def test_an_error_leaves_no_level() -> None:
    def program(x: Tensor) -> Tensor:
        return vmap(lambda row: row + torch.rand(3))(x)

    compiled = stator.compile(program, backend="native")
    for _ in range(2):
        with pytest.raises(RuntimeError, match="randomness"):
            compiled(torch.randn(2, 3))
        assert no_level_is_open()


def test_a_tensor_that_leaves_its_transform_is_a_break() -> None:
    seen: list[Tensor] = []

    def program(x: Tensor) -> Tensor:
        def inner(a: Tensor) -> Tensor:
            seen.append(a)
            return a * 2

        return vmap(inner)(x)

    assert "a tensor of a transform is used after it" in broken_at(program, torch.randn(3))
    assert len(seen) == 2


def test_an_operator_that_takes_functions_is_a_break() -> None:
    """Programs call it only where they are told that they are compiled; the native run is as eager."""
    from torch._higher_order_ops.associative_scan import associative_scan

    def program(x: Tensor) -> Tensor:
        if torch.compiler.is_compiling():
            return associative_scan(torch.add, x, 0, combine_mode="generic")
        total, sums = torch.zeros(()), []
        for row in x.unbind():
            total = total + row
            sums.append(total)
        return torch.stack(sums)

    x = torch.randn(7)
    with stator.config.patch(is_compiling=True):
        assert "associative_scan" in broken_at(program, x)
    with stator.config.patch(is_compiling="auto"):
        assert torch.equal(stator.compile(program, backend="native", fullgraph=True)(x), program(x))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_the_engines_threads_are_torchs_own() -> None:
    """In a process whose first gradient is asked for by a capture, backward works after it."""
    program = """
import stator, torch
model = torch.nn.Linear(4, 4).cuda()
function = lambda x: torch.func.grad(lambda a: model(a).square().sum())(x)
compiled, x = stator.compile(function, backend="native"), torch.randn(2, 4, device="cuda")
results = [compiled(x) for _ in range(3)]
model(x).sum().backward()
assert all(torch.equal(result, function(x)) for result in results)
assert compiled.breaks == [] and stator.cache_entries(compiled)[0].hits == 2
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


def test_a_device_that_the_engine_has_not_counted() -> None:
    """Fake tensors register a CUDA device where there is none; the engine may have started before."""
    program = """
import stator, torch
torch.ones(3, requires_grad=True).sum().backward()
torch._C._ensureCUDADeviceGuardSet()
function = torch.func.grad(lambda a: a.square().sum())
compiled, x = stator.compile(lambda x: function(x) + 1, backend="native"), torch.randn(3)
assert all(torch.equal(compiled(x), function(x) + 1) for _ in range(3))
assert compiled.breaks == [] and stator.cache_entries(compiled)[0].hits == 2, compiled.breaks
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)


def test_backward_to_given_inputs_is_a_break() -> None:
    def backward(x: Tensor) -> Tensor:
        (x * WEIGHT).sum().backward(inputs=[WEIGHT])
        return x + 1

    WEIGHT.grad = None
    assert broken_at(backward, torch.ones(3)).startswith("backward")
    assert WEIGHT.grad is not None
    assert torch.equal(WEIGHT.grad, torch.full((3,), 2.0))


class Square(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(a: Tensor) -> Tensor:
        return a * a

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * 2 * ctx.saved_tensors[0]


def test_gradients_of_the_programs_own_inside_of_transforms_are_a_break() -> None:
    broken_at(lambda x: grad(lambda a: Square.apply(a).sum())(x), torch.randn(3))
    broken_at(lambda x: vmap(Square.apply)(x * WEIGHT), torch.randn(3))


def test_without_a_gradient_a_custom_function_is_its_forward() -> None:
    def program(x: Tensor) -> Any:
        with torch.no_grad():
            inside = vmap(Square.apply)(x * WEIGHT)
        return vmap(vmap(Square.apply))(x[None]), inside

    compiled = stator.compile(program, backend="native")
    for _ in range(2):
        x = torch.randn(3)
        torch.testing.assert_close(compiled(x), program(x), rtol=0, atol=0)
    assert compiled.breaks == []
    assert compiled.entries[0]["hits"] == 1


def test_a_compiled_function_inside_of_a_transform_runs_as_it_is() -> None:
    compiled = stator.compile(lambda a: (a.sin() * 2).sum(), backend="native")
    x = torch.randn(4, 3)
    for _ in range(2):
        assert torch.equal(vmap(compiled)(x), (x.sin() * 2).sum(1))
        torch.testing.assert_close(vmap(grad(compiled))(x), x.cos() * 2)
        assert torch.equal(compiled(x), (x.sin() * 2).sum())
