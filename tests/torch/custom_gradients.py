"""tests/torch/custom_gradients.py: a function with a gradient of its own, and how it is called."""

from functools import partial
from typing import Any

from torch.autograd import Function

import stator
from torch import Tensor

BACKENDS = ["native", "eager"]
native: Any = partial(stator.compile, backend="native")


def apply(function: Any, *args: Any) -> Any:
    return function.apply(*args)


class Round(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad
