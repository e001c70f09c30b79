"""tests/torch/break_programs/resumed.py: generators and iterators that lie between segments."""


@program
def send_and_breaks(x):
    def g(y):
        total = y
        while True:
            got = yield total * 2
            break_here("got", got is None)
            if got is None:
                return total
            total = total + got
    it = g(x)
    a = next(it)
    b = it.send(a + 1)
    break_here("between")
    c = it.send(b)
    try:
        it.send(None)
    except StopIteration as e:
        d = e.value
    return a, b, c, d


@program
def throw_caught_inside(x):
    def g(y):
        while True:
            try:
                y = y + 1
                yield y
            except ValueError as e:
                y = y * 2
                break_here(e.args)
            except GeneratorExit:
                break_here("closing")
                OUT.append(y * 3)
                raise
            finally:
                OUT.append("finally")
    it = g(x)
    a = next(it)
    b = it.throw(ValueError("one"))
    break_here("mid")
    c = next(it)
    it.close()
    return a, b, c


@program
def yield_in_with(x):
    class C:
        def __enter__(self):
            break_here("enter"); return 2
        def __exit__(self, t, v, tb):
            break_here("exit", t); return t is KeyError
    def g(y):
        with C() as n:
            y = y * n
            yield y
            y = y + 1
            break_here("resumed")
            yield y
        y = y - 1
        yield y
    it = g(x)
    a = next(it)
    b = next(it)
    c = it.throw(KeyError("k"))
    jt = g(x + 1)
    d = next(jt)
    del jt
    OUT.append("deleted")
    return a, b, c, d, list(it)


@program
def delegation(x):
    def inner(y):
        r = None
        for i in range(3):
            try:
                r = yield y + i
                break_here("inner", i)
            except KeyError:
                break_here("key")
                y = y * 2
        return y, r
    def outer(y):
        y, r = yield from inner(y)
        break_here("outer")
        v = yield from [y, y + 1]
        return y * 3
    it = outer(x)
    seen = [next(it), it.send(5), it.throw(KeyError("k")), next(it), next(it)]
    try:
        next(it)
    except StopIteration as e:
        seen.append(e.value)
    return seen


@program
def generators_in_lockstep(x):
    def g(y, k):
        for i in range(3):
            y = y + k
            if i == 1:
                break_here(k)
            yield y
    a, b = g(x, 1), g(x, 2)
    y = x
    for one, two in zip(a, b):
        y = y + one * two
        break_here("zip")
    return y, next(a, "end"), next(b, "end")


@program
def generator_kept_in_object(x):
    class Source:
        def __init__(self):
            self.it = self.values(x)
        def values(self, y):
            while True:
                y = y * 1.5
                break_here("values")
                yield y
    s = Source()
    y = next(s.it)
    break_here("a")
    y = y + next(s.it)
    for k, v in zip(range(2), s.it):
        y = y + v * k
    return y


@program
def iterators_half_used(x):
    rows = iter(x.unbind())
    it = iter([1, 2, 3, 4])
    d = {"a": 1, "b": 2}
    keys = iter(d)
    e = enumerate("abc", 5)
    z = zip(range(3), [x, x * 2, x * 3])
    y = next(rows) + next(it)
    next(keys), next(e), next(z)
    break_here(1)
    y = y + next(rows) * next(it)
    n, v = next(z)
    y = y.sum() + v * n
    break_here(next(keys), next(e))
    return y, list(rows), list(it), list(keys), list(e), list(z)


@program
def itertools_half_used(x):
    c = itertools.count(3)
    cy = itertools.cycle([x, x + 1])
    ch = itertools.chain([1], (k for k in (2, 3)), iter([4]))
    g = itertools.groupby([1, 1, 2, 3, 3], key=lambda k: break_here(k) or k)
    t1, t2 = itertools.tee(iter([x, x * 2]))
    ac = itertools.accumulate([x, x, x], lambda a, b: a + b)
    y = next(cy) + next(c) + next(ch)
    break_here("one")
    y = y + next(cy) * next(c) + next(t1) + next(ac)
    break_here("two")
    y = y + next(t2) + next(t1) + next(ac) + next(ch)
    k, group = next(g)
    y = y + k * len(list(group))
    break_here("three")
    return y, next(c), list(ch), [(k, list(v)) for k, v in g], list(t2), list(ac)


