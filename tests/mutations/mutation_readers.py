"""Readers of generated programs: what a function may do with a value `d`, leaving its answer in `r`.

Three sources: opcodes (templates of expressions and statements), C functions (found by looking into modules
and types, called directly or handed to other C code), and torch's constructors, predicates and settings.
A reader does not say which values fit: the case generator tries.
"""

from __future__ import annotations

import builtins
import collections
import functools
import random
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import mutation_data
import torch


@dataclass(frozen=True)
class Reader:
    name: str
    family: str
    template: str  # statements; «D» stands for the value, «X» for a tensor of shape (2, 3)
    kinds: tuple[str, ...] = ()  # of data that are likely to fit

    def lines(self, value: str, rng: random.Random) -> list[str]:
        text = self.template if self.family != "callable" else _call(self.template, rng)
        return [line.replace("«D»", value).replace("«X»", "x") for line in text.splitlines()]


def _expressions(*texts: str) -> tuple[str, ...]:
    return tuple(text if _is_statement(text) else f"r = {text}" for text in texts)


def _is_statement(text: str) -> bool:
    return "\n" in text or text.startswith(("r = ", "for ", "with ", "a, ", "del "))


BINARY = ("+", "-", "*", "@", "/", "//", "%", "**", "<<", ">>", "&", "|", "^")
COMPARE = ("==", "!=", "<", "<=", ">", ">=")
OPERANDS = (
    "2",
    "2.0",
    "'a'",
    "[1, 2]",
    "(1,)",
    "{1, 2}",
    "{'a': 1}",
    "«D»",
    "«X»",
    "b'a'",
    "[[1, 2], [3, 4]]",
)

