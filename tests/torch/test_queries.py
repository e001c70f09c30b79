"""What a program can ask of tensors and of torch's state is guarded, or ends the capture."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import stator
import torch
from torch import nn

# Of a parameter or buffer that the program reaches by itself, and of an argument.
QUERIES: dict[str, Callable[[torch.Tensor], Any]] = {
    "storage_offset": lambda w: w.storage_offset(),
    "offset of a view": lambda w: w[1:].storage_offset(),
    "is_inference": lambda w: w.is_inference(),
    "torch.is_inference": lambda w: torch.is_inference(w),
    "is_inference of a view": lambda w: w[1:].is_inference(),
    "torch.is_floating_point": lambda w: torch.is_floating_point(w),
    "torch.is_complex": lambda w: torch.is_complex(w),
    "result_type": lambda w: torch.result_type(w, 1.0),
    "result_type second": lambda w: torch.result_type(torch.ones(2), w),
    "can_cast": lambda w: torch.can_cast(w.dtype, torch.float32),
    "promote_types": lambda w: torch.promote_types(w.dtype, torch.float32),
    "is_signed": lambda w: torch.is_signed(w),
    "is_same_size": lambda w: torch.is_same_size(w, torch.ones(4)),
    "is_nonzero of a size": lambda w: bool(w.numel()),
    "methods": lambda w: (
        w.is_floating_point(),
        w.is_complex(),
        w.is_signed(),
        w.element_size(),
        w.is_contiguous(),
    ),
    "sizes": lambda w: (w.shape, w.stride(), w.numel(), w.dim(), len(w), w.nbytes),
    "attributes": lambda w: (w.dtype, w.requires_grad, w.is_leaf, w.grad_fn is None, w.layout, w.itemsize),
    "type": lambda w: w.type(),
    "view": lambda w: w._is_view(),
    "conjugate": lambda w: (w.is_conj(), w.is_neg(), torch.is_conj(w)),
    "pinned": lambda w: w.is_pinned(),
    "shared": lambda w: w.is_shared(),
    "memory": lambda w: torch._C._is_alias_of(w, w),
    "set to": lambda w: w.is_set_to(w),
    "version": lambda w: w._version,
    "size as torch.Size": lambda w: torch.Size(list(w.shape)),
}


def replacement(kind: str) -> torch.Tensor:
    if kind == "inference":
        with torch.inference_mode():
            return torch.ones(4)
    made: dict[str, Callable[[], torch.Tensor]] = {
        "offset": lambda: torch.arange(6.0)[2:],
        "double": lambda: torch.ones(4, dtype=torch.float64),
        "int": lambda: torch.ones(4, dtype=torch.int32),
        "complex": lambda: torch.ones(4, dtype=torch.complex64),
        "conjugate": lambda: torch.ones(4, dtype=torch.complex64).conj(),
        "longer": lambda: torch.ones(5),
        "strided": lambda: torch.ones(8)[::2],
        "gradient": lambda: torch.ones(4, requires_grad=True),
        "history": lambda: torch.ones(4, requires_grad=True) * 2,
        "view": lambda: torch.ones(2, 2).view(4),
        "shared": lambda: torch.ones(4).share_memory_(),
    }
    return made[kind]()


KINDS = [
    "offset",
    "double",
    "int",
    "complex",
    "conjugate",
    "longer",
    "strided",
    "gradient",
    "history",
    "view",
    "shared",
    "inference",
]


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as error:
        return type(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("query", QUERIES)
def test_query_of_an_argument(query: str) -> None:
    def program(x: torch.Tensor) -> Any:
        return QUERIES[query](x), torch.ones(2) * 2

    compiled: Any = stator.compile(program, backend="native", dynamic=False)
    plain = torch.ones(4)
    for kind in KINDS:
        for x in (plain, replacement(kind), plain, replacement(kind)):
            eager, found = outcome(program, x), outcome(compiled, x)
            assert (found[0] if isinstance(found, tuple) else found) == (
                eager[0] if isinstance(eager, tuple) else eager
            ), kind


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", ["attribute", "data"])
@pytest.mark.parametrize("query", QUERIES)
def test_query_of_a_buffer(query: str, place: str) -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("w", torch.ones(4))

        def forward(self) -> Any:
            return QUERIES[query](self.w), torch.ones(2) * 2  # type: ignore[arg-type]

    for kind in KINDS:
        model = Model()
        compiled: Any = stator.compile(model.forward, backend="native")
        for _ in range(2):
            assert compiled()[0] == model()[0]
        if place == "attribute":
            model.w = replacement(kind)
        elif outcome(setattr, model.w, "data", replacement(kind)) is not None:
            continue
        eager, found = outcome(model), outcome(compiled)
        assert (found[0] if isinstance(found, tuple) else found) == (
            eager[0] if isinstance(eager, tuple) else eager
        ), kind


def test_offset_of_arguments_counts_only_where_it_was_asked_for() -> None:
    def asks(x: torch.Tensor) -> Any:
        return x + x.storage_offset()

    def computes(x: torch.Tensor) -> Any:
        return x + 1

    base = torch.arange(8.0)
    for function, captures in ((asks, 3), (computes, 1)):
        compiled: Any = stator.compile(function, backend="native", dynamic=False)
        for x in (base[:4], base[1:5], base[2:6], base[:4]):
            assert torch.equal(compiled(x), function(x))
        assert len(compiled.entries) == captures
        assert compiled.breaks == []


@contextlib.contextmanager
def autocast_dtype(device: str, dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_autocast_dtype(device)
    torch.set_autocast_dtype(device, dtype)
    yield
    torch.set_autocast_dtype(device, before)


@contextlib.contextmanager
def changed(change: Callable[[Any], object], value: Any, before: Any) -> Iterator[None]:
    change(value)
    yield
    change(before)


# What is asked, and under what it is asked again.
STATE: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "autocast dtype, off": (
        lambda: torch.get_autocast_dtype("cpu"),
        lambda: autocast_dtype("cpu", torch.float16),
    ),
    "autocast dtype of cuda": (
        lambda: torch.get_autocast_dtype("cuda"),
        lambda: autocast_dtype("cuda", torch.bfloat16),
    ),
    "autocast": (lambda: torch.is_autocast_enabled("cpu"), lambda: torch.autocast("cpu")),
    "any autocast": (torch._C._is_any_autocast_enabled, lambda: torch.autocast("cpu")),
    "autocast of another device": (
        lambda: torch.is_autocast_enabled("xpu"),
        lambda: changed(lambda on: torch.set_autocast_enabled("xpu", on), True, False),
    ),
    "autocast cache": (
        torch.is_autocast_cache_enabled,
        lambda: changed(torch.set_autocast_cache_enabled, False, True),
    ),
    "forward gradients": (
        torch._C._is_fwd_grad_enabled,
        lambda: changed(torch._C._set_fwd_grad_enabled, False, True),
    ),
    "forward level": (
        lambda: torch.autograd.forward_ad._current_level,
        lambda: torch.autograd.forward_ad.dual_level(),
    ),
    "grad": (torch.is_grad_enabled, torch.no_grad),
    "inference": (torch.is_inference_mode_enabled, torch.inference_mode),
    "default dtype": (
        torch.get_default_dtype,
        lambda: changed(torch.set_default_dtype, torch.float64, torch.float32),
    ),
    "default device": (torch.get_default_device, lambda: torch.device("meta")),
    "deterministic": (
        torch.are_deterministic_algorithms_enabled,
        lambda: changed(torch.use_deterministic_algorithms, True, False),
    ),
    "deterministic warnings": (
        torch.is_deterministic_algorithms_warn_only_enabled,
        lambda: changed(lambda on: torch.use_deterministic_algorithms(on, warn_only=on), True, False),
    ),
    "deterministic mode": (
        torch.get_deterministic_debug_mode,
        lambda: changed(torch.set_deterministic_debug_mode, 1, 0),
    ),
    "anomaly": (torch.is_anomaly_enabled, lambda: torch.autograd.set_detect_anomaly(True)),
    "threads": (
        torch.get_num_threads,
        lambda: changed(torch.set_num_threads, torch.get_num_threads() + 1, torch.get_num_threads()),
    ),
    "warn always": (torch.is_warn_always_enabled, lambda: changed(torch.set_warn_always, True, False)),
    "matmul precision": (
        torch.get_float32_matmul_precision,
        lambda: changed(torch.set_float32_matmul_precision, "medium", "highest"),
    ),
    "torch function": (torch._C._is_torch_function_enabled, torch._C.DisableTorchFunctionSubclass),
    "saved tensors": (
        torch._C._autograd._saved_tensors_hooks_get_disabled_error_message,
        lambda: torch.autograd.graph.disable_saved_tensors_hooks("not here"),
    ),
    "profiling of scripts": (
        torch._C._get_graph_executor_optimize,
        lambda: changed(torch._C._set_graph_executor_optimize, False, True),
    ),
    "recursion limit": (
        sys.getrecursionlimit,
        lambda: changed(sys.setrecursionlimit, sys.getrecursionlimit() + 50, sys.getrecursionlimit()),
    ),
    "seed": (
        torch.initial_seed,
        lambda: changed(torch.manual_seed, (torch.initial_seed() + 1) % 2**62, torch.initial_seed()),
    ),
    "attention": (
        torch.backends.cuda.math_sdp_enabled,
        lambda: changed(torch.backends.cuda.enable_math_sdp, False, True),
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", STATE)
def test_state_is_asked_again(name: str) -> None:
    ask, change = STATE[name]

    def program(x: torch.Tensor) -> Any:
        return str(ask()), x + 1

    compiled: Any = stator.compile(program, backend="native")
    x = torch.ones(2)
    before = str(ask())
    for _ in range(2):
        assert compiled(x)[0] == before
    with change():
        inside = str(ask())
        assert inside != before
        for _ in range(2):
            assert compiled(x)[0] == inside
    assert str(ask()) == before
    assert compiled(x)[0] == before


@pytest.mark.parametrize("name", ["autocast dtype, off", "autocast cache", "grad", "default dtype"])
def test_state_that_the_program_changes_is_its_own(name: str) -> None:
    ask, change = STATE[name]

    def program(x: torch.Tensor) -> Any:
        before = ask()
        with change():
            inside = ask()
        return str(before), str(inside), str(ask()), x + 1

    compiled: Any = stator.compile(program, backend="native")
    for _ in range(3):
        assert compiled(torch.ones(2))[:3] == program(torch.ones(2))[:3]


def test_predicates_of_lists_of_tensors() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = [torch.ones(2), torch.ones(2)]

        def forward(self, x: torch.Tensor) -> Any:
            kinds = [torch.is_floating_point(part) for part in self.parts]
            return x * sum(kinds), torch.result_type(self.parts[0], self.parts[1])

    model = Model()
    compiled: Any = stator.compile(model, backend="native")
    x = torch.ones(2)
    for _ in range(2):
        assert compiled(x)[1] == model(x)[1]
    model.parts[1].data = torch.ones(2, dtype=torch.complex64)
    assert compiled(x)[1] == model(x)[1]
    assert torch.equal(compiled(x)[0], model(x)[0])
