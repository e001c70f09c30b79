# stator/_torch.pyi: the types of the extension module built from src/bindings/torch.
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, ModuleType
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
    def replay_functional(self, inputs: Sequence[Tensor], keeps: bool) -> tuple[bool, Any]: ...

def clear_memo() -> None: ...
def follow_arrays(
    numpy: ModuleType,
    layer: type,
    layer_dtype: type,
    dtypes: dict[type, Any],
    from_array: Callable[[Any], Tensor],
    to_array: Callable[[Tensor], Any],
    to_result: Callable[[Tensor], Any],
) -> None: ...
def never_tell(codes: set[CodeType]) -> None: ...
def fused_kernels(graph: str, language: str) -> list[Any]: ...
def fused_prelude(language: str) -> str: ...
def emulate_cuda_graphs(on: bool) -> None: ...
def tell_programs(setting: bool | str) -> None: ...
def shape_counters() -> _Counters: ...  # of all captures that have ended
def rules() -> list[str]: ...
def trace(
    function: Callable[..., Any], args: Sequence[Any] = ..., kwargs: Mapping[str, Any] = ...
) -> Trace: ...
def stablehlo(graph: str, precision: tuple[str, str], checked: bool) -> tuple[str, bool]: ...
def stablehlo_refusals(graph: str) -> list[tuple[int, str]]: ...
def stablehlo_rules() -> list[str]: ...
def xla_precision(device: str) -> tuple[str, str]: ...  # of products, of convolutions

@final
class XlaExecutable:
    def __init__(
        self,
        graph: str,
        loaded: Any,  # stator.backends.openxla.runtime.Loaded
        device: str,
        tells_if_valid: bool,
    ) -> None: ...
    def __call__(self, *inputs: Tensor) -> list[Tensor] | None: ...  # None: eager code would have raised

@final
class XlaWholeGraph:
    def __init__(
        self,
        compile: Callable[[tuple[str, str]], XlaExecutable],
        device: str,
        arguments: Sequence[int],
        constants: Sequence[Tensor],
        results: Sequence[tuple[str, Any]],
        by_torch: Callable[..., list[Tensor]],
    ) -> None: ...
    def __call__(self, inputs: list[Any]) -> list[Any]: ...
