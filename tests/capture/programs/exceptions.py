"""try in every nesting, raising in every form, chaining, and the lines that tracebacks show."""

import sys
import traceback


class Custom(Exception):
    def __init__(self, a, b=2):
        super().__init__(a, b)
        self.a = a


def case_flow(log):
    def run(what):
        try:
            log.append("try")
            if what == "value":
                raise ValueError("v")
            if what == "key":
                raise KeyError("k")
            if what == "return":
                return "returned"
            if what == "other":
                raise OSError(2, "gone")
        except ValueError as error:
            log.append(repr(error))
        except (KeyError, IndexError):
            log.append("lookup")
            return "from except"
        else:
            log.append("else")
        finally:
            log.append("finally")
        return "end"

    for what in ("nothing", "value", "key", "return"):
        log.append(run(what))
    return run("other")


def case_return_in_finally(log):
    def swallow():
        try:
            raise ValueError
        finally:
            return "swallowed"

    def override():
        try:
            return "first"
        finally:
            return "second"

    def keep():
        x = 1
        try:
            return x
        finally:
            x = 2

    def in_loop():
        while True:
            try:
                raise KeyError
            finally:
                break
        for i in range(3):
            try:
                return i
            finally:
                continue
        return "fell out"

    log.append([swallow(), override(), keep(), in_loop()])
    log.append(sys.exc_info())


def case_nested(log):
    try:
        try:
            try:
                1 / 0
            except KeyError:
                log.append("wrong")
            finally:
                log.append("inner finally")
        except ZeroDivisionError:
            log.append("caught")
            try:
                raise TypeError("while handling")
            except TypeError as error:
                log.append(repr(error.__context__))
            raise
        finally:
            log.append("outer finally")
    except ArithmeticError as error:
        log.append((repr(error), repr(error.__context__)))
    return sys.exc_info()


def case_chaining(log):
    try:
        try:
            {}["missing"]
        except KeyError:
            raise ValueError("implicit")
    except ValueError as error:
        log.append((repr(error.__context__), error.__cause__, error.__suppress_context__))
    try:
        try:
            {}["missing"]
        except KeyError as key:
            raise ValueError("explicit") from key
    except ValueError as error:
        log.append((repr(error.__cause__), error.__suppress_context__))
    try:
        try:
            {}["missing"]
        except KeyError:
            raise ValueError("none") from None
    except ValueError as error:
        log.append((error.__cause__, repr(error.__context__), error.__suppress_context__))
    try:
        raise ValueError from KeyError
    except ValueError as error:
        log.append(repr(error.__cause__))


def case_chained_uncaught(log):
    def low():
        raise KeyError("low")

    def middle():
        try:
            low()
        except KeyError as error:
            raise ValueError("middle") from error

    try:
        middle()
    except ValueError:
        raise RuntimeError("high")


def case_context_none_uncaught(log):
    try:
        1 / 0
    except ZeroDivisionError:
        raise ValueError("plain") from None


def case_context_of_finally(log):
    try:
        1 / 0
    finally:
        [].pop()


def case_raise_forms(log):
    for make in (
        lambda: ValueError,
        lambda: ValueError("x"),
        lambda: Custom(1),
        lambda: 5,
        lambda: "text",
        lambda: None,
        lambda: Custom,
        lambda: type("Odd", (Exception,), {"__new__": lambda cls: 5}),
    ):
        try:
            raise make()
        except Exception as error:
            log.append((type(error).__name__, str(error), error.__context__))
    for cause in (5, "x", ValueError, ValueError(1), None, int):
        try:
            raise KeyError("k") from cause
        except Exception as error:
            log.append((type(error).__name__, str(error), repr(error.__cause__)))


def case_bare_raise(log):
    try:
        raise
    except RuntimeError as error:
        log.append(str(error))

    def reraise():
        raise

    try:
        1 / 0
    except ZeroDivisionError:
        try:
            reraise()
        except ZeroDivisionError as again:
            log.append(len(traceback.extract_tb(again.__traceback__)))
    reraise()


