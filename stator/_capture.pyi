# stator/_capture.pyi: the types of the extension module built from src/bindings/capture.
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypedDict, TypeVar, final

_P = ParamSpec("_P")
_R = TypeVar("_R")
_F = TypeVar("_F", bound=Callable[..., Any])

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

class CaptureError(RuntimeError): ...

_Frame = tuple[str, int, str]  # file, line, function

class _Entry(TypedDict):
    guards: list[str]
    guard_places: list[_Frame]
    graph: str
    nodes: int
    words: int
    hits: int
    seconds: float
    graph_module: Any

class _Stop(TypedDict):
    code: str
    message: str
    hint: str
    detail: str
    stack: list[_Frame]

@final
class Marked(Generic[_P, _R]):
    __wrapped__: Callable[_P, _R]
    def __new__(cls, fn: Callable[_P, _R], mark: str) -> Marked[_P, _R]: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def __get__(self, instance: object, owner: type | None = None, /) -> Callable[..., Any]: ...

@final
class Compiled(Generic[_P, _R]):
    __wrapped__: Callable[_P, _R]
    backend: Any
    def __new__(
        cls,
        fn: Callable[_P, _R],
        fullgraph: bool = False,
        limit: int = -1,
        backend: Any = None,
        dynamic: bool | None = None,
        on_entry: Callable[[list[str]], object] | None = None,
        on_miss: Callable[[str], object] | None = None,
    ) -> Compiled[_P, _R]: ...
    @property
    def entries(self) -> list[_Entry]: ...
    @property
    def breaks(self) -> list[str]: ...
    @property
    def stops(self) -> list[_Stop]: ...
    @property
    def callees(self) -> list[dict[str, Any]]: ...
    @property
    def misses(self) -> list[str]: ...
    def skip(self) -> None: ...
    def enter_block(self) -> None: ...
    def leave_block(self) -> None: ...
    def reset(self) -> None: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def __get__(self, instance: object, owner: type | None = None, /) -> Callable[..., Any]: ...

def mark_function(fn: _F, mark: str) -> _F: ...
def set_stance(name: str) -> str: ...
def configure(
    *,
    recompile_limit: int = ...,
    disable: bool = ...,
    error_on_recompile: bool = ...,
    miss_hook: Callable[[Any, str], object] | None = ...,
    guard_error_hook: Callable[[Any, BaseException], object] | None = ...,
) -> None: ...
def interpret(fn: Callable[_P, _R], instructions: int = -1) -> Interpreted[_P, _R]: ...
def interpret_everything(on: bool) -> None: ...
def capture_everything(on: bool) -> None: ...
def capture_statistics() -> dict[str, int]: ...
def statistics() -> _Statistics: ...
def reset_statistics() -> None: ...
