"""Two samples of each operator of torch's OpInfo list, traced and replayed, against eager."""

import warnings

import opinfo
import pytest

import torch


@pytest.mark.parametrize("part", range(4))
def test_samples(part: int) -> None:
    torch.set_num_threads(1)
    listed = opinfo.listed_breaks()
    failed = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for info in opinfo.chosen([])[part::4]:
            report = opinfo.run_info(info, [torch.float32], ("plain",), 2)
            reasons = report.wrong if report.name in listed else list(report.reasons)
            if reasons:
                failed[report.name] = reasons
    assert not failed


# Operators of every family of shape rules, on other dtypes and layouts.
SELECTION = [
    "add", "div", "where", "pow", "__rpow__", "clamp", "exp", "sum", "mean", "amax", "cumsum", "matmul",
    "baddbmm", "transpose", "unflatten", "expand", "split", "as_strided", "cat", "stack", "gather",
    "index_put", "topk", "diff", "fft.rfft2", "fft.hfftn", "complex", "nn.functional.conv1d",
    "nn.functional.conv2d", "nn.functional.conv3d", "nn.functional.conv_transpose2d",
    "nn.functional.adaptive_avg_pool2d", "nn.functional.batch_norm", "nn.functional.layer_norm",
    "nn.functional.pad", "nn.functional.pixel_shuffle", "nn.functional.max_unpool2d",
    "nn.functional.scaled_dot_product_attention", "nonzero_static", "linalg.eig", "einsum",
]  # fmt: skip


def test_selection_on_other_dtypes_and_layouts() -> None:
    torch.set_num_threads(1)
    dtypes = [torch.float32, torch.int64, torch.bool, torch.complex64, torch.bfloat16]
    failed = {}
    seen: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for info in opinfo.chosen(SELECTION):
            report = opinfo.run_info(info, dtypes, opinfo.LAYOUTS, 3)
            seen |= {info.name} if report.samples else set()
            if not report.good:
                failed[report.name] = report.reasons
    assert not failed
    assert seen == set(SELECTION)


def test_the_list_of_breaks_names_operators() -> None:
    names = {opinfo.name_of(info) for info in opinfo.chosen([])}
    for name, reason in opinfo.listed_breaks().items():
        assert name in names
        assert reason
