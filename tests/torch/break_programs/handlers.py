"""tests/torch/break_programs/handlers.py: breaks in except, finally and with blocks, and errors that cross them."""


@program
def in_except(x):
    y = x + 1
    try:
        y = y * 2
        raise ValueError("a")
    except ValueError as e:
        z = y * 3
        break_here("in", str(e))
        z = z + 1
    return z - y


@program
def in_except_raised_by_break(x):
    y = x + 1
    try:
        fail()
    except ValueError as e:
        z = y * 3
        if z.sum() > 0:
            z = z + 1
        else:
            z = z - 1
        break_here(repr(e), repr(e.__context__))
        z = z * z
    return z - y


@program
def in_finally(x):
    y = x + 1
    try:
        z = y * 2
        break_here("try")
        z = z + 3
    finally:
        y = y * 4
        break_here("finally")
        y = y + 5
    return z * y


@program
def in_finally_return(x):
    y = x + 1
    try:
        z = y * 2
        break_here("try")
        return z + 3
    finally:
        y = y * 4
        break_here("finally", y.sum().item())
        OUT.append(y + 5)


@program
def in_finally_raises(x):
    y = x + 1
    try:
        fail()
    finally:
        y = y * 4
        break_here("finally", y.sum().item())
        OUT.append(y + 5)
    return y


@program
def finally_overrides(x):
    for i in range(3):
        try:
            y = x * i
            if y.sum() > 1:
                return y
            fail()
        except ValueError:
            y = y + 1
            break_here(i)
            continue
        finally:
            OUT.append(y * 2)
            break_here("f", i)
            if i == 2:
                break
    return y + 7


@program
def except_raises_other(x):
    y = x * 2
    try:
        try:
            fail(KeyError, "k")
        except KeyError as e:
            y = y + 1
            break_here("inner")
            raise ValueError(float(y.sum())) from e
    except ValueError as e:
        break_here(repr(e), repr(e.__cause__), repr(e.__context__), e.__suppress_context__)
        y = y * 3
    return y


@program
def except_raises_out(x):
    y = x * 2
    try:
        fail(KeyError, "k")
    except KeyError:
        y = y + 1
        break_here("inner")
        y = y * 2
        raise ValueError(float(y.sum()))


@program
def bare_reraise(x):
    y = x * 2
    try:
        try:
            fail(KeyError, "k")
        except KeyError:
            y = y + 1
            break_here("inner")
            y = y * 2
            OUT.append(y)
            raise
    except LookupError as e:
        break_here([f.name for f in traceback.extract_tb(e.__traceback__)], [f.lineno for f in traceback.extract_tb(e.__traceback__)])
        return y + 1


@program
def bare_reraise_out(x):
    y = x * 2
    try:
        if y.sum() > 100: return y
        fail(KeyError, "k")
    except KeyError:
        y = y + 1
        break_here("inner")
        y = y * 2
        OUT.append(y)
        raise


@program
def reraise_in_callee(x):
    def again(y):
        y = y * 3
        break_here("callee")
        OUT.append(y + 1)
        raise
    y = x * 2
    try:
        fail(KeyError, "k")
    except KeyError:
        again(y)


@program
def exc_info_in_handler(x):
    y = x * 2
    def look():
        return sys.exc_info()[0]
    OUT.append(look())
    try:
        fail(KeyError, "k")
    except KeyError:
        y = y + 1
        OUT.append(look())
        break_here("1")
        OUT.append(look())
        y = y * 2
        try:
            fail(ValueError, "v")
        except ValueError:
            y = y + 1
            OUT.append(look())
            break_here("2")
            y = y - 4
            OUT.append(look())
        OUT.append(look())
        break_here("3")
        y = y * 2
    OUT.append(look())
    break_here("4")
    return y + 1


@program
def context_of_nested(x):
    y = x * 2
    try:
        try:
            fail(KeyError, "k")
        except KeyError:
            y = y + 1
            break_here("1")
            y = y + 2
            try:
                fail(ValueError, "v")
            finally:
                y = y * 2
                break_here("2")
                OUT.append(y * 5)
    except ValueError as e:
        OUT.append((repr(e), repr(e.__context__)))
        return y


@program
def loop_in_except(x):
    y = x * 2
    try:
        fail(KeyError, "k")
    except KeyError:
        for i in range(4):
            y = y + i
            break_here(i)
            y = y * 1.5
    return y


@program
def try_in_loop(x):
    y = x * 2
    for i in range(5):
        try:
            y = y + i
            if i % 2:
                fail(KeyError, "k")
            y = y * 2
        except KeyError:
            y = y - 1
            break_here(i)
            y = y - 2
        else:
            y = y + 10
            break_here("else")
            y = y / 2
        finally:
            y = y + 0.5
            break_here("fin")
            y = y + 0.25
    return y


