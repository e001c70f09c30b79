"""backward() and autograd.grad() as nodes of a graph, run by torch's engine.

See src/torch/replacements/backward.h and gradients.h.
"""

from collections.abc import Callable

import torch


class Backward:
    """One call of backward. Its tensors are roots, then the gradients given for them, then leaves."""

    def __init__(self, roots: int, gradients: int, leaves: int, keeps_graph: bool) -> None:
        self.roots = roots
        self.gradients = gradients
        self.result_count = leaves
        self.keeps_graph = keeps_graph
        self.creates_graph = False

    def __call__(self, tensors: list[torch.Tensor]) -> list[torch.Tensor | None]:
        """Compute the gradients of the leaves, which keep those that they have; called by every run."""
        roots = tuple(tensors[: self.roots])
        given = tuple(tensors[self.roots : self.roots + self.gradients])
        leaves = tensors[self.roots + self.gradients :]
        del tensors[:]
        older = [leaf.grad for leaf in leaves]
        for leaf in leaves:
            leaf.grad = None
        try:
            torch.autograd.Variable._execution_engine.run_backward(
                roots, given, self.keeps_graph, False, (), allow_unreachable=True, accumulate_grad=True
            )
            return [leaf.grad for leaf in leaves]
        finally:
            for leaf, gradient in zip(leaves, older, strict=True):
                leaf.grad = gradient

    def is_plain(self) -> bool:
        """No function of torch's own: see `GraphBuilder.opaque`."""
        return False

    def on_leaves(self) -> Callable[..., list[torch.Tensor | None]]:
        """The call as a function of its tensors, for a torch.fx graph that is run as it is."""

        def backward(*tensors: torch.Tensor) -> list[torch.Tensor | None]:
            refuse_tracing(tensors)
            return self(list(tensors))

        backward.stator_reads = True  # type: ignore[attr-defined]
        return backward


class Gradients(Backward):
    """One call of autograd.grad. Its tensors are roots, then the gradients given for them, then inputs.

    `layouts`: for each gradient whether its strides are given, and those; or else the order of its dimensions
    in memory, from the outermost to the innermost.
    """

    def __init__(
        self,
        roots: int,
        gradients: int,
        layouts: tuple[tuple[bool, tuple[int, ...]], ...],
        keeps_graph: bool,
        creates_graph: bool,
    ) -> None:
        super().__init__(roots, gradients, len(layouts), keeps_graph)
        self.layouts = layouts
        self.creates_graph = creates_graph

    def __call__(self, tensors: list[torch.Tensor]) -> list[torch.Tensor | None]:
        """Compute the gradients of the inputs; called by every run."""
        roots = tuple(tensors[: self.roots])
        given = tuple(tensors[self.roots : self.roots + self.gradients])
        inputs = tuple(tensors[self.roots + self.gradients :])
        del tensors[:]
        found = torch.autograd.Variable._execution_engine.run_backward(
            roots,
            given,
            self.keeps_graph,
            self.creates_graph,
            inputs,
            allow_unreachable=True,
            accumulate_grad=False,
        )
        return [_laid_out(*each) for each in zip(found, self.layouts, strict=True)]


def _laid_out(gradient: torch.Tensor, layout: tuple[bool, tuple[int, ...]]) -> torch.Tensor:
    """With the strides that the code behind was captured for, should a kernel choose others."""
    is_fixed, numbers = layout
    strides = numbers if is_fixed else _dense_strides(gradient.shape, numbers)
    if gradient.stride() == strides:
        return gradient
    memory = torch.empty_strided(gradient.shape, strides, dtype=gradient.dtype, device=gradient.device)
    return memory.copy_(gradient)


def _dense_strides(sizes: torch.Size, order: tuple[int, ...]) -> tuple[int, ...]:
    strides = [0] * len(sizes)
    stride = 1
    for dimension in reversed(order):
        strides[dimension] = stride
        stride *= sizes[dimension]
    return tuple(strides)


def refuse_tracing(tensors: tuple[torch.Tensor, ...]) -> None:
    """Compilers trace a graph with tensors that have no history of the run's, and write no gradients."""
    plain = all(type(each) in (torch.Tensor, torch.nn.Parameter) for each in tensors)
    is_traced = (
        torch._C._len_torch_dispatch_stack() > 0
        or torch._C._get_tracing_state() is not None
        or torch._C._functorch.peek_interpreter_stack() is not None
    )
    if is_traced or not plain:
        raise NotImplementedError("backward() inside of a graph is run, not compiled")
