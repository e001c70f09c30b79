"""backward() as a node of a graph, run by torch's engine; see torch/replacements/backward.h."""

from collections.abc import Callable

import torch


class Backward:
    """One call of backward. Its tensors are roots, then the gradients given for them, then leaves."""

    def __init__(self, roots: int, gradients: int, leaves: int, keeps_graph: bool) -> None:
        self.roots = roots
        self.gradients = gradients
        self.result_count = leaves
        self.keeps_graph = keeps_graph

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
