"""tests/fuzz/operator_templates.py: lines of random programs; the places are those of operator_graphs.py."""


def templates(text: str) -> list[str]:
    return [template.strip() for template in " ".join(text.split()).split(" ; ")]


# Results that do not round: the same in every engine. Floats are converted to integers where they fit.
EXACT = templates("""
torch.neg({t}) ; torch.abs({t}) ; {t}.sign() ; torch.sgn({t}) ; torch.floor({t}) ; torch.ceil({t}) ;
torch.round({t}) ; torch.trunc({t}) ; torch.relu({t}) ; {t}.clamp({n}, {n}) ; {t}.clamp(min={r}) ;
{t}.clamp(max={r}) ; torch.clamp({t}, {t}, {t}) ; torch.isnan({t}) ; torch.isinf({t}) ;
torch.isfinite({t}) ; torch.logical_not({t}) ; torch.logical_and({t}, {t}) ; torch.logical_xor({t}, {t}) ;
torch.logical_or({t}, {t}) ; torch.bitwise_not({t}) ; {t} & {t} ; {t} | {t} ; {t} ^ {t} ; {t} & {n} ;
{t} << {n} ; {t} >> {n} ; {t} << {t} ; {t} >> {t} ; {t} == {t} ; {t} != {t} ; {t} < {t} ; {t} <= {t} ;
{t} > {r} ; {t} >= {n} ; {t} == {r} ; {t} < {n} ; {n} > {t} ; torch.maximum({t}, {t}) ;
torch.minimum({t}, {t}) ; torch.fmax({t}, {t}) ; torch.fmin({t}, {t}) ; torch.where({b}, {t}, {t}) ;
torch.where({t} > 0, {t}, {r}) ; torch.where({b}, {n}, {t}) ; {t}.masked_fill({b}, {r}) ;
{t}.masked_fill({t} > {n}, {n}) ; torch.nextafter({t}, {t}) ; torch.signbit({i}) ;
torch.copysign({i}, {i}) ; torch.arange(8).as_strided((2, 3), (1, 2), 1) ; {i} // {n} ; {i} % {n} ;
{i} // {i} ; {i} % {i} ; torch.fmod({i}, {n}) ; torch.div({i}, {i}, rounding_mode='trunc') ;
torch.div({i}, {n}, rounding_mode='floor') ; {i} + {i} ; {i} * {i} ; {i} - {i} ; {i} + {n} ; {n} - {i} ;
{i} ** {n} ; {i} ** 2 ; {i}.to({T}) ; {t}.bool() ; {i}.float() ; {i}.int() ; {b}.to({T}) ;
torch.amax({t}, {d}) ; torch.amin({t}, {d}, keepdim=True) ; {t}.max() ; {t}.min() ; torch.max({t}, {d}) ;
torch.min({t}, {d}) ; torch.argmax({t}, {d}) ; {t}.argmin() ; {t}.argmax() ; torch.any({t}, {d}) ;
torch.all({t}) ; torch.all({t}, {d}, keepdim=True) ; {i}.sum() ; {i}.sum({d}) ; {b}.sum({d}) ;
{i}.prod({d}) ; {i}.cumsum({d}) ; {i}.cumprod({d}) ; {b}.cumsum({d}) ; torch.cummax({t}, {d}) ;
torch.cummin({t}, {d}) ; torch.sort({t}, {d}, stable=True) ;
torch.sort({t}, {d}, descending=True, stable=True) ; torch.argsort({t}, {d}, stable=True) ;
torch.topk({t}, 1, {d})[0] ; torch.kthvalue({t}, 1, {d})[0] ; {t}.median() ; torch.count_nonzero({t}) ;
torch.count_nonzero({t}, {d}) ; {t}.aminmax() ; {t}.transpose({d}, {D}) ; {t}.unsqueeze({d}) ;
{t}.squeeze() ; {t}.squeeze({d}) ; {t}[..., :1] ; {t}[..., ::2] ; {t}[1:] ; {t}[-1] ; {t}[None] ;
{t}[:, 1:] ; {t}.flatten() ; {t}.reshape(-1) ; {t}.view(-1) ; {t}.expand(2, *{t}.shape) ;
{t}.permute(*reversed(range({t}.dim()))) ; {t}.mT ; {t}.T ; {t}.contiguous() ; {t}.clone() ; {t}.detach() ;
{t}.flip({d}) ; {t}.roll({n}, {d}) ; {t}.roll(1) ; torch.cat([{t}, {t}], {d}) ; torch.stack([{t}, {t}]) ;
torch.cat([{t}, {t}.flatten()[:0]]) ; {t}.repeat(2, 1) ; {t}.repeat_interleave(2) ; {t}.tril() ;
{t}.triu({n}) ; {t}.diagonal() ; torch.diag_embed({t}) ; {t}.unbind({d}) ; {t}.chunk(2, {d}) ;
{t}.split(2, {d}) ; torch.tensor_split({t}, 2) ; F.pad({t}, (1, 0)) ; F.pad({t}, (1, 2), value={n}) ;
F.pad({t}, (-1, 1)) ; F.pad({t}[None], (1, 1), mode='reflect') ;
F.pad({t}[None], (1, 1), mode='replicate') ; {t}.narrow({d}, 0, 1) ; {t}.select({d}, -1) ;
{t}.unfold({d}, 2, 1) ; torch.broadcast_to({t}, (2, *{t}.shape)) ; {t}.view_as({t}) ;
{t}.movedim({d}, {D}) ; torch.atleast_2d({t}) ; {t}.index_select({d}, torch.tensor([0])) ;
{t}[torch.tensor([0, -1])] ; {t}[..., torch.tensor([0])] ;
torch.gather({t}, {d}, torch.zeros_like({t}, dtype=torch.int64)) ; torch.take({t}, torch.tensor([0, -1])) ;
{t}[{i}] ; {t}[{i} % 2] ; torch.take_along_dim({t}, torch.argsort({t}, {d}, stable=True), {d}) ;
torch.index_select({t}, {d}, {i}) ; {t}[{b}] ; {t}.masked_select({b}) ; F.one_hot({i}) ;
F.embedding({i}, {t}) ; torch.scatter({t}, {d}, torch.zeros_like({t}, dtype=torch.int64), {n}) ;
{t}.scatter({d}, torch.zeros_like({t}, dtype=torch.int64)[:1], {t}) ;
{t}.index_fill({d}, torch.tensor([0]), {n}) ;
{t}.index_copy({d}, torch.tensor([0]), {t}.narrow({d}, 0, 1)) ;
{i}.index_add({d}, torch.tensor([0]), {i}.narrow({d}, 0, 1)) ;
{t}.select_scatter({t}.select({d}, 0), {d}, -1) ; {t}.slice_scatter({t}[:1], 0, 0, 1) ;
{t}.diagonal_scatter({t}.diagonal()) ; torch.index_put({t}, (torch.tensor([0]),), {t}[:1]) ;
torch.bucketize({f}, torch.tensor([-1.0, 0.0, 1.0])) ; torch.searchsorted(torch.tensor([0, 2, 4]), {i}) ;
torch.zeros_like({t}) ; torch.ones_like({t}, dtype={T}) ; torch.full_like({t}, {n}) ;
torch.full((2, 3), {r}) ; {t}.new_zeros(2) ; {t}.new_full((2,), {n}) ; torch.arange({s}) ;
torch.arange({s}, dtype={T}) ; torch.arange(5, 0, -2) ; torch.eye(3, dtype={T}) ; torch.tensor({n}) ;
torch.tensor({r}) ; torch.scalar_tensor({n}, dtype={T}) ; torch.linspace(0, 1, 5) ;
torch.empty_like({t}).fill_({n}) ; torch.tril_indices(3, 3) ; torch.real({t}) ; torch.imag({t}) ;
torch.conj({t}) ; {t}.conj().resolve_conj() ; torch.view_as_real({t}) ; torch.complex({f}, {f}) ;
F.max_pool1d({t}[None], 2) ; F.max_pool2d({t}, 2) ; F.max_pool2d({t}, 2, return_indices=True) ;
F.max_pool2d({t}, 3, padding=1, stride=2) ; F.adaptive_max_pool1d({t}[None], 1) ; F.hardtanh({t}) ;
F.relu6({t}) ; F.threshold({t}, {n}, {n}) ; F.leaky_relu({t}, 0.5) ; torch.heaviside({t}, {t}) ;
torch.nan_to_num({t}) ; torch.nan_to_num({t}, 0.5, 3, -3) ; torch.frac({t}) ; torch.gcd({i}, {i}) ;
torch.lcm({i}, {n} + {i}) ; {t}.view({F}) ; {t}.ne({t}).any() ; torch.equal({t}, {t}) * {t} ;
torch.isclose({i}, {i}) ; torch.isin({t}, {t}) ; torch.triu({t}, 1) ; torch.rot90({t}) ;
{t}.fill_diagonal_({n}) if 0 else {t} ; torch.where({t})[0] ; torch.nonzero({t}) ; torch.unique({i}) ;
F.pixel_shuffle({t}, 2) ; F.channel_shuffle({t}, 2) ; F.unfold({t}, 2) ; torch.block_diag({t}, {t}) ;
torch.cartesian_prod({t}.flatten(), {t}.flatten()) ; torch.combinations({t}.flatten()) ;
F.interpolate({t}.nan_to_num(), scale_factor=2) ; torch.swapaxes({t}, {d}, {D}) ; torch.hstack([{t}, {t}]) ;
torch.fliplr({t}) ; torch.ravel({t}) ; {t}.bitwise_left_shift({n}) ; torch.bitwise_right_shift({t}, {n}) ;
torch.histc({f}, 3) ; torch.bincount({i}.flatten()) ; torch.mode({t}, {d})[0] ; torch.msort({t}) ;
torch.diff({i}) ; torch.trapezoid({i}, dim={d}) ; torch.trace({i}) ; torch.vander({i}.flatten()) ;
torch.outer({i}.flatten(), {i}.flatten()) ; torch.dot({i}.flatten(), {i}.flatten()) ; {i} @ {i} ;
torch.mm({i}, {i}.T) ; torch.tensordot({i}, {i}, 1) ; torch.kron({i}, {i}) ; torch.cross({i}, {i}, dim=-1) ;
torch.bmm({i}, {i}.mT) ; {t}.to({F}) ; torch.nan_to_num({f}).clamp(-99, 99).long() ;
torch.nan_to_num({f}).clamp(0, 99).to({T}) ; {i}.type_as({t}) ;
torch.meshgrid({i}.flatten(), {i}.flatten(), indexing='ij')
""")

