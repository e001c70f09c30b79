"""tests/torch/break_programs/modes.py: contexts, transforms and hooks of torch around breaks."""


@program
def no_grad_in_loop(x):
    w = torch.ones(4, requires_grad=True)
    y = x
    for i in range(3):
        with torch.no_grad() if i == 1 else contextlib.nullcontext():
            y = y * w
            break_here(i, torch.is_grad_enabled(), y.requires_grad)
            y = y + 1
        if i == 1:
            OUT.append(y.requires_grad)
    return y


@program
def no_grad_decorated(x):
    w = torch.ones(4, requires_grad=True)
    @torch.no_grad()
    def f(y):
        y = y * w
        break_here("f", torch.is_grad_enabled())
        @torch.enable_grad()
        def g(z):
            z = z * w
            break_here("g", torch.is_grad_enabled())
            return z + 1
        return y, g(y)
    a, b = f(x)
    OUT.append((a.requires_grad, b.requires_grad))
    return a + b


@program
def no_grad_in_generator(x):
    w = torch.ones(4, requires_grad=True)
    @torch.no_grad()
    def g(y):
        for i in range(3):
            y = y * w
            break_here("g", torch.is_grad_enabled())
            yield y
    y = x * w
    for v in g(x):
        OUT.append((torch.is_grad_enabled(), v.requires_grad))
        y = y + v * w
        break_here("body")
    return y


@program
def grad_flag_left_changed(x):
    w = torch.ones(4, requires_grad=True)
    y = x * w
    torch.set_grad_enabled(False)
    z = y * w
    break_here(torch.is_grad_enabled())
    z = z * w
    OUT.append((y.requires_grad, z.requires_grad))
    torch.set_grad_enabled(True)
    break_here(torch.is_grad_enabled())
    return z * w + y


@program
def inference_inside(x):
    w = torch.ones(4, requires_grad=True)
    with torch.inference_mode():
        y = x.detach() * w
        break_here("in", y.is_inference(), torch.is_inference_mode_enabled())
        z = y + 1
        with torch.inference_mode(False):
            v = torch.ones(3) * 2
            break_here("off", v.is_inference())
            u = v * 2
        z = z * u[0]
    OUT.append((y.is_inference(), z.is_inference(), u.is_inference()))
    return z.clone() + 1, u


@program
def inference_error_leaves(x):
    y = x.detach() + 1
    try:
        with torch.inference_mode():
            y = y * 2
            break_here(torch.is_inference_mode_enabled())
            fail()
    except ValueError:
        break_here(torch.is_inference_mode_enabled())
        OUT.append(y.is_inference())
    return y.clone()


@program
def autocast_regions(x):
    w = torch.randn(4, 4)
    y = x.detach()
    with torch.autocast("cpu", torch.bfloat16):
        a = y @ w
        break_here(a.dtype, torch.is_autocast_enabled("cpu"))
        b = a @ w
        with torch.autocast("cpu", enabled=False):
            c = y @ w
            break_here(c.dtype)
            c = c @ w
        for i in range(2):
            b = b @ w + c.to(b.dtype)
            break_here(b.dtype, i)
        try:
            d = y @ w
            fail()
        except ValueError:
            d = d + (y @ w)
            break_here(d.dtype)
    return a, b, c, d, y @ w


@program
def autocast_entered_by_hand(x):
    w = torch.randn(4, 4)
    y = x.detach()
    region = torch.autocast("cpu", torch.bfloat16)
    region.__enter__()
    a = y @ w
    break_here(a.dtype)
    b = y @ w
    region.__exit__(None, None, None)
    break_here(torch.is_autocast_enabled("cpu"))
    return a, b, y @ w


@program
def vmap_with_break_outside(x):
    y = x + 1
    break_here("before")
    z = torch.vmap(lambda row: (row * 2).sum())(y)
    break_here("after")
    return torch.vmap(lambda a, b: a * b, in_dims=(0, 0))(z, z) + 1


@program
def vmap_with_break_inside(x):
    def f(row):
        row = row * 2
        break_here("in", tuple(row.shape))
        return row.sum() + 1
    return torch.vmap(f)(x + 1)


@program
def grad_transform_breaks(x):
    def loss(v):
        w = v * 2
        break_here("loss")
        return (w.sin() * v).sum()
    y = x.detach() + 1
    g = torch.func.grad(loss)(y)
    break_here("out")
    g2, value = torch.func.grad_and_value(lambda v: (v ** 2).sum())(y)
    return g + g2 * value


