"""Garbage collection, finalizers, weak references and the life of values."""

import gc
import sys
import weakref


class Node:
    def __init__(self, name, log=None):
        self.name, self.log, self.other = name, log, None

    def __del__(self):
        if self.log is not None:
            self.log.append(("del", self.name))


def case_cycles(log):
    for i in range(3):
        a, b = Node(("a", i), log), Node(("b", i))
        a.other, b.other = b, a
    del a, b
    gc.collect()
    log.append("collected")


def case_collection_during_interpretation(log):
    old = gc.get_threshold()
    gc.set_threshold(20, 10, 10)
    gc.enable()
    try:
        kept = []
        for i in range(300):
            n = Node(i)
            n.other = n
            kept.append([{"i": i}, (i, n), {i}])
            kept = kept[-5:]
        log.append(len(kept))
        f = lambda *a, **k: [lambda: (a, k) for _ in range(3)]
        log.append(len([f(i, x=i)[0]() for i in range(50)]))
        g = (Node(i) for i in range(50))
        log.append(sum(1 for _ in g))
    finally:
        gc.disable()
        gc.set_threshold(*old)


case_collection_during_interpretation.sweep = 30


def case_weak_references(log):
    n = Node("weak")
    reference = weakref.ref(n, lambda r: log.append("gone"))
    log.append(reference() is n)
    n = None
    log.append(reference())
    values = weakref.WeakValueDictionary()
    values["k"] = m = Node("value")
    log.append(len(values))
    del m
    log.append(len(values))


def case_finalize(log):
    n = Node("f")
    weakref.finalize(n, log.append, "finalized")
    log.append("before")
    del n
    log.append("after")


def case_temporaries_die_at_once(log):
    def use(x):
        log.append("used")

    use(Node("argument", log))
    log.append("after call")
    Node("attribute", log).name
    log.append("after attribute")
    [Node("list", log)]
    log.append("after list")
    Node("left", log) is Node("right", log)
    log.append("after compare")
    f"{Node('format', log).name}"
    log.append("after format")
    x, y = Node("x", log), Node("y", log)
    x, y = y, x
    log.append("swapped")
    x = None
    log.append("x dropped")
    for n in [Node("loop1", log), Node("loop2", log)]:
        log.append(n.name)
    log.append("loop over")
    del n
    if Node("condition", log):
        log.append("in branch")
    (lambda n: None)(Node("lambda", log))
    log.append("end")


def case_arguments_die_when_rebound(log):
    def f(n):
        log.append("in")
        n = None
        log.append("rebound")

    f(Node("argument", log))
    log.append("out")

    def g(*args, **kwargs):
        del args
        log.append("args dropped")
        del kwargs
        log.append("kwargs dropped")

    g(Node("a", log), k=Node("k", log))


# A frame that was handed over calls through the hook, and CPython then keeps a reference to each argument.
case_arguments_die_when_rebound.sweep = -1


def case_return_value_order(log):
    def f():
        a = Node("local a", log)
        b = Node("local b", log)
        return Node("returned", log)

    r = f()
    log.append("returned")
    r = None
    f()
    log.append("end")


def case_generator_locals_die(log):
    def g():
        n = Node("in generator", log)
        yield 1
        yield 2

    it = g()
    next(it)
    del it
    log.append("dropped")
    it = g()
    list(it)
    log.append("exhausted")


def case_exception_locals_die(log):
    def f():
        n = Node("in failing", log)
        raise ValueError

    try:
        f()
    except ValueError as e:
        log.append("caught")
    log.append("end")


def case_reference_counts(log):
    x = object()
    base = sys.getrefcount(x)
    a = x
    log.append(sys.getrefcount(x) - base)
    b = [x, x]
    log.append(sys.getrefcount(x) - base)

    def f(y):
        return sys.getrefcount(y) - base

    log.append(f(x))
    log.append((lambda *z: sys.getrefcount(z[0]) - base)(x))
    del a, b
    log.append(sys.getrefcount(x) - base)
    for y in (x,):
        pass
    log.append(sys.getrefcount(x) - base)


case_reference_counts.sweep = -1


def case_string_append_in_place(log):
    """The buffer is grown in place: were it copied each time, the address would follow the copies."""
    s = "x" * 1000
    moves = 0
    for i in range(2000):
        before = id(s)
        s += "y"
        if id(s) != before:
            moves += 1
    return moves < 1000, len(s)


case_string_append_in_place.sweep = 20


def case_del_resurrects(log):
    saved = []

    class R:
        def __del__(self):
            saved.append(self)
            log.append("del")

    R()
    log.append(len(saved))
    saved.clear()
    log.append(len(saved))


def case_finalizer_calls_python(log):
    class F:
        def __del__(self):
            total = 0
            for i in range(5):
                total += helper(i)
            log.append(total)
            try:
                raise ValueError
            except ValueError:
                log.append("handled")

    def helper(x):
        return x * 2

    try:
        1 / 0
    except ZeroDivisionError:
        F()
        log.append(sys.exc_info()[0].__name__)


def case_gc_callbacks(log):
    seen = []
    gc.callbacks.append(lambda phase, info: seen.append(phase))
    try:
        gc.collect()
    finally:
        gc.callbacks.pop()
    return seen


def case_get_referrers(log):
    target = [1]
    holder = {"t": target}
    return any(r is holder for r in gc.get_referrers(target))


def case_dict_mutated_by_del(log):
    d = {}

    class K:
        def __del__(self):
            d.clear()
            log.append("cleared")

    d["a"] = K()
    d["b"] = 1
    d["a"] = None
    log.append(dict(d))
    l = [K()]
    l[0] = 5
    return l, d
