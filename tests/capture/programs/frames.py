"""What frames, inspect, warnings and traceback show from inside."""

import inspect
import sys
import traceback
import warnings


def stack_names(limit=6):
    names = []
    frame = sys._getframe(1)
    while frame is not None and len(names) < limit:
        names.append((frame.f_code.co_name, frame.f_lineno))
        frame = frame.f_back
    return names


def case_locals(log):
    a = 1
    b = [a]
    log.append(sorted(locals()))

    def inner(x, *y, **z):
        w = a
        log.append({k: repr(v) for k, v in sorted(locals().items())})
        del x
        log.append(sorted(locals()))

    inner(1, 2, k=3)
    snapshot = locals()
    c = 3
    log.append(sorted(snapshot))
    log.append(sorted(locals()))
    log.append(vars() == locals())
    return sorted(dir())


def case_locals_in_class_and_module(log):
    class A:
        x = 1
        log.append(sorted(k for k in locals() if k[0] != "_"))
        locals()["made"] = 5
        log.append(made)

    space = {"log": log}
    exec("q = 1\nlog.append(locals() is globals())\nlocals()['r'] = 2\nlog.append(r)", space)


def case_getframe(log):
    def inner():
        frame = sys._getframe()
        log.append((frame.f_code.co_name, frame.f_lineno, frame.f_back.f_code.co_name, frame.f_back.f_lineno))
        log.append(frame.f_globals is globals())
        log.append(frame.f_builtins["len"] is len)
        log.append(sorted(frame.f_locals))
        log.append(sys._getframe(1).f_locals["marker"])
        return frame

    marker = "outer"
    frame = inner()
    log.append((frame.f_lineno, frame.f_back and frame.f_back.f_code.co_name))
    log.append(sorted(frame.f_locals))
    return sys._getframe(0).f_code.co_name


def case_line_numbers(log):
    def line():
        return sys._getframe(1).f_lineno

    log.append(line())
    log.append([line(),
                line(),
                (line(),
                 line())])
    for _ in range(2):
        log.append(line())
    if line(): log.append(line())
    with open("/dev/null") as f:
        log.append(line())
    log.append(
        line()
    )
    x = (lambda:
         line())()
    return x


def case_back_chain(log):
    def a():
        return b()

    def b():
        return [c() for _ in range(1)][0]

    def c():
        return sorted([1], key=d)

    def d(x):
        log.append(stack_names(5))
        return x

    a()


def case_back_chain_through_objects(log):
    class A:
        def __getattr__(self, name):
            log.append(stack_names(3))
            return 1

        def __add__(self, other):
            log.append(stack_names(3))
            return self

        def __enter__(self):
            log.append(stack_names(3))

        def __exit__(self, *args):
            log.append(stack_names(3))

        def __iter__(self):
            log.append(stack_names(3))
            yield 1

        def __del__(self):
            log.append(stack_names(3))

        def __call__(self):
            log.append(stack_names(3))

        def __set_name__(self, owner, name):
            log.append(stack_names(3))

        def __init_subclass__(cls):
            log.append(stack_names(3))

        def __getitem__(self, key):
            log.append(stack_names(3))
            return 0

        def __bool__(self):
            log.append(stack_names(3))
            return True

        def __format__(self, spec):
            log.append(stack_names(3))
            return ""

        def __contains__(self, x):
            log.append(stack_names(3))
            return True

        def __eq__(self, x):
            log.append(stack_names(3))
            return True

    a = A()
    a.missing
    a + 1
    with a:
        pass
    for x in a:
        pass
    a()

    class B(A):
        attribute = a

    a[0]
    if a:
        pass
    f"{a}"
    1 in a
    a == 1
    match a:
        case 5:
            pass
    [*a]
    (x,) = a
    del B.attribute
    del B
    a = None


def case_caller_locals_changed(log):
    def change():
        frame = sys._getframe(1)
        return {k: v for k, v in frame.f_locals.items() if k in ("x", "y")}

    x = 1
    log.append(change())
    x = 2
    y = 3
    log.append(change())
    del x
    log.append(change())


def case_frame_outlives_call(log):
    def make():
        x = [1]
        y = 2
        frame = sys._getframe()
        x.append(3)
        return frame

    frame = make()
    log.append(sorted(frame.f_locals.items(), key=lambda kv: kv[0])[1:])
    log.append(frame.f_back)
    log.append(frame.f_lasti >= 0)
    frame.clear()
    log.append(frame.f_locals)

    def fails():
        z = "alive"
        raise ValueError

    try:
        fails()
    except ValueError as error:
        inner = error.__traceback__.tb_next.tb_frame
    log.append(inner.f_locals)


