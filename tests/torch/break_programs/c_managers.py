"""tests/torch/break_programs/c_managers.py: managers of C code that are told of what captured code raises."""

import threading

LOCKS = [threading.Lock(), threading.RLock()]


@program
def lock_is_left_by_error(x):
    left = []
    for lock in LOCKS:
        try:
            with lock:
                y = x + 1
                break_here("held")
                z = y * 2
                raise ValueError("behind the break")
        except ValueError as error:
            left.append(str(error))
        left.append(lock.acquire(blocking=False))
        lock.release()
    return z, left


@program
def lock_is_left_by_a_callee(x):
    def look(table, key):
        return table[key] + 1

    with contextlib.suppress(KeyError):
        with LOCKS[0]:
            break_here("held")
            y = x * 3
            y = y + look({}, "missing")
    return x - 1, LOCKS[0].locked()


@program
def reentered_lock_is_left_by_error(x):
    lock = LOCKS[1]
    with lock:
        try:
            with lock:
                break_here("held twice")
                y = x * 2
                raise LookupError
        except LookupError:
            OUT.append("left")
        break_here("held once")
        y = y + 1
    return y


@program
def file_is_closed_by_error(x):
    written = io.StringIO()
    try:
        with written:
            break_here("open")
            y = x * 2
            written.write(str(y.shape))
            raise ValueError
    except ValueError:
        OUT.append(written.closed)
    return y + 1


@program
def view_is_released_by_error(x):
    data = bytearray(b"abc")
    view = memoryview(data)
    try:
        with view:
            break_here("in")
            y = x.sin()
            {}[y.shape]
    except KeyError as error:
        OUT.append(error.args)
    data.append(1)
    return y, bytes(data)


@program
def manager_that_swallows_by_c(x):
    class Swallow:
        __enter__ = lambda self: self
        __exit__ = "".startswith  # called with a class: TypeError

    try:
        with Swallow():
            break_here("in")
            y = x + 2
            raise ValueError("lost")
    except TypeError as error:
        return y, type(error.__context__)