def case_reraise_keeps_traceback(log):
    def fail():
        raise ValueError("deep")

    def middle():
        try:
            fail()
        except ValueError:
            log.append("seen")
            raise

    def outer():
        try:
            middle()
        except ValueError as error:
            raise error

    outer()


def case_raise_same_twice(log):
    error = ValueError("once")
    for _ in range(2):
        try:
            raise error
        except ValueError:
            pass
    raise error


def case_except_not_a_class(log):
    def run(what):
        try:
            raise ValueError("x")
        except what:
            return "caught"

    log.append(run(ValueError))
    log.append(run((KeyError, ValueError)))
    for bad in (5, "ValueError", (ValueError, 5), [ValueError], int):
        try:
            log.append(run(bad))
        except TypeError as error:
            log.append((str(error), repr(error.__context__)))
    return run(((KeyError,), ValueError))


def case_except_expression_raises(log):
    try:
        1 / 0
    except undefined_name:
        pass


def case_except_order_and_laziness(log):
    def kind(k):
        log.append(k.__name__)
        return k

    try:
        {}[1]
    except kind(ValueError):
        pass
    except kind(KeyError):
        log.append("here")
    except kind(Exception):
        pass


def case_exc_info(log):
    def inner():
        return sys.exc_info()[0]

    log.append(inner())
    try:
        raise ValueError
    except ValueError:
        log.append(inner().__name__)
        try:
            raise KeyError
        except KeyError:
            log.append(inner().__name__)
        log.append(inner().__name__)
        log.append(sys.exc_info()[2].tb_lineno)
    log.append(inner())

    def generator():
        log.append(sys.exc_info()[0])
        try:
            raise IndexError
        except IndexError:
            yield sys.exc_info()[0].__name__
            yield sys.exc_info()[0].__name__
        yield sys.exc_info()[0]

    g = generator()
    log.append(next(g))
    try:
        raise OSError
    except OSError:
        log.append(next(g))
        log.append(sys.exc_info()[0].__name__)
        log.append(next(g).__name__)


def case_lines_multi_line_call(log):
    def f(*args):
        return args

    f(
        1,
        2,
        f(3,
          4),
        [].pop(),
        5,
    )


def case_lines_multi_line_expression(log):
    value = (1
             + 2
             + (3
                * None)
             + 4)
    return value


def case_lines_method_chain(log):
    return (
        "text"
        .upper()
        .lower()
        .missing()
        .strip()
    )


def case_lines_condition(log):
    if (log
            or not log
            and log.nothing):
        return 1


def case_lines_subscript_and_compare(log):
    d = {"a": 1}
    return d["a"] < 2 < d[
        "b"
    ]


def case_lines_decorator(log):
    def bad(function):
        raise ValueError(function.__name__)

    @bad
    def f():
        pass


def case_lines_default_and_keyword(log):
    def f(a,
          b=[][0]):
        pass


def case_lines_with(log):
    class M:
        def __enter__(self):
            return self

        def __exit__(self, *args):
            raise KeyError("exit")

    with M() as m:
        x = 1
        y = 2


def case_lines_for(log):
    class It:
        def __iter__(self):
            return self

        def __next__(self):
            raise ValueError("next")

    for x in (
        It()
    ):
        pass


def case_lines_lambda_and_comprehension(log):
    f = lambda x: (
        x
        / 0
    )
    return [
        f(x)
        for x in [1]
    ]


def case_lines_augmented(log):
    d = {"a": 1}
    d["a"] += 1
    d[
        "b"
    ] += 1


def case_lines_del_and_attribute(log):
    class A:
        pass

    a = A()
    a.x = 1; del a.x; a.y = 2; del a.x


