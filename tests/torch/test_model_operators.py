"""Every operator that the models call is captured without torch's meta kernels in Python."""

import warnings
from collections.abc import Callable
from typing import Any

import opinfo
import pytest
import torch.nn.functional as F

import stator._torch as st
import torch

x = torch.randn(3, 4)
y = torch.randn(3, 4)
v = torch.randn(4)
i = torch.tensor([[0, 1, 2, 1], [1, 0, 1, 2], [2, 2, 0, 1]])
b = x > 0
w = torch.randn(5, 4)
q = torch.randn(2, 3, 5, 8)
image = torch.randn(2, 4, 6, 6)
sound = torch.randn(2, 4, 9)

aten = torch.ops.aten

# By operator: a call that arrives at the dispatcher as that operator, and its arguments.
CALLS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "aten::add.Tensor": (torch.add, (x, y)),
    "aten::linear": (F.linear, (x, w)),
    "aten::transpose.int": (torch.transpose, (x, 0, 1)),
    "aten::view": (lambda t: t.view(2, 6), (x,)),
    "aten::reshape": (lambda t: t.t().reshape(2, 6), (x,)),
    "aten::contiguous": (lambda t: t.t().contiguous(), (x,)),
    "aten::embedding": (F.embedding, (i, w)),
    "aten::mul.Tensor": (torch.mul, (x, y)),
    "aten::scaled_dot_product_attention": (F.scaled_dot_product_attention, (q, q, q)),
    "aten::slice.Tensor": (lambda t: t[1:, ::2], (x,)),
    "aten::expand": (lambda t: t.expand(3, 4), (v,)),
    "aten::unsqueeze": (torch.unsqueeze, (x, 1)),
    "aten::layer_norm": (lambda t: F.layer_norm(t, (4,)), (x,)),
    "aten::dropout": (F.dropout, (x, 0.5)),
    "aten::arange": (lambda: torch.arange(5), ()),
    "aten::to.dtype": (lambda t: t.to(torch.float64), (x,)),
    "aten::to.dtype_layout": (lambda t: t.to("cpu"), (x,)),
    "aten::sub.Tensor": (torch.sub, (x, y)),
    "aten::cat": (lambda a, c: torch.cat([a, c], 1), (x, y)),
    "aten::gelu": (F.gelu, (x,)),
    "aten::pow.Tensor_Scalar": (lambda t: t**2, (x,)),
    "aten::alias": (aten.alias, (x,)),
    "aten::index.Tensor": (lambda t, j: t[j[:, 0]], (x, i)),
    "aten::ne.Scalar": (lambda t: t != 1, (i,)),
    "aten::new_ones": (lambda t: t.new_ones(2), (x,)),
    "aten::cumsum": (lambda t: t.cumsum(1), (x,)),
    "aten::neg": (torch.neg, (x,)),
    "aten::__and__.Tensor": (lambda t: t & t, (b,)),
    "aten::le.Tensor": (torch.le, (x, y)),
    "aten::to.device": (lambda t: t.to("cpu", torch.int32), (i,)),
    "aten::eq.Tensor": (torch.eq, (x, y)),
    "aten::cos": (torch.cos, (x,)),
    "aten::sin": (torch.sin, (x,)),
    "aten::diff": (torch.diff, (x,)),
    "aten::select.int": (lambda t: t[1], (x,)),
    "aten::mean.dim": (lambda t: t.mean(-1, keepdim=True), (x,)),
    "aten::rsqrt": (torch.rsqrt, (x.abs(),)),
    "aten::tanh": (torch.tanh, (x,)),
    "aten::silu": (F.silu, (x,)),
    "aten::permute": (lambda t: t.permute(1, 0), (x,)),
    "aten::flatten.using_ints": (lambda t: t.flatten(1), (image,)),
    "aten::div.Tensor": (torch.div, (x, y)),
    "aten::zeros": (lambda: torch.zeros(3), ()),
    "aten::conv2d": (F.conv2d, (image, torch.randn(8, 4, 3, 3))),
    "aten::softmax.int": (lambda t: t.softmax(-1), (x,)),
    "aten::lift_fresh": (lambda: torch.tensor([1, 2]), ()),
    "aten::ones": (lambda: torch.ones(3), ()),
    "aten::gather": (lambda t, j: t.gather(1, j), (x, i)),
    "aten::add_.Tensor": (lambda t, u: t.add_(u), (x, y)),
    "aten::where.ScalarOther": (lambda c, t: torch.where(c, t, 0.0), (b, x)),
    "aten::matmul": (torch.matmul, (x, y.t())),
    "aten::eq.Scalar": (lambda t: t == 1, (i,)),
    "aten::chunk": (lambda t: t.chunk(2, 1), (x,)),
    "aten::conv1d": (F.conv1d, (sound, torch.randn(8, 4, 3))),
    "aten::relu": (torch.relu, (x,)),
    "aten::sum.dim_IntList": (lambda t: t.sum(-1), (x,)),
    "aten::arange.start": (lambda: torch.arange(1, 5), ()),
    "aten::type_as": (lambda t, u: t.type_as(u), (i, x)),
    "aten::rsub.Scalar": (lambda t: 1 - t, (x,)),
    "aten::repeat": (lambda t: t.repeat(2, 1), (x,)),
    "aten::lt.Scalar": (lambda t: t < 1, (x,)),
    "aten::gt.Scalar": (lambda t: t > 1, (x,)),
    "aten::where.self": (torch.where, (b, x, y)),
    "aten::detach_": (lambda t: (t * 2).detach_(), (x,)),
    "aten::index_put_": (lambda t, j: aten.index_put_(t, [j[0]], t[j[0]]), (x, i[:, :3])),
    "aten::masked_fill.Scalar": (lambda t, c: t.masked_fill(c, 1.0), (x, b)),
    "aten::ge.Scalar": (lambda t: t >= 1, (x,)),
    "aten::sqrt": (torch.sqrt, (x.abs(),)),
    "aten::rand": (lambda: torch.rand(3), ()),
    "aten::zeros_like": (torch.zeros_like, (x,)),
    "aten::pow.Scalar": (lambda t: 2.0**t, (x,)),
    "aten::copy_": (lambda t, u: t.copy_(u), (x, y)),
    "aten::fill_.Tensor": (lambda t, u: t.fill_(u[0]), (x, v)),
    "aten::split.Tensor": (lambda t: t.split(2, 1), (x,)),
    "aten::masked_fill_.Scalar": (lambda t, c: t.masked_fill_(c, 1.0), (x, b)),
    "aten::clone": (torch.clone, (x,)),
    "aten::reciprocal": (torch.reciprocal, (x,)),
    "aten::new_zeros": (lambda t: t.new_zeros(2), (x,)),
    "aten::bmm": (torch.bmm, (q[0], q[0].transpose(1, 2))),
    "aten::arange.start_step": (lambda: torch.arange(0, 5, 2), ()),
    "aten::repeat_interleave.self_int": (lambda t: t.repeat_interleave(2, 1), (x,)),
    "aten::pad": (lambda t: F.pad(t, (1, 2)), (x,)),
    "aten::log": (torch.log, (x.abs(),)),
    "aten::sort": (torch.sort, (x,)),
    "aten::ge.Tensor": (torch.ge, (x, y)),
    "aten::squeeze.dim": (lambda t: t[:1].squeeze(0), (x,)),
    "aten::sigmoid": (torch.sigmoid, (x,)),
    "aten::abs": (torch.abs, (x,)),
    "aten::histc": (lambda t: torch.histc(t, 4, 0, 3), (x,)),
    "aten::gt.Tensor": (torch.gt, (x, y)),
    "aten::batch_norm": (lambda t, m, s: F.batch_norm(t, m, s), (x, torch.zeros(4), torch.ones(4))),
    "aten::detach": (lambda t: t.detach(), (x,)),
    "aten::addmm": (torch.addmm, (v, x, torch.randn(4, 4))),
    "aten::group_norm": (lambda t: F.group_norm(t, 2), (image,)),
    "aten::max_pool1d": (lambda t: F.max_pool1d(t, 2, padding=1, ceil_mode=True), (image[0],)),
    "aten::max_pool2d": (lambda t: F.max_pool2d(t, 2), (image,)),
    "aten::mul_.Tensor": (lambda t, u: t.mul_(u), (x, y)),
    "aten::einsum": (lambda t, u: torch.einsum("ij,kj->ik", t, u), (x, y)),
    "aten::stack": (lambda t, u: torch.stack([t, u]), (x, y)),
    "aten::any": (torch.any, (b,)),
    "aten::exp": (torch.exp, (x,)),
    "aten::_weight_norm": (torch._weight_norm, (w, torch.randn(5, 1))),
    "aten::empty_like": (lambda t: torch.empty_like(t).zero_(), (x,)),
    "aten::div_.Tensor": (lambda t, u: t.div_(u), (x, y)),
    "aten::topk": (lambda t: t.topk(2), (x,)),
    "aten::min.other": (torch.min, (x, y)),
    "aten::full_like": (lambda t: torch.full_like(t, 2), (x,)),
    "aten::floor_divide": (lambda t: t // 2, (i,)),
    "aten::split_with_sizes": (lambda t: t.split([1, 3], 1), (x,)),
    "aten::avg_pool2d": (lambda t: F.avg_pool2d(t, 2), (image,)),
    "aten::argsort": (torch.argsort, (x,)),
    "aten::ones_like": (torch.ones_like, (x,)),
    "aten::softplus": (F.softplus, (x,)),
    "aten::adaptive_avg_pool1d": (lambda t: F.adaptive_avg_pool1d(t, 3), (sound,)),
    "aten::movedim.int": (lambda t: t.movedim(0, 1), (x,)),
    "aten::uniform_": (lambda t: t.uniform_(), (x,)),
    "aten::full": (lambda: torch.full((2,), 3.0), ()),
    "aten::clamp_min": (lambda t: t.clamp_min(0), (x,)),
    "aten::squeeze": (lambda t: t[:1].squeeze(), (x,)),
    "aten::t": (torch.t, (x,)),
    "aten::unfold": (lambda t: t.unfold(1, 2, 1), (x,)),
    "aten::mul.Scalar": (lambda t: aten.mul.Scalar(t, 2), (x,)),
    "aten::bitwise_not": (lambda t: ~t, (b,)),
    "aten::lerp_.Scalar": (lambda t, u: t.lerp_(u, 0.5), (x, y)),
    "aten::argmax": (lambda t: t.argmax(-1), (x,)),
    "aten::__or__.Tensor": (lambda t: t | t, (b,)),
    "aten::size.int": (lambda t: aten.size.int(t, 0) + t, (x,)),
    "aten::addcmul_": (lambda t, u: t.addcmul_(u, u), (x, y)),
    "aten::roll": (lambda t: t.roll(1, 0), (x,)),
    "aten::adaptive_avg_pool2d": (lambda t: F.adaptive_avg_pool2d(t, 1), (image,)),
    "aten::numpy_T": (lambda t: t.T, (x,)),
    "aten::pow.Tensor_Tensor": (torch.pow, (x.abs(), y)),
    "aten::index_select": (lambda t, j: t.index_select(1, j[0]), (x, i)),
    "aten::baddbmm": (torch.baddbmm, (q[0, :, :, :5], q[0], q[0].transpose(1, 2))),
    "aten::clamp": (lambda t: t.clamp(0, 1), (x,)),
    "aten::empty.memory_format": (lambda: torch.empty(3).zero_(), ()),
}  # fmt: skip

