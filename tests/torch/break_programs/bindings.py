"""tests/torch/break_programs/bindings.py: variables, cells and names that are bound, bound again and unbound around breaks."""


@program
def cell_rebound_by_callee(x):
    y = x + 1
    def set_it(v):
        nonlocal y
        y = v
        break_here("set", float(v.sum()))
    def read_it():
        return y * 2
    a = read_it()
    set_it(a - 1)
    b = read_it()
    y = b + 1
    break_here("mid")
    set_it(read_it() + y)
    return y, a, b, read_it()


@program
def cell_shared_by_two_closures(x):
    def make(v):
        n = 0
        def add(k):
            nonlocal n, v
            n += k
            v = v * k
            break_here("add", n)
            return v
        def get():
            return v + n
        return add, get
    add, get = make(x)
    one = get()
    add(2)
    two = get()
    add(3)
    break_here("out")
    return one, two, get(), get() is get()


@program
def cells_of_a_loop(x):
    fs = []
    for i in range(3):
        y = x * i
        def f(k=i):
            return y + i + k
        fs.append(f)
        break_here(i)
    del i
    i = 7
    break_here("end", len(fs))
    return [f() for f in fs]


@program
def unbound_after_break(x):
    y = x * 2
    try:
        if y.sum() > 0:
            z = y + 1
            break_here("bound")
        return z * 2
    except UnboundLocalError as e:
        OUT.append(str(e))
        return y


@program
def unbound_out(x):
    y = x * 2
    break_here(1)
    if y.sum() < 0:
        z = 1
    return y + z


@program
def free_variable_unbound(x):
    y = x * 2
    def inner():
        return z + y
    try:
        break_here("before")
        inner()
    except NameError as e:
        OUT.append((type(e).__name__, str(e)))
    z = y + 1
    break_here("after")
    r = inner()
    del z
    break_here("deleted")
    try:
        inner()
    except NameError as e:
        OUT.append(str(e))
    return r


@program
def deleted_locals(x):
    y = x + 1
    z = y * 2
    break_here(sorted(locals()))
    del y
    break_here(sorted(locals()))
    try:
        y
    except UnboundLocalError:
        z = z + 1
    y = z * 2
    break_here(sorted(locals()))
    return y


@program
def locals_seen_by_break(x):
    y = x + 1
    look = stator.disable(lambda: sorted((k, type(v).__name__) for k, v in sys._getframe(1).f_locals.items()))
    OUT.append(look())
    z = y * 2
    def f(a, *b, c=3, **d):
        w = a + c
        OUT.append(look())
        w = w * 2
        return w
    r = f(z, 1, 2, c=4, k=5)
    OUT.append(look())
    return r


@program
def locals_written_in_callee(x):
    def f(a):
        b = a * 2
        names = locals()
        break_here(sorted(names))
        c = b + 1
        again = locals()
        OUT.append((names is again, sorted(names)))
        return names["a"] + c
    return f(x)


@program
def vars_dir_globals(x):
    global SOME_NAME
    SOME_NAME = x * 2
    break_here("SOME_NAME" in globals())
    y = SOME_NAME + 1
    globals()["SOME_NAME"] = y
    break_here(2)
    z = SOME_NAME * 3
    del SOME_NAME
    break_here("SOME_NAME" in globals())
    try:
        SOME_NAME
    except NameError as e:
        OUT.append(str(e))
    return z


@program
def builtin_shadowed(x):
    global len
    y = x + len([1, 2])
    break_here(1)
    len = lambda v: 10
    try:
        z = y + len([1, 2])
        break_here(2)
        z = z + len([])
    finally:
        del len
    break_here(3)
    return z + len([1])


@program
def star_arguments(x):
    def f(*args, **kwargs):
        first, *rest = args
        y = first * 2
        break_here(len(rest), sorted(kwargs))
        kwargs["more"] = y
        return sum(rest, y), kwargs
    given = {"b": 1, "a": x}
    r, k = f(*[x, 1], *(2, x), **given, c=3)
    break_here(list(k), list(given))
    return r + k["more"], list(k), k is given


@program
def keyword_errors(x):
    def f(a, /, b, *, c):
        return a + b + c
    y = x + 1
    for args, kw in [((x,), {}), ((x, 1), {}), ((x, 1), {"c": y}), ((x, 1), {"a": 1, "c": 2}), ((x, 1, 2, 3), {"c": 1})]:
        try:
            y = y + f(*args, **kw)
            break_here("fine")
        except TypeError as e:
            OUT.append(str(e))
            y = y * 2
    return y


@program
def defaults_mutable(x):
    def f(a, seen=[]):
        seen.append(a.sum().item())
        break_here(len(seen))
        return a + len(seen)
    y = f(x)
    y = f(y)
    return f(y), f.__defaults__


@program
def class_cell(x):
    class A:
        scale = 2
        def go(self, v):
            break_here(__class__.__name__)
            return v * self.scale
    class B(A):
        scale = 3
        def go(self, v):
            v = super().go(v) + 1
            break_here(__class__.__name__)
            return super().go(v)
    return B().go(x)


@program
def class_made_between_breaks(x):
    y = x + 1
    class Local:
        kept = y
        size = len([k for k in range(3)])
        break_here("body")
        other = kept * 2
        def m(self):
            return self.kept + self.other + y
    break_here(Local.__qualname__)
    r = Local().m()
    Local.kept = r
    break_here(sorted(k for k in vars(Local) if not k.startswith("__")))
    return Local().m()


@program
def walrus_and_scopes(x):
    total = [last := x + k for k in range(3)]
    break_here(len(total))
    if (y := last * 2).sum() > 0:
        break_here("positive")
        y = y + 1
    return [y, last, {k: (z := y * k) for k in range(2)}, z]


@program
def many_names(x):
    a = b = c = x + 1
    break_here(a is b, b is c)
    a += 1
    break_here(a is b)
    (a, b), c = (c, a), b
    break_here(a is c)
    [d, *e], f = [a, b, c], a
    break_here(f is d, len(e))
    return a, b, c, d, e, f


@program
def exec_and_eval(x):
    space = {"x": x, "b": break_here}
    exec("y = x + 1\nb('in exec')\nz = y * 2", space)
    w = eval("y + z", space)
    break_here(sorted(k for k in space if not k.startswith("__")))
    exec("def f(v):\n    b('f')\n    return v * 3", space)
    return space["f"](w)


@program
def exec_over_locals(x):
    y = x + 1
    exec("y = 5; q = 3")
    break_here("q" in locals())
    return y + eval("y * 2")


@program
def dynamic_functions(x):
    code = compile("def g(v, k=2):\n    w = v * k\n    break_here('g')\n    return w + k\n", "made", "exec")
    space = {"break_here": break_here}
    exec(code, space)
    g = space["g"]
    y = g(x)
    h = types.FunctionType(g.__code__, g.__globals__, "h", (5,))
    y = y + h(x)
    g.__defaults__ = (7,)
    y = y + g(x)
    g.__code__ = (lambda v, k: v - k).__code__
    return y + g(x)