def case_traceback_module(log):
    def fail(n):
        if n:
            fail(n - 1)
        else:
            raise Custom("bottom")

    try:
        fail(3)
    except Custom as error:
        log.append([(f.name, f.lineno, f.line, f.colno, f.end_colno) for f in traceback.extract_tb(error.__traceback__)])
        log.append(error.__traceback__.tb_frame.f_code.co_name)
    try:
        fail(0)
    except Custom:
        traceback.print_exc(file=sys.stdout)
    log.append([f.name for f in traceback.extract_stack()][-1:])


def case_with_traceback_and_notes(log):
    error = ValueError("noted")
    error.add_note("first note")
    error.add_note("second note")
    try:
        raise error
    except ValueError as caught:
        raise caught.with_traceback(None)


def case_system_exit(log):
    try:
        sys.exit(3)
    except SystemExit as error:
        log.append(error.code)
    raise SystemExit("bye")


def case_keyboard_interrupt(log):
    try:
        raise KeyboardInterrupt("typed")
    except Exception:
        log.append("never")
    except BaseException as error:
        log.append(repr(error))
    raise KeyboardInterrupt


def case_exception_in_del(log):
    class A:
        def __del__(self):
            raise ValueError("ignored")

    hook = sys.unraisablehook
    sys.unraisablehook = lambda u: log.append((type(u.exc_value).__name__, str(u.exc_value), u.object.__qualname__))
    try:
        A()
        x = A()
        del x
    finally:
        sys.unraisablehook = hook


def case_many_handlers(log):
    def f(i):
        try:
            try:
                try:
                    if i == 0:
                        raise ValueError
                    if i == 1:
                        raise KeyError
                    if i == 2:
                        raise TypeError
                    return "none"
                except ValueError:
                    return "value"
                finally:
                    log.append("a")
            except KeyError:
                return "key"
            finally:
                log.append("b")
        except TypeError:
            return "type"
        finally:
            log.append("c")

    return [f(i) for i in range(4)]


def case_try_finally_break_continue(log):
    for i in range(5):
        try:
            try:
                if i == 1:
                    continue
                if i == 3:
                    break
            finally:
                log.append(("f", i))
        finally:
            log.append(("g", i))
    else:
        log.append("never")


def case_exception_released(log):
    import weakref

    class E(Exception):
        pass

    refs = []
    try:
        raise E()
    except E as error:
        refs.append(weakref.ref(error))
    log.append(refs[0]() is None)


def case_locals_released_after_exception(log):
    class D:
        def __del__(self):
            log.append("freed")

    def f():
        d = D()
        raise ValueError

    try:
        f()
    except ValueError:
        log.append("handling")
    log.append("after")


def case_stack_is_unwound(log):
    class D:
        def __init__(self, n):
            self.n = n

        def __del__(self):
            log.append(self.n)

    def boom():
        raise ValueError

    def f():
        return [D(1), D(2), (D(3), boom())]

    try:
        for x in [D(4)]:
            f()
    except ValueError as e:
        e = None
        log.append("caught")
    del x
    log.append("end")


def case_loop_of_exceptions(log):
    count = 0
    for i in range(50):
        try:
            if i % 3 == 0:
                raise ValueError(i)
            if i % 3 == 1:
                int("x")
            count += 1
        except ValueError as error:
            count += len(error.args)
    return count


def case_attribute_error_suggestion(log):
    class A:
        colour = 1

    try:
        A().color
    except AttributeError as error:
        log.append("".join(traceback.format_exception_only(error)))
    some_variable = 1
    return some_varible


def case_error_in_handler_and_finally(log):
    try:
        try:
            raise ValueError(1)
        except ValueError:
            raise KeyError(2)
        finally:
            raise IndexError(3)
    except IndexError as error:
        chain = []
        while error:
            chain.append(repr(error))
            error = error.__context__
        log.append(chain)


def case_unwind_through_c(log):
    def key(x):
        if x == 2:
            raise Custom(x)
        return x

    def outer():
        return sorted([3, 2, 1], key=key)

    return max(map(lambda x: outer(), [1]))
