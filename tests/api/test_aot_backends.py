"""Backends made with stator.backends.aot_autograd, and what else backends are made of."""

from typing import Any

import pytest
from torch._dynamo.utils import counters

import stator
import torch
from stator import backends


def program(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x @ w).sum()


class Compiler:
    """Notes the operators of its graphs and runs them as they are."""

    def __init__(self) -> None:
        self.graphs: list[list[str]] = []

    def __call__(self, gm: torch.fx.GraphModule, inputs: Any) -> Any:
        self.graphs.append([str(node.target) for node in gm.graph.nodes if node.op == "call_function"])
        from functorch.compile import make_boxed_func

        return make_boxed_func(gm.forward)


def test_forward_backward_and_inference() -> None:
    forward, backward, inference = Compiler(), Compiler(), Compiler()
    backend = backends.aot_autograd(
        fw_compiler=forward, bw_compiler=backward, inference_compiler=inference, decompositions=lambda: {}
    )
    x, w = torch.randn(2, 3), torch.randn(3, 4, requires_grad=True)
    counters.clear()
    compiled = stator.compile(program, backend=backend, fullgraph=True)
    compiled(x, w).backward()
    got, w.grad = w.grad, None
    program(x, w).backward()
    torch.testing.assert_close(got, w.grad)
    assert "aten.gelu.default" in forward.graphs[0]
    assert "aten.gelu_backward.default" in backward.graphs[0]
    assert not inference.graphs
    with torch.no_grad():
        torch.testing.assert_close(compiled(x, w), program(x, w))
    assert len(inference.graphs) == 1
    assert dict(counters["aot_autograd"]) == {"total": 2, "ok": 2}


def test_the_first_compiler_stands_for_the_others() -> None:
    only = Compiler()
    w = torch.randn(3, 4, requires_grad=True)
    stator.compile(program, backend=backends.aot_autograd(fw_compiler=only))(torch.randn(2, 3), w).backward()
    assert len(only.graphs) == 2


def test_failures_are_counted() -> None:
    def refuses(gm: Any, inputs: Any) -> Any:
        raise NotImplementedError

    counters.clear()
    with pytest.raises(stator.BackendFailed):
        stator.compile(torch.sin, backend=backends.aot_autograd(fw_compiler=refuses))(torch.ones(2))
    assert dict(counters["aot_autograd"]) == {"total": 1, "not_ok": 1}
    with pytest.raises(TypeError, match="fw_compiler is a callable, not str"):
        backends.aot_autograd(fw_compiler="inductor")  # type: ignore[arg-type]


def test_nested_inputs_are_flattened() -> None:
    only = Compiler()
    gm = torch.fx.symbolic_trace(lambda pair, x: (pair[0] + pair[1] * x,))
    backend = backends.aot_autograd(fw_compiler=only)
    one, two = torch.ones(2), torch.full((2,), 2.0)
    assert torch.equal(backend(gm, [(one, two), two])((one, two), two)[0], one + two * two)


def test_what_it_made_is_not_captured_again() -> None:
    made: list[Any] = []
    inner = backends.aot_autograd(fw_compiler=Compiler())

    def keeps(gm: Any, inputs: Any) -> Any:
        made.append(inner(gm, inputs))
        return made[0]

    stator.compile(lambda x: x.sin() + 1, backend=keeps)(torch.ones(2))
    output = stator.explain(lambda x: made[0](x)[0] * 2)(torch.ones(2))
    assert [why.code for why in output.break_reasons] == ["disabled"]


def test_inputs() -> None:
    inputs = [3, torch.ones(2, dtype=torch.float64)]
    assert backends.device_from_inputs(inputs) == torch.device("cpu")
    assert backends.dtype_from_inputs(inputs) is torch.float64
    assert (backends.device_from_inputs([]), backends.dtype_from_inputs([])) == (
        torch.device("cpu"),
        torch.float32,
    )
    assert {"fw_compiler", "bw_compiler", "partition_fn"} <= set(backends.mem_efficient_fusion_kwargs(False))
    assert "decompositions" in backends.mem_efficient_fusion_kwargs(True)


def test_fake_inputs_become_real() -> None:
    seen: list[Any] = []

    @backends.fake_tensor_unsupported
    def needs_real(gm: Any, inputs: Any) -> Any:
        seen.extend(inputs)
        return gm.forward

    with torch._subclasses.FakeTensorMode():
        fake = torch.ones(2)
    gm = torch.fx.symbolic_trace(lambda x: x + 1)
    needs_real(gm, [fake])
    assert type(seen[0]) is torch.Tensor
    assert torch.equal(seen[0], torch.zeros(2))


def test_attributes_of_backends() -> None:
    """`get_compiler_config` is given on to the compiled function."""

    def backend(gm: Any, inputs: Any) -> Any:
        return gm.forward

    backend.get_compiler_config = lambda: {"level": 3}  # type: ignore[attr-defined]
    compiled: Any = stator.compile(lambda x: x + 1, backend=backend)
    assert compiled.get_compiler_config() == {"level": 3}


class ReluInPlace(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(x.relu_(), 0.5)


@pytest.mark.parametrize("dynamic", [None, True])
def test_a_backward_draws_no_random_numbers_again(dynamic: bool | None) -> None:
    torch.manual_seed(0)
    layers = [torch.nn.Linear(8, 8), ReluInPlace(), torch.nn.LayerNorm(8), torch.nn.Dropout(0.5)]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(8, 1))
    backend = backends.aot_autograd(
        fw_compiler=lambda gm, _: gm.forward, bw_compiler=lambda gm, _: gm.forward
    )
    compiled = stator.compile(model, backend=backend, dynamic=dynamic)
    states = []
    for called in (model, compiled):
        torch.manual_seed(1)
        states.append([])
        for n in (4, 4, 6):
            called(torch.ones(n, 8)).sum().backward()
            states[-1].append(torch.get_rng_state())
    assert all(map(torch.equal, *states))
