"""tests/torch/break_programs/classes.py: breaks in methods, properties, class bodies, callees and closures."""


@program
def class_body(x):
    y = x + 1
    class C:
        a = y * 2
        break_here("class")
        b = a + 1
        def m(self):
            return self.b * 2
    break_here(C.__qualname__)
    return C().m() + C.a


@program
def property_break(x):
    class C:
        def __init__(self, v): self.v = v
        @property
        def p(self):
            t = self.v * 2
            break_here("p")
            return t + 1
        @p.setter
        def p(self, v):
            t = v * 2
            break_here("set")
            self.v = t
        @p.deleter
        def p(self):
            break_here("del")
            self.v = self.v * 0
    c = C(x)
    y = c.p + 1
    c.p = y
    z = c.p * 2
    del c.p
    return z + c.p


@program
def getattr_break(x):
    class C:
        def __getattr__(self, name):
            t = x * len(name)
            break_here(name)
            if name == "no":
                raise AttributeError(name)
            return t + 1
    c = C()
    return c.abc + getattr(c, "no", x) + hasattr(c, "no") + hasattr(c, "yes")


@program
def dunder_break(x):
    class C:
        def __init__(self, v):
            self.v = v + 1
            break_here("init")
            self.w = v * 2
        def __add__(self, o):
            r = self.v + o
            break_here("add")
            return r
        def __radd__(self, o):
            r = self.w + o
            break_here("radd")
            return r
        def __len__(self):
            break_here("len"); return 3
        def __getitem__(self, i):
            r = self.v * i
            break_here("item", i)
            return r + 1
        def __setitem__(self, i, v):
            break_here("set", i)
            self.v = v * 2
        def __contains__(self, o):
            break_here("in"); return True
        def __call__(self, y):
            y = y * 2
            break_here("call")
            return y + self.w
        def __bool__(self):
            break_here("bool"); return bool((self.v > 0).all())
        def __eq__(self, o):
            break_here("eq"); return o is self
        def __hash__(self):
            return 3
        def __iter__(self):
            for i in range(2):
                break_here("iter")
                yield self.v + i
    c = C(x)
    y = c + x
    y = x.sum().item() + c + y
    y = y + len(c) + c[2]
    c[0] = y
    if 3 in c: y = y + 1
    y = c(y)
    if c: y = y * 2
    if c == 3: y = y * 3
    a, b = c
    return y + a + b


@program
def descriptor_break(x):
    class D:
        def __get__(self, o, t=None):
            break_here("get"); return x * 2
        def __set__(self, o, v):
            o.__dict__["_d"] = v * 3
            break_here("set")
    class C:
        d = D()
    c = C()
    y = c.d + 1
    c.d = y
    return c._d + c.d


@program
def del_break(x):
    class L:
        def __init__(self, v): self.v = v
        def __del__(self):
            break_here("del", tuple(self.v.shape))
            OUT.append(self.v + 1)
    y = x * 2
    l = L(y)
    y = y + 1
    break_here("a")
    del l
    y = y * 3
    break_here("b")
    l = L(y)
    l = None
    return y


@program
def super_break(x):
    class A:
        def f(self, y):
            y = y + 1
            break_here("A")
            return y
    class B(A):
        def f(self, y):
            y = super().f(y * 2)
            break_here("B")
            return super().f(y) * 3
    return B().f(x)


@program
def metaclass_break(x):
    class M(type):
        def __call__(cls, *a):
            break_here("M")
            o = super().__call__(*a)
            o.w = o.v * 2
            return o
    class C(metaclass=M):
        def __init__(self, v):
            self.v = v + 1
            break_here("init")
    c = C(x)
    return c.v + c.w


@program
def dataclass_break(x):
    @dataclasses.dataclass
    class P:
        a: object
        b: object = None
        def __post_init__(self):
            self.b = self.a * 2
            break_here("post")
    p = P(x)
    break_here(1)
    q = dataclasses.replace(p, a=p.b)
    return p.a + p.b + q.a + q.b