@program
def except_as_is_deleted(x):
    y = x + 1
    e = 3
    try:
        fail()
    except ValueError as e:
        break_here(1)
        y = y * 2
    try:
        return y, e
    except UnboundLocalError as n:
        break_here(str(n))
        return y * 3


@program
def except_keeps(x):
    y = x + 1
    try:
        fail()
    except ValueError as e:
        kept = e
        break_here(1)
        y = y * 2
    break_here(repr(kept), kept.__traceback__.tb_lineno)
    y = y * 2
    raise kept


@program
def except_star(x):
    y = x + 1
    try:
        raise ExceptionGroup("g", [ValueError(1), KeyError(2)])
    except* ValueError as g:
        y = y * 2
        break_here(len(g.exceptions))
        y = y + 3
    except* KeyError as g:
        y = y * 5
        break_here(len(g.exceptions))
        y = y + 7
    return y


@program
def except_star_rest(x):
    y = x + 1
    try:
        raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
    except* ValueError as g:
        y = y * 2
        break_here(len(g.exceptions))
        OUT.append(y + 3)


@program
def else_breaks(x):
    try:
        y = x.sin()
    except ValueError:
        return x
    else:
        break_here("else")
        y = y + 1
        if y.mean() > 1:
            y = y * 2
    return y


@program
def handler_calls_deep(x):
    def a(y):
        y = y + 1
        return b(y) * 2
    def b(y):
        y = y - 3
        break_here("deep", sys.exc_info()[0])
        return y * y
    try:
        fail()
    except ValueError:
        z = a(x)
        z = z + 1
    return z


@program
def raise_from_deep(x):
    def a(y):
        y = y + 1
        try:
            return b(y) * 2
        finally:
            OUT.append(y * 2)
            break_here("a")
    def b(y):
        y = y - 3
        break_here("deep")
        if y.sum() < 100:
            raise ValueError("from b", tuple(y.shape))
        return y * y
    try:
        z = a(x)
    except ValueError as e:
        break_here(e.args)
        z = x * 2
        raise RuntimeError("outer") from e
    return z


@program
def with_swallow(x):
    class S:
        def __enter__(self):
            OUT.append("en"); break_here("enter"); return self
        def __exit__(self, t, v, tb):
            OUT.append(t); break_here("exit", repr(v)); return t is ValueError
    y = x + 1
    with S() as s:
        y = y * 2
        break_here("body")
        y = y + 3
        fail()
        y = y * 100
    return y - 1


@program
def with_no_swallow(x):
    class S:
        def __enter__(self):
            return self
        def __exit__(self, t, v, tb):
            self.z = x * 3
            break_here("exit", repr(v)); OUT.append(self.z + 1); return False
    y = x + 1
    with S() as s:
        y = y * 2
        raise KeyError(3)


@program
def with_exit_raises(x):
    class S:
        def __enter__(self):
            return self
        def __exit__(self, t, v, tb):
            self.z = x * 3
            break_here("exit", repr(v))
            raise TypeError("exit")
    y = x + 1
    try:
        with S() as s:
            y = y * 2
            fail()
    except TypeError as e:
        break_here(repr(e.__context__))
        return y + 1


@program
def contextmanager_break(x):
    @contextlib.contextmanager
    def m(y):
        y = y * 2
        break_here("before")
        try:
            yield y + 1
        except ValueError as e:
            break_here("caught", repr(e))
            OUT.append(y * 3)
        finally:
            break_here("after")
            OUT.append(y * 5)
    z = x
    with m(x) as y:
        z = y + x
        break_here("in")
        z = z * 2
        if z.sum() < 100:
            fail()
    return z + 1


@program
def exit_stack(x):
    y = x + 1
    with contextlib.ExitStack() as stack:
        stack.callback(break_here, "cb")
        stack.enter_context(contextlib.suppress(ValueError))
        y = y * 2
        break_here("in")
        y = y + 3
        fail()
    return y * 2


@program
def suppress_in_loop(x):
    y = x
    for i in range(4):
        with contextlib.suppress(ValueError):
            y = y + i
            if i == 2: fail()
            y = y * 2
        break_here(i)
        y = y - 1
    return y


@program
def with_no_grad_raise(x):
    y = x * 2
    try:
        with torch.no_grad():
            y = y * 3
            break_here(torch.is_grad_enabled())
            y = y + 1
            fail()
    except ValueError:
        break_here(torch.is_grad_enabled())
        y = y * 2 * x
    return y