OPCODES: tuple[str, ...] = _expressions(
    "-«D»", "+«D»", "~«D»", "not «D»", "«D» if «D» else 1", "«D» and 1", "«D» or 1", "bool(«D») == True",
    *(f"«D» {op} {other}" for op in BINARY for other in OPERANDS),
    *(f"{other} {op} «D»" for op in BINARY for other in OPERANDS[:6]),
    *(f"a = «D»\na {op}= {other}\nr = a" for op in BINARY for other in OPERANDS[:9]),
    *(f"«D» {op} {other}" for op in COMPARE for other in OPERANDS),
    *(f"{item} in «D»" for item in ("1", "'a'", "2.5", "None", "[1, 2]", "(1, 2)", "True", "Item(1)", "-0.0")),
    *(f"{item} not in «D»" for item in ("1", "'a'")),
    *(f"«D» in {place}" for place in ("[1, 2.5, 'ab']", "(1, 'ab')", "{'ab': 1, 1: 2}", "{1, 'ab'}", "'abab'")),
    *(f"«D»[{key}]" for key in ("0", "1", "-1", "'a'", "'v'", "1:", ":2", "::-1", "::2", "0][0", "'a'][0", "0][1", "...")),
    *(f"«X»[{key}]" for key in ("«D»", ":, «D»", "«D», 0", "..., «D»", "«D»[0]", "0, «D»", "None, «D»")),
    *(f"r = «X».clone()\nr[{key}] = {value}" for key, value in (
        ("«D»", "1"), (":, «D»", "1"), ("0", "«D»"), (":", "«D»"), ("0, :", "«D»"), ("«D»", "«X»[0]"), (":, 0", "«D»"))),
    *(f"r = [0, 1, 2, 3]\nr[{key}] = {value}" for key, value in (("0", "«D»"), ("1:2", "«D»"), ("«D»", "5"), ("::2", "«D»"))),
    *(f"r = {{'a': 0}}\nr[{key}] = {value}" for key, value in (("'a'", "«D»"), ("«D»", "1"))),
    "r = [0, 1, 2]\ndel r[«D»]", "r = {1: 2, 'ab': 3}\ndel r[«D»]",
    "a, b = «D»\nr = [b, a]", "a, b, c = «D»\nr = [c, a]", "a, *b = «D»\nr = [b, a]", "*a, b = «D»\nr = [b, a]",
    "(a, b), c = «D», 1\nr = [a, b]", "[(a, b), *c] = «D»\nr = [a, b, c]",
    "(lambda *a, **k: [len(a), a, k])(*«D»)", "(lambda *a, **k: [len(a), a, k])(**«D»)", "max(*«D»)", "dict(**«D»)",
    "(lambda a=0, v=0, b=0, *, w=1: [a, b, v])(**«D»)", "print(*«D», end='', file=None) if False else [*«D», 1]",
    "[1, *«D»]", "(1, *«D»)", "{1, *«D»}", "{**«D», 'z': 1}", "{'z': 1, **«D»}", "[«D», «D»]", "{'k': «D»}", "{«D»: 1}",
    "{«D»}", "(«D»,)", "{1: «D», 2: «D»}",
    "f'{«D»}'", "f'{«D»!r}'", "f'{«D»!s:>12}'", "f'{«D»:>8}'", "f'{«D»:.3}'", "f'{«D»:{3}}'", "f'{1:{«D»}}'", "f'{«D»!a}'",
    "f'{«D»:,}'", "f'{«D»=}'", "'%s' % («D»,)", "'%r %d' % («D», 1)", "'%(a)s' % «D»", "'%d' % «D»", "'{0} {0!r}'.format(«D»)",
    "'{0[0]}'.format(«D»)", "'{0.v}'.format(«D»)", "'{a}'.format(**«D»)", "'{a}'.format_map(«D»)", "'{:{}}'.format('q', «D»)",
    "r = []\nfor i in «D»:\n    r.append(i)", "r = []\nfor i in «D»:\n    for j in i:\n        r.append(j)",
    "r = 0\nfor i, j in «D»:\n    r = [r, j]", "r = 0\nfor i in «D»:\n    if i:\n        r += 1\n    else:\n        break\nelse:\n    r = -1",
    "r = []\nfor k, v in «D».items():\n    r += [k, v]", "r = []\nfor k in «D».values():\n    r.append(k)",
    "[i for i in «D»]", "[j for i in «D» for j in i]", "{i for i in «D»}", "{i: 1 for i in «D»}", "[i for i in «D» if i]",
    "list(i for i in «D»)", "sum(1 for i in «D» if i)", "[i.v for i in «D»]", "[i.kind for i in «D»]", "[len(i) for i in «D»]",
    "{k: v for k, v in «D».items()}", "[k for k in «D»]", "[i[0] for i in «D»]", "[i is «D» for i in «D»]",
    "r = 0\nwith «D» as a:\n    r = a", "with contextlib.suppress(KeyError):\n    r = «D»['nothing']\nr = 5",
    "r = 0\nwith contextlib.nullcontext(«D») as a:\n    r = a",
    "match «D»:\n    case [a, b]: r = [b, a]\n    case [a, *b]: r = b\n    case {'a': a}: r = a\n    case None: r = 'none'\n"
    "    case 1 | 2: r = 'few'\n    case str(): r = 'str'\n    case _: r = 'other'",
    "match «D»:\n    case {'a': [a, *_], **rest}: r = [a, rest]\n    case {1: a}: r = a\n    case [[a, *_], *_]: r = a\n    case _: r = 0",
    "match «D»:\n    case Item(v=a): r = a\n    case Record(a, n): r = [n, a]\n    case Pair(a, b): r = [b, a]\n"
    "    case types.SimpleNamespace(v=a): r = a\n    case int(a): r = a\n    case float(): r = 'float'\n    case _: r = 0",
    "match «D»:\n    case a if a: r = 'true'\n    case _: r = 'false'",
    *(f"«D».{name}" for name in (
        "v", "a", "kind", "rate", "table", "n", "first", "real", "__class__", "__dict__", "__name__", "__qualname__",
        "__doc__", "__module__", "__defaults__", "__kwdefaults__", "__code__.co_name", "__self__", "__func__", "args",
        "keywords", "func", "maps", "data", "default_factory", "maxlen", "start", "stop", "string", "pattern", "name",
        "value", "__mro__", "__bases__", "seen", "anything", "numerator", "itemsize", "__self__.v", "v.v", "v[0]")),
    *(f"«D».{call}" for call in (
        "get()", "read()", "made()", "plain()", "v.get()", "twice()", "()", "(1)", "most_common()", "new_child()")),
    "type(«D»)", "type(«D»).__name__", "type(«D»).__qualname__", "«D».__class__.__name__", "type(«D»).kind",
    "type(«D»).__mro__", "[c.__name__ for c in type(«D»).__mro__]", "repr(type(«D»))",
    "«D» is None", "«D» is «D»", "«D» is not None", "«D» is D2", "[«D»] == [D2]", "«D» == D2", "«D» != D2", "D2 in [«D»]",
    "[i for i in [1, 2.5, 'ab'] if i == «D»]", "(«D», 1) == (D2, 1)", "{'a': «D»} == {'a': D2}", "[[«D»]] == [[D2]]",
    "(«D»,) < (D2,)", "[«D»] < [D2]", "[«D»].index(D2)", "[«D», D2].count(D2)", "(D2, «D»).count(«D»)",
    "D2 in collections.deque([«D»])", "max(«D», D2)", "sorted([«D», D2])", "min([D2, «D»])", "{«D»: 1}.get(D2)",
    "try:\n    r = «D»['nothing']\nexcept KeyError as e:\n    r = e.args\nexcept (TypeError, IndexError, AttributeError) as e:\n    r = type(e).__name__",
    "try:\n    raise ValueError(«D»)\nexcept ValueError as e:\n    r = e.args",
    "try:\n    r = «D».nothing\nexcept AttributeError as e:\n    r = 'absent'",
    "assert «D»\nr = 1", "r = 1\nwhile «D» and r < 4:\n    r += 1",
    "class Local(«D»):\n    pass\nr = [c.__name__ for c in Local.__mro__]", "class Local:\n    held = «D»\nr = Local.held",
    "def local(a=«D»):\n    return a\nr = local()", "r = (lambda: «D»)()", "def local():\n    yield from «D»\nr = list(local())",
    "r = [*map(lambda i: i, «D»)]", "global WRITTEN\nWRITTEN = «D»\nr = WRITTEN", "OUT['k'] = «D»\nr = len(OUT)",
    "OUT['k'] = [«D»]\nr = 1", "OUT.update(k=«D»)\nr = 1", "LOG.append(«D»)\nr = 1", "LOG[:] = «D»\nr = 1", "LOG += [«D»]\nr = 1" if False else "LOG.extend(«D»)\nr = 1",
    "BOX.held = «D»\nr = 1", "BOX.held = [i for i in «D»]\nr = 1", "list(map(LOG.append, [«X» + 1]))\nr = 1",
    "LOG[:] = []\nlist(map(LOG.append, «D»))\nr = len(LOG)", "LOG[:] = [«X» + 1, «D»]\nr = 1",
    "collections.deque(map(LOG.append, «D»), maxlen=0)\nr = 1", "LOG[:] = [0]\noperator.setitem(LOG, 0, «D»)\nr = 1",
    "LOG[:] = [1]\nr = operator.iadd(LOG, [«D»])", "LOG[:] = [1]\nr = operator.iconcat(LOG, [«X»])", "LOG[:] = [1, 2]\noperator.delitem(LOG, 0)\nr = «D»",
    "LOG[:] = [2, 1]\nheapq.heapify(LOG)\nr = LOG[0]", "LOG[:] = [3, 1, 2]\nLOG.sort(key=lambda i: «D»)\nr = LOG",
    "OUT['k'] = 1\nr = reversed(list(map(OUT.get, ['k'])))", "LOG[:] = [1, 2, 3]\nr = list(iter(LOG.pop, 1))",
    "LOG[:] = [1, 2]\nr = list(filter(LOG.remove, [1]))", "LOG[:] = [1, 2]\nr = sorted([2, 1], key=LOG.index)",
    "LOG[:] = []\nr = functools.reduce(operator.iadd, [[«D»]], LOG)",
)  # fmt: skip

