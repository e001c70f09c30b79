"""Stator: captures PyTorch programs as graphs, with a C++ interpreter of Python bytecode.

Importing this package does not import torch; the first use of what needs it does.
"""

from typing import TYPE_CHECKING, Any

from stator import support

support.require_this_python()
support.load_extension("_capture")

from stator._capture import CaptureError  # noqa: E402
from stator.api import function_like  # noqa: E402  (the checks above explain a failure better than this import)
from stator.api import notices as _notices  # noqa: E402, F401  (warns from now on)
from stator.api.cache import (  # noqa: E402
    CacheEntry,
    Guard,
    cache_entries,
    remove_from_cache,
    reset,
    reset_code,
    set_guard_error_hook,
    skip_code,
)
from stator.api.compile import compile  # noqa: E402
from stator.api.compiling import is_compiling, is_dynamo_compiling  # noqa: E402
from stator.api.contexts import (  # noqa: E402
    allow_in_graph,
    assume_constant_result,
    disable,
    innermost_fn,
    optimize,
    optimize_assert,
    run,
)
from stator.api.explain import ExplainOutput, explain  # noqa: E402
from stator.api.interpreter import (  # noqa: E402
    Statistics,
    interpret,
    interpret_everything,
    reset_statistics,
    statistics,
)
from stator.api.iterations import cudagraph_mark_step_begin  # noqa: E402
from stator.api.logs import set_logs, set_logs_by_environment  # noqa: E402
from stator.api.marks import mark_dynamic, mark_static, maybe_mark_dynamic  # noqa: E402
from stator.api.numpy_functions import wrap_numpy  # noqa: E402
from stator.api.stance import set_stance  # noqa: E402
from stator.backends import (  # noqa: E402
    BackendFailed,
    InvalidBackend,
    list_backends,
    lookup_backend,
    register_backend,
    register_debug_backend,
    register_experimental_backend,
)
from stator.config import config  # noqa: E402
from stator.dropin import install, is_installed, uninstall  # noqa: E402
from stator.export import ExportResult, export  # noqa: E402
from stator.runtime import tracebacks as _tracebacks  # noqa: E402
from stator.support import check_if_supported, is_supported  # noqa: E402

if TYPE_CHECKING:
    from stator.api.optimized_module import OptimizedModule

__version__ = "0.1.0"

function_like.complete_wrappers()
_tracebacks.replace()
set_logs_by_environment()


def __getattr__(name: str) -> Any:
    if name == "OptimizedModule":  # a subclass of torch's Module
        from stator.api.optimized_module import OptimizedModule

        return OptimizedModule
    raise AttributeError(f"module 'stator' has no attribute {name!r}")


__all__ = [
    "BackendFailed",
    "CacheEntry",
    "CaptureError",
    "ExplainOutput",
    "ExportResult",
    "Guard",
    "InvalidBackend",
    "OptimizedModule",
    "Statistics",
    "__version__",
    "allow_in_graph",
    "assume_constant_result",
    "cache_entries",
    "check_if_supported",
    "compile",
    "config",
    "cudagraph_mark_step_begin",
    "disable",
    "explain",
    "export",
    "innermost_fn",
    "install",
    "interpret",
    "interpret_everything",
    "is_compiling",
    "is_dynamo_compiling",
    "is_installed",
    "is_supported",
    "list_backends",
    "lookup_backend",
    "mark_dynamic",
    "mark_static",
    "maybe_mark_dynamic",
    "optimize",
    "optimize_assert",
    "register_backend",
    "register_debug_backend",
    "register_experimental_backend",
    "remove_from_cache",
    "reset",
    "reset_code",
    "reset_statistics",
    "run",
    "set_guard_error_hook",
    "set_logs",
    "set_stance",
    "skip_code",
    "statistics",
    "uninstall",
    "wrap_numpy",
]
