# stator/_capture.pyi: the types of the extension module built from src/bindings/capture.
from collections.abc import Callable
from types import CellType, CodeType
from typing import Any, Generic, ParamSpec, TypedDict, TypeVar, final

from typing_extensions import disjoint_base

_P = ParamSpec("_P")
_R = TypeVar("_R")
_F = TypeVar("_F", bound=Callable[..., Any])

class _Statistics(TypedDict):
    frames: int
    finished: int
    passed: int
    handed_over: int
    handover_reasons: dict[str, int]

# Stands for a function; stator/api/function_like.py adds what users ask of functions.
@disjoint_base
class Wrapper(Generic[_P, _R]):
    wrapped_function: Callable[_P, _R]
    __wrapped__: Any  # the same, unless it was assigned to
    __name__: str
    __qualname__: str
    __module__: str
    __doc__: str | None
    # The function's own.
    @property
    def __globals__(self) -> dict[str, Any]: ...
    @property
    def __closure__(self) -> tuple[CellType, ...] | None: ...
    @property
    def __builtins__(self) -> dict[str, Any]: ...
    __code__: CodeType
    __defaults__: tuple[Any, ...] | None
    __kwdefaults__: dict[str, Any] | None
    def __getattr__(self, name: str) -> Any: ...
    def __copy__(self) -> Any: ...
    def __deepcopy__(self, memo: dict[int, Any]) -> Any: ...
    def __reduce_ex__(self, protocol: Any) -> Any: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def __get__(self, instance: object, owner: type | None = None, /) -> Callable[..., Any]: ...

@final
class Interpreted(Wrapper[_P, _R]):
    instructions: int

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
    told_captured: bool | None
    node_stacks: list[list[_Frame]]
    begins: _Frame | None
    ends: _Frame | None

class _Stop(TypedDict):
    code: str
    message: str
    hint: str
    detail: str
    stack: list[_Frame]

class _Callee(TypedDict):
    name: str
    file: str | None
    line: int
    captures: int
    hits: int
    breaks: list[str]
    entries: list[_Entry]
    stops: list[_Stop]
    misses: list[str]
    left_to_python: bool

@final
class Marked(Wrapper[_P, _R]):
    mark: str
    def __new__(cls, fn: Callable[_P, _R], mark: str) -> Marked[_P, _R]: ...

_GuardRow = tuple[str, str, Any, bool, Any, Any]

@final
class Compiled(Wrapper[_P, _R]):
    backend: Any
    context: Any
    def __new__(
        cls,
        fn: Callable[_P, _R],
        fullgraph: bool = False,
        limit: int = -1,
        backend: Any = None,
        dynamic: bool | None = None,
        on_entry: Callable[[list[str]], object] | None = None,
        on_miss: Callable[[str], object] | None = None,
        context: Any = None,
        guard_filter: Callable[[list[_GuardRow]], list[bool]] | None = None,
    ) -> Compiled[_P, _R]: ...
    @property
    def entries(self) -> list[_Entry]: ...
    @property
    def breaks(self) -> list[str]: ...
    @property
    def stops(self) -> list[_Stop]: ...
    @property
    def callees(self) -> list[_Callee]: ...
    @property
    def misses(self) -> list[str]: ...
    def skip(self) -> None: ...
    def enter_block(self) -> None: ...
    def leave_block(self) -> None: ...
    def reset(self) -> None: ...

def own_code(code: CodeType, /) -> None: ...
def owners_of_line(line: int, /) -> list[tuple[int, type, str]]: ...
def mark_function(fn: _F, mark: str) -> _F: ...
def substitute(
    original: Callable[..., Any], fn: Callable[..., Any], type: type[Any] | None = None
) -> None: ...
def forget_substitute(original: Callable[..., Any]) -> None: ...
def call_later(function: Callable[..., Any], *arguments: Any) -> None: ...
def call_with_attributes(
    owner: object, attributes: dict[str, Any], function: Callable[..., _R], /, *arguments: Any
) -> _R: ...
def missed_arguments() -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]] | None: ...
def set_stance(name: str) -> str: ...
def set_process_stance(name: str) -> str: ...
def configure(
    *,
    recompile_limit: int = ...,
    disable: bool = ...,
    error_on_recompile: bool = ...,
    miss_hook: Callable[[Any, str], object] | None = ...,
    guard_error_hook: Callable[[Any, BaseException], object] | None = ...,
    error_hook: Callable[[str, str], BaseException] | None = ...,
    limit_hook: Callable[[Any, str], object] | None = ...,
    capture_hook: Callable[[Any, _Entry], object] | None = ...,
    break_hook: Callable[[Any, _Stop], object] | None = ...,
    nothing_hook: Callable[[Any, _Stop], object] | None = ...,
    backend_hook: Callable[[Any], Any] | None = ...,
    error_region: tuple[dict[str, Any], str] | None = ...,
) -> None: ...
def interpret(fn: Callable[_P, _R], instructions: int = -1) -> Interpreted[_P, _R]: ...
def interpret_everything(on: bool) -> None: ...
def capture_everything(on: bool) -> None: ...
def break_at_random(one_in: int, seed: int = 0, /) -> None: ...
def capture_statistics() -> dict[str, int]: ...
def statistics() -> _Statistics: ...
def reset_statistics() -> None: ...
def native_functions() -> dict[str, bool]: ...
