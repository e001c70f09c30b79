"""tests/torch/break_programs/nested_handlers.py: handlers in handlers, generators and coroutines, and what they let die."""


@program
def handler_in_handled_callee(x):
    def f(y):
        y = y + 1
        break_here("f", sys.exc_info()[0])
        try:
            y = y * 2
            fail(KeyError, "in")
        except KeyError as e:
            y = y + 3
            break_here(repr(e.__context__))
            y = y * 2
        break_here("after", sys.exc_info()[0])
        return y * 2
    try:
        fail()
    except ValueError:
        y = f(x)
        break_here(sys.exc_info()[0])
        y = y + 1
    return y


@program
def handler_kernel_error(x):
    y = x * 2
    try:
        fail()
    except ValueError:
        y = y + 1
        break_here(1)
        y = y * 2
        try:
            y = y[torch.tensor([9])]
        except IndexError as e:
            y = y - 1
            break_here(repr(e.__context__))
            y = y - 2
        y = y * 3
    return y


@program
def handler_error_out_of_kernel(x):
    y = x * 2
    try:
        fail()
    except ValueError:
        y = y + 1
        break_here(1)
        OUT.append(y * 2)
        y = y[torch.tensor([9])]
    return y


@program
def handler_write_then_kernel_error(x):
    b = torch.zeros(3)
    OUT.append(b)
    try:
        fail()
    except ValueError:
        b.add_(1)
        break_here(1)
        b.add_(1)
        b[torch.tensor([9])] = 3
    return b


@program
def state_after_error_in_handler(x):
    def g(y):
        try:
            fail()
        except ValueError:
            y = y + 1
            break_here(1)
            y.add_(1)
            return y[torch.tensor([9])]
    try:
        g(x.detach().clone())
    except IndexError as e:
        OUT.append((sys.exc_info()[0], repr(e.__context__)))
    OUT.append(sys.exc_info()[0])
    break_here(sys.exc_info()[0])
    return x * 2


@program
def handler_with_finalizer(x):
    class L:
        def __init__(self, n): self.n = n
        def __del__(self): OUT.append(("del", self.n))
    def boom():
        l = L(1)
        fail()
    y = x
    try:
        boom()
    except ValueError as e:
        y = y + 1
        break_here("in")
        y = y * 2
        OUT.append("end of handler")
    OUT.append("behind")
    y = y + 2
    break_here("after")
    return y * 3


@program
def handler_finalizer_at_times(x):
    class L:
        def __del__(self): OUT.append("del")
    def boom():
        l = L() if x.sum() > 0 else None
        fail()
    y = x.detach()
    try:
        boom()
    except ValueError:
        y = y + 1
        break_here("in")
        y = y * 2
        OUT.append("end of handler")
    OUT.append("behind")
    return y * 3


@program
def handler_return(x):
    def f(y):
        try:
            fail()
        except ValueError:
            y = y + 1
            break_here("h")
            return y * 2
        finally:
            OUT.append("fin")
            break_here("fin", sys.exc_info()[0])
    y = f(x)
    OUT.append(sys.exc_info()[0])
    break_here(sys.exc_info()[0])
    return y + 1


@program
def handler_continue_break(x):
    y = x
    for i in range(6):
        try:
            fail()
        except ValueError:
            y = y + i
            break_here("h", i)
            if i == 1: continue
            if i == 4: break
            y = y * 2
        break_here("b", sys.exc_info()[0])
        y = y - 1
    OUT.append(sys.exc_info()[0])
    return y


@program
def handler_types_change(x):
    y = x
    for i, kind in enumerate([ValueError, KeyError, ZeroDivisionError, TypeError]):
        try:
            try:
                fail(kind)
            except (ValueError, TypeError) as e:
                y = y + 1
                break_here("v", type(e).__name__)
                y = y * 2
            except ArithmeticError as e:
                y = y + 2
                break_here("a", e.args)
                y = y * 3
            else:
                y = y * 0
        except LookupError as e:
            y = y + 7
            break_here(repr(e))
            y = y - 7.5
    return y