# Element by element, rounded.
ROUNDED = templates("""
{t} + {t} ; {t} - {t} ; {t} * {t} ; {t} / {t} ; {t} + {r} ; {r} - {t} ; {t} * {r} ; {t} / {r} ; {r} / {t} ;
torch.add({t}, {t}, alpha={n}) ; torch.sub({t}, {t}, alpha={r}) ; torch.add({t}, {r}, alpha={n}) ;
torch.rsub({t}, {t}, alpha={n}) ; {t} ** 2 ; {t} ** {r} ; {t} ** {t} ; {r} ** {t} ;
torch.float_power({t}, {n}) ; torch.square({t}) ; torch.sqrt({t}) ; torch.rsqrt({t}) ;
torch.reciprocal({t}) ; torch.exp({t}) ; torch.expm1({t}) ; torch.exp2({t}) ; torch.log({t}) ;
torch.log1p({t}) ; torch.log2({t}) ; torch.log10({t}) ; torch.sin({t}) ; torch.cos({t}) ; torch.tan({t}) ;
torch.asin({t}) ; torch.acos({t}) ; torch.atan({t}) ; torch.sinh({t}) ; torch.cosh({t}) ; torch.tanh({t}) ;
torch.asinh({t}) ; torch.acosh({t}) ; torch.atanh({t}) ; torch.sigmoid({t}) ; torch.erf({t}) ;
torch.erfc({t}) ; torch.erfinv({t}) ; torch.sinc({t}) ;
torch.atan2({t}, {t}) ; torch.hypot({t}, {t}) ; torch.logaddexp({t}, {t}) ; torch.logaddexp2({t}, {t}) ;
torch.xlogy({t}, {t}) ; torch.lerp({t}, {t}, 0.25) ; torch.lerp({t}, {t}, {t}) ;
torch.addcmul({t}, {t}, {t}, value={r}) ; torch.addcdiv({t}, {t}, {t}, value={r}) ; torch.angle({t}) ;
torch.polar({f}, {f}) ; torch.logit({t}, 0.1) ; torch.deg2rad({t}) ; torch.special.entr({t}) ;
torch.special.ndtr({t}) ; torch.special.i0({t}) ; torch.special.i1e({t}) ; torch.special.log_ndtr({t}) ;
F.gelu({t}) ; F.gelu({t}, approximate='tanh') ; F.silu({t}) ; F.elu({t}) ; F.celu({t}) ; F.selu({t}) ;
F.mish({t}) ; F.softplus({t}) ; F.logsigmoid({t}) ; F.hardswish({t}) ; F.hardsigmoid({t}) ;
F.softsign({t}) ; F.tanhshrink({t}) ; F.softshrink({t}) ; F.hardshrink({t}) ; F.glu({t}, {d}) ;
F.prelu({t}, {t}.flatten()[:1]) ; {t} // {r} ; {t} % {r} ; {t} // {t} ; {t} % {t} ; torch.fmod({t}, {t}) ;
torch.div({t}, {t}, rounding_mode='trunc') ; torch.div({t}, {t}, rounding_mode='floor') ;
torch.round({t}, decimals=1) ; {t}.abs().sqrt() ; ({t}.abs() + 1).log() ; torch.tanh({t}) * 0.5 ;
({t}.float() * 0.1).exp() ; torch.true_divide({t}, {n}) ; torch.clamp({t} * 2, -1, 1) ;
torch.bernoulli(torch.ones_like({f}))
""")

