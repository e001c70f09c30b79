"""Training through the backend `fused`: gradients, and all that torch's autograd promises around them."""

import copy
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch.nn.functional as F
from training_checks import check_training, compiled_steps, training_difference

import stator
import torch
from torch import nn


@pytest.fixture(autouse=True)
def _fresh() -> None:
    stator.reset()
    torch.manual_seed(0)


def leaf(*sizes: int, **options: Any) -> torch.Tensor:
    return torch.randn(*sizes, **options).requires_grad_()


def mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4)
    )


def test_a_multilayer_perceptron() -> None:
    check_training(mlp(), torch.randn(5, 8))
    check_training(mlp(), leaf(5, 8))


def test_the_loss_falls_as_in_eager_code() -> None:
    losses = []
    for backend in (None, "fused"):
        torch.manual_seed(0)
        model = mlp()
        call: Any = stator.compile(model, backend=backend) if backend else model
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        x, y = torch.randn(32, 8), torch.randn(32, 4)
        own = []
        for _ in range(20):
            optimizer.zero_grad()
            loss = F.mse_loss(call(x), y)
            loss.backward()
            optimizer.step()
            own.append(loss.item())
        losses.append(own)
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    assert losses[0][-1] < losses[0][0]


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "broadcasts": (lambda x, b: (x * b + b).tanh(), (leaf(4, 6, 8), leaf(8))),
    "a chain of pointwise operators": (lambda x: ((x * 0.5).exp() + 1).log().sigmoid(), (leaf(4, 6),)),
    "softmax": (lambda x: F.softmax(x, -1) * x, (leaf(4, 9),)),
    "log softmax": (lambda x: F.log_softmax(x, -1), (leaf(4, 9),)),
    "cross entropy": (lambda x: F.cross_entropy(x, torch.arange(4)), (leaf(4, 9),)),
    "layer norm": (lambda x, w: F.layer_norm(x, (8,), w, w + 1), (leaf(4, 8), leaf(8))),
    "attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
        tuple(leaf(2, 3, 5, 8) for _ in range(3)),
    ),
    "embedding": (lambda w: F.embedding(torch.tensor([1, 2, 2, 0]), w).relu(), (leaf(5, 8),)),
    "a product of batches": (lambda a, b: (a @ b).relu() * 2, (leaf(3, 4, 5), leaf(3, 5, 6))),
    "views": (lambda x: (x.transpose(0, 1).reshape(6, -1)[1:] * 2).unsqueeze(0).relu(), (leaf(4, 6, 2),)),
    "cat and split": (lambda x, y: torch.cat([x * 2, y]).chunk(2)[0].tanh(), (leaf(3, 4), leaf(5, 4))),
    "a constant": (lambda x: x * torch.tensor([1.0, 2.0, 3.0]) + torch.arange(3), (leaf(4, 3),)),
    "an activation in place": (lambda x: F.relu_(x * 2) + 1, (leaf(4, 6),)),
    "in place through a view": (lambda x: _write_through_view(x), (leaf(4, 6),)),
    "half of it without gradients": (lambda x: x * (x.detach() * 2).exp(), (leaf(4, 6),)),
    "no_grad inside": (lambda x: _no_grad_inside(x), (leaf(4, 6),)),
    "two types": (lambda x, y: x.double() * y, (leaf(4, 6), leaf(4, 6, dtype=torch.float64))),
    "bfloat16": (lambda x: F.gelu(x.bfloat16()) * 2, (leaf(4, 6),)),
    "one result needs no gradient": (lambda x: (x.relu(), x.argmax(-1), x.detach() * 2), (leaf(4, 6),)),
    "the same result twice": (lambda x: _twice(x.relu()), (leaf(4, 6),)),
    "a result is a view of an argument": (lambda x: (x * 2, x[1:]), (leaf(4, 6),)),
    "results share memory": (lambda x: (x * 2).tanh().chunk(2), (leaf(4, 6),)),
    "results are views of results": (lambda x: _with_views(x.tanh(), x), (leaf(4, 6),)),
    "an argument is a result": (lambda x, y: (x, x * y), (leaf(4, 6), leaf(4, 6))),
    "an argument nobody uses": (lambda x, y: x * 2, (leaf(4, 6), leaf(4, 6))),
    "one argument at two places": (lambda x, y: x * y + x, (leaf(4, 6), torch.randn(4, 6))),
    "a convolution": (lambda x, w: F.conv2d(x, w, padding=1).relu(), (leaf(2, 3, 8, 8), leaf(4, 3, 3, 3))),
    "pooling": (lambda x: F.max_pool2d(x * 2, 2) + 1, (leaf(2, 3, 8, 8),)),
    "an order": (lambda x: torch.sort(x * 2, -1).values[:, :3].exp(), (leaf(4, 6),)),
    "indices": (lambda x: (x * 2)[torch.tensor([0, 2, 2])].sin(), (leaf(4, 6),)),
    "nothing of some elements": (
        lambda x: torch.where(x > 0, x, torch.zeros(())).sqrt().clamp_max(1),
        (leaf(4, 6),),
    ),
}


