"""What user code reads off a tracer is what eager shows; what cannot be captured breaks."""

from collections.abc import Callable
from typing import Any

import pytest

import stator._torch as st
import torch


def same(function: Callable[..., Any], *args: torch.Tensor) -> Any:
    """Traces, replays and compares; gives the replayed result."""
    clones = [a.detach().clone().requires_grad_(a.requires_grad) for a in args]
    expected = function(*clones)
    trace = st.trace(function, args)
    fresh = [a.detach().clone().requires_grad_(a.requires_grad) for a in args]
    found = trace.replay(fresh)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    for a, b in zip(fresh, clones, strict=True):
        assert torch.equal(a, b)
    return found


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.item(),
        lambda x: bool(x > 0),
        lambda x: x.tolist(),
        lambda x: x.detach().numpy(),
        lambda x: x.data_ptr(),
        lambda x: x.untyped_storage(),
        lambda x: torch.nonzero(x),
        lambda x: torch.equal(x, x),
        lambda x: x[x > 0],
        lambda x: torch.unique(x),
        lambda x: x.sum().backward(),
        lambda x: x.detach().__dlpack__(),
        lambda x: int(x),
        lambda x: x.to_sparse(),
    ],
)
def test_reading_values_breaks(read: Callable[[torch.Tensor], object]) -> None:
    with pytest.raises(st.CaptureBreak):
        st.trace(read, (torch.ones(()).requires_grad_(),))
    assert torch.ones(2).sum().item() == 2  # nothing of the capture is left


def test_a_break_is_not_the_users_exception() -> None:
    def swallows(x: torch.Tensor) -> torch.Tensor:
        try:
            x.item()
        except Exception:
            return x + 1
        return x

    with pytest.raises(st.CaptureBreak):
        st.trace(swallows, (torch.ones(()),))


def test_a_break_holds_even_if_it_is_swallowed() -> None:
    def swallows(x: torch.Tensor) -> torch.Tensor:
        try:
            x.item()
        except BaseException:
            return x + 1
        return x

    with pytest.raises(st.CaptureBreak):
        st.trace(swallows, (torch.ones(()),))


def test_tracers_do_not_outlive_their_capture() -> None:
    kept: list[torch.Tensor] = []
    st.trace(lambda x: kept.append(x + 1), (torch.ones(2),))
    with pytest.raises(st.CaptureBreak):
        kept[0] + 1


def test_what_a_tracer_shows() -> None:
    def shows(x: torch.Tensor, w: torch.Tensor) -> list[object]:
        y = x @ w
        z = y.detach()
        v = w.t()
        with torch.no_grad():
            n = x @ w
        return [
            (t.requires_grad, t.grad_fn is None, t.is_leaf, tuple(t.shape), t.stride(), t.dtype, t.device)
            for t in (x, w, y, z, v, n, y.data, w.data, torch.zeros_like(y), y.to(torch.int32), y.argmax(0))
        ]

    x, w = torch.randn(3, 4), torch.randn(4, 5, requires_grad=True)
    seen: list[object] = []
    st.trace(lambda *a: seen.extend(shows(*a)), (x, w))
    assert seen == shows(x, w)


def test_same_tensor_is_same_tracer() -> None:
    x = torch.ones(2)

    def identity(a: torch.Tensor, b: torch.Tensor) -> bool:
        assert a is b
        assert a.to(torch.float32) is a
        assert a.contiguous() is a
        assert torch.nn.functional.dropout(a, 0.5, False) is a
        assert a.add_(1) is a
        return True

    st.trace(identity, (x, x))


def test_parameter_class() -> None:
    p = torch.nn.Parameter(torch.ones(2))
    seen: list[type] = []
    st.trace(lambda q: seen.append(type(q)), (p,))
    assert seen == [torch.nn.Parameter]


