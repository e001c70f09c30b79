"""tests/torch/break_programs/control.py: loops, `else`, `finally` and `with` that breaks, returns and jumps cross."""


@program
def for_else_of_breaks(x):
    y = x
    for i in range(4):
        y = y + i
        break_here(i)
        if y.sum() > 20:
            break_here("leave")
            break
    else:
        y = y * 2
        break_here("else")
    return y, i


@program
def while_else_continue(x):
    y, n = x, 0
    while n < 4:
        n += 1
        if n == 2:
            break_here("continue")
            continue
        y = y * 2
        if y.mean() < -10:
            break
    else:
        y = y - 1
        break_here("else")
        y = y - 1
    return y, n


@program
def nested_loops_jump(x):
    y = x
    for i in range(3):
        for j in range(3):
            y = y + i * j
            if j == 1:
                break_here(i, j)
                continue
            if i == 2:
                break
            y = y * 1.5
        else:
            break_here("inner else", i)
            continue
        break_here("broken", i)
        y = y - 3
    else:
        y = y + 100
    return y


@program
def return_in_finally(x):
    def f(y):
        for i in range(3):
            try:
                y = y + 1
                break_here("try", i)
                if i == 1:
                    fail(KeyError)
            finally:
                y = y * 2
                break_here("finally", i)
                if i == 1:
                    return y, "finally"
        return y, "end"
    return f(x)


@program
def break_in_finally(x):
    y = x
    for i in range(3):
        try:
            try:
                y = y + 1
                fail()
            finally:
                break_here("inner", i, sys.exc_info()[0])
                y = y * 2
                if i == 1:
                    break
                continue
        finally:
            y = y - 1
            break_here("outer", i, sys.exc_info()[0])
    return y


@program
def finally_overrides_return(x):
    def f(y):
        try:
            y = y * 2
            break_here(1)
            return y
        finally:
            y = y + 1
            break_here(2)
            try:
                return y * 3
            finally:
                OUT.append("last")
                break_here(3)
                y = None
    return f(x)


@program
def return_value_kept_over_finally(x):
    log = []
    def f(y):
        try:
            return y * 2
        finally:
            y = y.add(5)
            log.append(y.sum().item())
            break_here("f")
    def g(y):
        y = y.clone()
        try:
            return y
        finally:
            y.add_(5)
            break_here("g")
    return f(x), g(x), log


@program
def with_return_and_loop(x):
    class C:
        def __init__(self, n, swallow=False):
            self.n, self.swallow = n, swallow
        def __enter__(self):
            break_here("enter", self.n)
            return self.n
        def __exit__(self, t, v, tb):
            break_here("exit", self.n, t, None if tb is None else tb.tb_lineno - tb.tb_frame.f_code.co_firstlineno)
            return self.swallow
    def f(y):
        for i in range(4):
            with C(i, True) as n, C(i + 10):
                y = y + n
                if i == 0:
                    continue
                if i == 1:
                    fail()
                if i == 2:
                    break_here("two")
                    y = y * 2
                if i == 3:
                    return y + 1
        return y
    return f(x)


@program
def with_exit_replaces_error(x):
    class C:
        def __enter__(self):
            return x * 2
        def __exit__(self, t, v, tb):
            break_here("exit", t)
            if t is KeyError:
                raise ValueError("replaced") from v
            return t is ValueError
    y = x
    for kind in (KeyError, ValueError, OSError):
        try:
            with C() as z:
                y = y + z
                break_here("body")
                fail(kind, "k")
            y = y * 2
        except Exception as e:
            OUT.append((type(e), type(e.__cause__), type(e.__context__)))
            y = y - 1
    return y


@program
def with_enter_raises(x):
    class C:
        def __enter__(self):
            y = x + 1
            break_here("enter")
            OUT.append(y)
            raise KeyError("enter")
        def __exit__(self, *a):
            OUT.append("never")
    y = x * 2
    try:
        with C():
            y = y + 100
    except KeyError as e:
        y = y + 1
        break_here(e.args)
    return y


