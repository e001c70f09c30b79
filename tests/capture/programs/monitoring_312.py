"""sys.monitoring, also switched on in the middle of a frame: the same events."""

import sys

M = sys.monitoring
TOOL = 4
RECOMPILE = True
E = M.events


class Watch:
    """Registers callbacks that write every event of this file into the log."""

    def __init__(self, log, events, local=None, limit=300):
        self.log, self.events, self.local, self.limit = log, events, local, limit

    def on(self):
        M.use_tool_id(TOOL, "stator test")
        for name in dir(E):
            event = getattr(E, name)
            if name[0] != "_" and event and event & (event - 1) == 0:
                try:
                    M.register_callback(TOOL, event, self.callback(name))
                except ValueError:
                    pass
        if self.local is None:
            M.set_events(TOOL, self.events)
        else:
            M.set_local_events(TOOL, self.local, self.events)
        return self

    def callback(self, name):
        def called(code, *args):
            if code.co_filename == __file__ and code.co_name not in ("off", "__exit__") and len(self.log) < self.limit:
                shown = [a if isinstance(a, int) else getattr(a, "__name__", type(a).__name__) for a in args]
                self.log.append((name, code.co_name, shown))

        return called

    def off(self):
        M.set_events(TOOL, 0)
        if self.local is not None:
            M.set_local_events(TOOL, self.local, 0)
        for name in dir(E):
            event = getattr(E, name)
            if name[0] != "_" and event and event & (event - 1) == 0:
                try:
                    M.register_callback(TOOL, event, None)
                except ValueError:
                    pass
        M.free_tool_id(TOOL)

    __enter__ = on

    def __exit__(self, *args):
        self.off()


def helper(x):
    if x % 2:
        return x
    return -x


def work(n):
    total = 0
    for i in range(n):
        total += helper(i)
    try:
        raise ValueError(total)
    except ValueError:
        total = -total
    return total


def generate():
    yield 1
    yield from [2, 3]
    return 4


def case_calls(log):
    with Watch(log, E.PY_START | E.PY_RETURN | E.CALL):
        work(2)
        len([])
    log.append("off")
    work(1)


def case_lines(log):
    with Watch(log, E.LINE):
        work(2)


def case_instructions(log):
    with Watch(log, E.INSTRUCTION):
        helper(1)


def case_branches_and_jumps(log):
    with Watch(log, E.BRANCH | E.JUMP):
        work(3)


def case_generators(log):
    with Watch(log, E.PY_START | E.PY_RESUME | E.PY_YIELD | E.PY_RETURN | E.PY_UNWIND | E.STOP_ITERATION | E.PY_THROW):
        list(generate())
        g = generate()
        next(g)
        try:
            g.throw(KeyError("k"))
        except KeyError:
            pass


def case_exceptions(log):
    def fail():
        raise KeyError

    def outer():
        try:
            fail()
        except KeyError:
            pass
        fail()

    with Watch(log, E.RAISE | E.EXCEPTION_HANDLED | E.PY_UNWIND):
        try:
            outer()
        except KeyError:
            log.append("escaped")


def case_in_the_middle(log):
    watch = Watch(log, E.LINE | E.PY_START | E.PY_RETURN | E.CALL)

    def f():
        a = 1
        watch.on()
        b = helper(a)
        for i in range(2):
            b += i
        watch.off()
        c = helper(b)
        return c

    log.append(f())
    return f()


def case_on_in_callee_and_callback(log):
    watch = Watch(log, E.LINE | E.PY_RETURN)

    def key(x):
        if x == 2:
            watch.on()
        return x

    def f():
        r = sorted([1, 2, 3], key=key)
        s = helper(1)
        watch.off()
        return r, s

    return f()


def case_local_events(log):
    with Watch(log, E.LINE | E.PY_RETURN, local=helper.__code__):
        work(2)
    return work(1)


def case_local_events_in_running_frame(log):
    def f():
        x = 1
        watch = Watch(log, E.LINE, local=f.__code__).on()
        y = 2
        z = helper(3)
        watch.off()
        return x + y + z

    log.append(f())
    return f()


def case_disable(log):
    def line(code, number):
        if code is helper.__code__:
            log.append(number - code.co_firstlineno)
        return M.DISABLE

    M.use_tool_id(TOOL, "disable")
    M.register_callback(TOOL, E.LINE, line)
    M.set_events(TOOL, E.LINE)
    try:
        helper(1)
        helper(1)
        helper(2)
        M.restart_events()
        helper(1)
    finally:
        M.set_events(TOOL, 0)
        M.register_callback(TOOL, E.LINE, None)
        M.free_tool_id(TOOL)


def case_callback_raises(log):
    def start(code, offset):
        if code is helper.__code__:
            raise RuntimeError("from callback")

    M.use_tool_id(TOOL, "raises")
    M.register_callback(TOOL, E.PY_START, start)
    M.set_events(TOOL, E.PY_START)
    try:
        helper(1)
    except RuntimeError as error:
        log.append(str(error))
    finally:
        M.set_events(TOOL, 0)
        M.register_callback(TOOL, E.PY_START, None)
        M.free_tool_id(TOOL)


def case_instrumented_code_afterwards(log):
    with Watch(log, E.LINE, local=work.__code__):
        pass
    M.use_tool_id(TOOL, "keeps")
    M.set_local_events(TOOL, work.__code__, E.LINE | E.INSTRUCTION)
    try:
        log.append(work(3))
    finally:
        M.set_local_events(TOOL, work.__code__, 0)
        M.free_tool_id(TOOL)
    return work(3)


for _case in list(globals()):
    if _case.startswith("case_"):
        globals()[_case].whole = False

# A frame that CPython runs below the hook makes its next call without inlining it, and an exception out of that call is
# then placed at the instruction itself instead of at its last cache entry: the line is the same, the offset is not.
case_exceptions.sweep = -1
