"""tests/torch/break_programs/lifetimes.py: when objects die, who they are, and what looks at frames around breaks."""


class Loud:
    def __init__(self, name, value=None):
        self.name, self.value = name, value

    def __del__(self):
        OUT.append(("died", self.name))


@program
def death_order_of_locals(x):
    def f(y):
        a = Loud("a", y)
        y = y + 1
        b = Loud("b", y)
        break_here("f")
        a = None
        y = y * 2
        c = Loud("c", b)
        del b
        break_here("g")
        c.value = None
        OUT.append("after")
        return y
    y = f(x)
    OUT.append("returned")
    return y


@program
def death_at_rebinding(x):
    y = x
    for i in range(3):
        one = Loud(i, y)
        y = y + i
        break_here(i)
        y = one.value * 2 + y
    OUT.append("loop")
    one = None
    OUT.append("none")
    return y


@program
def weak_references(x):
    class Box:
        pass
    b = Box()
    r = weakref.ref(b, lambda _: OUT.append("callback"))
    y = x + 1
    b.y = y
    break_here(r() is b)
    y = y * 2
    b.z = y
    w = weakref.WeakValueDictionary(k=b)
    break_here(list(w))
    del b
    OUT.append(r() is None)
    y = y + 1
    break_here(list(w))
    return y


@program
def tensor_dies(x):
    y = x + 1
    r = weakref.ref(y)
    break_here(r() is y)
    z = y * 2
    q = weakref.ref(z)
    del y
    OUT.append(r() is None)
    break_here(q() is z)
    w = z + 1
    del z
    break_here(q() is None)
    OUT.append(q() is None)
    return w


@program
def dies_in_callee(x):
    def f(v):
        v = v * 2
        OUT.append("in f")
        break_here("f")
        return v.sum()
    y = f(Loud("argument", x).value)
    z = f(x + 1)
    def g(one):
        t = one.value + 1
        del one
        break_here("g")
        return t
    return y + z + g(Loud("given", x))


@program
def finalizer_raises_in_error(x):
    def f(y):
        keep = Loud("kept", y)
        y = y + 1
        break_here("f")
        if y.sum() > 0:
            raise ValueError("with frame")
        return y
    try:
        y = f(x)
    except ValueError as e:
        OUT.append("handling")
        break_here(e.args)
        y = x * 2
    OUT.append("after")
    return y


@program
def error_kept_keeps_frame(x):
    kept = None
    def f(y):
        inner = Loud("inner", y * 2)
        break_here("f")
        raise KeyError("k")
    try:
        f(x)
    except KeyError as e:
        kept = e
        break_here("handler")
    names = sorted(kept.__traceback__.tb_next.tb_frame.f_locals)
    OUT.append(names)
    y = kept.__traceback__.tb_next.tb_frame.f_locals["inner"].value + 1
    break_here("before del")
    del kept
    OUT.append("gone")
    return y


@program
def identity_over_segments(x):
    a = [x]
    b = {"a": a, "x": x}
    y = x + 1
    c = (a, y)
    break_here(1)
    OUT.append((a is b["a"], b["x"] is x, c[0] is a, c[1] is y))
    d = [c, c, a]
    y2 = y
    break_here(2)
    OUT.append((d[0] is d[1], d[2] is c[0], y2 is y, d[0][1] is y2))
    a.append(y)
    e = y.view(-1)
    break_here(3)
    e.mul_(2)
    OUT.append((y.sum().item(), a[1] is y))
    return a, b, c, d, e


@program
def cyclic_objects(x):
    a = [x + 1]
    a.append(a)
    d = {"self": None, "a": a}
    d["self"] = d
    break_here(a[1] is a)
    y = a[0] * 2
    a[1][0] = y
    break_here(d["self"]["a"] is a)
    d["self"]["y"] = a[0] + 1
    r = d["y"]
    a.clear(); d.clear()
    return r