@program
def contextmanager_swallows(x):
    @contextlib.contextmanager
    def swallow(*kinds):
        y = x + 1
        break_here("in")
        try:
            yield y
        except kinds as e:
            break_here("caught", type(e))
            OUT.append(y * 2)
        finally:
            break_here("final")
    y = x
    with swallow(KeyError) as v:
        y = y + v
        fail(KeyError)
        y = None
    with swallow(ValueError) as v:
        y = y + v
        with swallow(KeyError) as w:
            y = y * w
            break_here("mid")
            fail(ValueError)
            y = None
    return y


@program
def exit_stack_of_breaks(x):
    y = x
    def leave(*a):
        nonlocal y
        break_here("leave", a[0])
        y = y + 1
        return a[0] is KeyError
    with contextlib.ExitStack() as stack:
        stack.push(leave)
        stack.callback(lambda: break_here("callback", y.sum().item()))
        y = y * 2
        stack.enter_context(contextlib.suppress(OSError))
        y = y - 3
        fail(KeyError)
    return y * 2


@program
def try_else_finally(x):
    y = x
    for bad in (False, True, False):
        try:
            y = y + 1
            if bad:
                fail()
        except ValueError:
            y = y * 2
            break_here("except")
        else:
            y = y * 3
            break_here("else")
            try:
                fail(KeyError)
            except KeyError:
                y = y - 1
        finally:
            break_here("finally", sys.exc_info()[0])
            y = y + 5
    return y


@program
def loop_over_handlers(x):
    y = x
    kinds = [ValueError, KeyError, IndexError, OSError, None]
    for kind in kinds:
        try:
            try:
                y = y + 1
                if kind is not None:
                    fail(kind)
                y = y * 10
            except (ValueError, KeyError) as e:
                y = y * 2
                break_here(type(e))
                if kind is KeyError:
                    raise
            except IndexError:
                y = y - 1
                raise LookupError("other")
        except KeyError as e:
            break_here("outer key", type(e.__context__))
            y = y + 7
        except LookupError as e:
            break_here("outer lookup", type(e.__context__))
            y = y + 8
        except OSError:
            y = y + 9
            break_here("os")
    return y


@program
def match_statement(x):
    class P:
        __match_args__ = ("a", "b")
        def __init__(self, a, b):
            self.a, self.b = a, b
    y = x
    for thing in ({"k": x, "r": 1}, [1, x, 2], P(x, 3), ("n", 5), 7, "s"):
        match thing:
            case {"k": v, **rest}:
                y = y + v
                break_here("dict", sorted(rest))
            case [1, v, *more]:
                y = y * v
                break_here("list", len(more))
            case P(a, b) if b > 2 and a.sum() > 0:
                break_here("guarded")
                y = y + b
            case P(a, _):
                break_here("P")
                y = y - a
            case (str() as s, int(n)):
                y = y + n
                break_here(s)
            case 7 | 8:
                y = y * 2
            case _:
                break_here("other")
    return y


@program
def conditional_expressions(x):
    y = x + 1
    z = (break_here("a") or y * 2) if y.sum() > 0 else (break_here("b") or y * 3)
    w = z if break_here("c") else y
    return (w + z) * (1 if y.mean() > 1 and break_here("d") is None or z.mean() > 2 else 2)


@program
def chained_in_call(x):
    def f(a, b, *, c):
        return a + b * c
    def g(v, n):
        break_here("g", n)
        return v + n
    return f(g(x, 1), g(x * 2, 2), c=g(x, 3)) + [g(x, 4), g(x, 5)][g(x, 0) is None] + {"k": g(x, 6)}["k"]


@program
def assertion_message(x):
    y = x * 2
    try:
        assert y.sum() > 0, f"sum {y.sum().item():.1f} {break_here('message')}"
    except AssertionError as e:
        OUT.append(str(e))
        y = y - 1
    assert y.sum() > -100 and break_here("second") is None
    return y
