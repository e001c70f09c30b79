"""Graphs with the signature of the program that they were captured from."""

import inspect
from typing import Any

from torch.fx.graph import _PyTreeCodeGen, _PyTreeInfo
from torch.utils import _pytree as pytree

import torch
from stator.export.capture import Captured, NumberOutput
from stator.export.front import setting
from torch import fx


class Arguments:
    """The example arguments, as they are and flat."""

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any], parameters: inspect.Signature) -> None:
        self.args = args
        self.kwargs = kwargs
        self.flat, self.spec = pytree.tree_flatten((args, kwargs))
        check_kinds(self.flat, "inputs", "INVALID_INPUT")
        self.position = {id(value): i for i, value in reversed(list(enumerate(self.flat)))}
        self.names = [f"arg{i}" for i in range(len(self.flat))]
        """Of the leaves: the program's own, where each argument is one."""
        own = [*[*parameters.parameters][: len(args)], *kwargs]
        if len(own) == len(self.flat):
            self.names = own


def check_kinds(flat: list[Any], of: str, error: str) -> None:
    """What is no tensor, constant or container of them is refused, as torch.export does."""
    from torch._dynamo.eval_frame import check_user_input_output
    from torch._dynamo.exc import UserErrorType

    check_user_input_output(flat, getattr(UserErrorType, error))


def flat_graph(captured: Captured, arguments: Arguments, f: Any) -> fx.GraphModule:
    """The graph with one input for each tensor of the arguments; other tensors are attributes."""
    graph = fx.Graph()
    root = torch.nn.Module()
    holders = _Attributes(root, f)
    values: dict[fx.Node, fx.Node] = {}
    inputs: dict[int, fx.Node] = {}
    fakes = {
        id(real): node.meta["val"] for real, node in zip(captured.inputs, captured.placeholders, strict=True)
    }
    used = {id(real): node.name for real, node in zip(captured.inputs, captured.placeholders, strict=True)}
    for position, (value, own_name) in enumerate(zip(arguments.flat, arguments.names, strict=True)):
        if isinstance(value, torch.Tensor) and id(value) not in inputs:
            node = graph.create_node("placeholder", f"arg{position}", name=used.get(id(value), own_name))
            inputs[id(value)] = node
            node.meta["val"] = fakes[id(value)] if id(value) in fakes else _fake(captured, value)
            node.meta["real"] = value
    for node, value in zip(captured.placeholders, captured.inputs, strict=True):
        if isinstance(value, torch.Tensor) and id(value) in inputs:
            values[node] = inputs[id(value)]
            values[node].meta["tensor_dict"] = dict(vars(value))  # attributes that the program gave it
        elif isinstance(value, torch.Tensor):
            values[node] = graph.get_attr(holders.name_of(value, node))
            values[node].meta.update(node.meta.copy())
    _add_sizes(graph, captured, values)
    for node in captured.module.graph.nodes:
        if node.op == "get_attr":
            setattr(root, node.target, getattr(captured.module, node.target))
        if node.op not in ("placeholder", "output"):
            values[node] = graph.node_copy(node, lambda each: values[each])
            values[node].meta = dict(node.meta.copy())
    given = {
        id(stand): values[node] for stand, node in zip(captured.outputs, captured.output_nodes, strict=True)
    }
    leaves, _ = pytree.tree_flatten(captured.result)
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor) and id(leaf) not in given and id(leaf) not in inputs:
            given[id(leaf)] = graph.get_attr(holders.name_of(leaf, None))
    outputs = {id(leaf): given[id(leaf)] for leaf in leaves if id(leaf) in given}
    graph.output(tuple(outputs.values()))
    module = fx.GraphModule(root, graph)
    module.meta["outputs"] = list(outputs)
    module.meta["mode"] = captured.mode
    return module


def _fake(captured: Captured, tensor: torch.Tensor) -> Any:
    return captured.mode.from_tensor(tensor, static_shapes=True)


def _add_sizes(graph: fx.Graph, captured: Captured, values: dict[fx.Node, fx.Node]) -> None:
    """Symbols are no inputs: they are computed of the tensor that has the size, at the beginning."""
    for node in captured.placeholders:
        if node in values:
            continue
        if not node.users:
            values[node] = node
            continue
        symbol = node.meta["val"]
        place = next(
            (
                (values[other], dim)
                for other in captured.placeholders
                if isinstance(other.meta["val"], torch.Tensor) and other in values
                for dim, size in enumerate(_sizes(other))
                if type(size) is torch.SymInt and str(size) == str(symbol)
            ),
            None,
        )
        if place is None:
            raise RuntimeError(f"stator.export: {node.meta.get('source')} is a number that no tensor tells")
        values[node] = graph.call_function(torch.ops.aten.sym_size.int, place)
        values[node].meta["val"] = symbol


def _sizes(node: fx.Node) -> list[Any]:
    return list(node.meta["val"].shape)