def _write_through_view(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    y[1:].mul_(3)
    return y.tanh()


def _no_grad_inside(x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        scale = x.abs().amax(-1, keepdim=True)
    return x / scale


def _with_views(y: torch.Tensor, x: torch.Tensor) -> Any:
    return y[1:], y, y.t()[2:], x.view(-1), y.chunk(2)[1]


def _with_detached(y: torch.Tensor) -> Any:
    return y, y.detach()


def _twice(y: torch.Tensor) -> Any:
    return y, y, y * 2


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients(name: str) -> None:
    function, inputs = FUNCTIONS[name]
    check_training(function, *inputs)


@pytest.mark.parametrize("skips", [1, 2, 3, 5, 6])
def test_results_that_no_gradient_comes_for(skips: int) -> None:
    def function(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> Any:
        hidden = x.tanh()
        return hidden * y, (hidden * 2).exp(), z.sigmoid() * 2

    check_training(function, leaf(4, 6), leaf(4, 6), leaf(4, 6), skips=skips)


def test_dropout_draws_as_eager_code_does() -> None:
    check_training(nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.3), nn.ReLU(), nn.Dropout(0.5)), leaf(6, 8))


@pytest.mark.parametrize(
    "drop",
    [
        lambda x: F.dropout(x, 0.5),
        lambda x: F.dropout(x * 1, 0.5, inplace=True),
        lambda x: F.dropout(x, 1.0) + F.dropout(x, 0.0),
        lambda x: F.dropout2d(x, 0.5),
    ],
)
def test_dropout_draws_in_the_order_of_memory(drop: Callable[..., Any]) -> None:
    """Inside of a level of torch.func masks are drawn in the order of dimensions."""
    for layout in ((0, 1, 2, 3), (1, 0, 3, 2), (0, 2, 3, 1)):
        check_training(lambda x, layout=layout: drop((x * 2).permute(layout)).tanh(), leaf(3, 4, 5, 6))


def test_networks_that_drop_inside_are_left_to_native() -> None:
    check_training(lambda x: F.alpha_dropout(x.t() * 1, 0.5, training=True), leaf(4, 6), compiles=False)
    check_training(nn.LSTM(4, 5, 2, batch_first=True, dropout=0.5), leaf(2, 3, 4), compiles=False)
    check_training(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True), leaf(2, 5, 8))


def test_statistics_of_batch_norm() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Conv2d(4, 2, 3))
    check_training(model, leaf(2, 3, 8, 8))


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(4))
        self.register_buffer("seen", torch.zeros(4))
        self.seen: torch.Tensor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * self.weight + self.seen
        self.seen.mul_(0.5).add_(x.detach().mean(0))
        return (y * self.seen).relu()


def test_writes_to_buffers() -> None:
    check_training(Counter(), leaf(3, 4))


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return stator.compile(function, backend="fused")


def is_compiled(result: torch.Tensor) -> bool:
    return result.grad_fn is not None and result.grad_fn.name() == "StatorBackward"


def test_hooks_and_accumulation() -> None:
    x = leaf(4, 6)
    seen = []
    x.register_hook(lambda g: seen.append(g.clone()) or g * 2)
    call = compiled(lambda t: (t * 3).tanh())
    for _ in range(2):
        result = call(x)
        assert is_compiled(result)
        result.sum().backward()
    wanted = torch.autograd.functional.jacobian(lambda t: (t * 3).tanh().sum(), x.detach())
    assert len(seen) == 2
    assert x.grad is not None
    torch.testing.assert_close(seen[0], wanted)
    torch.testing.assert_close(x.grad, 4 * wanted)


def test_the_graph_is_kept_only_where_that_is_asked_for() -> None:
    x = leaf(4, 6)
    result = compiled(lambda t: (t * 3).tanh())(x).sum()
    result.backward(retain_graph=True)
    result.backward()
    first = x.grad.clone() / 2
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        result.backward()
    x.grad = None
    (x * 3).tanh().sum().backward()
    torch.testing.assert_close(first, x.grad)


