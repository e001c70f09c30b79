"""with statements."""

import contextlib


class Manager:
    def __init__(self, log, name="m", suppress=False, enter_error=None, exit_error=None):
        self.log, self.name, self.suppress = log, name, suppress
        self.enter_error, self.exit_error = enter_error, exit_error

    def __enter__(self):
        self.log.append(("enter", self.name))
        if self.enter_error:
            raise self.enter_error
        return self.name

    def __exit__(self, kind, value, trace):
        self.log.append(("exit", self.name, kind and kind.__name__, repr(value), trace and trace.tb_lineno))
        if self.exit_error:
            raise self.exit_error
        return self.suppress


def case_normal(log):
    with Manager(log) as name:
        log.append(name)
    with Manager(log, "a") as a, Manager(log, "b") as b:
        log.append((a, b))
    with (
        Manager(log, "c") as c,
        Manager(log, "d"),
    ):
        log.append(c)
    with Manager(log, "letters") as [*letters]:
        log.append(letters)
    slots = {}
    with Manager(log, "target") as slots["x"]:
        log.append(slots)


def case_suppress(log):
    with Manager(log, suppress=True):
        raise ValueError("hidden")
    log.append("went on")
    with Manager(log, suppress="truthy"):
        [][0]
    for i in range(2):
        with Manager(log, i, suppress=True):
            if i:
                raise KeyError
            continue
    return "end"


def case_propagate(log):
    with Manager(log, "outer"):
        with Manager(log, "inner"):
            raise ValueError("through")


def case_exit_raises(log):
    with Manager(log, exit_error=KeyError("from exit")):
        raise ValueError("body")


def case_exit_raises_normally(log):
    with Manager(log, exit_error=KeyError("from exit")):
        log.append("body")


def case_enter_raises(log):
    with Manager(log, "outer"), Manager(log, "bad", enter_error=OSError("enter")):
        log.append("never")


def case_return_break_continue(log):
    def returns():
        with Manager(log, "r"):
            return "value"

    log.append(returns())
    for i in range(4):
        with Manager(log, i):
            if i == 0:
                continue
            if i == 2:
                break
    with Manager(log, "s", suppress=True):
        return returns()


def case_return_overridden(log):
    def f():
        try:
            with Manager(log, "x"):
                return 1
        finally:
            return 2

    return f()


def case_not_a_manager(log):
    for bad in (5, None, object()):
        try:
            with bad:
                pass
        except (TypeError, AttributeError) as error:
            log.append((type(error).__name__, str(error)))

    class OnlyEnter:
        def __enter__(self):
            log.append("entered")

    class OnlyExit:
        def __exit__(self, *args):
            pass

    class OnInstance:
        pass

    thing = OnInstance()
    thing.__enter__ = thing.__exit__ = lambda *a: None
    for bad in (OnlyEnter(), OnlyExit(), thing):
        try:
            with bad:
                log.append("never")
        except (TypeError, AttributeError) as error:
            log.append((type(error).__name__, str(error)))
    with OnlyEnter():
        pass


def case_exit_truth_raises(log):
    class Odd:
        def __bool__(self):
            raise RuntimeError("truth")

    with Manager(log, suppress=Odd()):
        raise ValueError


def case_exit_signature(log):
    class Bad:
        def __enter__(self):
            pass

        def __exit__(self):
            pass

    with Bad():
        pass


def case_contextmanager(log):
    @contextlib.contextmanager
    def manage(x):
        log.append("before")
        try:
            yield x
        except ValueError as error:
            log.append(repr(error))
        finally:
            log.append("after")

    with manage(1) as x:
        log.append(x)
    with manage(2):
        raise ValueError("inside")

    @contextlib.contextmanager
    def bad():
        yield 1
        yield 2

    try:
        with bad():
            pass
    except RuntimeError as error:
        log.append(str(error))

    @contextlib.contextmanager
    def none():
        if False:
            yield

    with none():
        pass


def case_exit_stack(log):
    with contextlib.ExitStack() as stack:
        for name in "abc":
            stack.enter_context(Manager(log, name))
        stack.callback(log.append, "callback")
        with contextlib.suppress(KeyError):
            raise KeyError
    with contextlib.ExitStack() as stack:
        stack.enter_context(Manager(log, "d", exit_error=ValueError("d")))
        stack.enter_context(Manager(log, "e", exit_error=KeyError("e")))


def case_as_target_fails(log):
    with Manager(log, "ab") as (a, b, c):
        log.append("never")


def case_nested_functions_and_generators(log):
    def generate():
        with Manager(log, "g"):
            yield 1
            yield 2

    for x in generate():
        log.append(x)
    g = generate()
    next(g)
    g.close()
    g = generate()
    next(g)
    g.throw(ValueError("thrown"))


def case_exc_info_in_exit(log):
    import sys

    class M:
        def __enter__(self):
            return self

        def __exit__(self, *args):
            log.append([a and getattr(a, "__name__", type(a).__name__) for a in sys.exc_info()])
            return True

    with M():
        pass
    with M():
        1 / 0
    log.append(sys.exc_info()[0])


def case_class_body_and_global(log):
    class A:
        with contextlib.nullcontext(5) as x:
            y = x + 1

    return A.y


def case_multi_line_manager(log):
    with Manager(
        log,
        "multi",
    ) as m, Manager(
        log,
        exit_error=KeyError("second"),
    ):
        pass
