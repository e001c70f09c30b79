# stator/_capture.pyi: the types of the extension module built from src/bindings/capture.
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypedDict, TypeVar, final

_P = ParamSpec("_P")
_R = TypeVar("_R")

class _Statistics(TypedDict):
    frames: int
    finished: int
    passed: int
    handed_over: int
    handover_reasons: dict[str, int]

@final
class Interpreted(Generic[_P, _R]):
    __wrapped__: Callable[_P, _R]
    __name__: str
    __qualname__: str
    __module__: str
    __doc__: str | None
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def __get__(self, instance: object, owner: type | None = None, /) -> Callable[..., Any]: ...

class _Entry(TypedDict):
    guards: list[str]
    graph: str
    nodes: int
    hits: int

@final
class Compiled(Generic[_P, _R]):
    __wrapped__: Callable[_P, _R]
    def __new__(cls, fn: Callable[_P, _R], fullgraph: bool = False, limit: int = 8) -> Compiled[_P, _R]: ...
    @property
    def entries(self) -> list[_Entry]: ...
    @property
    def breaks(self) -> list[str]: ...
    @property
    def misses(self) -> list[str]: ...
    def reset(self) -> None: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def __get__(self, instance: object, owner: type | None = None, /) -> Callable[..., Any]: ...

def interpret(fn: Callable[_P, _R], instructions: int = -1) -> Interpreted[_P, _R]: ...
def interpret_everything(on: bool) -> None: ...
def statistics() -> _Statistics: ...
def reset_statistics() -> None: ...