TORCH: tuple[str, ...] = _expressions(
    *(f"torch.{name}(«D»)" for name in (
        "tensor", "as_tensor", "asarray", "stack", "cat", "zeros", "ones", "empty_like", "zeros_like", "hstack", "vstack",
        "is_floating_point", "is_complex", "is_tensor", "numel", "is_nonzero", "arange", "is_conj", "is_neg", "block_diag",
        "scalar_tensor", "Size", "is_inference", "atleast_1d", "broadcast_tensors", "meshgrid", "typename", "is_storage",
        "finfo", "iinfo", "promote_types", "nn.utils.parameters_to_vector", "cartesian_prod", "eye", "randperm", "from_numpy",
        "utils._pytree.tree_flatten", "utils._pytree.tree_leaves", "nn.ParameterList", "Tensor.size", "overrides.is_tensor_like",
    )),
    *(f"torch.{call}" for call in (
        "tensor([«D», «D»])", "tensor([[«D»]])", "as_tensor([«D»])", "full(«D», 1.)", "full((2,), «D»)", "full_like(«X», «D»)",
        "result_type(«D», «X»)", "result_type(«D», 1)", "result_type(«X», «D»)", "can_cast(«D», torch.float32)", "zeros(2, dtype=«D»)",
        "zeros(«D», 2)", "arange(0, «D»)", "linspace(0, 1, «D»)", "tensor(«D», dtype=torch.float64)", "stack([*«D»])",
        "cat([«X», «D»])", "stack([«D», «D»])", "where(«X» > 1, «X», «D»)", "broadcast_shapes(«D», (1,))", "einsum('ij,ij->i', «D», «D»)",
        "add(«X», «D»)", "mul(«X», «D»)", "index_select(«X», 1, «D»)", "take(«X», «D»)", "split(«X», «D»)", "split(«X», «D», dim=1)",
        "sum(«X», «D»)", "permute(«X», «D»)", "reshape(«X», «D»)", "roll(«X», «D»)", "flip(«X», «D»)", "clamp(«X», «D»)",
        "equal(«D», «D»)", "is_same_size(«D», «X»)", "nn.functional.pad(«X», «D»)", "nn.functional.linear(«X», «D»)",
        "tensordot(«X», «X», dims=«D»)", "movedim(«X», 0, «D»)", "squeeze(«X», «D»)", "sparse_coo_tensor([[0]], [1.], «D»)",
        "bincount(«D»)", "tile(«X», «D»)", "mean(«X», dim=«D»)", "amax(«X», dim=«D»)", "tensor(«D»).sum()", "normal(0., 1., «D»).shape",
        "empty(«D»).shape", "rand(«D»).shape", "randn(2, dtype=«D»).dtype", "get_device(«D»)", "Tensor(«D»)", "nn.Parameter(«D»)",
        "utils._pytree.tree_map(lambda t: t, «D»)", "_foreach_add(«D», 1.)", "chunk(«X», «D»)", "diff(«X», «D»)", "concat(«D»)",
    )),
    *(f"«X».{call}" for call in (
        "new_tensor(«D»)", "new_full((2,), «D»)", "new_zeros(«D»)", "new_ones(«D»)", "new_empty(«D»).shape", "view(«D»)", "reshape(«D»)",
        "permute(«D»)", "expand(«D»)", "repeat(«D»)", "to(«D»)", "type(«D»)", "sum(«D»)", "select(1, «D»)", "narrow(1, 0, «D»)",
        "index_fill(1, torch.tensor([0]), «D»)", "masked_fill(«X» > 1, «D»)", "clone().fill_(«D»)", "clone().add_(«D»)", "type_as(«D»)",
        "expand_as(«D»)", "flatten(«D»)", "unflatten(1, «D»)", "std(«D»)", "tile(«D»)", "size(«D»)", "stride(«D»)", "movedim(0, «D»)",
    )),
    *(f"«D».{name}" for name in (
        "shape", "dtype", "device", "requires_grad", "is_leaf", "grad", "grad_fn", "layout", "ndim", "itemsize", "nbytes", "T",
        "mT", "H", "real", "imag", "names", "data", "_base", "_version", "is_sparse", "is_cuda", "is_meta", "is_quantized",
        "is_nested", "output_nr", "retains_grad", "is_cpu", "is_mkldnn", "volatile", "is_vulkan", "_is_view()", "__class__",
        "storage_offset()", "is_inference()", "is_contiguous()", "stride()", "stride(0)", "size()", "size(0)", "dim()", "numel()",
        "nelement()", "element_size()", "is_floating_point()", "is_complex()", "is_signed()", "is_conj()", "is_neg()", "get_device()",
        "is_set_to(«D»)", "is_same_size(«X»)", "type()", "is_pinned()", "is_shared()", "is_coalesced()", "has_names()", "ndimension()",
        "is_contiguous(memory_format=torch.channels_last)", "untyped_storage().nbytes()", "data_ptr() == «D».data_ptr()", "item()",
        "tolist()", "numpy()", "sum()", "clone()", "detach()", "mul(2)", "view(-1)", "contiguous()", "to(torch.float64)", "t()",
        "flatten()", "add_(0)", "__len__()", "__bool__()", "__contains__(1)", "requires_grad_()", "dense_dim()", "new_ones(2)",
        "__dict__", "scale", "backward", "double()", "type(torch.float64)", "abs()", "unbind()", "__array__()", "tolist()[0]",
    )),
    "len(«D»)", "«D» @ «D»", "«X» @ «D»", "«X» * «D»", "«X» + [*«D»][0]", "«X» * «D»['a']", "«X» * «D»[0]", "«X» * «D».v",
    "sum(«D»)", "«D».shape[0] * «X»", "«X» if «D».requires_grad else 1", "«X».double() if «D».dtype == torch.float32 else 1",
    "[t.shape for t in «D»]", "[t.requires_grad for t in «D»]", "[t * 2 for t in «D»]", "{k: v * 2 for k, v in «D».items()}",
    "r = [a.dtype for a in «D»]", "torch.tensor([t for t in «D»])", "torch.tensor(list(map(float, «D»)))", "torch.tensor([*«D».values()])",
    "torch.tensor(«D»['a'])", "torch.tensor([i.v for i in «D»])", "torch.tensor(«D».v)", "torch.zeros(len(«D»))",
    "torch.tensor(np.asarray(«D»))", "torch.from_numpy(np.asarray(«D»))", "np.asarray(«D»)", "np.array(«D»).sum()", "np.sum(«D»)",
    "isinstance(«D», torch.Tensor)", "isinstance(«D», torch.nn.Parameter)", "r = «X».clone()\nr += «D»", "r = «X».clone()\nr[0] += «D»",
    "«D» == «D»", "«X» < «D»", "bool((«D» == 1).all())", "float(«D»)", "int(«D»)", "complex(«D»)", "«D».index_put((torch.tensor([0]),), torch.tensor(1.))",
)  # fmt: skip

