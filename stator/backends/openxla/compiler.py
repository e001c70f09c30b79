"""From a captured graph to a callable: AOT autograd makes it functional, program.py gives it to XLA."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch
from stator.backends import aot_settings
from stator.backends.openxla.decompositions import table
from stator.backends.openxla.noticed_calls import returning_unused
from stator.backends.openxla.program import compile_functional
from stator.backends.openxla.result_types import TypedResults
from stator.backends.openxla.shared_results import NotMadeAgain, returning_bases
from stator.backends.undefined_gradients import left_out

log = logging.getLogger("stator.openxla")


def compile_graph(gm: torch.fx.GraphModule, example_inputs: list[Any], **options: Any) -> Callable[..., Any]:
    """The compiled graph. Symbolic sizes are specialised: one program for each tuple of sizes that comes."""
    if options:
        raise TypeError(f"the openxla backends take no {' or '.join(sorted(options))}")
    without_unused = returning_unused(gm)
    try:
        shared = returning_bases(gm)
    except NotMadeAgain as reason:
        log.warning("a graph runs outside XLA: %s", reason)
        return without_unused(gm.forward) if without_unused else gm.forward
    concrete = all(map(_is_concrete, example_inputs))
    compiled = _compile(gm, example_inputs) if concrete else BySizes(gm)
    compiled = shared.around(compiled) if shared else compiled
    return without_unused(compiled) if without_unused else compiled


def _is_concrete(example: Any) -> bool:
    if isinstance(example, torch.Tensor):
        return all(type(size) is int for size in example.shape)
    return not isinstance(example, (torch.SymInt, torch.SymFloat, torch.SymBool))


def _compile(gm: torch.fx.GraphModule, inputs: list[Any]) -> Callable[..., Any]:
    from torch._functorch import config
    from torch._functorch.aot_autograd import aot_module_simplified
    from torch._functorch.partitioners import min_cut_rematerialization_partition
    from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException

    failures: list[Exception] = []

    def compile_program(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., list[Any]]:
        try:
            return compile_functional(gm, example_inputs)
        except Exception as error:
            failures.append(error)
            raise

    try:
        # Equal computations are two results in two places of memory; XLA merges the work by itself.
        with aot_settings.around(gm), config.patch(cse=False), left_out():
            compiled: Callable[..., Any] = aot_module_simplified(
                gm,
                inputs,
                fw_compiler=compile_program,
                bw_compiler=compile_program,
                inference_compiler=compile_program,
                partition_fn=min_cut_rematerialization_partition,
                decompositions=table(),
            )
    except (DataDependentOutputException, DynamicOutputShapeException) as error:
        # The capture could follow what AOT autograd cannot: sizes and branches that depend on values.
        log.warning("a graph runs outside XLA: the result of %s depends on values", error.func)
        return gm.forward
    except Exception as error:
        # It traces the backward of all that could have one: an operator without a derivative raises there,
        # in eager code only if its gradient is asked for. Its decompositions are stricter than kernels, too.
        if failures:
            raise
        log.warning("a graph runs outside XLA: AOT autograd does not trace it: %s", error)
        return gm.forward
    return TypedResults(gm, compiled)


class BySizes:
    """A graph with symbolic sizes: compiled for the sizes of each call, numbers in the symbols' places."""

    def __init__(self, gm: torch.fx.GraphModule) -> None:
        self.gm = gm
        self.compiled: dict[Any, Callable[..., Any]] = {}

    def __call__(self, *inputs: Any) -> Any:
        key = (*map(_kind, inputs), torch.is_grad_enabled())
        found = self.compiled.get(key)
        if found is None:
            found = self.compiled[key] = _compile(self.gm, list(inputs))
        return found(*inputs)


def _kind(value: Any) -> Any:
    """What a program is compiled for, of one input."""
    if isinstance(value, torch.Tensor):
        return tuple(value.shape), value.stride(), value.requires_grad
    return value