def case_inspect_stack(log):
    def inner():
        log.append([(f.function, f.lineno, f.code_context[0].strip()) for f in inspect.stack()[:2]])
        log.append(inspect.currentframe().f_code.co_name)
        log.append(inspect.getframeinfo(inspect.currentframe().f_back).function)

    inner()
    log.append(str(inspect.signature(stack_names)))
    log.append(inspect.getargvalues(inspect.currentframe()).args)


def case_warnings(log):
    def deprecated(level):
        warnings.warn(f"level {level}", DeprecationWarning, stacklevel=level)

    def caller(level):
        deprecated(level)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for level in (1, 2, 3):
            caller(level)
    log.extend((str(w.message), w.lineno, w.filename[-9:]) for w in caught)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        caller(2)


def case_print_exc_and_stack(log):
    def fail():
        raise ValueError("shown")

    try:
        fail()
    except ValueError:
        traceback.print_exc()
        log.append(traceback.format_exc())
    log.append([(f.name, f.lineno, f.line) for f in traceback.extract_stack(limit=1)])
    log.append(traceback.format_stack(limit=1))


def case_tracebacks_locals(log):
    def fail(a):
        b = a * 2
        raise KeyError(b)

    try:
        fail("x")
    except KeyError as error:
        summary = traceback.TracebackException.from_exception(error, capture_locals=True)
        log.append([f.locals for f in summary.stack][1:])


def case_excepthook(log):
    def hook(kind, value, trace):
        log.append((kind.__name__, trace.tb_lineno))

    try:
        1 / 0
    except ZeroDivisionError:
        hook(*sys.exc_info())


def case_f_lasti_moves(log):
    def here():
        return sys._getframe(1).f_lasti

    seen = [here(), here(), here()]
    log.append(seen == sorted(seen) and len(set(seen)) == 3)


def case_positions_of_caller(log):
    def where():
        frame = sys._getframe(1)
        code = frame.f_code
        return list(code.co_positions())[frame.f_lasti // 2]

    log.append(where())
    log.append([where(), (1 + where()[0],
                          where())])
    x = where() or \
        where()

    class C:
        def __add__(self, other):
            return where2()

        def __getattr__(self, name):
            return where2()

        def __lt__(self, other):
            return where2()

        def __getitem__(self, k):
            return where2()

        def __setitem__(self, k, v):
            log.append(where2())

        def __iter__(self):
            log.append(where2())
            return iter(())

    def where2():
        frame = sys._getframe(2)
        return list(frame.f_code.co_positions())[frame.f_lasti // 2]

    c = C()
    log.append(c + 1)
    log.append((c
                + 1))
    log.append(c.attribute)
    log.append(c < 1)
    log.append(c["key"])
    c["key"] = 1
    for _ in c:
        pass
    [*c]
    () = c


def case_trace_attribute(log):
    frame = sys._getframe()
    log.append((frame.f_trace, frame.f_trace_lines, frame.f_trace_opcodes))


def case_lineno_cannot_be_set(log):
    sys._getframe().f_lineno = 5


def case_current_frames(log):
    import threading

    frames = sys._current_frames()
    log.append(frames[threading.get_ident()].f_code.co_name)
    return sys._getframe() is frames[threading.get_ident()]


def case_call_stack_depth(log):
    import sys

    def depth():
        n, frame = 0, sys._getframe()
        while frame:
            n, frame = n + 1, frame.f_back
        return n

    base = depth()
    log.append([depth() - base, (lambda: depth())() - base, [depth() for _ in range(1)][0] - base, next(depth() for _ in range(1)) - base])
    log.append(max([1], key=lambda x: depth() - base))
    log.append(list(map(lambda x: depth() - base, [1])))


def case_instruction_of_the_caller(log):
    """In code that CPython has specialised: where its specialised instructions stand while a callee runs."""

    def where():
        return sys._getframe(2).f_lasti

    def generate():
        for _ in range(60):
            yield where()

    def delegate():
        return (yield from generate())

    class Container:
        def __getitem__(self, key):
            return where()

    container = Container()

    def run():
        items = []
        for x in range(60):
            items.append(container[x])
        return [x for x in generate()], [x for x in delegate()], items

    for _ in range(10):
        seen = run()
    log.append([part[-5:] for part in seen])


case_instruction_of_the_caller.sweep = -1  # CPython specialises none of this under a hook


def case_getframe_too_deep(log):
    sys._getframe(100000)


def case_dynamic_import_of_caller(log):
    import collections

    made = collections.namedtuple("Made", "a b")
    log.append(made.__module__ == __name__)
    import enum

    e = enum.Enum("E", "A B")
    log.append(e.__module__ == __name__)
    return e.A.value