def test_what_is_kept_is_freed_by_the_backward() -> None:
    x = leaf(4, 6)
    other = torch.randn(4, 6)
    dead = weakref.ref(other)
    result = compiled(lambda t, y: (t * y).tanh() * t)(x, other)
    del other
    gc.collect()
    assert dead() is not None
    result.sum().backward()
    assert dead() is None


def test_a_write_between_forward_and_backward_is_noticed() -> None:
    def run(call: Callable[..., Any], write: Callable[[torch.Tensor, torch.Tensor], Any]) -> Any:
        x, y = torch.linspace(-1, 1, 6).requires_grad_(), torch.ones(6)
        result = call(x, y)
        try:
            with torch.no_grad():
                write(y, result)
            result.sum().backward()
        except RuntimeError as error:
            return "modified by an inplace operation" in str(error)
        return x.grad

    functions: list[Callable[..., Any]] = [
        lambda x, y: x * y,
        lambda x, y: (x * y).exp(),
        lambda x, y: (x + y).relu(),
        lambda x, y: x.relu() + y,
        lambda x, y: ((x + y) * 2).tanh() + 1,
    ]
    writes: list[Callable[[torch.Tensor, torch.Tensor], Any]] = [
        lambda y, result: y.add_(1),
        lambda y, result: result.add_(1),
    ]
    for function in functions:
        for write in writes:
            stator.reset()
            wanted, got = run(function, write), run(compiled(function), write)
            if isinstance(wanted, torch.Tensor):
                torch.testing.assert_close(got, wanted)
            else:
                assert got is wanted


