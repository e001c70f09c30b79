"""tests/torch/break_programs/training.py: gradients, optimizers and modes around breaks."""


@program
def autograd_grad(x):
    a = x.detach().clone().requires_grad_()
    y = (a * 3).sin()
    g, = torch.autograd.grad(y.sum(), a, create_graph=True)
    break_here(1)
    h, = torch.autograd.grad((g * g).sum(), a)
    return g.detach(), h


@program
def backward_break(x):
    w = torch.ones(4, requires_grad=True)
    y = (x.detach() * w).sin()
    break_here(1)
    y.sum().backward()
    g = w.grad * 2
    break_here(g.sum().item())
    w.grad = None
    (w * 2).sum().backward()
    return w.grad + g


@program
def hooks_break(x):
    w = torch.ones(4, requires_grad=True)
    def hook(g):
        g = g * 2
        break_here("hook")
        return g + 1
    w.register_hook(hook)
    y = (x.detach() * w).sin()
    y.sum().backward()
    return w.grad


@program
def optimizer_break(x):
    torch.manual_seed(0)
    m = nn.Linear(4, 2)
    o = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for i in range(3):
        o.zero_grad()
        loss = m(x.detach()).pow(2).mean()
        break_here(i)
        loss.backward()
        o.step()
        losses.append(loss.item())
    return losses, [p.detach().clone() for p in m.parameters()]


@program
def inference_mode(x):
    with torch.inference_mode():
        y = x * 2
        break_here(torch.is_inference_mode_enabled())
        y = y + 1
        break_here(2)
        y = y * 3
    return y.is_inference(), y.clone()


@program
def inference_mode_deep(x):
    @torch.inference_mode()
    def f(y):
        y = y * 2
        break_here(1)
        return y + 1
    y = f(x)
    break_here(y.is_inference())
    return (y * 2).is_inference(), torch.is_inference_mode_enabled()


@program
def default_device_in(x):
    with torch.device("cpu"):
        y = x + torch.ones(4)
        break_here(1)
        y = y * torch.zeros(4)
    return y


@program
def default_dtype(x):
    old = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        y = torch.ones(4)
        break_here(y.dtype)
        y = y + torch.zeros(4)
    finally:
        torch.set_default_dtype(old)
    return x + y


@program
def autocast_raise(x):
    y = x
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x.t()
            break_here(y.dtype)
            y = y @ y
            fail()
    except ValueError:
        break_here(torch.is_autocast_enabled("cpu"))
        y = y.float() + 1
    return y


@program
def set_grad_enabled_break(x):
    torch.set_grad_enabled(False)
    y = x * 2
    break_here(1)
    torch.set_grad_enabled(True)
    y = y * x
    return y


@program
def saved_hooks(x):
    def pack(t):
        break_here("pack"); return t
    def unpack(t):
        break_here("unpack"); return t
    a = x.detach().clone().requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = a * a
        break_here(1)
        y = y * a
    y.sum().backward()
    return a.grad


@program
def checkpointed(x):
    from torch.utils.checkpoint import checkpoint
    def f(y):
        y = y.sin()
        break_here("f")
        return y * 2
    a = x.detach().clone().requires_grad_()
    y = checkpoint(f, a, use_reentrant=False)
    y.sum().backward()
    return a.grad
