"""What `meta["val"]` of a torch.fx node holds: a fake tensor with the layout that the capture found."""

from collections.abc import Callable, Mapping
from typing import Any

import torch


class FakeValues:
    """The fake tensors of one graph by value number, made on demand; views share their base's storage."""

    def __init__(self, describe: Callable[[int], Mapping[str, Any] | None]) -> None:
        self._describe = describe
        self._mode: Any = None
        self._made: dict[int, torch.Tensor | None] = {}
        self._storages: dict[int, torch.UntypedStorage] = {}

    def __getitem__(self, value: int) -> torch.Tensor | None:
        if value not in self._made:
            self._made[value] = self._make(value)
        return self._made[value]

    def _make(self, value: int) -> torch.Tensor | None:
        spec = self._describe(value)
        if spec is None:
            return None
        if spec["same"] is not None:
            base = self[spec["same"]]
            known = self._describe(spec["same"])
            # An in-place operator may change what the tensor looks like; then it is another fake.
            if known is not None and all(known[k] == spec[k] for k in spec if k != "same"):
                return base
        # Imported here: it costs seconds the first time, since it brings torch._dynamo's settings along.
        from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

        if self._mode is None:
            self._mode = FakeTensorMode()
        with torch._C._DisableTorchDispatch(), torch.no_grad():
            element = self._element(spec)
        element.requires_grad_(spec["requires_grad"])
        fake: torch.Tensor = FakeTensor(self._mode, element, spec["device"])
        return fake

    def _element(self, spec: Mapping[str, Any]) -> torch.Tensor:
        """A tensor without memory of the layout described."""
        size, stride, offset = spec["size"], spec["stride"], spec["offset"]
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