def test_a_gradient_of_a_gradient() -> None:
    def function(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return F.dropout((x @ w).tanh(), 0.5) * x

    outcomes = []
    for call in (function, compiled(function)):
        torch.manual_seed(0)
        x, w = leaf(4, 4), leaf(4, 4)
        result = call(x, w)
        assert is_compiled(result) == (call is not function)
        (slope,) = torch.autograd.grad(result.sum(), x, create_graph=True)
        slope.square().sum().backward()
        outcomes.append((slope.detach(), x.grad, w.grad, torch.rand(1)))
    for a, b in zip(*outcomes, strict=True):
        torch.testing.assert_close(a, b)


def test_a_gradient_of_a_gradient_leaves_statistics_alone() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Tanh())
    other = copy.deepcopy(model)
    outcomes = []
    for call, module in ((model, model), (compiled(other), other)):
        torch.manual_seed(0)
        x = leaf(5, 4)
        result = call(x)
        (slope,) = torch.autograd.grad(result.square().sum(), x, create_graph=True)
        slope.square().sum().backward()
        outcomes.append(
            [x.grad, *(b.clone() for b in module.buffers()), *(p.grad for p in module.parameters())]
        )
    for a, b in zip(*outcomes, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


DEPENDENT: dict[str, Callable[[torch.Tensor], Any]] = {
    "a chain": lambda x: (h := x * 2, h.tanh()),
    "used twice": lambda x: (h := x.tanh(), g := h.sin() * x, (g * h).sum()),
    "keys and values": lambda x: _attention(x),
    "one result of an operator": lambda x: (h := torch.topk(x, 2)[0], h * 2),
}


def _attention(x: torch.Tensor) -> Any:
    q, k, v = (part.view(2, 2, 2).transpose(0, 1) for part in (x * 2).repeat(1, 3)[:2].split(4, -1))
    return F.scaled_dot_product_attention(q, k, v), k, v


@pytest.mark.parametrize("name", DEPENDENT)
@pytest.mark.parametrize("how", ["hook", "retained", "asked for", "asked for alone", "twice", "unseen"])
def test_results_that_others_come_of(name: str, how: str) -> None:
    """What is seen at a result holds what comes to it by way of the others."""
    outcomes = []
    for backend in (None, "fused"):
        stator.reset()
        x = torch.linspace(-1, 1, 16).square().reshape(4, 4).requires_grad_()
        function = DEPENDENT[name]
        results = (stator.compile(function, backend=backend) if backend else function)(x)
        assert backend is None or is_compiled(results[0])
        seen: list[Any] = []
        first = next(t for t in results if t is not results[-1])
        if how == "hook":
            first.register_hook(lambda g, seen=seen: seen.append(g.clone()) or g * 3)
        elif how == "retained":
            first.retain_grad()
        elif how.startswith("asked"):
            wanted = [first] if how.endswith("alone") else [first, x]
            total = sum(t.sum() for t in results)
            seen += torch.autograd.grad(total, wanted, retain_graph=True)
        elif how == "twice":
            slopes = torch.autograd.grad(sum(t.sin().sum() for t in results), [first, x], create_graph=True)
            seen += [slope.detach() for slope in slopes]
            sum(slope.square().sum() for slope in slopes).backward(retain_graph=True)
        sum((i + 1) * t.sum() for i, t in enumerate(results)).backward()
        outcomes.append([*seen, first.grad if first.retains_grad else None, x.grad])
    torch.testing.assert_close(outcomes[1], outcomes[0])


def test_a_hook_that_the_function_registers_on_what_it_makes() -> None:
    outcomes = []
    for backend in (None, "fused"):
        seen: list[torch.Tensor] = []

        def function(x: torch.Tensor, seen: list[torch.Tensor] = seen) -> torch.Tensor:
            h = x * 2
            h.register_hook(lambda g: seen.append(g.clone()) or g * 3)
            return h.tanh()

        call: Any = stator.compile(function, backend=backend) if backend else function
        x = torch.linspace(-1, 1, 6).requires_grad_()
        for _ in range(2):
            call(x).sum().backward()
        outcomes.append((seen, x.grad))
    torch.testing.assert_close(outcomes[1], outcomes[0])


def test_forward_gradients_are_eagers() -> None:
    from torch.autograd import forward_ad

    for needs in (True, False):
        x = torch.linspace(-1, 1, 6).requires_grad_(needs)
        call = compiled(lambda t: t.tanh() * t)
        call(x)
        with forward_ad.dual_level():
            tangent = forward_ad.unpack_dual(call(forward_ad.make_dual(x, torch.ones(6)))).tangent
        assert tangent is not None
        torch.testing.assert_close(tangent, (1 - x.tanh() ** 2) * x + x.tanh())


def test_a_layer_that_is_added_in_place_frees_its_argument() -> None:
    w = leaf(4, 4)
    call = compiled(lambda h: h.exp().sum(-1, keepdim=True))
    gc.disable()
    try:
        for _ in range(2):
            h = w * 1
            dead = weakref.ref(h)
            h.add_(call(h))
            del h
            assert dead() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_values_that_are_computed_again_are_the_same(dtype: torch.dtype) -> None:
    """The gradient of a largest element goes where the forward found it."""

    def function(x: torch.Tensor) -> Any:
        total = x.sum()
        rest = ((x * 1.3).exp() - total).relu() * 0.7 - total
        return total, rest.amax(-1), (rest * total).amin(0)

    for seed in range(10):
        torch.manual_seed(seed)
        check_training(function, leaf(5, 7, dtype=dtype), ulps=4096)


def test_gradients_that_come_batched() -> None:
    x = leaf(5)
    wanted = torch.autograd.functional.jacobian(lambda t: (t * 2).tanh() * t.sum(), x, vectorize=True)
    call = compiled(lambda t: (t * 2).tanh() * t.sum())
    got = torch.autograd.functional.jacobian(call, x, vectorize=True)
    torch.testing.assert_close(got, wanted)


def test_writes_to_results_that_share_memory() -> None:
    outcomes = []
    for backend in (None, "fused"):
        x = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
        function: Any = lambda t: _with_views((t * 2).sin(), t)  # noqa: E731
        part, whole, *_ = (stator.compile(function, backend=backend) if backend else function)(x)
        assert part._base is whole
        part.mul_(3)
        (whole * part.sum()).sum().backward()
        outcomes.append((whole.detach(), x.grad))
    for a, b in zip(*outcomes, strict=True):
        torch.testing.assert_close(a, b)


def test_a_gradient_of_a_gradient_of_a_view() -> None:
    outcomes = []
    for backend in (None, "fused"):
        x = torch.linspace(-1, 1, 12).reshape(3, 4).requires_grad_()
        function: Any = lambda t: (t * 2).sin().chunk(3)  # noqa: E731
        first, *_ = (stator.compile(function, backend=backend) if backend else function)(x)
        (slope,) = torch.autograd.grad(first.sum(), x, create_graph=True)
        slope.square().sum().backward()
        outcomes.append((slope.detach(), x.grad))
    for a, b in zip(*outcomes, strict=True):
        torch.testing.assert_close(a, b)


def test_tensors_of_inference_mode() -> None:
    with torch.inference_mode():
        y = torch.randn(4, 6)
    x = leaf(4, 6)
    result = compiled(lambda t, y: (t + y).tanh())(x, y)
    assert is_compiled(result)
    result.sum().backward()
    torch.testing.assert_close(x.grad, 1 - (x + y).tanh().detach() ** 2)


def test_a_backward_of_some_results_under_other_modes() -> None:
    x, w = leaf(4, 4), leaf(4, 4)
    first, _ = compiled(lambda t, w: ((t @ w).tanh(), (t @ w).exp()))(x, w)
    with torch.autocast("cpu", torch.bfloat16):
        (got,) = torch.autograd.grad(first.sum(), w)
    (wanted,) = torch.autograd.grad((x @ w).tanh().sum(), w)
    torch.testing.assert_close(got, wanted)


def test_gradients_of_odd_layouts() -> None:
    function = lambda t: (t * 2).tanh().transpose(0, 1)  # noqa: E731
    x, y = leaf(4, 6), leaf(4, 6)
    with torch.no_grad():
        y.copy_(x)
    for start in (torch.ones(()).expand(6, 4), torch.randn(4, 6).t(), torch.randn(6, 8)[:, ::2]):
        function(x).backward(start)
        compiled(function)(y).backward(start)
        torch.testing.assert_close(y.grad, x.grad)


def test_sizes_that_change() -> None:
    model = mlp()
    call = compiled(model)
    for rows in (4, 5, 7, 4, 9):
        x = torch.randn(rows, 8)
        call(x).sum().backward()
        mine = [p.grad for p in model.parameters()]
        model.zero_grad()
        model(x).sum().backward()
        for p, a in zip(model.parameters(), mine, strict=True):
            torch.testing.assert_close(a, p.grad, rtol=1e-4, atol=1e-5)
        model.zero_grad()


@pytest.mark.parametrize("inside", [True, False])
def test_autocast(inside: bool) -> None:
    model = mlp()

    def autocast(*given: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            return model(*given)

    x = torch.randn(5, 8)
    outcomes = []
    for is_mine in (False, True):
        model.zero_grad()
        if not is_mine:
            result = autocast(x)
        elif inside:
            result = compiled(autocast)(x)
        else:
            with torch.autocast("cpu", torch.bfloat16):
                result = compiled(model)(x)
        assert is_compiled(result) == is_mine
        result.float().square().sum().backward()
        outcomes.append([result.detach(), *(p.grad for p in model.parameters())])
    for a, b in zip(*outcomes, strict=True):
        assert a.dtype == b.dtype
        torch.testing.assert_close(a.float(), b.float(), rtol=0.05, atol=0.05)


LEFT_TO_NATIVE: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a detached result shares memory": (lambda x: _with_detached(x * 2), (leaf(4, 6),)),
    "an argument with a history is written": (lambda x: x.mul_(2) + 1, (torch.randn(2), leaf(4, 6))[1:]),
    "a custom function": (lambda x: _Double.apply(x) + 1, (leaf(4, 6),)),
}


class _Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0] * 2


