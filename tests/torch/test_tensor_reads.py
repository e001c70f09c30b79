"""What captured code reads off tensors, modes and random numbers is what eager shows, call after call."""

from collections.abc import Callable
from typing import Any

import pytest
import torch.nn.functional as F
import torch.utils._pytree as pytree

import torch
from stator.support import load_torch_extension

load_torch_extension()
from stator._capture import Compiled  # noqa: E402

Function = Callable[[torch.Tensor, torch.Tensor], Any]
CAPTURED: dict[str, Function] = {}
NATIVE: dict[str, Function] = {}


def captured(function: Function) -> Function:
    CAPTURED[function.__name__] = function
    return function


def native(function: Function) -> Function:
    """Not captured so far; the function must still do what it does."""
    NATIVE[function.__name__] = function
    return function


@captured
def gradient_state(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = x @ w
    return y.requires_grad, y.is_leaf, y.grad_fn is None, w.is_leaf, w.requires_grad, x.grad_fn is None, y


@captured
def detached(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = (x @ w).detach()
    return y.requires_grad, y.grad_fn is None, y, w.data * 2, w.data.requires_grad


@captured
def write_to_data(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = x * 2
    y.data.add_(1)
    return y


@captured
def classes(x: torch.Tensor, w: torch.Tensor) -> Any:
    return type(w), x.__class__, isinstance(x, torch.Tensor), torch.is_tensor(x), type(x @ w)


@captured
def shapes(x: torch.Tensor, w: torch.Tensor) -> Any:
    a, b = x.shape
    sizes = x.size(), x.size(0), x.stride(), x.numel(), x.storage_offset(), x.dim(), x.shape.numel()
    return sizes, x.t().is_contiguous(), x.view(b, a).shape, len(x), x.itemsize, x.nbytes, x.layout, x.is_cuda


@captured
def identities(x: torch.Tensor, w: torch.Tensor) -> Any:
    return (
        x.contiguous() is x,
        x.to(torch.float32) is x,
        x.float() is x,
        x.cpu() is x,
        x.type(torch.float64),
        x.type(),
    )


@captured
def meta_device(x: torch.Tensor, w: torch.Tensor) -> Any:
    m = torch.empty(3, 4, device="meta") * 2
    return m.device, m.shape, m.is_meta, x + 1


@captured
def scalars(x: torch.Tensor, w: torch.Tensor) -> Any:
    s, d = torch.tensor(2.0), torch.tensor(2.0, dtype=torch.float64)
    return x * s, x * d, s * 3, torch.tensor(3) * x.int(), s * d


@captured
def promotion(x: torch.Tensor, w: torch.Tensor) -> Any:
    i, h = torch.arange(4), x.half()
    mixed = i + 1.5, i * 2, i / 2, (i > 1) + 1, h + 1.5, h * torch.tensor(2.0), i + torch.tensor(1.5), 2**i
    return mixed, torch.result_type(i, x), torch.can_cast(torch.float32, torch.int32)


@captured
def out_arguments(x: torch.Tensor, w: torch.Tensor) -> Any:
    out = torch.empty(3, 5)
    torch.matmul(x, w.detach(), out=out)
    return out, torch.add(x, x, out=torch.empty_like(x))


@captured
def foreach(x: torch.Tensor, w: torch.Tensor) -> Any:
    a = torch._foreach_add([x, x * 2], 1.0)
    torch._foreach_mul_(a, 2.0)
    return a, torch._foreach_norm(a), torch._foreach_addcmul(a, a, a, 0.5)


@captured
def factories(x: torch.Tensor, w: torch.Tensor) -> Any:
    plain = torch.zeros(2), torch.full((2,), 1.5), torch.full((2,), 1), torch.full((2,), True), torch.eye(2)
    ranges = torch.arange(3), torch.arange(0, 1, 0.25), torch.linspace(0, 1, 3)
    like = x.new_zeros(2), x.new_full((2,), 3), torch.zeros_like(x), torch.ones_like(x, dtype=torch.half)
    return plain, ranges, like, torch.tensor([1.5, 2]), torch.as_tensor([1, 2])


@captured
def default_dtype(x: torch.Tensor, w: torch.Tensor) -> Any:
    old = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        y, z = torch.zeros(2) + 0.5, torch.tensor([1.5])
    finally:
        torch.set_default_dtype(old)
    return y, z, torch.ones(2)


@captured
def random_numbers(x: torch.Tensor, w: torch.Tensor) -> Any:
    made = (
        torch.randn(3),
        torch.rand(2),
        torch.randperm(5),
        torch.randint(0, 5, (3,)),
        torch.normal(0.0, 1.0, (2,)),
    )
    drawn = F.dropout(x, 0.5), torch.bernoulli(torch.full((3,), 0.5)), torch.multinomial(torch.ones(4), 2)
    written = (
        x.clone().bernoulli_(0.5),
        torch.empty(2).uniform_(),
        x.clone().exponential_(),
        torch.rand_like(x),
    )
    return made, drawn, written, F.gumbel_softmax(x)


@captured
def literals(x: torch.Tensor, w: torch.Tensor) -> Any:
    t = torch.tensor([1.0, 2.0])
    t += x[0, 0]
    u = torch.as_tensor([1, 2])
    u[0] = 5
    return t, u


@captured
def views(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = x * 2
    row = y[0]
    row.add_(1)
    y.t()[1].mul_(3)
    some = y[:, ::2]
    some.zero_()
    flat = y.view(-1)
    flat[3] = 7
    y.unsqueeze_(0)
    return y, row, some, flat, row._is_view(), y._is_view()


@captured
def views_of_integers(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = (x * 2).long()
    flat, bits = y.view(-1), y.view(torch.float64)
    of_floats = x.view(torch.int32)
    y.add_(1)
    seen = [(v._is_view(), v.requires_grad) for v in (flat, bits, of_floats, y.detach())]
    return y, flat, bits, of_floats, seen, flat.view(y.shape)._is_view()


@captured
def writes_to_arguments(x: torch.Tensor, w: torch.Tensor) -> Any:
    x[:, 0] = 5
    x += 1
    x[x > 0] = 2
    with torch.no_grad():
        w.mul_(2)
    return x.sum(), x, w.sum()


@captured
def assignments(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = torch.zeros(3, 4)
    y[1] = x[0]
    y[:, 1:3] = 1.0
    y[torch.tensor([0, 2])] = 2.0
    y[..., -1] += 1
    return y


@captured
def no_grad(x: torch.Tensor, w: torch.Tensor) -> Any:
    with torch.no_grad():
        y = x @ w
        with torch.enable_grad():
            z = x @ w
    with torch.set_grad_enabled(False):
        q = x @ w
    return y, z, q, torch.is_grad_enabled()


@captured
def autocast(x: torch.Tensor, w: torch.Tensor) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ w
        with torch.autocast("cpu", enabled=False):
            z = x @ w
        s = F.softmax(F.linear(x, w.t()), -1)
        inside = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    return y, z, s, inside, torch.is_autocast_enabled("cpu")


@captured
def inference_mode(x: torch.Tensor, w: torch.Tensor) -> Any:
    with torch.inference_mode():
        y = x @ w
        inside = torch.is_inference_mode_enabled()
    return y, y.is_inference(), y.requires_grad, inside, torch.is_inference_mode_enabled()


@captured
def conjugates(x: torch.Tensor, w: torch.Tensor) -> Any:
    c = torch.complex(x, x)
    d = c.conj()
    return d.is_conj(), d * 2, d.imag.is_neg(), d.resolve_conj(), torch.view_as_real(c), torch.fft.fft(d)


@captured
def iteration(x: torch.Tensor, w: torch.Tensor) -> Any:
    return [row.sum() for row in x], next(iter(x.unbind(0))), [part * 2 for part in x.split(1)]


@captured
def python_meta_kernels(x: torch.Tensor, w: torch.Tensor) -> Any:
    return torch.cdist(x, x), torch.kthvalue(x, 2), torch.cummax(x, 0), torch.linalg.inv(x @ x.t())


@captured
def default_device(x: torch.Tensor, w: torch.Tensor) -> Any:
    with torch.device("meta"):
        y = torch.zeros(2)
    return y.device


@native
def seed(x: torch.Tensor, w: torch.Tensor) -> Any:
    torch.manual_seed(7)
    return torch.randn(3)


@native
def own_generator(x: torch.Tensor, w: torch.Tensor) -> Any:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(3, generator=generator), torch.randn(2, generator=generator)


GENERATOR = torch.Generator()


@native
def outer_generator(x: torch.Tensor, w: torch.Tensor) -> Any:
    return torch.randn(3, generator=GENERATOR)


@native
def generator_state(x: torch.Tensor, w: torch.Tensor) -> Any:
    state = torch.get_rng_state()
    a = torch.randn(2)
    torch.set_rng_state(state)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        b = torch.randn(2)
    return a, b, torch.randn(2)


@native
def gradients_inside(x: torch.Tensor, w: torch.Tensor) -> Any:
    return torch.autograd.grad((x @ w).sum(), w)


@native
def requires_grad_inside(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = (x * 2).requires_grad_()
    z = torch.zeros(3, requires_grad=True)
    return y * 2, y.is_leaf, z * 2, z.is_leaf


@native
def hooks(x: torch.Tensor, w: torch.Tensor) -> Any:
    y = x @ w
    y.register_hook(lambda g: g * 2)  # type: ignore[no-untyped-call]
    return y.sum()


@native
def values(x: torch.Tensor, w: torch.Tensor) -> Any:
    return x.sum().item(), x.tolist(), x.numpy().sum(), x + 1 if x.sum() > 0 else x - 1


@native
def new_parameter(x: torch.Tensor, w: torch.Tensor) -> Any:
    p = torch.nn.Parameter(x * 2)
    return p * 2, p.is_leaf


def shown(leaf: Any) -> Any:
    if not isinstance(leaf, torch.Tensor):
        return repr(leaf)
    metadata = (
        type(leaf), tuple(leaf.shape), leaf.stride(), leaf.dtype, leaf.device, leaf.requires_grad,
        leaf.is_leaf, leaf.grad_fn is None, leaf.is_inference(), leaf.is_conj(),
    )  # fmt: skip
    return repr((metadata, None if leaf.is_meta else leaf.detach().tolist()))


def outcomes(function: Callable[..., Any], calls: int = 3) -> list[Any]:
    """What each call returns, what it leaves in its arguments, and where the random stream stands."""
    GENERATOR.manual_seed(5)
    found = []
    for call in range(calls):
        torch.manual_seed(0)
        arguments = torch.randn(3, 4), torch.nn.Parameter(torch.randn(4, 5))
        torch.manual_seed(call)
        result = function(*arguments)
        found.append(
            (pytree.tree_map(shown, result), pytree.tree_map(shown, arguments), torch.rand(1).item())
        )
    return found


@pytest.mark.parametrize("name", CAPTURED)
def test_captured(name: str) -> None:
    compiled = Compiled(CAPTURED[name])
    assert outcomes(compiled) == outcomes(CAPTURED[name])
    assert compiled.breaks == []
    assert compiled.entries[0]["hits"] == 2


@pytest.mark.parametrize("name", NATIVE)
def test_native(name: str) -> None:
    compiled = Compiled(NATIVE[name])
    assert outcomes(compiled) == outcomes(NATIVE[name])


def gives_up(x: torch.Tensor, w: torch.Tensor) -> Any:
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        y = x @ w
        torch.set_default_dtype(torch.float64)
        try:
            return y.sum().long().item()
        finally:
            torch.set_default_dtype(torch.float32)


def test_a_capture_that_is_given_up_leaves_no_mode() -> None:
    compiled = Compiled(gives_up)
    assert outcomes(compiled) == outcomes(gives_up)
    assert not torch.is_inference_mode_enabled()
    assert not torch.is_autocast_enabled("cpu")
    assert torch.get_default_dtype() == torch.float32
    assert torch.is_grad_enabled()
    assert not (torch.ones(2) + 1).is_inference()


def make(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.zeros(2) + 0.5, x * x


def test_modes_of_the_caller_are_seen() -> None:
    compiled = Compiled(make)
    x = torch.ones(2, requires_grad=True)
    kept: list[torch.Tensor] = []

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept.append(tensor)
        return tensor

    for _ in range(2):
        assert compiled(x)[0].device.type == "cpu"
        with torch.device("meta"):
            assert compiled(x)[0].is_meta
        torch.set_default_dtype(torch.float64)
        try:
            assert compiled(x)[0].dtype == torch.float64
        finally:
            torch.set_default_dtype(torch.float32)
        with torch.no_grad():
            assert not compiled(x)[1].requires_grad
        with torch.inference_mode():
            assert compiled(x)[1].is_inference()
        kept.clear()
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t):
            compiled(x)
        assert kept
        assert compiled(x)[0].dtype == torch.float32


def test_whether_an_argument_is_a_view_is_asked_of_the_argument() -> None:
    base = torch.arange(6.0)

    def program(x: torch.Tensor) -> Any:
        return x + 1, x._is_view(), x[1:]._is_view(), (x * 2)._is_view()

    compiled = Compiled(program)
    for x in (torch.ones(3), base[:3], base[3:], torch.ones(3)):
        assert compiled(x)[1:] == program(x)[1:]
