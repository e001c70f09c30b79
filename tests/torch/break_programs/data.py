"""tests/torch/break_programs/data.py: what depends on the contents of tensors, and the rest of the language."""


@program
def nonzero_mask(x):
    i = x.nonzero()
    y = x[x > 0]
    break_here(i.shape[0], y.numel())
    z = y * 2
    u = torch.unique((x * 2).int())
    return z.sum() + u.numel(), i


@program
def item_chain(x):
    a = x.sum().item()
    b = a * 2
    y = x * b
    break_here(b)
    if b > 0: y = y + 1
    return y, b, int(a), f"{a:.2f}"


@program
def asserts(x):
    y = x * 2
    assert y.shape == (3, 4)
    assert torch.isfinite(y).all(), "finite"
    break_here(1)
    assert y.sum() > -1e9, "sum"
    assert y.sum() > 0, f"not {tuple(y.shape)}"
    return y


@program
def kernel_error_behind_write(x):
    b = torch.zeros(3)
    y = x * 2
    b.add_(1)
    OUT.append(b)
    try:
        y = y[torch.tensor([5])]
    except IndexError as e:
        break_here("ix")
        b.add_(10)
        y = y + 1
    return y, b


@program
def kernel_error_out(x):
    b = torch.zeros(3)
    OUT.append(b)
    b.add_(1)
    break_here("w")
    b.add_(1)
    return x[torch.tensor([7])]


@program
def match_break(x):
    def m(v):
        match v:
            case [a, b, *r] if a.sum() > 0:
                break_here("seq", len(r)); return a + b
            case {"k": t}:
                break_here("map"); return t * 2
            case int() | float():
                break_here("num"); return x * v
            case _:
                break_here("else"); return x - 1
    return m([x, x, 1]) + m({"k": x}) + m(3) + m(None)


@program
def numpy_middle(x):
    y = x * 2
    a = y.detach().numpy().copy()
    a = np.tanh(a) + 1
    z = torch.from_numpy(a)
    z = z * 3 + y
    return z


@program
def exec_eval(x):
    y = x + 1
    d = {"y": y, "break_here": break_here}
    exec("z = y * 2\nbrk('x')\nw = z + 1", d)
    return d["w"] + eval("y * 3")


@program
def locals_frame(x):
    y = x + 1
    break_here(sorted(locals()))
    f = sys._getframe()
    z = y * 2
    break_here(f.f_lineno, sorted(f.f_locals), f.f_code.co_name)
    return z


@program
def traceback_format(x):
    y = x + 1
    try:
        fail()
    except ValueError:
        y = y * 2
        break_here([l.strip() for l in traceback.format_exc().splitlines() if "raise" not in l and "File" not in l and "^" not in l])
        y = y + 3
    return y


@program
def global_write(x):
    global GLOBAL
    GLOBAL = x + 1
    break_here(1)
    GLOBAL = GLOBAL * 2
    r = GLOBAL
    del GLOBAL
    try:
        GLOBAL
    except NameError as e:
        break_here(str(e))
        r = r + 1
    return r


@program
def weakref_break(x):
    class C: pass
    c = C(); c.t = x * 2
    w = weakref.ref(c, lambda r: OUT.append("dead"))
    y = w().t + 1
    break_here(w() is c)
    del c
    break_here(w() is None)
    return y * 2


@program
def enum_namedtuple(x):
    P = collections.namedtuple("P", "a b")
    class E(enum.Enum):
        A = 1
        B = 2
    p = P(x, x + 1)
    break_here(E.A.name)
    q = p._replace(a=p.b * 2)
    break_here(E(2).name)
    return q, p.a + q.b


@program
def containers_returned(x):
    d = collections.deque([x, x + 1], maxlen=3)
    break_here(1)
    d.append(x * 2); d.appendleft(x * 3)
    o = collections.OrderedDict(a=x); o.move_to_end("a")
    c = collections.Counter("aab")
    dd = collections.defaultdict(list); dd["x"].append(x + 1)
    break_here(2)
    dd["y"].append(dd["x"][0] * 2)
    return d, o, c, dd, iter([1, 2]), types.MappingProxyType({"a": x + 1})