@pytest.mark.parametrize("name", LEFT_TO_NATIVE)
def test_what_is_left_to_native(name: str) -> None:
    function, inputs = LEFT_TO_NATIVE[name]
    check_training(function, *inputs, compiles=False)


@pytest.mark.parametrize("read", [lambda x, m: x[m], torch.masked_select, lambda x, m: (x * 2)[m]])
def test_results_whose_size_only_a_run_knows(read: Callable[..., Any]) -> None:
    check_training(read, leaf(4, 6), torch.rand(4, 6) > 0.5, compiles=False)


def test_a_step_as_one_graph_is_left_to_native() -> None:
    model = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    call = compiled(step)
    x = torch.randn(5, 8)
    losses = [call(x).item() for _ in range(5)]
    assert losses[-1] < losses[0]


def test_training_and_inference_of_one_model() -> None:
    model = mlp()
    call = compiled(model)
    x = torch.randn(5, 8)
    for _ in range(2):
        with torch.no_grad():
            inference = call(x)
        training = call(x)
        assert is_compiled(training)
        torch.testing.assert_close(inference, training.detach())


def test_errors_are_eagers() -> None:
    call = compiled(lambda x, i: (x * 2)[i].exp())
    x = leaf(4)
    assert is_compiled(call(x, torch.tensor([1])))
    with pytest.raises(IndexError, match="out of"):
        call(x, torch.tensor([7]))
    call(x, torch.tensor([2])).sum().backward()
    assert x.grad is not None


def test_random_programs() -> None:
    from graph_fuzzer import training_failure

    for seed in [*range(60), 700850]:  # the last one keeps a view of a result that is written to
        stator.reset()
        assert not (text := training_failure(seed)), f"seed {seed}: {text}"


def test_most_random_programs_are_compiled() -> None:
    from graph_fuzzer import training_program_of

    compiled_steps.clear()
    for seed in range(20):
        stator.reset()
        program, inputs = training_program_of(seed)
        training_difference(program, inputs)
    assert sum(compiled_steps) > 10