@program
def module_hooks(x):
    m = nn.Linear(4, 4)
    with torch.no_grad():
        m.weight.fill_(0.5); m.bias.fill_(0.1)
    def pre(mod, a):
        break_here("pre"); return (a[0] * 2,)
    def post(mod, a, o):
        o = o + 1
        break_here("post")
        return o * 2
    h1 = m.register_forward_pre_hook(pre)
    h2 = m.register_forward_hook(post)
    y = m(x)
    h1.remove()
    break_here("x")
    z = m(y)
    return y + z


@program
def closures_change(x):
    n = 0
    acc = x
    def step(k):
        nonlocal n, acc
        n += k
        acc = acc + n
        break_here("step", n)
        acc = acc * 2
    for i in range(3):
        step(i)
        acc = acc - 1
    return acc, n


@program
def lambda_default(x):
    fs = [lambda y, i=i: (break_here(i), y * i)[1] for i in range(3)]
    return functools.reduce(lambda a, f: f(a) + 1, fs, x)


@program
def sorted_key(x):
    rows = [x * -1, x * 2, x + 0.5]
    def key(t):
        break_here("k")
        return t.sum().item()
    r = sorted(rows, key=key)
    return r[0] + 1, r[-1] * 2


@program
def map_filter(x):
    def f(i):
        y = x * i
        break_here(i)
        return y + 1
    return sum(filter(lambda t: t.sum() > -100, map(f, range(3))), x)


@program
def recursion(x):
    def f(y, n):
        if n == 0:
            break_here("bottom")
            return y * 2
        y = y + n
        r = f(y, n - 1)
        break_here(n)
        return r - n
    return f(x, 4)


@program
def args_kwargs(x):
    def f(*a, k=1, **kw):
        y = a[0] * k
        break_here(sorted(kw))
        return y + kw["z"]
    return f(x, 3, k=2, z=x, w=1) + f(*[x], **{"z": 2})


@program
def partial_break(x):
    def f(a, b, c=0):
        r = a + b
        break_here(c)
        return r * 2 + c
    p = functools.partial(f, x, c=3)
    return p(x) + p(1)


@program
def decorator_break(x):
    def deco(f):
        @functools.wraps(f)
        def w(*a, **k):
            break_here("before")
            r = f(*a, **k)
            break_here("after")
            return r + 1
        return w
    @deco
    @deco
    def g(y):
        y = y * 2
        break_here("in")
        return y + 3
    return g(x)


@program
def lru_cache_break(x):
    @functools.lru_cache
    def n(k):
        break_here("n", k)
        return k * 2
    return x * n(2) + n(2) + n(3)


@program
def unpack_star(x):
    a, *b, c = [x * i for i in range(5)]
    break_here(len(b))
    d, (e, f), *g = a + 1, (b[0], c), 3, 4
    break_here(g)
    return d + e + f


@program
def slices_written(x):
    y = x.clone()
    y[0] = 5
    break_here(y[0, 0].item())
    y[1:, ::2] *= 3
    break_here(y.tolist())
    y[y > 2] = 0
    return y, x


@program
def views_across(x):
    y = x.clone()
    v = y.view(-1)
    break_here(1)
    v.add_(1)
    w = y.t()
    break_here(2)
    w.mul_(2)
    assert v._base is y
    return y, v, w


@program
def inplace_input(x):
    y = x.detach()
    y.add_(1)
    break_here(y.sum().item())
    y.mul_(2)
    return y


@program
def list_effects(x):
    l = [x]
    l.append(x + 1)
    break_here(len(l))
    l[0] = l[1] * 2
    l.insert(0, l[0])
    m = l
    break_here(len(m))
    m.pop()
    return l, l[0] is l[1]


@program
def dict_effects(x):
    d = {"a": x}
    e = d
    d["b"] = x + 1
    break_here(sorted(e))
    e["a"] = e["b"] * 2
    for k in d:
        break_here(k)
        e[k] = e[k] + 1
    return d, d is e


@program
def identity_across(x):
    a = [x + 1]
    b = {"l": a, "t": a[0]}
    break_here(b["l"] is a, b["t"] is a[0])
    c = b["l"]
    c.append(c[0] * 2)
    break_here(c is a)
    return a, b, c