@program
def heap_bisect(x):
    h = []
    for i in [3, 1, 2]:
        heapq.heappush(h, i)
        break_here(i)
    bisect.insort(h, 2.5)
    return x * h[0], h


@program
def chained_compare(x):
    y = x * 2
    if 0 < y.sum() < 100:
        y = y + 1
        break_here("in")
    r = y.sum() > 0 and y.mean() < 5 or break_here("or")
    z = (y if not y.sum() > 3 else y * 2)
    return z, r


@program
def ternary_boolean(x):
    a = x.sum() > 0
    b = x.mean() < 10
    y = x + (1 if a and b else 2)
    break_here(bool(a), bool(b))
    return y * (not a)


@program
def fstring_tensor(x):
    y = x.sum()
    s = f"{y:.3f} {y.item():.2f} {x.shape} {x!r:.10}"
    break_here(s)
    return x * 2, s


@program
def aug_attr(x):
    class C: pass
    c = C(); c.n = 0; c.t = x; c.l = []
    for i in range(3):
        c.n += 1; c.t += i if i else 0; c.l += [c.t]
        break_here(c.n)
        c.t = c.t * 2
    return c.t, c.n, c.l


@program
def delete_locals(x):
    y = x + 1
    z = y * 2
    del y
    break_here(1)
    y = z * 3
    del z
    break_here(2)
    try:
        z
    except UnboundLocalError:
        y = y + 1
        break_here(3)
    return y


@program
def cell_deleted(x):
    y = x + 1
    def f():
        return y * 2
    a = f()
    break_here(1)
    del y
    try:
        f()
    except NameError as e:
        break_here(str(e))
        a = a + 1
    y = a
    return f()


@program
def thread_break(x):
    import threading
    r = []
    def work():
        y = x * 2
        break_here("t")
        r.append(y + 1)
    t = threading.Thread(target=work); t.start(); t.join()
    return r[0] * 2


@program
def contextvar_break(x):
    import contextvars
    v = contextvars.ContextVar("v", default=1)
    t = v.set(3)
    y = x * v.get()
    break_here(v.get())
    v.reset(t)
    return y + v.get()


@program
def keyboard(x):
    y = x * 2
    try:
        fail(KeyboardInterrupt, "k")
    except KeyboardInterrupt:
        y = y + 1
        break_here("k")
        y = y * 2
    return y


@program
def system_exit_out(x):
    y = x * 2
    try:
        break_here(1)
        sys.exit(3)
    finally:
        OUT.append(y + 1)
        break_here(2)


@program
def deep_20(x):
    def f(y, n):
        y = y + 1
        if n:
            y = f(y, n - 1)
        else:
            break_here("deep")
        return y * 1.1
    return f(x, 20)


@program
def error_deep_chain(x):
    def f(y, n):
        y = y + 1
        try:
            if n:
                return f(y, n - 1)
            break_here("deep")
            raise KeyError(n)
        except KeyError as e:
            OUT.append(y)
            break_here(n)
            raise ValueError(n) from e
        except ValueError as e:
            y = y * 2
            break_here("v", n)
            raise KeyError(n)
    return f(x, 4)


@program
def finally_in_loop_break(x):
    y = x
    for i in range(4):
        try:
            y = y + 1
            if i == 2: break
            if i == 1: continue
            break_here("t", i)
        finally:
            y = y * 2
            break_here("f", i)
    return y


@program
def nested_with_except(x):
    y = x
    with torch.no_grad():
        try:
            with contextlib.suppress(KeyError):
                y = y * 2
                fail(KeyError)
            break_here(1)
            y = y + 1
            fail(ValueError)
        except ValueError:
            y = y * 3
            break_here(torch.is_grad_enabled())
            with torch.enable_grad():
                y = y * x
                break_here(torch.is_grad_enabled())
                y = y + x
    return y
