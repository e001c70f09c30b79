"""What `meta["val"]` of a torch.fx node holds: a fake tensor with the layout that the capture found."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from stator.runtime.nested_sizes import is_ragged


class _Computed(torch.autograd.Function):
    """Gives a tensor a history, whatever its layout is; nothing is computed, and no gradient arrives."""

    @staticmethod
    def forward(ctx: Any, _: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
        ctx.mark_dirty(tensor)
        return tensor

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise AssertionError("a fake tensor's history has no gradient")

    @classmethod
    def given_history(cls, tensor: torch.Tensor) -> torch.Tensor:
        with torch._C._DisableTorchDispatch(), torch.enable_grad():
            leaf = torch.empty(0, device="meta", requires_grad=True)
            computed: torch.Tensor = cls.apply(leaf, tensor)  # type: ignore[no-untyped-call]
        return computed


class FakeValues:
    """The fake tensors of one graph by value number, made on demand; views share their base's storage."""

    def __init__(self, describe: Callable[[int], Mapping[str, Any] | None], shape_env: Any = None) -> None:
        self._describe = describe
        self._shape_env = shape_env
        self._static: bool | None = None  # sizes of inputs are numbers, though ragged ones are symbols
        self._mode: Any = None
        self.finds_tensors = False
        """Whether a node calls a function of the program's, which may read tensors that it is not given."""
        self._made: dict[int, torch.Tensor | None] = {}
        self._numbers: dict[int, float | torch.SymFloat] = {}
        self._leaves: set[int] = set()
        self._storages: dict[int, torch.UntypedStorage] = {}
        self._wrappers: dict[int, Any] = {}

    def __getitem__(self, value: int) -> torch.Tensor | None:
        if value not in self._made:
            self._made[value] = self._make(value)
        return self._made[value]

    def add_number(self, value: int, number: float | torch.SymFloat) -> None:
        """The value is a tensor of no dimensions that holds a float."""
        self._numbers[value] = number

    def add_wrapper(self, value: int, example: Any) -> None:
        """The value is an input of a class that makes its instances of other tensors."""
        self._wrappers[value] = example
        if self._shape_env is None and is_ragged(example):
            from torch.fx.experimental.symbolic_shapes import ShapeEnv

            self._shape_env, self._static = ShapeEnv(), True

    def add_leaf(self, value: int) -> None:
        """The value is an input that no operator has computed, as far as autograd knows.

        AOT autograd keeps writes to such inputs from autograd: where others passed for leaves, gradients of
        what was written were lost.
        """
        self._leaves.add(value)

    def _make(self, value: int) -> torch.Tensor | None:
        if value in self._numbers:
            with self.mode:
                holder = torch.empty((), dtype=torch.float64)
            if isinstance(self._numbers[value], torch.SymFloat):
                holder.item_memo = self._numbers[value]  # type: ignore[attr-defined]
            return holder
        if value in self._wrappers:
            return self._fake_wrapper(self._wrappers[value])
        spec = self._describe(value)
        if spec is None:
            return None
        if spec["same"] is not None:
            base = self[spec["same"]]
            known = self._describe(spec["same"])
            # An in-place operator may change what the tensor looks like; then it is another fake.
            if known is not None and all(known[k] == spec[k] for k in spec if k != "same"):
                return base
        from torch._subclasses.fake_tensor import FakeTensor

        mode = self.mode
        with torch._C._DisableTorchDispatch(), torch.no_grad():
            element = self._element(spec)
        has_history = value not in self._leaves and not torch.is_inference_mode_enabled()
        is_computed = spec["requires_grad"] and has_history
        element.requires_grad_(spec["requires_grad"] and not is_computed)
        fake: torch.Tensor = FakeTensor(mode, element, spec["device"])
        fake.memory = spec["storage"]  # type: ignore[attr-defined]
        return _Computed.given_history(fake) if is_computed else fake

    def _fake_wrapper(self, example: Any) -> torch.Tensor:
        if not self._static:
            made: torch.Tensor = self.mode.from_tensor(example, static_shapes=True)
        else:
            context = _numbers_but_ragged(example)
            made = self.mode.from_tensor(example, static_shapes=False, symbolic_context=context)
        return made

    def make_ragged(self) -> None:
        """Make those of nested tensors: what compilers make of these for themselves has symbols for sizes.

        To make one of a view, torch makes some of what that was viewed with; so views are last.
        """
        if self._static:
            for value in sorted(self._wrappers, key=lambda value: self._wrappers[value]._is_view()):
                self[value]

    @property
    def mode(self) -> Any:
        """The mode to which the fakes belong."""
        if self._mode is None:
            # Imported here: it costs seconds the first time, since it brings torch._dynamo's settings along.
            from torch._subclasses.fake_tensor import FakeTensorMode

            self._mode = FakeTensorMode(
                shape_env=self._shape_env,
                static_shapes=self._static,
                allow_non_fake_inputs=self.finds_tensors,
            )
        return self._mode

    def _element(self, spec: Mapping[str, Any]) -> torch.Tensor:
        """A tensor without memory of the layout described."""
        size, stride, offset = spec["size"], spec["stride"], spec["offset"]
        if any(isinstance(n, torch.SymInt) for n in (*size, *stride, offset)):
            return self._symbolic_element(spec)
        last = sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else -1
        needed = (offset + last + 1) * spec["dtype"].itemsize
        storage = self._storages.get(spec["storage"])
        if storage is None:
            storage = torch.UntypedStorage(needed, device="meta")  # type: ignore[no-untyped-call]
            self._storages[spec["storage"]] = storage
        elif storage.nbytes() < needed:
            storage.resize_(needed)
        element = torch.empty(0, dtype=spec["dtype"], device="meta").set_(storage, offset, size, stride)
        if spec["conj"]:
            element = element.conj()
        return element._neg_view() if spec["neg"] else element

    def _symbolic_element(self, spec: Mapping[str, Any]) -> torch.Tensor:
        """The same with symbolic sizes, and memory of its own: see `overlapping` of backends/invoke.py."""
        size, stride, offset = spec["size"], spec["stride"], spec["offset"]
        element = torch.empty_strided(size, stride, dtype=spec["dtype"], device="meta")
        if not (isinstance(offset, int) and offset == 0):
            element = element.as_strided(size, stride, offset)
        if spec["conj"]:
            element = element.conj()
        return element._neg_view() if spec["neg"] else element