# Of many elements: rounding depends on the order.
SUMS = templates("""
torch.lgamma({t}) ; torch.digamma({t}) ;
{t}.sum() ; {t}.sum({d}) ; {t}.sum({d}, keepdim=True) ; {t}.sum((0, -1)) ; {t}.sum(dtype={T}) ; {t}.mean() ;
{t}.mean({d}) ; {t}.mean({d}, dtype=torch.float64) ; {t}.prod() ; {t}.prod({d}) ; {t}.var() ;
{t}.var({d}, correction=0) ; {t}.std({d}) ; torch.var_mean({t}, {d}) ; {t}.norm() ; {t}.norm(1, {d}) ;
torch.linalg.vector_norm({t}, {r}, {d}) ; torch.linalg.norm({t}) ; torch.nansum({t}, {d}) ;
torch.nanmean({t}) ; torch.logsumexp({t}, {d}) ; {t}.cumsum({d}) ; {t}.cumprod({d}) ;
torch.logcumsumexp({t}, {d}) ; F.softmax({t}, {d}) ; F.log_softmax({t}, {d}) ; F.softmin({t}, {d}) ;
F.normalize({t}, dim={d}) ; F.softmax({t}, {d}, dtype=torch.float64) ; F.layer_norm({t}, {t}.shape[-1:]) ;
F.layer_norm({t}, {t}.shape[-1:], {t}.flatten()[:{t}.shape[-1]]) ; F.rms_norm({t}, {t}.shape[-1:]) ;
F.group_norm({t}, 1) ; F.instance_norm({t}) ; F.batch_norm({t}, None, None, training=True) ;
F.batch_norm({t}, torch.zeros({t}.shape[1]), torch.ones({t}.shape[1])) ; {t} @ {t} ; {t} @ {t}.mT ;
torch.mm({t}, {t}) ; torch.addmm({t}, {t}, {t}, beta={r}, alpha={r}) ; torch.bmm({t}, {t}.mT) ;
torch.baddbmm({t}, {t}, {t}.mT) ; F.linear({t}, {t}) ; F.linear({t}, {t}, {t}.sum()) ;
torch.dot({t}.flatten(), {t}.flatten()) ; torch.mv({t}, {t}) ; torch.outer({t}.flatten(), {t}.flatten()) ;
torch.einsum('...i,...i->...', {t}, {t}) ; torch.tensordot({t}, {t}, 1) ; torch.cdist({t}, {t}) ;
torch.cross({t}, {t}, dim=-1) ; torch.kron({t}, {t}) ; torch.trace({t}) ;
torch.matmul({t}, {t}.flatten()[:{t}.shape[-1]]) ; torch.linalg.det({t}) ; torch.corrcoef({t}) ;
torch.cov({t}) ; F.conv1d({t}[None], {t}[None][..., :2]) ; F.conv2d({t}, {t}[..., :2, :2]) ;
F.conv2d({t}, {t}[..., :3, :3], padding=1, stride=2) ; F.conv_transpose1d({t}[None], {t}[:, None]) ;
F.conv_transpose2d({t}, {t}.transpose(0, 1)[..., :2], stride=2) ; F.conv2d({t}, {t}[:, :1], groups=1) ;
F.conv1d({t}, {t}, dilation=1) ; F.avg_pool1d({t}[None], 2) ; F.avg_pool2d({t}, 2) ;
F.avg_pool2d({t}, 3, padding=1, count_include_pad=False) ; F.avg_pool2d({t}, 2, ceil_mode=True) ;
F.adaptive_avg_pool2d({t}, 1) ; F.adaptive_avg_pool2d({t}, (3, 2)) ; F.adaptive_avg_pool1d({t}[None], 3) ;
F.lp_pool1d({t}[None], 2, 2) ; F.interpolate({t}.nan_to_num(), scale_factor=2, mode='bilinear') ;
F.interpolate({t}.nan_to_num(), size=(3, 5), mode='bicubic') ;
F.interpolate({t}.nan_to_num()[None], size=3, mode='linear') ;
F.grid_sample({t}, torch.zeros({t}.shape[0], 2, 2, 2, dtype={t}.dtype)) ; F.fold({t}, (4, 4), 2) ;
F.scaled_dot_product_attention({t}, {t}, {t}) ;
F.scaled_dot_product_attention({t}, {t}, {t}, is_causal=True) ;
F.scaled_dot_product_attention({t}, {t}, {t}, attn_mask={b}) ; F.cosine_similarity({t}, {t}, dim={d}) ;
F.mse_loss({t}, {t}) ; F.l1_loss({t}, {t}, reduction='none') ; F.smooth_l1_loss({t}, {t}) ;
F.kl_div({t}, {t}, reduction='batchmean') ;
F.binary_cross_entropy_with_logits({t}, {t}) ; F.binary_cross_entropy({t}.sigmoid(), {t}.sigmoid()) ;
F.cross_entropy({t}, torch.zeros({t}.shape[0], dtype=torch.int64)) ; F.cross_entropy({t}, {t}.softmax(1)) ;
F.nll_loss({t}, torch.zeros({t}.shape[0], dtype=torch.int64), ignore_index=0) ;
F.hinge_embedding_loss({t}, {t}.sign()) ; F.margin_ranking_loss({t}, {t}, {t}) ;
F.soft_margin_loss({t}, {t}) ; F.pairwise_distance({t}, {t}) ; torch.dist({t}, {t}) ;
torch.renorm({t}, 2, 0, 1.0) ; {t}.scatter_add({d}, torch.zeros_like({t}, dtype=torch.int64), {t}) ;
{t}.scatter_reduce({d}, torch.zeros_like({t}, dtype=torch.int64), {t}, 'mean') ;
{t}.scatter_reduce({d}, torch.zeros_like({t}, dtype=torch.int64), {t}, 'amax', include_self=False) ;
{t}.scatter_reduce({d}, torch.zeros_like({t}, dtype=torch.int64), {t}, 'prod') ;
{t}.index_add({d}, torch.tensor([0, 0]), {t}.narrow({d}, 0, 2), alpha={n}) ;
torch.index_put({t}, (torch.tensor([0, 0]),), {t}[:2], accumulate=True) ;
{t}.put(torch.tensor([0, 0]), {t}.flatten()[:2], accumulate=True) ;
torch.index_reduce({t}, {d}, torch.tensor([0]), {t}.narrow({d}, 0, 1), 'mean') ; torch.fft.fft({t}) ;
torch.fft.rfft({t}) ; torch.fft.ifft({t}, norm='ortho') ; torch.fft.irfft({t}, 4) ; torch.fft.fft2({t}) ;
torch.cumulative_trapezoid({t}, dim={d}) ; torch.gradient({f}.flatten())[0] ;
torch.quantile({f}.float(), 0.5) ; torch.nanmedian({f})
""")