SETTINGS: tuple[str, ...] = _expressions(
    "sys.getrecursionlimit()", "torch.get_default_dtype()", "torch.tensor([1.5])", "torch.zeros(2).dtype", "torch.ones(2) * 1j",
    "torch.is_grad_enabled()", "torch.is_inference_mode_enabled()", "torch.is_autocast_enabled('cpu')", "torch.is_autocast_enabled()",
    "torch.get_autocast_dtype('cpu')", "torch.get_autocast_cpu_dtype()", "torch.get_autocast_dtype('cuda')", "torch.is_autocast_cpu_enabled()",
    "torch.is_autocast_cache_enabled()", "torch._C._is_fwd_grad_enabled()", "torch.are_deterministic_algorithms_enabled()",
    "torch.is_deterministic_algorithms_warn_only_enabled()", "torch.get_default_device()", "torch.get_num_threads()",
    "torch.is_anomaly_enabled()", "torch.get_float32_matmul_precision()", "torch.backends.mkldnn.enabled", "torch.backends.cudnn.benchmark",
    "torch.is_warn_always_enabled()", "torch.get_deterministic_debug_mode()", "«X» @ «X».t()", "torch.full((2,), 1.5)", "torch.arange(3.)",
    "torch.linspace(0, 1, 3)", "torch.scalar_tensor(1.5)", "torch.result_type(«X», 1.5)", "torch.as_tensor(2.5)", "«X».new_tensor(2.5)",
    "torch.tensor(1).to(torch.get_default_dtype())", "torch.empty(2).dtype", "(«X» * 2).requires_grad", "torch.eye(2)", "torch.tensor(1j)",
    "torch.sqrt(torch.tensor(2))", "torch.tensor(3) / 2", "torch.utils._python_dispatch._get_current_dispatch_mode()", "torch.nn.functional.linear(«X», «X»)",
    "torch.is_anomaly_check_nan_enabled()", "torch._C._get_deterministic_fill_uninitialized_memory()" if hasattr(torch._C, "_get_deterministic_fill_uninitialized_memory") else "1",
    "torch.autograd.forward_ad._current_level", "sys.getswitchinterval()", "sys.flags.optimize", "torch.get_num_interop_threads()", "sys.get_int_max_str_digits()",
    "torch.backends.cuda.matmul.allow_tf32", "torch.backends.opt_einsum.enabled", "torch._C._get_cudnn_enabled()", "str(torch.tensor(0.123456789))",
    "repr(torch.tensor([0.5]))", "torch.is_autocast_enabled('cuda')", "torch._C._autograd._saved_tensors_hooks_is_enabled()", "torch.has_lapack" if hasattr(torch, "has_lapack") else "2",
)  # fmt: skip

