"""Signals, interrupts, pending calls, asynchronous exceptions, and threads that take turns."""

import _thread
import ctypes
import os
import signal
import sys
import threading
import time


def case_raise_signal(log):
    old = signal.signal(signal.SIGUSR1, lambda number, frame: log.append((number == signal.SIGUSR1, frame.f_code.co_name)))
    try:
        signal.raise_signal(signal.SIGUSR1)
        log.append("after")
        os.kill(os.getpid(), signal.SIGUSR1)
        for _ in range(3):
            pass
        log.append("end")
    finally:
        signal.signal(signal.SIGUSR1, old)


def case_handler_raises(log):
    class Alarm(Exception):
        pass

    def handler(number, frame):
        raise Alarm("from handler")

    old = signal.signal(signal.SIGUSR1, handler)
    try:
        try:
            signal.raise_signal(signal.SIGUSR1)
            for _ in range(1000):
                pass
        except Alarm as error:
            log.append(str(error))
    finally:
        signal.signal(signal.SIGUSR1, old)


def spin(log, loop):
    """Run an endless loop until a timer's handler raises."""

    class Timeout(Exception):
        pass

    def handler(number, frame):
        raise Timeout

    old = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        loop()
    except Timeout:
        log.append("timer")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def case_timer_in_while(log):
    def loop():
        while True:
            pass

    spin(log, loop)


case_timer_in_while.sweep = 6


def case_timer_in_for(log):
    import itertools

    def loop():
        for _ in itertools.count():
            pass

    spin(log, loop)


case_timer_in_for.sweep = 6


def case_timer_in_calls(log):
    def nothing():
        pass

    def loop():
        while 1:
            nothing()

    spin(log, loop)


case_timer_in_calls.sweep = 6


def case_timer_in_generator(log):
    def endless():
        while True:
            yield 1

    def loop():
        for x in endless():
            pass

    spin(log, loop)


case_timer_in_generator.sweep = 6


def case_timer_in_try_continue(log):
    def loop():
        while True:
            try:
                continue
            finally:
                x = 1

    spin(log, loop)


case_timer_in_try_continue.sweep = 6


def case_interrupt_main(log):
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        try:
            _thread.interrupt_main()
            for _ in range(10000):
                pass
            log.append("not interrupted")
        except KeyboardInterrupt as error:
            log.append(repr(error))
    finally:
        signal.signal(signal.SIGINT, old)


def case_sigint_in_loop(log):
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        try:
            while True:
                os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            log.append("interrupted")
    finally:
        signal.signal(signal.SIGINT, old)


def case_handler_changes_state(log):
    state = {"go": True}

    def handler(number, frame):
        state["go"] = False

    old = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    try:
        while state["go"]:
            pass
        log.append("stopped")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


case_handler_changes_state.sweep = 30


def case_pending_call(log):
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)

    @kind
    def pending(argument):
        log.append("pending")
        return 0

    ctypes.pythonapi.Py_AddPendingCall(pending, None)
    for _ in range(2000):
        if log:
            break
    log.append("after")


case_pending_call.sweep = 30


def case_asynchronous_exception(log):
    class Stop(Exception):
        pass

    ready = threading.Event()
    outcome = []

    def work():
        try:
            ready.set()
            while True:
                pass
        except Stop:
            outcome.append("stopped")

    thread = threading.Thread(target=work)
    thread.start()
    ready.wait()
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(Stop))
    thread.join(10)
    log.append((outcome, thread.is_alive()))


case_asynchronous_exception.sweep = 4
case_asynchronous_exception.whole = False


def case_asynchronous_exception_on_itself(log):
    class Stop(Exception):
        pass

    try:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(threading.get_ident()), ctypes.py_object(Stop))
        for _ in range(10000):
            pass
        log.append("not stopped")
    except Stop:
        log.append("stopped")


case_asynchronous_exception_on_itself.sweep = 20
case_asynchronous_exception_on_itself.whole = False


def case_threads_take_turns(log):
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    flags = [False, False]

    def wait(own, other):
        flags[own] = True
        while not flags[other]:
            pass

    try:
        thread = threading.Thread(target=wait, args=(1, 0))
        thread.start()
        wait(0, 1)
        thread.join(10)
        log.append((flags, thread.is_alive()))
    finally:
        sys.setswitchinterval(old)


case_threads_take_turns.sweep = 12


def case_main_loop_lets_thread_run(log):
    done = []
    thread = threading.Thread(target=lambda: done.append(1))
    thread.start()
    limit = time.monotonic() + 10
    while not done and time.monotonic() < limit:
        pass
    thread.join()
    return done


case_main_loop_lets_thread_run.sweep = 12


def case_threads_with_locks(log):
    lock = threading.Lock()
    total = 0

    def add():
        nonlocal total
        for _ in range(200):
            with lock:
                total += 1

    threads = [threading.Thread(target=add) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return total


case_threads_with_locks.sweep = 30


def case_thread_exception(log):
    seen = []
    old = threading.excepthook
    threading.excepthook = lambda args: seen.append((args.exc_type.__name__, str(args.exc_value)))
    try:
        def fail():
            raise ValueError("in thread")

        t = threading.Thread(target=fail)
        t.start()
        t.join()
    finally:
        threading.excepthook = old
    return seen


def case_local_and_context(log):
    import contextvars

    local = threading.local()
    local.x = 1
    variable = contextvars.ContextVar("v", default=0)

    def inside():
        variable.set(5)
        return variable.get(), getattr(local, "x", None)

    log.append(contextvars.copy_context().run(inside))
    return variable.get()
