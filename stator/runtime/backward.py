"""backward() as a node of a graph, run by torch's engine; see torch/replacements/backward.h."""

import torch


class Backward:
    """One call of backward. Its tensors are roots, then the gradients given for them, then leaves."""

    def __init__(self, roots: int, gradients: int, keeps_graph: bool) -> None:
        self.roots = roots
        self.gradients = gradients
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
