"""STATOR_REPRO=after_capture: a graph that a backend failed on, as one file that runs by itself."""

import base64
import io
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

_numbers = itertools.count()

_FILE = """\
# A graph that the backend {backend} failed on, written by Stator {version} (torch {torch}).
# Run it: python {file}
#
# {error}
import base64, io
{imports}
import stator
import torch
from torch import device, inf, nan


def stored(text):
    return torch.load(io.BytesIO(base64.b64decode(text)), weights_only=False)


def tensor(size, stride, dtype, device, requires_grad):
    made = torch.empty_strided(size, stride, dtype=dtype, device=device)
    with torch.no_grad():
        made.normal_() if dtype.is_floating_point or dtype.is_complex else made.zero_()
    return made.requires_grad_(requires_grad)


def graph_module():
    attributes = {{
{attributes}
    }}
    graph = torch.fx.Graph()
{nodes}
    return torch.fx.GraphModule(attributes, graph)


# Sizes and strides as in the captured call, values at random.
inputs = [
{inputs}
]

if __name__ == "__main__":
    {backend_source}
    compiled = backend(graph_module(), inputs)
    print(compiled(*inputs))
"""


def is_wanted() -> bool:
    """Whether the environment asks for files, by our name or by torch's."""
    ours, theirs = os.environ.get("STATOR_REPRO"), os.environ.get("TORCHDYNAMO_REPRO_AFTER")
    return ours == "after_capture" or theirs == "dynamo"


def write(backend: Callable[..., Any], name: str, module: Any, error: BaseException) -> Path:
    """The file, in the current directory."""
    import stator
    import torch

    path = Path(f"stator_repro_{os.getpid()}_{next(_numbers)}.py").absolute()
    modules: set[str] = set()
    nodes = [_node_text(node, modules) for node in module.graph.nodes]
    text = _FILE.format(
        backend=repr(name),
        version=stator.__version__,
        torch=torch.__version__,
        file=path.name,
        error=f"{type(error).__name__}: {error}".replace("\n", "\n# "),
        imports="\n".join(f"import {each}" for each in sorted(modules)),
        attributes="\n".join(
            f"        {target!r}: stored({_stored(getattr(module, target))!r})," for target in _read(module)
        ),
        nodes="\n".join(f"    {each}" for each in nodes),
        inputs="\n".join(f"    {each}," for each in _inputs(module)),
        backend_source=_backend_source(backend, name),
    )
    path.write_text(text)
    return path


def _read(module: Any) -> list[str]:
    """The attributes that the graph reads: constants, and graphs of functions that operators are given."""
    targets = (str(node.target) for node in module.graph.nodes if node.op == "get_attr")
    return list(dict.fromkeys(targets))


def _stored(value: Any) -> str:
    import torch

    buffer = io.BytesIO()
    torch.save(value, buffer)
    return base64.b64encode(buffer.getvalue()).decode()


class _Name:
    """Stands for a node where arguments are printed."""

    def __init__(self, node: Any) -> None:
        self._node = node

    def __repr__(self) -> str:
        return str(self._node.name)


def _node_text(node: Any, modules: set[str]) -> str:
    """A line that makes the node again; `modules` gets what it needs imported."""
    from torch.fx.node import map_arg

    named: Any = _Name
    args, kwargs = map_arg(node.args, named), map_arg(node.kwargs, named)
    if node.op == "output":
        return f"graph.output({args[0]!r})"
    if node.op == "placeholder":
        return f"{node.name} = graph.placeholder({node.target!r})"
    target = _function_text(node.target, modules) if node.op == "call_function" else repr(node.target)
    return f"{node.name} = graph.create_node({node.op!r}, {target}, {args!r}, {kwargs!r}, {node.name!r})"


def _function_text(function: Any, modules: set[str]) -> str:
    """An expression that gives the function."""
    import torch

    if isinstance(function, torch._ops.OpOverload):
        return f"torch.ops.{function}"
    if isinstance(function, torch._ops.HigherOrderOperator):
        return f"torch.ops.higher_order.{function.__name__}"
    module = getattr(function, "__module__", None)
    name = str(getattr(function, "__qualname__", None) or getattr(function, "__name__", ""))
    if not module or "<" in name:
        raise TypeError(f"{function!r} has no name that can be imported")
    modules.add(module)
    return f"{module}.{name}"


def _inputs(module: Any) -> Iterator[str]:
    for node in module.graph.nodes:
        if node.op != "placeholder":
            continue
        value = node.meta["val"]
        if not hasattr(value, "stride"):  # a size that is a symbol: the number that it had
            yield f"{_number(value)!r}"
            continue
        size, stride = ([_number(each) for each in part] for part in (value.size(), value.stride()))
        yield f"tensor({size}, {stride}, {value.dtype}, {str(value.device)!r}, {value.requires_grad})"


def _number(value: Any) -> Any:
    node = getattr(value, "node", None)
    return value if node is None else node.hint


def _backend_source(backend: Callable[..., Any], name: str) -> str:
    """A registered one by its name, another function by its module."""
    from stator.backends.registry import InvalidBackend, lookup_backend

    inner = getattr(backend, "backend", backend)  # with options around it
    try:
        if lookup_backend(name) is inner or name == "inductor":
            return f"backend = stator.lookup_backend({name!r})"
    except InvalidBackend:
        pass
    module, qualified = getattr(inner, "__module__", None), getattr(inner, "__qualname__", None)
    if module and qualified and "<" not in qualified:
        known = (
            module if module != "__main__" else Path(getattr(sys.modules[module], "__file__", "main")).stem
        )
        return f"from {known} import {qualified.split('.')[0]}; backend = {qualified}"
    return f"raise SystemExit('put the backend {name} here: it has no name that can be imported')"
