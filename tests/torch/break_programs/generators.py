"""tests/torch/break_programs/generators.py: generators and comprehensions with breaks in them."""


@program
def gen_break(x):
    def g(y):
        for i in range(3):
            y = y + i
            break_here("g", i)
            y = y * 2
            yield y
    z = x
    for v in g(x):
        z = z + v
        break_here("c")
        z = z - 1
    return z


@program
def gen_nested(x):
    def inner(y):
        r = yield y + 1
        break_here("inner", r)
        y = y * 2
        yield y
        return y * 3
    def outer(y):
        y = y - 1
        r = yield from inner(y)
        break_here("outer")
        yield r + 1
    z = x
    for v in outer(x):
        z = z + v * 2
        break_here("c")
    return z


@program
def gen_send_throw(x):
    def g(y):
        while True:
            try:
                s = yield y
                y = y * 2 + s
                break_here("sent", s)
                y = y - 1
            except ValueError as e:
                break_here("thrown", repr(e))
                y = y + 100
                yield y
            finally:
                OUT.append("fin")
    it = g(x)
    a = next(it)
    b = it.send(3)
    c = it.throw(ValueError("t"))
    it.close()
    return a + b + c


@program
def gen_raises(x):
    def g(y):
        yield y + 1
        break_here("g")
        y = y * 2
        raise KeyError("g")
    z = x
    try:
        for v in g(x):
            z = z + v
            break_here("c")
    except KeyError as e:
        z = z * 3
        break_here(repr(e))
        z = z + 1
    return z


@program
def gen_return_value(x):
    def g(y):
        yield y
        break_here(1)
        return y * 2
    def o(y):
        v = yield from g(y)
        OUT.append(v)
        yield v + 1
    return sum(o(x), start=torch.zeros(()))


@program
def gen_closed_early(x):
    def g(y):
        try:
            while True:
                y = y * 2
                yield y
                break_here("go")
        finally:
            break_here("closed")
            OUT.append(y)
    for v in g(x):
        break_here("c")
        if v.abs().sum() > 10 or len(OUT) > 12:
            break
    return v + 1


@program
def gen_expression(x):
    y = x + 1
    def f(i):
        break_here(i)
        return y * i
    return sum((f(i) + 1 for i in range(3)), x)


@program
def comp_list(x):
    def f(i):
        t = x * i
        break_here(i)
        return t + 1
    return torch.stack([f(i) * 2 for i in range(3)])


@program
def comp_nested(x):
    def f(i, j):
        t = x * i + j
        if t.sum() > 3:
            return t
        return -t
    return [[f(i, j) + 1 for i in range(2)] for j in range(2)]


@program
def comp_dict_cond(x):
    d = {i: x * i for i in range(4) if (x * i).sum().item() >= 0}
    break_here(sorted(d))
    return {k: v + 1 for k, v in d.items()}


@program
def comp_walrus(x):
    r = [y for i in range(4) if (y := x * i).sum() > 0]
    break_here(len(r))
    return r, y + 1


@program
def gen_stop_iteration(x):
    def g():
        yield x * 2
        break_here("b")
        raise StopIteration(3)
    try:
        return [v for v in g()]
    except RuntimeError as e:
        break_here(repr(e), repr(e.__cause__))
        return x + 1


@program
def entry_gen_consumed(x):
    def g():
        y = x * 2
        received = yield y
        break_here(received)
        while received is not None:
            y = y + received
            received = yield y
            break_here(received)
    it = g()
    r = [next(it)]
    for i in range(3):
        r.append(it.send(i))
    try:
        it.send(None)
    except StopIteration as e:
        break_here("end", e.value)
    return r