def _numbers_but_ragged(example: Any) -> Any:
    """How torch makes a fake of a tensor: only ragged sizes are symbols."""
    from torch._dynamo.source import ConstantSource
    from torch.fx.experimental.symbolic_shapes import (
        DimDynamic,
        StatelessSymbolicContext,
        SubclassSymbolicContext,
    )
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass

    with torch._C.DisableTorchFunctionSubclass():
        sizes = [DimDynamic.STATIC if type(size) is int else DimDynamic.DYNAMIC for size in example.size()]
    if not is_traceable_wrapper_subclass(example):
        return StatelessSymbolicContext(dynamic_sizes=sizes)
    parts = {name: _numbers_but_ragged(getattr(example, name)) for name in example.__tensor_flatten__()[0]}
    plain: Any = example
    base = plain._base if plain._is_view() else None
    return SubclassSymbolicContext(
        dynamic_sizes=sizes,
        constraint_sizes=[None] * len(sizes),
        view_base_context=_numbers_but_ragged(base) if base is not None else None,
        tensor_source=ConstantSource("stator_wrapper"),
        inner_contexts=parts,
    )


def memory_of(value: Any) -> int | None:
    """Names the memory of a tensor within its graph: views have their base's. None for all but such fakes."""
    memory = getattr(value, "memory", None) if isinstance(value, torch.Tensor) else None
    return memory if isinstance(memory, int) else None
