"""`torch.compile` as Stator offers it: torch's arguments, Stator's engine."""

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from stator import _capture
from stator.api.compile import compile as stator_compile
from stator.dropin.callers import is_program
from stator.dropin.replacements import Replacements


def replace(torch: ModuleType, replacements: Replacements, is_installed: Callable[[], bool]) -> None:
    """Put our `compile` in torch's place; `torch.compiler.compile` and `nn.Module.compile` call that."""
    original: Callable[..., Any] = torch.compile
    signature = inspect.signature(original)

    @functools.wraps(original)
    def compile(*args: Any, **kwargs: Any) -> Any:
        # Others may hold this function after uninstall(), or wrap it.
        if not is_installed() or not is_program(sys._getframe(1)):
            return original(*args, **kwargs)
        asked = signature.bind(*args, **kwargs).arguments
        if asked.get("shapes_spec") is not None:
            warnings.warn(
                "stator: torch.compile with shapes_spec uses TorchDynamo", RuntimeWarning, stacklevel=2
            )
            return original(*args, **kwargs)
        return compile_as_asked(**asked)

    _capture.substitute(compile, _within_captured_code)
    replacements.replace(torch, "compile", compile)


def _within_captured_code(model: Any = None, **settings: Any) -> Any:
    """`torch.compile` of captured code: what it compiles is captured where it is called."""
    return _unchanged if model is None else model


def _unchanged(model: Any) -> Any:
    return model


def compile_as_asked(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    **without_meaning: Any,  # name, shapes_spec=None; and isolate_recompiles: our captures are never shared
) -> Any:
    """What `torch.compile` does with these arguments."""
    if model is None:

        def decorator(model: Any) -> Any:
            if model is None:
                raise RuntimeError("Model can't be None")
            return compile_as_asked(
                model,
                fullgraph=fullgraph,
                dynamic=dynamic,
                backend=backend,
                mode=mode,
                options=options,
                disable=disable,
                recompile_limit=recompile_limit,
            )

        return decorator
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    compiler = sys.modules["torch.compiler"]
    if compiler.is_exporting():
        warnings.warn("torch.compile is ignored when called inside torch.export region", stacklevel=3)
        return model
    return stator_compile(
        model,
        fullgraph=fullgraph,
        dynamic=sizes_by_settings(dynamic),
        backend=default_backend() if backend is None else backend,
        mode=mode,
        options=options,
        disable=disable,
        recompile_limit=recompile_limit,
    )


def default_backend() -> Any:
    """The one that `torch.compiler.set_default_backend` has set; Inductor."""
    registry = sys.modules.get("torch._dynamo.backends.registry")
    ask = getattr(registry, "get_default_backend", None)
    return ask() if ask is not None else "inductor"


def sizes_by_settings(dynamic: bool | None) -> bool | None:
    """`dynamic`, or what the settings of TorchDynamo say where nothing was asked for."""
    config: Any = sys.modules.get("torch._dynamo.config")
    if dynamic is not None or config is None:
        return dynamic
    if not config.assume_static_by_default:
        return True
    return None if config.automatic_dynamic_shapes else False