WRITES = templates("""
{t}.add_({t}) ; {t}.mul_({r}) ; {t}.sub_({n}) ; {t}.div_({t}) ; {t}.relu_() ; {t}.copy_({t}) ; {t}.zero_() ;
{t}.fill_({n}) ; {t}.neg_() ; {t}.clamp_({n}, {n}) ; {t}.transpose({d}, {D}).add_(1) ;
{t}[..., :1].fill_({n}) ; {t}[0].mul_(2) ; {t}.index_add_({d}, torch.tensor([0]), {t}.narrow({d}, 0, 1)) ;
{t}.masked_fill_({b}, {n}) ; {t}.scatter_({d}, torch.zeros_like({t}, dtype=torch.int64), {n}) ;
{t}.index_put_((torch.tensor([0]),), {t}[:1]) ; {t}.view(-1)[1:].sub_(1) ; {t}.t_().add_(1) ;
{t}.unsqueeze_(0) ; {t}.squeeze_() ; {t}.diagonal().fill_({n}) ; {t}.bitwise_and_({n}) ;
{t}.__ilshift__({n}) ; {t}.floor_divide_({n}) ; {t}.pow_(2) ; {t}.tril_() ; {t}.sigmoid_() ;
{t}.addcmul_({t}, {t}) ; {t}.lerp_({t}, 0.5) ; {t}.cumsum_({d}) ;
{t}.index_copy_({d}, torch.tensor([0]), {t}.narrow({d}, -1, 1)) ;
{t}.index_fill_({d}, torch.tensor([0]), {n}) ; {t}.logical_not_() ; {t}.eq_({t}) ;
{t}.transpose_({d}, {D}) ; torch.add({t}, {t}, out={t}) ; torch.mul({t}, {r}, out=torch.empty(0)) ;
{t}.real.add_(1) ; {t}.swapaxes_(0, -1) ; {t}.round_() ;
{t}.put_(torch.tensor([0]), {t}.flatten()[:1]) ; {t}.copy_({t}.flip(0)) ; {t}.fmod_({n}) ;
{t}.remainder_({n}) ; {t}[:, 0].add_({t}[:, -1])
""")

RANDOM = templates("""
torch.rand_like({f}) ; torch.randn({s}, 2) ; torch.randint(0, 5, (3,)) ; F.dropout({f}, 0.5) ;
torch.bernoulli({f}.sigmoid()) ; torch.randperm(4) ; torch.rand(2, dtype=torch.float64) ;
{f}.clone().uniform_() ; {f}.clone().normal_() ; torch.normal({f}, 1.0) ; F.alpha_dropout({f}) ;
F.rrelu({f}, training=True) ; torch.multinomial({f}.abs().flatten() + 1, 1) ; torch.poisson({f}.abs()) ;
F.gumbel_softmax({f}, dim={d}) ; F.dropout1d({f}[None], 0.5)
""")
