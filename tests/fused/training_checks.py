"""Training through the backend `fused` against eager code: results, gradients, what is written."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from fused_checks import tensors, value_difference

import stator
import torch

compiled_steps: list[bool] = []
"""For each step that was made: whether one node is the history of its results."""


class Step:
    """A call and a backward of the sum of its results, and all that can be seen of both."""

    def __init__(
        self, function: Callable[..., Any], inputs: tuple[Any, ...], module: Any, skips: int
    ) -> None:
        given = [
            (x * 1 if i % 2 and x.requires_grad else x) if isinstance(x, torch.Tensor) else x
            for i, x in enumerate(inputs)
        ]
        results = tensors(function(*given))
        self.histories = [t.requires_grad for t in results]
        nodes = [t.grad_fn for t in results if t.grad_fn is not None]
        nodes += [base for node in nodes for base, _ in node.next_functions if base is not None]  # of views
        names = [node.name() for node in nodes]
        compiled_steps.append("StatorBackward" in names)
        roots = [t for i, t in enumerate(results) if t.requires_grad and not (skips >> i & 1)]
        self.results = [t.detach().clone() for t in results]
        if roots:
            # Gradients that differ from element to element.
            starts = [
                torch.linspace(0.5, 1.5, t.numel(), dtype=t.dtype, device=t.device).reshape(t.shape)
                for t in roots
            ]
            torch.autograd.backward(roots, starts)
        held = [x for x in inputs if isinstance(x, torch.Tensor)]
        if module is not None:
            held += list(module.parameters())
            self.results += [b.clone() for b in module.buffers()]
        self.results += [x.detach() for x in inputs if isinstance(x, torch.Tensor)]
        self.gradients = [x.grad for x in held]
        devices = {t.device for t in results} | {torch.device("cpu")}
        self.random = [torch.rand(1, device=device) for device in sorted(devices, key=str)]


def training_difference(
    function: Callable[..., Any],
    inputs: tuple[Any, ...] = (),
    ulps: float = 64,
    coarsest: torch.dtype = torch.float32,
    skips: int = 0,
) -> str | None:
    """How steps of the compiled function differ from eager's. `skips`: results that the loss leaves out."""
    is_module = isinstance(function, torch.nn.Module)
    exact: Step | None = None
    try:
        double = copy.deepcopy(function).double() if is_module else function
        torch.manual_seed(3)
        exact = Step(double, _leaves(inputs, double_too=True), double if is_module else None, skips)
    except RuntimeError:
        pass
    mine_function, theirs_function = copy.deepcopy(function), copy.deepcopy(function)
    compiled = stator.compile(mine_function, backend="fused")
    for _ in range(2):
        steps = []
        for call, module in ((theirs_function, theirs_function), (compiled, mine_function)):
            torch.manual_seed(3)
            try:
                steps.append(Step(call, _leaves(inputs), module if is_module else None, skips))
            except RuntimeError as error:
                steps.append(type(error))
        wanted, got = steps
        if isinstance(wanted, type) or isinstance(got, type):
            return None if wanted is got else f"{got} is not {wanted}"
        if got.histories != wanted.histories:
            return f"histories {got.histories} are not {wanted.histories}"
        if got.random != wanted.random:
            return "other random numbers were drawn"
        for what in ("results", "gradients"):
            for i, (a, b) in enumerate(zip(getattr(got, what), getattr(wanted, what), strict=True)):
                if a is None or b is None:
                    if a is not b:
                        return f"{what} {i}: {a} is not {b}"
                    continue
                if (a.dtype, a.shape) != (b.dtype, b.shape):
                    return f"{what} {i}: {a.dtype} {a.shape} is not {b.dtype} {b.shape}"
                others = getattr(exact, what) if exact is not None else []
                reference = others[i] if i < len(others) else None
                if text := value_difference(a, b, reference, ulps, coarsest):
                    return f"{what} {i}: {text}"
        if exact is not None and is_module:
            exact.gradients = []  # they are added up from here on
    return None


def _leaves(inputs: tuple[Any, ...], double_too: bool = False) -> tuple[Any, ...]:
    def leaf(x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        made = x.detach().clone()
        if double_too and x.is_floating_point():
            made = made.double()
        return made.requires_grad_(x.requires_grad)

    return tuple(leaf(x) for x in inputs)


def check_training(
    function: Callable[..., Any], *inputs: Any, ulps: float = 64, skips: int = 0, compiles: bool = True
) -> None:
    """As eager; `compiles`: the graph is compiled for training, or is left to `native`."""
    stator.reset()
    compiled_steps.clear()
    text = training_difference(function, inputs, ulps, skips=skips)
    assert not text, text
    assert any(compiled_steps) == compiles
