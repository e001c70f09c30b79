"""tests/torch/break_programs/weak_references.py: what refers weakly to objects that die in captured code."""


class O:
    pass


@program
def ref_without_callback(x):
    o = O()
    r = weakref.ref(o)
    y = x + 1
    break_here(1)
    z = y * 2
    del o
    w = z + (1 if r() is None else 5)
    return w


@program
def ref_rebound(x):
    o = O()
    o.t = x
    r = weakref.ref(o)
    y = x + 1
    break_here(1)
    z = y * 2
    o = O()
    w = z + (1 if r() is None else 5)
    break_here(2)
    return w


@program
def weak_values(x):
    d = weakref.WeakValueDictionary()
    o = O()
    d["a"] = o
    y = x * 2
    break_here(len(d))
    y = y + len(d)
    del o
    y = y + len(d)
    return y, list(d), d.get("a") is None


@program
def weak_set(x):
    s = weakref.WeakSet()
    o = O()
    s.add(o)
    y = x * 2
    break_here(len(s))
    y = y + len(s)
    l = [o]
    del o
    y = y + len(s)
    l.clear()
    y = y + len(s)
    return y


@program
def held_by_dropped(x):
    log = []
    o = O()
    h = [o, {"o": o}]
    r = weakref.ref(o, lambda _: log.append(1))
    del o
    y = x + 1
    break_here(1)
    y = y * 2
    h = None
    y = y + len(log)
    return y, log


@program
def finalize_object(x):
    log = []
    o = O()
    weakref.finalize(o, log.append, "f")
    y = x + 1
    break_here(1)
    y = y * 2
    o = 3
    y = y + len(log)
    return y, log


@program
def local_scope_end(x):
    log = []

    def f(y):
        o = O()
        r = weakref.ref(o, lambda _: log.append(1))
        y = y + 1
        break_here(1)
        return y * 2

    y = f(x)
    y = y + len(log)
    return y


@program
def tensor_refs(x):
    log = []
    y = x + 1
    r = weakref.ref(y, lambda _: log.append("dead"))
    break_here(1)
    y = y * 2
    z = y + len(log)
    return z, log, r() is None


@program
def popped(x):
    log = []
    d = {"o": O()}
    r = weakref.ref(d["o"], lambda _: log.append(1))
    y = x + 1
    break_here(1)
    y = y * 2
    d.pop("o")
    y = y + len(log)
    d["k"] = y
    return y, log


@program
def attribute_replaced(x):
    log = []
    h = O()
    h.o = O()
    r = weakref.ref(h.o, lambda _: log.append(1))
    y = x + 1
    break_here(1)
    y = y * 2
    h.o = None
    y = y + len(log)
    return y, log


GLOB = O()


@program
def global_attribute(x):
    log = []
    GLOB.o = O()
    r = weakref.ref(GLOB.o, lambda _: log.append(1))
    break_here(0)
    y = x * 2
    GLOB.o = None
    y = y + len(log)
    return y


@program
def no_break_inside(x):
    log = []
    o = O()
    r = weakref.ref(o, lambda _: log.append(1))
    y = x * 2
    o = None
    y = y + len(log)
    break_here(1)
    return y, log


@program
def ref_to_replaced(x):
    h = O()
    h.o = O()
    r = weakref.ref(h.o)
    y = x + 1
    break_here(1)
    y = y * 2
    h.o = None
    y = y + (1 if r() is None else 5)
    return y


@program
def ref_to_popped(x):
    d = [O()]
    r = weakref.ref(d[0])
    y = x + 1
    break_here(1)
    y = y * 2
    d.clear()
    y = y + (1 if r() is None else 5)
    return y


@program
def ref_to_held(x):
    d = [O()]
    r = weakref.ref(d[0])
    y = x + 1
    break_here(1)
    y = y * 2
    d = None
    y = y + (1 if r() is None else 5)
    return y


@program
def in_set_and_deque(x):
    log = []
    o = O()
    q = collections.deque([o, 1])
    s = {O()}
    r = [weakref.ref(o, lambda _: log.append("q")), weakref.ref(next(iter(s)), lambda _: log.append("s"))]
    del o
    y = x + 1
    break_here(1)
    y = y * 2
    q.popleft()
    y = y + len(log)
    s.clear()
    y = y + len(log)
    return y, log


@program
def replaced_list_holds(x):
    log = []

    class F:
        def __del__(self):
            log.append("F")

    h = O()
    h.l = [[F()]]
    y = x + 1
    break_here(1)
    y = y * 2
    h.l = None
    y = y + len(log)
    return y, log


@program
def cell_replaced(x):
    log = []
    o = O()
    r = weakref.ref(o, lambda _: log.append(1))

    def look():
        return o

    y = x + 1
    break_here(1)
    y = y * 2
    o = None
    y = y + len(log)
    return y, look()


@program
def callee_scope(x):
    log = []

    def inner(o, y):
        y = y * 2
        return y

    def outer(y):
        o = O()
        r = weakref.ref(o, lambda _: log.append(1))
        y = inner(o, y)
        break_here(len(log))
        return y + 1

    y = outer(x)
    y = y + len(log)
    break_here(len(log))
    return y


@program
def gc_cycle(x):
    log = []
    o = O()
    o.me = o
    r = weakref.ref(o, lambda _: log.append(1))
    y = x + 1
    break_here(1)
    del o
    y = y * 2
    gc.collect()
    y = y + len(log)
    return y


@program
def exception_holds(x):
    log = []

    def f():
        o = O()
        r.append(weakref.ref(o, lambda _: log.append(1)))
        raise ValueError

    r = []
    try:
        f()
    except ValueError as e:
        y = x + len(log)
        break_here(len(log))
        y = y * 2
    y = y + len(log)
    return y


@program
def weak_keys(x):
    class K:
        pass

    d = weakref.WeakKeyDictionary()
    k = K()
    d[k] = x + 1
    break_here(len(d))
    y = d[k] * 2
    del k
    break_here(len(d))
    return y, len(d)


@program
def ref_to_what_was_looked_at(x):
    d = [O()]
    d[0].t = x
    r = weakref.ref(d[0])
    break_here(1)
    y = d[0].t * 2
    d = None
    y = y + (1 if r() is None else 5)
    return y