# -- C functions, found by introspection ------------------------------------------------------------------------------
SKIPPED = {
    "input", "breakpoint", "exit", "quit", "help", "open", "exec", "eval", "compile", "__import__", "print", "license",
    "credits", "copyright", "__build_class__", "globals", "locals", "id", "getrefcount", "namedtuple", "__init_subclass__",
    "__subclasshook__", "settrace", "setprofile", "__sizeof__", "getsizeof", "is_finalizing", "__del__", "_count_elements",
}  # fmt: skip
TYPES: tuple[type, ...] = (
    list, dict, set, frozenset, tuple, str, bytes, bytearray, int, float, complex, bool, range, slice, object, type, property,
    memoryview, collections.deque, collections.OrderedDict, collections.defaultdict, collections.Counter, collections.ChainMap,
    types.MappingProxyType, types.SimpleNamespace, functools.partial, BaseException, staticmethod, classmethod,
    types.FunctionType, types.MethodType, super, types.ModuleType,
)  # fmt: skip
FROM_MODULES = (
    "builtins", "operator", "itertools", "functools", "math", "cmath", "re", "heapq", "bisect", "collections", "copy", "struct",
    "json", "statistics", "textwrap", "dataclasses", "fractions", "types", "contextlib", "array",
)  # fmt: skip
SECOND = (
    "0", "1", "2", "'a'", "'v'", "None", "[1, 2]", "(1, 2)", "{'a': 1}", "{1, 2}", "«D»", "D2", "len", "int", "str", "list",
    "slice(0, 2)", "2.5", "'ab'", "[[1, 2]]", "«X»", "operator.neg", "(lambda *a: a)", "b'a'", "bool",
)  # fmt: skip
FIRST = (
    "None", "len", "bool", "(lambda *a: a)", "operator.itemgetter(0)", "operator.attrgetter('v')", "operator.methodcaller('get')",
    "str", "operator.add", "operator.getitem", "'a'", "2", "int", "[1, 2]", "{'a': 1, 1: 2}.get", "type", "repr", "operator.not_",
    "sum", "list", "'(a)'", "[3, 1, 2].index", "'{}'.format", "max", "any", "isinstance", "functools.partial(max, 1)", "hash",
)  # fmt: skip
FORMS = (
    "«C»(«A»)", "«C»(«A»)", "«C»(«A»)", "«C»(«A»)", "«C»(«A»)", "list(map(«C», [«D»]))", "list(map(«C», «D»))", "functools.partial(«C», «A»)()",
    "list(itertools.starmap(«C», [(«A»,)]))", "sorted([«D», «D»], key=«C»)", "list(filter(«C», [«D»]))", "list(filter(«C», «D»))",
    "[(k, list(g)) for k, g in itertools.groupby(«D», «C»)]", "min(«D», key=«C»)", "max([«D»], key=«C»)", "any(map(«C», «D»))",
    "functools.reduce(«C», «D»)", "type('P', (), {'p': property(«C»)})().p", "operator.call(«C», «A»)", "list(itertools.takewhile(«C», «D»))",
    "list(itertools.accumulate(«D», «C»))", "list(map(«C», «D», «D»))", "sorted(«D», key=«C»)", "functools.reduce(«C», [1, 2], «D»)",
    "list(itertools.filterfalse(«C», «D»))", "next(map(«C», «D»))", "list(itertools.islice(iter(functools.partial(«C», «A»), 1), 3))",
    "dict(zip('ab', map(«C», «D»)))", "{k: 1 for k in map(«C», «D»)}", "«C».__call__(«A»)", "(lambda c: c(«A»))(«C»)",
    "[*map(«C», itertools.repeat(«D», 2))]", "tuple(map(«C», [«D»], ['a']))", "functools.cache(«C»)(«A»)",
)  # fmt: skip
METHOD_FORMS = (
    "«D».«N»(«B»)", "«D».«N»(«B»)", "operator.methodcaller('«N»')(«D»)", "list(map(operator.methodcaller('«N»'), [«D»]))", "list(map(«D».«N», [1, 'a']))",
    "max([1, 0], key=«D».«N»)", "list(filter(«D».«N», [1, 0, 'a']))", "getattr(«D», '«N»')(«B»)", "list(itertools.islice(iter(«D».«N», 1), 3))",
    "functools.reduce(«D».«N», [0])", "list(map(operator.attrgetter('«N»'), [«D»]))", "functools.partial(«D».«N», «B»)()" , "sorted([0, 1], key=«D».«N»)",
)  # fmt: skip