class _Attributes:
    """Tensors that the module holds: parameters, buffers, and others that the program reads."""

    def __init__(self, root: torch.nn.Module, f: Any) -> None:
        self._root = root
        self._names: dict[int, str] = {}
        self._owned: dict[int, str] = {}
        if isinstance(f, torch.nn.Module):
            for name, tensor in (
                *f.named_parameters(remove_duplicate=False),
                *f.named_buffers(remove_duplicate=False),
            ):
                self._owned.setdefault(id(tensor), name)

    def name_of(self, tensor: torch.Tensor, node: fx.Node | None) -> str:
        if id(tensor) in self._names:
            return self._names[id(tensor)]
        is_known = isinstance(tensor, torch.nn.Parameter) or id(tensor) in self._owned
        source = str(node.meta.get("source", "")) if node is not None else ""
        if not is_known and "._buffers[" not in source and not setting("install_free_tensors_for_export"):
            from torch._dynamo.exc import UserError, UserErrorType

            raise UserError(
                UserErrorType.ANTI_PATTERN,
                "stator.export: the program reads a tensor that is neither an argument nor a parameter or "
                f"buffer: {source or 'a result'}. Register it as a buffer of a module, or pass it.",
            )
        name = self._owned.get(id(tensor)) or (node.name if node is not None else "constant")
        name = name.replace(".", "_")
        while hasattr(self._root, name):
            name = f"{name}_{len(self._names)}"
        if isinstance(tensor, torch.nn.Parameter):
            self._root.register_parameter(name, tensor)
        else:
            self._root.register_buffer(name, tensor)
        self._names[id(tensor)] = name
        return name


def traced_again(module: fx.GraphModule, decompositions: Any, pre_dispatch: bool) -> fx.GraphModule:
    """The operators of ATen that the graph comes down to."""
    from torch._dispatch.python import enable_python_dispatcher
    from torch._subclasses.fake_tensor import unset_fake_temporarily
    from torch.fx.experimental.proxy_tensor import make_fx

    def run(*args: Any) -> Any:
        with fx.traceback.preserve_node_meta():
            return fx.Interpreter(module).run(*args)

    mode = module.meta["mode"]
    mode.allow_non_fake_inputs = True  # parameters and buffers
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    with unset_fake_temporarily(), enable_python_dispatcher(), mode:
        traced = make_fx(
            run,
            decomposition_table=decompositions,
            tracing_mode="real",
            _allow_non_fake_inputs=True,
            pre_dispatch=pre_dispatch,
            _allow_fake_constant=False,
        )(*[node.meta["val"] for node in inputs])
    for node, before in zip([n for n in traced.graph.nodes if n.op == "placeholder"], inputs, strict=True):
        node.meta.setdefault("val", before.meta["val"])
        node.meta.update({name: before.meta[name] for name in ("real", "tensor_dict") if name in before.meta})
    for node in traced.graph.find_nodes(op="get_attr"):
        tensor = getattr(traced, node.target, None)
        if isinstance(tensor, torch.Tensor):
            node.meta["val"] = mode.from_tensor(tensor, static_shapes=True)
    traced.meta["outputs"] = module.meta["outputs"]
    return traced


def with_signature(
    module: fx.GraphModule, captured: Captured, arguments: Arguments, parameters: inspect.Signature
) -> fx.GraphModule:
    """The graph with an input for every leaf of the arguments, and the program's own result."""
    from torch._dynamo.eval_frame import argument_names

    leaves, out_spec = pytree.tree_flatten(captured.result)
    check_kinds(leaves, "outputs", "INVALID_OUTPUT")
    graph = fx.Graph()
    values: dict[fx.Node, fx.Node] = {}
    flat: list[fx.Node] = []
    by_tensor: dict[int, fx.Node] = {}
    names = {id(node.meta["real"]): node.name for node in module.graph.find_nodes(op="placeholder")}
    for position, value in enumerate(arguments.flat):
        name = names.pop(id(value), None)  # that of the graph, where it stands for this leaf
        node = graph.create_node("placeholder", f"arg{position}", name=name)
        flat.append(node)
        node.meta["val"] = value
        by_tensor.setdefault(id(value), node)
    for node in module.graph.nodes:
        if node.op == "placeholder":
            values[node] = by_tensor[id(node.meta["real"])]
            values[node].meta.update({k: v for k, v in node.meta.items() if k != "real"})
        elif node.op != "output":
            values[node] = graph.node_copy(node, lambda each: values[each])
    computed = next(iter(reversed(module.graph.nodes))).args[0]
    given = dict(zip(module.meta["outputs"], computed, strict=True))

    def result(leaf: Any) -> Any:
        if id(leaf) in given:
            node = given[id(leaf)]
            return values[node] if isinstance(node, fx.Node) else node
        if isinstance(leaf, torch.Tensor):
            return by_tensor[id(leaf)]
        return leaf

    graph.output([result(leaf) for leaf in leaves])
    final = fx.GraphModule(module, graph)
    final.graph._codegen = _PyTreeCodeGen(
        _PyTreeInfo(
            argument_names(parameters, list(arguments.args), arguments.kwargs), arguments.spec, out_spec
        )
    )
    final.recompile()
    final.meta.update({k: v for k, v in module.meta.items() if k not in ("outputs", "mode", "stator_fakes")})
    return final


__all__ = ["Arguments", "NumberOutput", "flat_graph", "traced_again", "with_signature"]
