"""Readers by torch: constructors, indexing, predicates, metadata, and settings of the process."""

from __future__ import annotations

import re
import types

from mutation_texts import paragraphs, texts

import torch

# What changes the process, waits, reads files or memory that nobody has written, or belongs to other devices
# and to quantized tensors.
NOT_CALLED = re.compile(
    r"_|set_|init_|autocast_|clear_|import_|parse_|fork|wait|load|save|merge_|cudnn|miopen|mkldnn|fbgemm|fused"
    r"|quantize|dequantize|q_|int_repr|.*cuda|.*_random|seed|manual_seed|initial_seed|from_file|vmap|share_memory"
    r"|.*empty|resize"
    r"|record_stream|storage|data_ptr|backward|register|get_file_path|cufft|nuclear|to_sparse|to_mkldnn|module_load"
)
KINDS = (
    "tensor", "tensor", "tensors", "columns", "sizes", "square", "ndarray", "int", "tensor dict",
    "tensor items",
)  # fmt: skip

# Of a value «D» and a tensor «X» of shape (2, 3).
EXPRESSIONS = texts("""
1 / «D».sum().item()  math.sqrt(«D».sum().item())  list(range(int(«D».sum().item())))  «D».sum().item() > 2
[«X» for _ in range(int(«D».sum().item()))]  «X» * «D».sum().item()  f'{«D».sum().item()}'
{1.0: 2}.get(«D».sum().item())
torch.tensor(«D»)  torch.as_tensor(«D»)  torch.asarray(«D»)  torch.stack(«D»)  torch.cat(«D»)
torch.zeros(«D»)  torch.ones(«D»)  torch.empty_like(«D»).dtype  torch.zeros_like(«D»)  torch.hstack(«D»)
torch.vstack(«D»)  torch.is_floating_point(«D»)  torch.is_complex(«D»)  torch.is_tensor(«D»)  torch.numel(«D»)
torch.is_nonzero(«D»)  torch.arange(«D»)  torch.is_conj(«D»)  torch.is_neg(«D»)  torch.block_diag(«D»)
torch.scalar_tensor(«D»)  torch.Size(«D»)  torch.is_inference(«D»)  torch.atleast_1d(«D»)
torch.broadcast_tensors(«D»)  torch.meshgrid(«D»)  torch.typename(«D»)  torch.is_storage(«D»)
torch.finfo(«D»)  torch.iinfo(«D»)  torch.promote_types(«D»)  torch.nn.utils.parameters_to_vector(«D»)
torch.cartesian_prod(«D»)  torch.eye(«D»)  torch.randperm(«D»)  torch.from_numpy(«D»)
torch.utils._pytree.tree_flatten(«D»)  torch.utils._pytree.tree_leaves(«D»)  torch.nn.ParameterList(«D»)
torch.Tensor.size(«D»)  torch.overrides.is_tensor_like(«D»)  torch.tensor([«D», «D»])  torch.tensor([[«D»]])
torch.as_tensor([«D»])  torch.full(«D», 1.)  torch.full((2,), «D»)  torch.full_like(«X», «D»)
torch.result_type(«D», «X»)  torch.result_type(«D», 1)  torch.result_type(«X», «D»)
torch.can_cast(«D», torch.float32)  torch.zeros(2, dtype=«D»)  torch.zeros(«D», 2)  torch.arange(0, «D»)
torch.linspace(0, 1, «D»)  torch.tensor(«D», dtype=torch.float64)  torch.stack([*«D»])  torch.cat([«X», «D»])
torch.stack([«D», «D»])  torch.where(«X» > 1, «X», «D»)  torch.broadcast_shapes(«D», (1,))
torch.einsum('ij,ij->i', «D», «D»)  torch.add(«X», «D»)  torch.mul(«X», «D»)  torch.index_select(«X», 1, «D»)
torch.take(«X», «D»)  torch.split(«X», «D»)  torch.split(«X», «D», dim=1)  torch.sum(«X», «D»)
torch.permute(«X», «D»)  torch.reshape(«X», «D»)  torch.roll(«X», «D»)  torch.flip(«X», «D»)
torch.clamp(«X», «D»)  torch.equal(«D», «D»)  torch.is_same_size(«D», «X»)  torch.nn.functional.pad(«X», «D»)
torch.nn.functional.linear(«X», «D»)  torch.tensordot(«X», «X», dims=«D»)  torch.movedim(«X», 0, «D»)
torch.squeeze(«X», «D»)  torch.sparse_coo_tensor([[0]], [1.], «D»)  torch.bincount(«D»)  torch.tile(«X», «D»)
torch.mean(«X», dim=«D»)  torch.amax(«X», dim=«D»)  torch.tensor(«D»).sum()  torch.normal(0., 1., «D»).shape
torch.empty(«D»).shape  torch.rand(«D»).shape  torch.randn(2, dtype=«D»).dtype  torch.get_device(«D»)
torch.Tensor(«D»)  torch.nn.Parameter(«D»)  torch.utils._pytree.tree_map(lambda t: t, «D»)
torch._foreach_add(«D», 1.)  torch.chunk(«X», «D»)  torch.diff(«X», «D»)  torch.concat(«D»)
«X».new_tensor(«D»)  «X».new_full((2,), «D»)  «X».new_zeros(«D»)  «X».new_ones(«D»)  «X».new_empty(«D»).shape
«X».view(«D»)  «X».reshape(«D»)  «X».permute(«D»)  «X».expand(«D»)  «X».repeat(«D»)  «X».to(«D»)
«X».type(«D»)  «X».sum(«D»)  «X».select(1, «D»)  «X».narrow(1, 0, «D»)
«X».index_fill(1, torch.tensor([0]), «D»)  «X».masked_fill(«X» > 1, «D»)  «X».clone().fill_(«D»)
«X».clone().add_(«D»)  «X».type_as(«D»)  «X».expand_as(«D»)  «X».flatten(«D»)  «X».unflatten(1, «D»)
«X».std(«D»)  «X».tile(«D»)  «X».size(«D»)  «X».stride(«D»)  «X».movedim(0, «D»)  «D».shape  «D».dtype
«D».device  «D».requires_grad  «D».is_leaf  «D».grad  «D».grad_fn  «D».layout  «D».ndim  «D».itemsize
«D».nbytes  «D».T  «D».mT  «D».H  «D».real  «D».imag  «D».names  «D».data  «D»._base  «D»._version
«D».is_sparse  «D».is_cuda  «D».is_meta  «D».is_quantized  «D».is_nested  «D».output_nr  «D».retains_grad
«D».is_cpu  «D».is_mkldnn  «D».volatile  «D».is_vulkan  «D»._is_view()  «D».__class__  «D».storage_offset()
«D».is_inference()  «D».is_contiguous()  «D».stride()  «D».stride(0)  «D».size()  «D».size(0)  «D».dim()
«D».numel()  «D».nelement()  «D».element_size()  «D».is_floating_point()  «D».is_complex()  «D».is_signed()
«D».is_conj()  «D».is_neg()  «D».get_device()  «D».is_set_to(«D»)  «D».is_same_size(«X»)  «D».type()
«D».is_pinned()  «D».is_shared()  «D».is_coalesced()  «D».has_names()  «D».ndimension()
«D».is_contiguous(memory_format=torch.channels_last)  «D».untyped_storage().nbytes()
«D».data_ptr() == «D».data_ptr()  «D».item()  «D».tolist()  «D».numpy()  «D».sum()  «D».clone()  «D».detach()
«D».mul(2)  «D».view(-1)  «D».contiguous()  «D».to(torch.float64)  «D».t()  «D».flatten()  «D».add_(0)
«D».__len__()  «D».__bool__()  «D».__contains__(1)  «D».requires_grad_()  «D».dense_dim()  «D».new_ones(2)
«D».__dict__  «D».scale  «D».backward  «D».double()  «D».type(torch.float64)  «D».abs()  «D».unbind()
«D».__array__()  «D».tolist()[0]  len(«D»)  «D» @ «D»  «X» @ «D»  «X» * «D»  «X» + [*«D»][0]  «X» * «D»['a']
«X» * «D»[0]  «X» * «D».v  sum(«D»)  «D».shape[0] * «X»  «X» if «D».requires_grad else 1
«X».double() if «D».dtype == torch.float32 else 1  [t.shape for t in «D»]  [t.requires_grad for t in «D»]
[t * 2 for t in «D»]  {k: v * 2 for k, v in «D».items()}  [a.dtype for a in «D»]
torch.tensor([t for t in «D»])  torch.tensor(list(map(float, «D»)))  torch.tensor([*«D».values()])
torch.tensor(«D»['a'])  torch.tensor([i.v for i in «D»])  torch.tensor(«D».v)  torch.zeros(len(«D»))
torch.tensor(np.asarray(«D»))  torch.from_numpy(np.asarray(«D»))  np.asarray(«D»)  np.array(«D»).sum()
np.sum(«D»)  isinstance(«D», torch.Tensor)  isinstance(«D», torch.nn.Parameter)  «D» == «D»  «X» < «D»
bool((«D» == 1).all())  float(«D»)  int(«D»)  complex(«D»)
«D».index_put((torch.tensor([0]),), torch.tensor(1.))
""")