def _call(name: str, rng: random.Random) -> str:
    """One call of a C function: a draw of its arguments and of who calls it."""
    if name.startswith("."):  # a method, called on the value
        text = rng.choice(METHOD_FORMS).replace("«N»", name[1:])
        return f"r = {_listed(text.replace('«B»', rng.choice(('', '', *SECOND))), name)}"
    argument = rng.choice(
        ("«D»", "«D»", "«D»", f"«D», {rng.choice(SECOND)}", f"{rng.choice(FIRST)}, «D»", f"«D», {rng.choice(SECOND)}, {rng.choice(SECOND)}",
         f"{rng.choice(FIRST)}, «D», {rng.choice(SECOND)}", "*«D»", f"«D», key={rng.choice(FIRST)}", f"«D», default={rng.choice(SECOND)}")
    )  # fmt: skip
    text = rng.choice(FORMS).replace("«C»", name).replace("«A»", argument)
    return f"r = {_listed(text, name)}"


def _listed(text: str, name: str) -> str:
    """Endless iterators end."""
    return f"list(itertools.islice({text}, 5))" if name in ENDLESS else text


ENDLESS = {"itertools.count", "itertools.cycle", "itertools.repeat"}


def callables() -> Iterator[str]:
    """C functions as text that names them: functions of modules, methods of types with and without the type."""
    for module_name in FROM_MODULES:
        module: Any = __import__(module_name)
        prefix = "" if module_name == "builtins" else f"{module_name}."
        for name, value in sorted(vars(module).items()):
            if name in SKIPPED or not callable(value) or (name.startswith("_") and prefix != ""):
                continue
            if isinstance(value, type) and issubclass(value, BaseException) and name != "ValueError":
                continue
            if name.startswith("_") or (prefix and module_name not in vars(mutation_data)):
                continue
            yield f"{prefix}{name}"
    yield from ("operator.itemgetter(0)", "operator.itemgetter('a')", "operator.attrgetter('v')", "operator.attrgetter('kind')",
                "operator.methodcaller('get')", "operator.methodcaller('copy')", "operator.itemgetter(0, 1)", "re.compile('a').match",
                "re.compile('(a)').findall", "re.compile('a').sub", "itertools.chain.from_iterable", "dict.fromkeys", "str.maketrans",
                "functools.partial(isinstance, Item(1))", "operator.attrgetter('v.v')", "functools.cmp_to_key(max)", "sys.intern",
                "collections.OrderedDict.fromkeys", "functools.partial(operator.getitem, [1, 2, 3])", "int.from_bytes")  # fmt: skip
    for owner in TYPES:
        path = _path(owner)
        for name, value in sorted(vars(owner).items()):
            if (
                name in SKIPPED
                or not callable(getattr(owner, name, None))
                or name in ("__new__", "__class__")
            ):
                continue
            if isinstance(value, type):
                continue
            yield f"{path}.{name}"
            if not name.startswith("__") or name in (
                "__getitem__",
                "__contains__",
                "__len__",
                "__eq__",
                "__iter__",
            ):
                yield f".{name}"


