"""Two samples of each operator of torch's OpInfo list, traced and replayed, against eager."""

import warnings

import opinfo
import pytest

import torch

# Operators that break, by reason. Everything else agrees.
DATA_DEPENDENT = {
    "item", "allclose", "combinations", "equal", "masked_select", "unique", "unique_consecutive", "nonzero",
    "argwhere", "tensor_split", "narrow", "nn.functional.gaussian_nll_loss", "nn.functional.ctc_loss",
    "corrcoef", "cov", "quantile", "nanquantile", "linalg.lstsq", "linalg.lstsq.grad_oriented",
}  # fmt: skip
NOT_STRIDED = {"sparse.sampled_addmm", "sparse.mm.reduce", "to_sparse"}
NO_META_KERNEL = {"geqrf", "histogram", "histogramdd"}
BREAKS = DATA_DEPENDENT | NOT_STRIDED | NO_META_KERNEL
# torch's own meta kernels give other strides than its CPU kernels for some samples of these.
WRONG_STRIDES = {"nonzero_static", "fft.rfftn", "linalg.eig"}


def excused(name: str, reason: str) -> bool:
    if name in BREAKS:
        return reason.startswith("break: ")
    return name in WRONG_STRIDES and reason.startswith("tracer stride")


@pytest.mark.parametrize("part", range(4))
def test_samples(part: int) -> None:
    torch.set_num_threads(1)
    failed = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for info in opinfo.chosen([])[part::4]:
            report = opinfo.run_info(info, [torch.float32], ("plain",), 2)
            reasons = [reason for reason in report.reasons if not excused(report.name, reason)]
            if reasons:
                failed[report.name] = reasons
    assert not failed