@program
def frame_objects(x):
    frame = sys._getframe()
    line = frame.f_lineno - frame.f_code.co_firstlineno
    y = x + 1
    break_here(line)
    def f(v):
        v = v * 2
        mine = sys._getframe()
        break_here(mine.f_back is frame, mine.f_lineno - mine.f_code.co_firstlineno)
        w = v + 1
        OUT.append((mine.f_back is frame, sorted(mine.f_locals), mine.f_code.co_name))
        return w
    y = f(y)
    OUT.append((sys._getframe() is frame, frame.f_lineno - frame.f_code.co_firstlineno))
    return y


@program
def stack_seen_by_break(x):
    look = stator.disable(lambda: OUT.append([(f.name, f.lineno) for f in traceback.extract_stack() if "break_programs" in f.filename]))
    def g(y):
        y = y + 1
        look()
        return (y *
                2 +
                (look() or 1))
    def f(y):
        return [g(v) for v in (y, y + 1)] + [
            g(y)
        ]
    return f(x)


@program
def traceback_of_many_frames(x):
    def c(y):
        y = y + 1
        break_here("c")
        z = (y * 2
             + torch.ones(7)
             + 1)
        return z
    def b(y):
        try:
            return c(y * 2)
        finally:
            y = y + 1
            break_here("b")
    def a(y):
        try:
            return b(y)
        except RuntimeError as e:
            break_here("a")
            raise TypeError("from a") from e
    try:
        return a(x)
    except TypeError as e:
        text = traceback.format_exception(e)
        OUT.append([t for t in "".join(text).splitlines() if "break_programs" in t])
        frames = [(t.name, t.lineno, t.colno, t.end_colno) for t in traceback.extract_tb(e.__traceback__)]
        OUT.append(frames)
        break_here("end")
    return x * 3


@program
def same_error_twice(x):
    error = ValueError("one")
    y = x
    for i in range(3):
        try:
            y = y + 1
            if i == 1:
                break_here("odd")
            raise error
        except ValueError as e:
            OUT.append((e is error, len(traceback.extract_tb(e.__traceback__))))
            break_here(i)
            y = y * 2
    return y


@program
def notes_and_attributes(x):
    y = x
    try:
        try:
            y = y + 1
            fail()
        except ValueError as e:
            e.add_note("a note")
            e.more = y
            break_here("inner")
            raise
    except ValueError as e:
        y = e.more * 2
        OUT.append(e.__notes__)
        break_here("outer")
    return y


@program
def exception_with_tensor(x):
    class Mine(Exception):
        def __init__(self, value):
            super().__init__("mine")
            self.value = value
    def f(y):
        y = y * 2
        break_here("f")
        raise Mine(y + 1)
    try:
        f(x)
    except Mine as e:
        y = e.value
        break_here(type(e.value).__name__)
        y = y + e.value
    return y


@program
def garbage_collected(x):
    class Node:
        def __del__(self):
            OUT.append("node died")
    y = x + 1
    n = Node()
    n.self = n
    n.y = y
    break_here("made")
    del n
    y = y * 2
    gc.collect()
    OUT.append("collected")
    return y


@program
def default_dict_order(x):
    d = collections.defaultdict(list)
    o = collections.OrderedDict(b=1, a=2)
    for k in ("z", "a", "m"):
        d[k].append(x + len(d))
        break_here(list(d))
        d["a"].append(d[k][-1] * 2)
        o[k] = d[k][0]
        o.move_to_end("b")
    d.pop("z")
    d["z"] = [x]
    break_here(list(d), list(o))
    return dict(d), o


@program
def set_and_frozen(x):
    s = {1, 2, 3}
    y = x + len(s)
    s.add(9)
    break_here(sorted(s))
    s -= {1}
    y = y + len(s)
    f = frozenset(s)
    t = {id(y), id(y)}
    break_here(len(t), f == s)
    return y, f, len(t)