@program
def handler_reads_exception(x):
    class E(Exception):
        def __init__(self, t): self.t = t
    y = x
    for i in range(3):
        try:
            if y.sum() < 1e9: raise E(y * i)
        except E as e:
            y = e.t + 1
            break_here(tuple(e.t.shape))
            y = y + e.t
            e.t = None
    return y


@program
def handler_del_order(x):
    y = x
    try:
        fail()
    except ValueError as e:
        w = weakref.ref(e) if False else None
        kept = [e]
        y = y + 1
        break_here(1)
        y = y * 2
    break_here(kept[0].args)
    OUT.append(kept[0].__traceback__ is not None)
    kept.clear()
    y = y + 1
    return y


@program
def generator_in_handler(x):
    def g(y):
        try:
            yield y
            fail()
        except ValueError as e:
            y = y + 1
            break_here("g", sys.exc_info()[0])
            yield y * 2
            break_here("g2", sys.exc_info()[0])
            y = y * 3
        OUT.append(sys.exc_info()[0])
        yield y + 1
    z = x
    try:
        fail(KeyError, "outer")
    except KeyError:
        for v in g(x):
            z = z + v
            break_here("c", sys.exc_info()[0])
            z = z * 0.5
    return z


@program
def generator_raise_bare(x):
    def g(y):
        y = y + 1
        yield y
        break_here("g")
        y = y * 2
        OUT.append(y)
        raise
    z = x
    try:
        try:
            fail(KeyError, "outer")
        except KeyError:
            for v in g(x):
                z = z + v
                break_here("c")
    except KeyError as e:
        break_here(repr(e))
        z = z * 2
    return z


@program
def generator_exc_info_isolated(x):
    def g(y):
        try:
            fail()
        except ValueError:
            yield y + 1
            y = y * 2
            break_here("in", sys.exc_info()[0])
            yield y
    it = g(x)
    a = next(it)
    OUT.append(sys.exc_info()[0])
    break_here(sys.exc_info()[0])
    b = next(it)
    OUT.append(sys.exc_info()[0])
    return a + b, list(it)


@program
def finally_no_error_and_error(x):
    y = x
    for i in range(4):
        try:
            try:
                y = y + i
                if i % 2: fail()
                y = y * 2
            finally:
                y = y - 1
                break_here("f", sys.exc_info()[0])
                y = y * 1.5
        except ValueError:
            y = y + 100
    return y


@program
def nested_finally_return(x):
    def f(y):
        try:
            try:
                return y + 1
            finally:
                y = y * 2
                break_here(1)
                OUT.append(y + 1)
        finally:
            y = y * 3
            break_here(2)
            OUT.append(y + 2)
    return f(x) * 2


@program
def with_in_handler(x):
    class C:
        def __enter__(self): break_here("en"); return x * 2
        def __exit__(self, *a): break_here("ex", a[0]); return True
    y = x
    try:
        fail()
    except ValueError:
        with C() as c:
            y = y + c
            break_here(1)
            y = y * 2
            fail(KeyError)
        y = y - 1
        break_here(sys.exc_info()[0])
        y = y + 3
    return y


@program
def raise_from_handler_chain(x):
    y = x * 2
    try:
        try:
            fail()
        except ValueError as a:
            y = y + 1
            break_here(1)
            y = y * 2
            raise KeyError("b") from a
    except KeyError as b:
        y = y + 1
        break_here(repr(b.__cause__))
        y = y * 2
        OUT.append(y)
        raise TypeError("c") from None


@program
def assert_in_handler(x):
    try:
        fail()
    except ValueError:
        y = x + 1
        break_here(1)
        assert y.sum() > 5, "small"
        y = y * 2
    return y


@program
def while_retry(x):
    n = 0
    y = x
    while True:
        try:
            y = y + 1
            n += 1
            if n < 4: fail(ConnectionError, str(n))
            break
        except ConnectionError as e:
            y = y * 1.1
            break_here("retry", str(e))
            y = y - 0.1
            if n > 10: raise
    return y, n