@program
def iterator_of_own(x):
    class Count:
        def __init__(self, n):
            self.n, self.i = n, 0
        def __iter__(self):
            break_here("iter")
            return self
        def __next__(self):
            if self.i >= self.n:
                break_here("stop")
                raise StopIteration
            self.i += 1
            return x * self.i
    y = x
    for v in Count(3):
        y = y + v
        break_here("body")
    a, b = Count(2)
    y = y + a * b + sum(Count(2))
    return y, [*Count(2)], max(Count(3), key=lambda t: t.sum().item() + (break_here("key") is None))


@program
def changed_while_iterated(x):
    l = [1, 2, 3]
    y = x
    for v in l:
        y = y + v
        if len(l) < 6:
            l.append(v * 2)
        break_here(len(l))
    d = {1: x, 2: x}
    try:
        for k in d:
            y = y + d[k]
            break_here(k)
            d[k + 10] = y
    except RuntimeError as e:
        OUT.append(str(e))
    s = {1, 2}
    try:
        for k in s:
            y = y + k
            s.discard(k)
            break_here("s")
            s.add(k + 100)
    except RuntimeError as e:
        OUT.append(str(e))
    return y, l, sorted(d)


@program
def generator_returned(x):
    def g(y):
        y = y + 1
        break_here("g1")
        yield y
        y = y * 2
        break_here("g2")
        yield y
    it = g(x * 2)
    first = next(it)
    rest = list(it)
    other = g(x)
    return first, rest, inspect_state(other), next(other)


def inspect_state(g):
    import inspect
    return inspect.getgeneratorstate(g)


@program
def generator_expression_late(x):
    k = 2
    it = (v * k for v in x.unbind() if break_here("if") is None)
    y = next(it)
    k = 3
    break_here("k")
    z = next(it)
    k = 4
    return y, z, list(it)


@program
def generator_raises_stop(x):
    def g(y):
        yield y + 1
        break_here("before")
        raise StopIteration("bad")
    y = x
    try:
        for v in g(x):
            y = y + v
            break_here("body")
    except RuntimeError as e:
        OUT.append((str(e), type(e.__cause__)))
        y = y * 2
    return y


@program
def generator_reentered(x):
    def g():
        yield x + 1
        break_here("before")
        try:
            next(it)
        except ValueError as e:
            OUT.append(str(e))
        yield x + 2
    it = g()
    return next(it) + next(it)


@program
def async_mix(x):
    class Aw:
        def __await__(self):
            break_here("await")
            got = yield 5
            return x * got
    async def ag(n):
        try:
            for i in range(n):
                v = await Aw()
                break_here("ag", i)
                yield v + i
        finally:
            break_here("ag end")
    async def main():
        y = x
        async for v in ag(3):
            y = y + v
            if y.sum() > 1000:
                break
        r = [v async for v in ag(2)]
        return y + sum(r)
    c = main()
    got = c.send(None)
    while True:
        try:
            got = c.send(got - 3)
        except StopIteration as e:
            return e.value


@program
def coroutine_thrown_into(x):
    class Aw:
        def __await__(self):
            yield 1
    async def leaf(y):
        try:
            y = y + 1
            await Aw()
            y = None
        except KeyError as e:
            y = y * 2
            break_here(repr(e))
            await Aw()
            y = y + 3
        return y
    async def main(y):
        async with Manager():
            return await leaf(y) + 1
    class Manager:
        async def __aenter__(self):
            await Aw()
        async def __aexit__(self, *a):
            break_here("aexit", a[0])
    c = main(x)
    c.send(None)
    c.send(None)
    c.throw(KeyError("in"))
    break_here("outside")
    try:
        c.send(None)
    except StopIteration as e:
        return e.value