@program
def vjp_and_jvp(x):
    y = x.detach()
    out, pull = torch.func.vjp(lambda v: v.sin() * 2, y)
    break_here("made")
    (a,) = pull(out + 1)
    o, b = torch.func.jvp(lambda v: v.cos(), (y,), (a,))
    break_here("second")
    return a, b, o


@program
def default_dtype_changes(x):
    a = torch.ones(2)
    torch.set_default_dtype(torch.float64)
    try:
        b = torch.ones(2)
        break_here(torch.get_default_dtype())
        c = torch.tensor([1.5]) + torch.arange(2.0)
        fail()
    except ValueError:
        d = torch.zeros(1)
        break_here(d.dtype)
    finally:
        torch.set_default_dtype(torch.float32)
    return a, b, c, d, torch.ones(1), x + 1


@program
def device_contexts(x):
    with torch.device("meta"):
        m = torch.ones(2, 3)
        break_here(str(m.device))
        n = m + torch.zeros(3)
    with torch.device("cpu"):
        c = torch.ones(4)
        break_here(str(c.device))
    return str(n.device), tuple(n.shape), x + c


@program
def forked_random(x):
    a = torch.rand(3)
    with torch.random.fork_rng():
        torch.manual_seed(7)
        b = torch.rand(3)
        break_here("in")
        c = torch.rand(3)
    d = torch.rand(3)
    torch.manual_seed(11)
    break_here("seeded")
    e = torch.randn(3) + torch.nn.functional.dropout(torch.ones(3), 0.5)
    return a, b, c, d, e


@program
def generator_object(x):
    g = torch.Generator().manual_seed(5)
    a = torch.rand(3, generator=g)
    break_here(g.initial_seed())
    b = torch.rand(3, generator=g)
    state = g.get_state()
    c = torch.rand(3, generator=g)
    break_here("set")
    g.set_state(state)
    d = torch.rand(3, generator=g)
    return a, b, c, d


@program
def tensor_hooks(x):
    w = torch.ones(4, requires_grad=True)
    y = x * w
    def hook(g):
        break_here("hook", tuple(g.shape))
        return g * 2
    handle = y.register_hook(hook)
    break_here("registered")
    (y * 2).sum().backward(retain_graph=True)
    first = w.grad.clone()
    handle.remove()
    w.grad = None
    break_here("removed")
    (y * 2).sum().backward()
    return first, w.grad


@program
def module_hooks_change_values(x):
    m = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    with torch.no_grad():
        m[0].weight.copy_(torch.eye(4)); m[0].bias.zero_()
    def pre(mod, args):
        break_here("pre")
        return (args[0] + 1,)
    def post(mod, args, kwargs, out):
        break_here("post", sorted(kwargs))
        return out * 2
    h1 = m[0].register_forward_pre_hook(pre)
    h2 = m.register_forward_hook(post, with_kwargs=True)
    a = m(x)
    h1.remove()
    b = m(x)
    h2.remove()
    break_here("none left")
    return a, b, m(x)


@program
def module_hook_raises(x):
    m = nn.Linear(4, 4)
    with torch.no_grad():
        m.weight.copy_(torch.eye(4)); m.bias.zero_()
    def always(mod, args, out):
        break_here("always")
    def bad(mod, args):
        break_here("bad")
        raise KeyError("hook")
    m.register_forward_pre_hook(bad)
    m.register_forward_hook(always, always_call=True)
    y = x
    try:
        y = m(y)
    except KeyError as e:
        y = y - 1
        break_here(e.args)
    return y * 2


@program
def full_backward_hook(x):
    m = nn.Linear(4, 4)
    with torch.no_grad():
        m.weight.copy_(torch.eye(4)); m.bias.zero_()
    def hook(mod, gi, go):
        break_here("backward", len(gi), len(go))
        return (gi[0] * 3,) if gi[0] is not None else None
    m.register_full_backward_hook(hook)
    z = (x.detach() + 1).requires_grad_()
    y = m(z)
    break_here("forward done")
    y.sum().backward()
    return z.grad, m.weight.grad


@program
def function_of_own(x):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, v):
            ctx.save_for_backward(v)
            break_here("forward")
            return v * 2
        @staticmethod
        def backward(ctx, g):
            (v,) = ctx.saved_tensors
            break_here("backward")
            return g * v
    z = (x.detach() + 1).requires_grad_()
    y = Double.apply(z * 1.5)
    break_here("applied")
    y.sum().backward()
    return z.grad, y


@program
def function_mode_entered(x):
    from torch.overrides import TorchFunctionMode
    class Count(TorchFunctionMode):
        n = 0
        def __torch_function__(self, func, types, args=(), kwargs=None):
            Count.n += 1
            return func(*args, **(kwargs or {}))
    y = x + 1
    with Count():
        y = y * 2
        break_here("in")
        y = y.sin()
    OUT.append(Count.n)
    return y + 1