@program
def coroutine_handlers(x):
    async def step(y, n):
        y = y + n
        break_here("s")
        await asyncio.sleep(0)
        if n == 2: raise ValueError(n)
        return y * 2
    async def main(y):
        for n in range(4):
            try:
                y = await step(y, n)
                y = y + 1
            except ValueError as e:
                y = y * 3
                break_here(repr(e))
                y = await step(y, 0)
                y = y - 1
            finally:
                y = y * 0.5
                break_here("f", sys.exc_info()[0])
                await asyncio.sleep(0)
                y = y + 0.5
        return y
    return asyncio.run(main(x))


@program
def coroutine_cancel(x):
    async def work(y):
        try:
            y = y + 1
            break_here("w")
            await asyncio.sleep(10)
            y = y * 100
        except asyncio.CancelledError:
            y = y * 2
            break_here("cancelled")
            OUT.append(y + 1)
            raise
        finally:
            OUT.append(y - 1)
            break_here("fin")
    async def main(y):
        t = asyncio.create_task(work(y))
        await asyncio.sleep(0)
        t.cancel()
        try:
            await t
        except asyncio.CancelledError:
            y = y + 5
            break_here("main")
            y = y * 2
        return y
    return asyncio.run(main(x))


@program
def async_generator_full(x):
    async def ag(y):
        try:
            for i in range(4):
                y = y + i
                break_here("a", i)
                got = yield y * 2
                if got is not None:
                    y = y + got
        finally:
            y = y * 2
            break_here("closed")
            OUT.append(y)
    async def main(y):
        g = ag(y)
        a = await g.asend(None)
        b = await g.asend(3)
        break_here("m")
        await g.aclose()
        c = [v async for v in ag(a + b)]
        return c[-1] * 2
    return asyncio.run(main(x))


@program
def yields_to_entry(x):
    def g():
        y = x
        while True:
            y = y * 1.5
            if y.abs().sum() > 60:
                return y
            r = yield y
            break_here(r)
    out = []
    it = g()
    v = next(it)
    try:
        while True:
            out.append(v + 1)
            v = it.send(len(out))
    except StopIteration as e:
        out.append(e.value)
    return out


@program
def random_object_kept(x):
    r = random.Random(5)
    r.random()
    y = x + 1
    break_here(1)
    y = y * r.random()
    OUT.append(r.random())
    return y, random.Random(3).random()


@program
def objects_of_c_kept(x):
    import decimal, datetime, array, struct
    a = array.array("i", [1, 2]); d = decimal.Decimal("1.5"); t = datetime.timedelta(1); b = bytearray(b"ab"); s = struct.Struct("i"); c = io.BytesIO(b"abc"); c.read(1)
    y = x + 1
    break_here(1)
    a.append(3); b.append(4)
    y = y * float(d)
    break_here(list(a), bytes(b), t.days, s.size, c.read())
    return y


@program
def iterators_kept(x):
    its = [itertools.product([1, 2], [3, 4]), itertools.permutations([1, 2, 3]), itertools.combinations([1, 2, 3], 2), itertools.chain([1], [2]), itertools.islice([1, 2, 3], 1, None), itertools.cycle([1, 2]), itertools.count(5), itertools.repeat(4, 3), itertools.accumulate([1, 2, 3]), itertools.zip_longest([1], [2, 3]), itertools.compress([1, 2, 3], [1, 0, 1]), itertools.starmap(max, [(1, 2), (3, 4)]), itertools.takewhile(bool, [1, 0]), itertools.dropwhile(bool, [1, 0, 2]), itertools.filterfalse(None, [0, 1, 0]), itertools.pairwise([1, 2, 3]), enumerate([1, 2]), zip([1, 2], [3, 4]), reversed([1, 2]), iter((1, 2)), iter("ab"), iter(range(4)), iter({1: 2}), iter({5})]
    for it in its: next(it)
    y = x + 1
    break_here(1)
    y = y * 2
    return y, [next(it, None) for it in its]
