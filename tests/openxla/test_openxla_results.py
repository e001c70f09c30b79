"""Which memory results lie in, and what becomes of graphs that XLA or AOT autograd cannot take."""

import copy
import logging
from collections.abc import Callable
from typing import Any

import pytest
import torch.nn.functional as F
from agreement import assert_agree, check

import stator
import torch
from stator.backends.openxla.executables import counts


@pytest.fixture(autouse=True)
def _fresh() -> None:
    stator.reset()
    torch.manual_seed(0)


def views_and_their_base(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x * 2
    return y, y.view(-1), y.t(), y[1], y[:, 1:], y.sum()


def views_without_their_base(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x * 2
    first, second = y.chunk(2)
    return first, second.flatten(), y.detach()


def views_of_what_is_written_later(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    y = x * 2
    flat = y.view(-1)
    y.t()[0].add_(1)
    flat[3:5].fill_(7)
    return flat, y.permute(1, 0), (y + 1).t()


def one_view(x: torch.Tensor) -> torch.Tensor:
    return (x * 2)[1:, 2]


def expanded(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = x[:1] * 2
    return y.expand(3, 4), y


def parts_of_complex_numbers(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    z = torch.complex(x, x + 1)
    return z, z.real, z.imag, z.conj(), torch.view_as_real(z)


SHARING = [
    views_and_their_base,
    views_without_their_base,
    views_of_what_is_written_later,
    one_view,
    expanded,
    parts_of_complex_numbers,
]


@pytest.mark.parametrize("program", SHARING)
def test_results_that_share_memory(program: Callable[..., Any]) -> None:
    check(program, torch.randn(4, 4), outside=None)


@pytest.mark.parametrize("program", SHARING[:5])
def test_views_are_made_in_cpp(program: Callable[..., Any]) -> None:
    before = counts["direct"]
    with torch.no_grad():
        stator.compile(program, backend="openxla_eval")(torch.randn(4, 4))
    assert counts["direct"] == before + 1


@pytest.mark.parametrize("program", SHARING)
def test_results_that_share_memory_with_gradients(program: Callable[..., Any]) -> None:
    compiled = stator.compile(program, backend="openxla")
    for size in (4, 4, 5, 6):  # the last ones of a graph with symbols
        x = torch.randn(size, 4, requires_grad=True)
        twin = x.detach().clone().requires_grad_()
        results = [(run(given),) for run, given in ((compiled, x), (program, twin))]
        assert_agree(*results)
        for (made,) in results:
            tensors = [made] if isinstance(made, torch.Tensor) else made
            sum((t.abs() * t.abs()).sum() for t in tensors if t.requires_grad).backward()
        torch.testing.assert_close(x.grad, twin.grad)


def test_a_write_to_a_result_shows_in_its_views() -> None:
    with torch.no_grad():
        base, flat, *_ = stator.compile(views_and_their_base, backend="openxla_eval")(torch.ones(3, 3))
        base.zero_()
    assert flat.sum() == 0


@pytest.mark.parametrize("gradients", [True, False])
def test_equal_computations_are_two_results(gradients: bool) -> None:
    """AOT autograd would merge them, and a write to one would be one to the other."""
    x = torch.randn(1, 2, 6, 6, requires_grad=gradients)
    twice = stator.compile(lambda x: (F.max_pool2d(x, 2), F.max_pool2d(x, 2)), backend="openxla")
    with torch.set_grad_enabled(gradients):
        first, second = twice(x)
    assert first.untyped_storage().data_ptr() != second.untyped_storage().data_ptr()
    torch.testing.assert_close(first, second)


@pytest.mark.parametrize("backend", ["openxla_eval", "openxla"])
def test_all_is_dropped_without_random_numbers(backend: str) -> None:
    def drop(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return F.dropout(x, 1.0) + 1, torch.rand(3)

    compiled = stator.compile(drop, backend=backend)
    for gradients in (False, True):
        x = torch.tensor([1.0, float("nan")], requires_grad=gradients)
        torch.manual_seed(3)
        wanted = drop(x)
        torch.manual_seed(3)
        torch.testing.assert_close(compiled(x), wanted, equal_nan=True)


def rounds_down(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x // 0.3, x * y


def takes_more_than_it_needs(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.scatter_add(0, torch.tensor([0, 1]), y), x * y


@pytest.mark.parametrize("program", [rounds_down, takes_more_than_it_needs])
def test_what_has_no_derivative_raises_where_one_is_asked_for(
    program: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    """AOT autograd traces every backward; eager code needs only those that are run."""
    inputs = torch.randn(4, requires_grad=True), torch.randn(4, requires_grad=True)
    twins = copy.deepcopy(inputs)
    with caplog.at_level(logging.WARNING, "stator.openxla"):
        got = stator.compile(program, backend="openxla")(*inputs)
    wanted = program(*twins)
    assert_agree(got, wanted)
    for (_, product), given in ((got, inputs), (wanted, twins)):
        product.sum().backward()
        torch.testing.assert_close(given[0].grad, given[1].detach())
    assert "AOT autograd does not trace it" in caplog.text
    for first, _ in (stator.compile(program, backend="openxla")(*inputs), program(*twins)):
        with pytest.raises(RuntimeError):
            first.sum().backward()


def test_errors_of_xla_are_not_taken_for_those_of_tracing(monkeypatch: pytest.MonkeyPatch) -> None:
    from stator.backends.openxla import runtime

    def refuse(*arguments: Any) -> Any:
        raise RuntimeError("XLA does not compile this graph: no")

    monkeypatch.setattr(runtime.Client, "compile", refuse)
    compiled = stator.compile(lambda x: (x.sin() * 7.5).sum(), backend="openxla")
    with pytest.raises(stator.BackendFailed, match="XLA does not compile this graph"):
        compiled(torch.randn(3, requires_grad=True))


# -- Element types that torch's kernels raise for

BOOLEANS, BYTES = torch.tensor([True, False]), torch.tensor([1, 0], dtype=torch.uint8)
COMPLEX, FLOATS = torch.tensor([1 + 2j, 2 - 1j]), torch.tensor([1.0, 2.0])
RAISING: dict[str, tuple[Callable[..., Any], torch.Tensor]] = {
    "abs of booleans": (torch.abs, BOOLEANS),
    "a product of booleans": (lambda x: x[:, None] @ x[None], BOOLEANS),
    "floor of complex numbers": (torch.floor, COMPLEX),
    "clamp of complex numbers": (lambda x: x.clamp(0, 1), COMPLEX),  # XLA would end the process
    "maximum of complex numbers": (lambda x: torch.maximum(x, x), COMPLEX),
    "erf of complex numbers": (torch.erf, COMPLEX),
    "frac of integers": (lambda x: torch.frac(x.int()), BYTES),
    "variance of integers": (lambda x: x.int().var(), BYTES),
    "softmax of integers": (lambda x: x.softmax(0), BYTES),
    "activation of integers": (F.hardswish, BYTES),
    "bits of floats": (torch.bitwise_not, FLOATS),
    "in place": (lambda x: x.abs_(), BOOLEANS),
    "booleans subtracted from": (lambda x: torch.rsub(x, True), FLOATS),
    "logarithms of integers": (lambda x: torch.logaddexp(x, x), BYTES),
    "a product of unequal types": (lambda x: x[None] @ x.double(), FLOATS),
    "a layer of another type": (lambda x: F.linear(x, x[None].half()), FLOATS),
    "a convolution of unequal types": (lambda x: F.conv1d(x[None], x[None, None, :1].double()), FLOATS),
    "a norm of another type": (lambda x: F.layer_norm(x, (2,), x.double()), FLOATS),
    "a loss of unequal types": (lambda x: F.binary_cross_entropy(x - x, x.double() - 1), FLOATS),
    "elements of another type": (lambda x: x.index_put((torch.tensor([0]),), x[:1].double()), FLOATS),
    "an index of 32 bits": (lambda x: x.index_fill(0, torch.tensor([0]).int(), 1.0), FLOATS),
    "an index of floats": (lambda x: x.index_select(0, x - 1), FLOATS),
    "activation of one complex number": (lambda x: F.gelu(x[0]), COMPLEX),
    "bits of floats by an operator of Python's": (lambda x: x ^ x, FLOATS),
    "entropy of complex numbers": (torch.special.entr, COMPLEX),
    "a number that does not fit": (lambda x: x.masked_fill(x > 0, 300), BYTES),
    "a divisor of 0": (lambda x: F.avg_pool2d(x.view(1, 1, 2), 1, divisor_override=0), FLOATS),
    "a mask of bytes": (lambda x: x.masked_fill(torch.tensor([1, 0], dtype=torch.uint8), 1.0), FLOATS),
}


@pytest.mark.parametrize("name", RAISING)
@pytest.mark.parametrize("gradients", [False, True])
def test_kernels_that_raise(name: str, gradients: bool) -> None:
    function, values = RAISING[name]
    compiled = stator.compile(lambda x: function(x.clone()), backend="openxla")
    errors = []
    for run in (function, compiled):
        x = values.clone()
        with torch.set_grad_enabled(gradients), pytest.raises((RuntimeError, IndexError)) as raised:
            run(x.requires_grad_() if gradients and x.is_floating_point() else x)
        errors.append((type(raised.value), str(raised.value).split("\n")[0]))
    assert errors[0] == errors[1]


def overlapping(x: torch.Tensor) -> torch.Tensor:
    y = x.repeat(2)
    y[0:2] = y[1:3]
    return y


@pytest.mark.parametrize("backend", ["openxla_eval", "openxla"])
def test_a_copy_between_parts_that_overlap_raises(backend: str) -> None:
    for run in (overlapping, stator.compile(overlapping, backend=backend)):
        with torch.no_grad(), pytest.raises(RuntimeError, match="unsupported operation"):
            run(torch.ones(3))


UNUSED: dict[str, Callable[[torch.Tensor], Any]] = {
    "drawn": lambda x: torch.randn(3),
    "in place": lambda x: x.clone().normal_(),
    "of several": lambda x: F.gumbel_softmax(x.detach()),
    "used by what is not": lambda x: torch.rand_like(x).sin() + 1,
}


@pytest.mark.parametrize("name", UNUSED)
@pytest.mark.parametrize("gradients", [False, True])
def test_numbers_that_nobody_uses_are_drawn(name: str, gradients: bool) -> None:
    """AOT autograd drops such calls; the numbers after them would be others."""

    def program(x: torch.Tensor) -> torch.Tensor:
        UNUSED[name](x)
        return x.sin() * 2

    x = torch.ones(4, requires_grad=gradients)
    compiled = stator.compile(program, backend="openxla")
    numbers = []
    for run in (program, compiled, compiled):
        torch.manual_seed(5)
        result = run(x)
        numbers.append(torch.rand(2))
        assert result.requires_grad == gradients
    assert all(torch.equal(numbers[0], other) for other in numbers)
    if gradients:
        (gradient,) = torch.autograd.grad(result.sum(), x)
        torch.testing.assert_close(gradient, x.cos() * 2)


@pytest.mark.parametrize("gradients", [False, True])
def test_an_error_in_what_nobody_uses_is_raised(gradients: bool) -> None:
    def program(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        F.nll_loss(x.view(1, 4), index)
        torch.rand(2)  # AOT autograd is asked
        return x.sin()

    compiled = stator.compile(program, backend="openxla")
    x = torch.ones(4, requires_grad=gradients)
    torch.testing.assert_close(compiled(x, torch.tensor([3])), x.sin())
    with pytest.raises(IndexError, match="out of bounds"):
        compiled(x, torch.tensor([4]))


def transposed_in_place(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    y = x * 2
    part = y[:2]
    part.transpose_(0, 1)
    return y, part, torch.rand(2)


def test_results_that_share_memory_and_change_their_shape() -> None:
    compiled = stator.compile(transposed_in_place, backend="openxla")
    with torch.no_grad():
        base, part, _ = compiled(torch.ones(3, 4))
        part.zero_()
    assert base.sum() == 8


def test_an_argument_that_changes_its_shape() -> None:
    """Its strides are those of its own memory, whatever those of its new contents are."""
    check(lambda x: x.transpose_(0, 1).mul_(2), torch.randn(3, 8)[:, ::2], used=False)


@pytest.mark.parametrize("program", [lambda x: x + 1, lambda x: x + torch.rand(2, 2)])
def test_results_may_be_resized(program: Callable[..., Any]) -> None:
    compiled = stator.compile(program, backend="openxla_eval")
    with torch.no_grad():
        result = compiled(torch.ones(2, 2))
        kept = result.clone()
        result.resize_(40, 50)
        assert torch.equal(result.view(-1)[:4], kept.view(-1))
        other = compiled(torch.ones(2, 2))
        torch.cat([kept, kept], out=other.resize_(0))
    assert other.shape == (4, 2)


def test_an_empty_tensor_as_elements_of_another_size() -> None:
    check(lambda x: (x.sum(), x[:0].view(torch.bfloat16)), torch.arange(3))


STRIDES: dict[str, Callable[..., Any]] = {
    "of the number that is subtracted from": lambda x, y: torch.rsub(x[0], y),
    "a power of a number": lambda x, y: (torch.rand(1) * 0 + 2, -(1.5 ** x.int())),
    "after a change of shape": lambda x, y: (torch.rand(1) * 0, (x // 3).swapaxes_(0, -1).tril_()),
}


@pytest.mark.parametrize("name", STRIDES)
def test_strides_of_results(name: str) -> None:
    """AOT autograd's decompositions lay some out otherwise than torch's kernels."""
    check(STRIDES[name], torch.randn(4, 4, 6).mT, torch.randn(4, 6, 4), used=False)


def test_what_decompositions_refuse_runs_outside(caplog: pytest.LogCaptureFixture) -> None:
    compiled = stator.compile(
        lambda x: torch.addcmul(x, x, x, value=-1.5) + torch.randint(1, (2,)), backend="openxla"
    )
    with caplog.at_level(logging.WARNING, "stator.openxla"):
        assert compiled(torch.tensor([2, 3])).tolist() == [-2, -6]
    assert "AOT autograd does not trace it" in caplog.text


def test_types_that_kernels_take_go_to_xla() -> None:
    """The table names calls, not programs: integers that become floats, comparisons of booleans."""
    check(
        lambda x: (x.softmax(0, dtype=torch.float32), x.float().var(), x.abs(), x.relu(), x > 1),
        torch.tensor([1, 5, -3]),
        outside=0,
    )
    check(lambda x, w: F.layer_norm(x, (4,), w, w), torch.randn(3, 4).bfloat16(), torch.randn(4), outside=0)
    check(lambda x: (x.sign(), x & ~x, x.cumsum(0), x < ~x), torch.tensor([True, False]), outside=0)


def writes_rows(x: torch.Tensor) -> torch.Tensor:
    x[0].zero_()
    return x * 2


def writes_all(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return x * 2


def writes_a_view_that_overlaps(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y.as_strided((4, 5), (2, 1)).mul_(2)
    return y


OVERLAPPING = {
    "a dimension without steps": (writes_rows, torch.ones(4, 1, 5).expand(4, 3, 5)),
    "steps that meet": (writes_all, torch.arange(20.0).as_strided((4, 5), (3, 1))),
    "a view": (writes_a_view_that_overlaps, torch.arange(12.0)),
}


@pytest.mark.parametrize("name", OVERLAPPING)
def test_what_is_written_overlaps_itself(name: str) -> None:
    function, x = OVERLAPPING[name]
    check(function, x, used=False)


def negates(part: torch.Tensor) -> torch.Tensor:
    part *= -1
    return part


@pytest.mark.parametrize("backend", ["openxla_eval", "openxla"])
def test_gradients_of_arguments_that_are_written(backend: str) -> None:
    """A write to what the caller computed is a node of autograd there, too."""

    def gradient(function: Callable[..., Any]) -> list[torch.Tensor]:
        x = torch.arange(6.0, requires_grad=True)
        part = x * 3
        whole = part * 1
        (function(part) * 2 + whole).sum().backward()
        assert x.grad is not None
        return [part.detach(), x.grad]

    assert_agree(gradient(stator.compile(negates, backend=backend)), gradient(negates))


def test_parameters_are_written_without_gradients() -> None:
    """A step of an optimizer needs none: it goes to XLA as it was captured."""

    def step(weight: torch.Tensor, rate: torch.Tensor) -> torch.Tensor:
        return weight.sub_(rate * weight)

    weight = torch.nn.Parameter(torch.arange(4.0))
    before = dict(counts)
    with torch.no_grad():
        stator.compile(step, backend="openxla_eval")(weight, torch.tensor(0.5))
    assert weight.tolist() == [0, 0.5, 1, 1.5]
    assert counts["direct"] == before["direct"] + 1