def test_views_and_writes() -> None:
    def writes(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x * 2
        row = y[0]
        row.add_(1)
        y.t()[1].mul_(3)
        y.unsqueeze_(0)
        return y, row

    same(writes, torch.randn(3, 4))


def test_writes_reach_arguments() -> None:
    def writes(x: torch.Tensor) -> torch.Tensor:
        x[:, 0] = 5
        x += 1
        return x.sum()

    same(writes, torch.randn(3, 4))


def test_outputs_alias_as_in_eager() -> None:
    trace = st.trace(lambda x: (x, x.view(-1), x + 1), (torch.zeros(2, 2),))
    x = torch.zeros(2, 2)
    a, b, c = trace.replay([x])
    assert a is x
    assert b._base is x
    c.add_(1)
    b.add_(1)
    assert x.sum() == 4


def test_history_through_writes() -> None:
    def writes(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        y = torch.zeros(3, 4)
        view = y[1]
        before = view.requires_grad
        y.mul_(w)
        assert (before, y.requires_grad, view.requires_grad) == (False, True, True)
        z = torch.zeros(3, 4)
        z[2].add_(w[0])
        assert z.requires_grad
        return y + z

    same(writes, torch.randn(3, 4), torch.randn(3, 4, requires_grad=True))


def test_literals_are_new_at_each_run() -> None:
    def literal(x: torch.Tensor) -> torch.Tensor:
        t = torch.tensor([1.0, 2.0])
        t += x
        return t

    trace = st.trace(literal, (torch.ones(2),))
    first, second = trace.replay([torch.ones(2)]), trace.replay([torch.ones(2)])
    assert first.tolist() == second.tolist() == [2.0, 3.0]


def test_modes() -> None:
    def modes(x: torch.Tensor, w: torch.Tensor) -> list[torch.Tensor]:
        with torch.no_grad():
            a = x @ w
        b = x @ w
        with torch.autocast("cpu", torch.bfloat16):
            c = x @ w
        with torch.inference_mode():
            d = x @ w
        return [a, b, c, d, b.detach() + 1]

    x, w = torch.randn(3, 4), torch.randn(4, 5, requires_grad=True)
    trace = st.trace(modes, (x, w))
    for a, b in zip(trace.replay([x, w]), modes(x, w), strict=True):
        assert torch.equal(a, b)
        assert (a.dtype, a.requires_grad, a.is_inference()) == (b.dtype, b.requires_grad, b.is_inference())
    assert torch.is_grad_enabled()
    assert not torch.is_autocast_enabled("cpu")


def test_random_numbers_in_order() -> None:
    def draws(x: torch.Tensor) -> torch.Tensor:
        a = torch.rand(3)
        b = torch.nn.functional.dropout(x, 0.5)
        c = torch.empty(3).normal_()
        return torch.cat([a, b, c])

    x = torch.ones(3)
    state = torch.get_rng_state()
    trace = st.trace(draws, (x,))
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(5)
    expected = [draws(x), draws(x)]
    torch.manual_seed(5)
    assert [trace.replay([x]).tolist() for _ in range(2)] == [e.tolist() for e in expected]


def test_out_and_foreach() -> None:
    def writes(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
        out = torch.empty_like(x)
        torch.add(x, y, out=out)
        sums = torch._foreach_add([x, y], 1.0)
        torch._foreach_mul_(sums, [x, y])
        return [out, *sums]

    same(writes, torch.randn(3), torch.randn(3))


def test_wrapped_numbers_promote_as_in_eager() -> None:
    def promotes(i: torch.Tensor, h: torch.Tensor, s: torch.Tensor) -> list[torch.Tensor]:
        return [
            i + 1,
            i + 1.5,
            h * 2.5,
            h + s,
            i * s,
            2**i,
            i / 2,
            h.double() + 1,
            torch.where(i > 0, h, 0.0),
        ]

    found = same(promotes, torch.arange(3), torch.randn(3).half(), torch.tensor(2.0))
    assert [t.dtype for t in found[:3]] == [torch.int64, torch.float32, torch.float16]


def peak_memory(run: Callable[[], object]) -> int:
    with torch.profiler.profile(profile_memory=True) as profile:
        run()
    now = most = 0
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            now += event.nbytes()
            most = max(most, now)
    return most


def test_memory_is_freed_at_the_last_use() -> None:
    def chain(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(torch.sin(torch.sin(torch.sin(x))))

    trace = st.trace(chain, (torch.zeros(1000),))
    x = torch.zeros(1000)
    assert peak_memory(lambda: trace.replay([x])) == peak_memory(lambda: chain(x))


@pytest.mark.parametrize(
    "drift",
    [
        lambda x: (x + 1).requires_grad_() * 2,
        lambda x: torch.nn.Parameter(x + 1) * 2,
        lambda x: (x + 1).requires_grad_(),
        lambda x: setattr(x, "data", x + 1),
    ],
)
def test_drift_breaks(drift: Callable[[torch.Tensor], object]) -> None:
    with pytest.raises(st.CaptureBreak):
        st.trace(drift, (torch.ones(2),))


def test_hooks_break() -> None:
    def hook(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        y.register_hook(lambda g: g * 3)  # type: ignore[no-untyped-call]
        return y + 1

    with pytest.raises(st.CaptureBreak):
        st.trace(hook, (torch.ones(2, requires_grad=True),))


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return grads[0] * 2


def test_autograd_functions_break() -> None:
    with pytest.raises(st.CaptureBreak):
        st.trace(lambda x: Double.apply(x) + 1, (torch.ones(2, requires_grad=True),))  # type: ignore[no-untyped-call]


def test_vmap() -> None:
    def mapped(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = torch.vmap(torch.dot)(x, y) + torch.vmap(lambda a: a.sum())(x)
        return result

    same(mapped, torch.randn(3, 4), torch.randn(3, 4))


def test_one_hot_with_known_classes() -> None:
    same(lambda i: torch.nn.functional.one_hot(i, 5), torch.tensor([1, 4, 0]))