def _path(owner: type) -> str:
    """How a program names a type."""
    if getattr(builtins, owner.__name__, None) is owner:
        return owner.__name__
    return next(
        f"{module.__name__}.{name}"
        for module in (types, collections, functools)
        for name, value in vars(module).items()
        if value is owner
    )


KINDS: dict[str, tuple[str, ...]] = {
    "list": ("list", "items", "pairs", "square", "my list", "valueds", "object list"),
    "dict": ("dict", "int dict", "my dict", "counting", "tensor dict"),
    "set": ("set",),
    "frozenset": ("frozenset",),
    "tuple": ("tuple", "pair", "my tuple"),
    "str": ("str", "my str"),
    "bytes": ("bytes",),
    "bytearray": ("bytearray",),
    "int": ("int", "bool", "my int"),
    "bool": ("bool",),
    "float": ("float", "my float"),
    "complex": ("complex",),
    "range": ("range",),
    "slice": ("slice",),
    "type": ("class",),
    "memoryview": ("memory",),
    "collections.deque": ("deque",),
    "collections.OrderedDict": ("ordered",),
    "collections.defaultdict": ("defaultdict",),
    "collections.Counter": ("counter",),
    "collections.ChainMap": ("chainmap",),
    "types.MappingProxyType": ("proxy",),
    "types.SimpleNamespace": ("namespace",),
    "functools.partial": ("partial",),
    "types.FunctionType": ("function",),
    "types.MethodType": ("method",),
    "types.ModuleType": ("module",),
    "object": ("item", "valued", "record"),
    "math": ("int", "float", "my float"),
    "cmath": ("complex", "float"),
    "torch": ("tensor", "tensor", "tensors", "columns", "sizes", "square", "ndarray", "int", "tensor dict", "tensor items"),
}  # fmt: skip


def _kinds(family: str, name: str) -> tuple[str, ...]:
    if family == "torch":
        return KINDS["torch"] if not name.startswith("r = «D».") else ("tensor",)
    owner = name.rpartition(".")[0]
    if family == "callable" and not owner:  # a method by its name: of whichever types have it
        return tuple(k for cls in TYPES if name[1:] in vars(cls) for k in KINDS.get(_path(cls), ()))
    return KINDS.get(owner, ()) if family == "callable" else ()


@functools.cache
def readers() -> dict[str, tuple[Reader, ...]]:
    """All readers by family."""
    families = {
        "opcode": OPCODES,
        "torch": TORCH,
        "setting": SETTINGS,
        "callable": tuple(dict.fromkeys(callables())),
    }
    return {
        family: tuple(Reader(text, family, text, _kinds(family, text)) for text in texts)
        for family, texts in families.items()
    }


def drawn(rng: random.Random) -> Reader:
    family = rng.choices(("opcode", "torch", "setting", "callable"), weights=(35, 20, 3, 42))[0]
    return rng.choice(readers()[family])