@program
def anomaly_mode(x):
    z = (x.detach() + 1).requires_grad_()
    with torch.autograd.set_detect_anomaly(False):
        y = z * 2
        break_here(torch.is_anomaly_enabled())
        y = y.sin()
        y.sum().backward()
    return z.grad


@program
def grads_at_breaks(x):
    w = torch.ones(4, requires_grad=True)
    y = (x.detach() * w).sum()
    break_here(y.grad_fn is not None)
    y.backward()
    a = w.grad
    break_here(a is w.grad)
    (w * 2).sum().backward()
    OUT.append((a is w.grad, w.grad.tolist()))
    w.grad.zero_()
    break_here(w.grad.sum().item())
    with torch.no_grad():
        w -= 0.1 * a
        break_here(w.requires_grad)
        w.add_(1)
    return w.detach().clone(), a


@program
def requires_grad_changes(x):
    y = x.detach().clone()
    y.requires_grad_()
    z = y * 2
    break_here(y.requires_grad, z.requires_grad)
    d = z.detach()
    d.requires_grad = True
    (d * 3).sum().backward()
    break_here(d.grad.sum().item())
    y.requires_grad_(True)
    z.retain_grad()
    z.sum().backward()
    return z.grad, y.grad, d.grad


@program
def in_place_over_breaks(x):
    base = torch.zeros(3, 4)
    row = base[1]
    col = base[:, 2]
    row += 1
    break_here(base.sum().item())
    col.mul_(3).add_(x.detach()[:, 0])
    t = base.t()
    break_here(t.shape)
    t[0] = 5
    base.data = base.data * 2
    break_here(row.sum().item())
    row += 10
    return base, row, col, t


@program
def compile_nested(x):
    inner = stator.compile(lambda v: (v * 2, break_here("inner"), v + 1)[2])
    y = inner(x)
    break_here("outer")
    z = inner(y)
    off = stator.disable(lambda v: v * 3)
    return z + off(z)


@program
def is_compiling_at_breaks(x):
    y = x + 1
    break_here("a")
    if torch.jit.is_tracing() or torch.jit.is_scripting():
        y = y * 100
    return y


@program
def sizes_from_data(x):
    n = int((x > 0).sum())
    y = torch.ones(n, 2)
    break_here(y.shape[0])
    z = torch.cat([y, y])
    idx = (x > 0).nonzero()
    break_here(len(idx), z.size(0))
    parts = x[x > 0].split(2)
    w = torch.stack([p.sum() for p in parts]) if parts and n else torch.zeros(1)
    for k in range(n):
        if k > 2:
            break
        w = w + k
        break_here(k)
    return z, idx, w, x.flatten()[: n], x.repeat(n % 3 + 1, 1)


@program
def numbers_read(x):
    a = x.sum().item()
    b = float(x.mean())
    c = int(x.max())
    d = bool(x.min() > 0)
    break_here(a, b, c, d)
    y = x * a + b if d else x - c
    e = x[0].tolist()
    f = f"{a:.2f} {x[0, 0]:.3f} {x.sum()}"
    break_here(f, e)
    g = round(b, 2) + math.floor(a) + divmod(c, 3)[1] + (c << 2) + abs(a) ** 0.5
    h = {c: y, "n": [a] * 2}
    break_here(g)
    return y * g, h, max(a, b), min(e), sum(e), a == b, c in (1, 2), -0.0 * a


@program
def kernel_errors_in_places(x):
    y = x
    table = torch.arange(5.0)
    for i in range(4):
        OUT.append(i)
        try:
            y = y + 1
            table.add_(1)
            v = table[torch.tensor([i + 2])]
            break_here("read", i)
            y = y + v
            y = y @ torch.ones(4 if i < 1 else 5, 4)
        except IndexError as e:
            break_here("index", i)
            y = y * 2
        except RuntimeError as e:
            break_here("shape", i)
            y = y - 1
        else:
            y = y / 2
        finally:
            OUT.append(table.sum().item())
    return y, table


@program
def linalg_refuses(x):
    a = torch.zeros(2, 2)
    a[0, 0] = x.sum().detach()
    y = x * 2
    try:
        OUT.append("before")
        r = torch.linalg.inv(a)
        OUT.append("after")
        y = y + r.sum()
    except RuntimeError as e:
        OUT.append(type(e).__name__)
        y = y - 1
        break_here("singular")
    return y, torch.linalg.cholesky(a + torch.eye(2) * 2 + a.sum().abs() * torch.eye(2))