# Answered or written down under another name.
RECORDED_AS = {"aten::lift_fresh": "aten::lift_fresh_copy", "aten::size.int": "aten::add.Tensor"}


@pytest.mark.parametrize("layout", opinfo.LAYOUTS)
@pytest.mark.parametrize("name", CALLS)
def test_no_dispatched_meta_kernel(name: str, layout: str) -> None:
    function, arguments = CALLS[name]
    st.clear_memo()
    report = opinfo.Report(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reason = opinfo.check(function, arguments, {}, layout, report, values=True)
    if reason == "eager":
        assert layout != "plain"  # a write to an expanded tensor is refused, and so are some views
        return
    assert reason is None
    assert report.dispatched == 0
    if layout == "plain":
        trace = st.trace(function, tuple(opinfo.fresh(a) for a in arguments))
        assert f" {RECORDED_AS.get(name, name)}(" in trace.graph


def test_nearly_all_have_rules() -> None:
    """The rest are composites of operators that have rules."""
    without = set(CALLS) - set(st.rules())
    assert without == {"aten::einsum", "aten::lift_fresh", "aten::size.int"}
    assert len(st.rules()) == len(set(st.rules()))
    assert len(st.rules()) >= 650


@pytest.mark.parametrize("mask", [None, "bool", "float"])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 1, 3), (2, 0, 1, 3), (0, 1, 3, 2)])
def test_attention_is_laid_out_as_the_kernel_does_it(order: tuple[int, ...], mask: str | None) -> None:
    query = (
        torch.empty([(2, 3, 5, 8)[d] for d in order]).normal_().permute([order.index(d) for d in range(4)])
    )
    assert query.shape == (2, 3, 5, 8)
    masks = {None: None, "bool": torch.ones(5, 5, dtype=torch.bool).tril(), "float": torch.randn(2, 1, 5, 5)}

    def attend(a: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(a, a, a, attn_mask=masks[mask])

    seen: list[tuple[int, ...]] = []

    def traced(a: torch.Tensor) -> torch.Tensor:
        out = attend(a)
        seen.append(out.stride())
        return out

    trace = st.trace(traced, (query,))
    assert trace.counters["dispatched_meta_calls"] == 0
    expected = attend(query)
    assert seen == [expected.stride()]
    assert torch.equal(trace.replay([query]), expected)
