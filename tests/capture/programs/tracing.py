"""sys.settrace and sys.setprofile, also switched on in the middle of a frame: the same events."""

import sys

RECOMPILE = True


def traced(log, lines=True, opcodes=False, limit=200):
    def tracer(frame, event, arg):
        if len(log) < limit:
            shown = type(arg).__name__ if event in ("exception", "return") else arg
            log.append((event, frame.f_code.co_name, frame.f_lineno, shown))
        frame.f_trace_lines = lines
        frame.f_trace_opcodes = opcodes
        return tracer

    return tracer


def work(n):
    total = 0
    for i in range(n):
        total += helper(i)
    try:
        raise ValueError(total)
    except ValueError:
        total = -total
    return [x for x in range(2)], total


def helper(x):
    if x % 2:
        return x
    return -x


def generate():
    yield 1
    yield from [2, 3]
    return 4


def case_trace_a_call(log):
    sys.settrace(traced(log))
    try:
        work(3)
    finally:
        sys.settrace(None)
    log.append("off")
    work(1)


def case_trace_in_the_middle(log):
    def f():
        a = 1
        sys.settrace(traced(log))
        b = work(1)
        sys._getframe().f_trace = traced(log)
        c = 3
        d = helper(c)
        sys.settrace(None)
        e = 5
        return e

    f()
    return work(2)


def case_trace_caller_frame(log):
    def enable():
        sys.settrace(traced(log))
        sys._getframe(1).f_trace = traced(log)

    def f():
        x = 1
        enable()
        y = 2
        for i in range(2):
            y += helper(i)
        z = 3
        sys.settrace(None)
        return x + y + z

    return f()


def case_trace_generator(log):
    g = generate()
    next(g)
    sys.settrace(traced(log))
    try:
        log.append(list(g))
        log.append(list(generate()))
    finally:
        sys.settrace(None)


def case_trace_opcodes(log):
    # From 3.12 on the first use in a process changes what later ones report: only the second counts.
    for _ in range(2):
        log.clear()
        sys.settrace(traced(log, lines=False, opcodes=True))
        try:
            helper(3)
        finally:
            sys.settrace(None)


def case_trace_exception(log):
    def fail():
        raise KeyError

    def outer():
        try:
            fail()
        except KeyError:
            pass
        fail()

    sys.settrace(traced(log))
    try:
        outer()
    finally:
        sys.settrace(None)


def case_tracer_raises(log):
    def bad(frame, event, arg):
        if event == "line":
            raise RuntimeError("tracer failed")
        return bad

    sys.settrace(bad)
    try:
        helper(1)
    except RuntimeError as error:
        log.append(str(error))
    log.append(sys.gettrace())


def case_tracer_jumps(log):
    def target(out):
        out.append(1)
        out.append(2)
        out.append(3)
        return out

    first = target.__code__.co_firstlineno

    def jumper(frame, event, arg):
        if event == "line" and frame.f_code is target.__code__ and frame.f_lineno == first + 2:
            frame.f_lineno = first + 3
        return jumper

    sys.settrace(jumper)
    try:
        log.append(target([]))
    finally:
        sys.settrace(None)


def case_tracer_sees_and_changes_locals(log):
    def target(x):
        y = x + 1
        return y

    def tracer(frame, event, arg):
        if frame.f_code is target.__code__:
            log.append((event, sorted(frame.f_locals.items())))
            if event == "line" and "y" in frame.f_locals:
                frame.f_locals["y"] = 99
        return tracer

    sys.settrace(tracer)
    try:
        log.append(target(1))
    finally:
        sys.settrace(None)


def case_profile(log):
    def profiler(frame, event, arg):
        name = arg.__name__ if event.startswith("c_") else type(arg).__name__
        log.append((event, frame.f_code.co_name, frame.f_lineno, name))

    sys.setprofile(profiler)
    try:
        work(2)
        len([])
        list(generate())
        sorted([2, 1], key=helper)
        "a".upper()
        dict(a=1)
    finally:
        sys.setprofile(None)
    log.append("off")


def case_profile_in_the_middle(log):
    def profiler(frame, event, arg):
        log.append((event, frame.f_code.co_name, frame.f_lineno))

    def f():
        len([])
        sys.setprofile(profiler)
        len([])
        helper(1)
        try:
            [].pop()
        except IndexError:
            pass
        sys.setprofile(None)
        len([])
        return 1

    f()
    helper(2)


def case_profile_raises(log):
    def profiler(frame, event, arg):
        if event == "return":
            raise ValueError("profiler")

    sys.setprofile(profiler)
    try:
        helper(1)
    except ValueError as error:
        log.append(str(error))
    finally:
        sys.setprofile(None)


def case_trace_off_in_callee(log):
    def off():
        sys.settrace(None)

    def f():
        x = 1
        off()
        y = 2
        return x + y

    sys.settrace(traced(log))
    f()
    return f()


def case_trace_on_in_callback(log):
    def key(x):
        if x == 2:
            sys.settrace(traced(log))
        return x

    def f():
        result = sorted([1, 2, 3], key=key)
        helper(1)
        sys.settrace(None)
        return result

    return f()


def case_breakpoint_hook(log):
    def hook():
        frame = sys._getframe(1)
        log.append((frame.f_code.co_name, frame.f_lineno))
        sys.settrace(traced(log))
        frame.f_trace = traced(log)

    old = sys.breakpointhook
    sys.breakpointhook = hook

    def f():
        a = 1
        breakpoint()
        b = a + 1
        c = helper(b)
        sys.settrace(None)
        return c

    try:
        return f()
    finally:
        sys.breakpointhook = old


def case_pdb(log):
    import io
    import pdb

    out = io.StringIO()

    def f():
        a = 1
        debugger = pdb.Pdb(stdin=io.StringIO("p a\nnext\np b\nstep\nstep\nargs\nup\np a\nc\n"), stdout=out, nosigint=True, readrc=False)
        debugger.set_trace()
        b = a + 1
        c = helper(b)
        return c

    try:
        log.append(f())
    finally:
        sys.settrace(None)
    log.append([line.strip() for line in out.getvalue().splitlines() if "programs" not in line])


case_pdb.sweep = 40


def case_threading_settrace(log):
    import threading

    threading.settrace(traced(log))
    try:
        t = threading.Thread(target=helper, args=(1,))
        t.start()
        t.join()
    finally:
        threading.settrace(None)
        # From 3.12 on a thread that ends while traced leaves its events set until somebody calls this.
        sys.settrace(None)
    log[:] = [e for e in log if e[1] == "helper"]


def case_trace_comprehension_and_class(log):
    sys.settrace(traced(log))
    try:
        class A:
            x = [i for i in range(2)]

            def m(self):
                with self:
                    return 1

            def __enter__(self):
                pass

            def __exit__(self, *args):
                pass

        A().m()
    finally:
        sys.settrace(None)


for _case in list(globals()):
    if _case.startswith("case_"):
        globals()[_case].whole = False