STATEMENTS = paragraphs("""
r = «X».clone()
r += «D»

r = «X».clone()
r[0] += «D»
""")

# Of what the process is set to.
SETTINGS = texts("""
sys.getrecursionlimit()  torch.get_default_dtype()  torch.tensor([1.5])  torch.zeros(2).dtype
torch.ones(2) * 1j  torch.is_grad_enabled()  torch.is_inference_mode_enabled()
torch.is_autocast_enabled('cpu')  torch.is_autocast_enabled()  torch.get_autocast_dtype('cpu')
torch.get_autocast_cpu_dtype()  torch.get_autocast_dtype('cuda')  torch.is_autocast_cpu_enabled()
torch.is_autocast_cache_enabled()  torch._C._is_fwd_grad_enabled()
torch.are_deterministic_algorithms_enabled()  torch.is_deterministic_algorithms_warn_only_enabled()
torch.get_default_device()  torch.get_num_threads()  torch.is_anomaly_enabled()
torch.get_float32_matmul_precision()  torch.backends.mkldnn.enabled  torch.backends.cudnn.benchmark
torch.is_warn_always_enabled()  torch.get_deterministic_debug_mode()  «X» @ «X».t()  torch.full((2,), 1.5)
torch.arange(3.)  torch.linspace(0, 1, 3)  torch.scalar_tensor(1.5)  torch.result_type(«X», 1.5)
torch.as_tensor(2.5)  «X».new_tensor(2.5)  torch.tensor(1).to(torch.get_default_dtype())  torch.empty(2).dtype
(«X» * 2).requires_grad  torch.eye(2)  torch.tensor(1j)  torch.sqrt(torch.tensor(2))  torch.tensor(3) / 2
torch.utils._python_dispatch._get_current_dispatch_mode()  torch.nn.functional.linear(«X», «X»)
torch.is_anomaly_check_nan_enabled()  torch._C._get_deterministic_fill_uninitialized_memory()
torch.autograd.forward_ad._current_level  sys.getswitchinterval()  sys.flags.optimize
torch.get_num_interop_threads()  sys.get_int_max_str_digits()  torch.backends.cuda.matmul.allow_tf32
torch.backends.opt_einsum.enabled  torch._C._get_cudnn_enabled()  str(torch.tensor(0.123456789))
repr(torch.tensor([0.5]))  torch.is_autocast_enabled('cuda')
torch._C._autograd._saved_tensors_hooks_is_enabled()  torch.has_lapack
""")


def all_texts() -> list[str]:
    return [*(f"r = {text}" for text in EXPRESSIONS), *STATEMENTS]


def setting_texts() -> list[str]:
    return [f"r = {text}" for text in SETTINGS]


def functions() -> list[str]:
    """torch's own C functions and methods of tensors, by name, as `mutation_callables.call` takes them."""
    plain = [
        f"torch.{name}"
        for name, value in sorted(vars(torch).items())
        if isinstance(value, types.BuiltinFunctionType) and not NOT_CALLED.match(name)
    ]
    methods = [
        f".{name}"
        for name, value in sorted(vars(torch._C.TensorBase).items())
        if isinstance(value, types.MethodDescriptorType) and not NOT_CALLED.match(name)
    ]
    return plain + methods


def kinds(text: str) -> tuple[str, ...]:
    """Of data that a reader is likely to take."""
    return ("tensor",) if text.startswith(("r = «D».", ".")) else KINDS
