# stator/_torch.pyi: the types of the extension module built from src/bindings/torch.
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict, final

from torch import Tensor

class CaptureBreak(BaseException): ...

class _Counters(TypedDict):
    memo_hits: int
    rule_calls: int
    meta_calls: int
    composite_calls: int
    dispatched_meta_calls: int

@final
class Trace:
    @property
    def graph(self) -> str: ...
    @property
    def counters(self) -> _Counters: ...
    @property
    def node_count(self) -> int: ...
    def replay(self, inputs: Sequence[Tensor]) -> Any: ...

def clear_memo() -> None: ...
def shape_counters() -> _Counters: ...  # of all captures that have ended
def rules() -> list[str]: ...
def trace(
    function: Callable[..., Any], args: Sequence[Any] = ..., kwargs: Mapping[str, Any] = ...
) -> Trace: ...
