"""Generators: send, throw, close, delegation, and the order of what runs at their end."""

import sys
import types


def case_basic(log):
    def g(n):
        for i in range(n):
            got = yield i
            if got:
                log.append(got)
        return "done"

    it = g(3)
    log.append([next(it), it.send("a"), it.send(None)])
    try:
        next(it)
    except StopIteration as stop:
        log.append(stop.value)
    try:
        next(it)
    except StopIteration as stop:
        log.append(stop.value)
    log.append(list(g(4)))
    log.append(sum(g(4)))
    a, b = g(2)
    return [*g(2), a, b]


def case_send_before_start(log):
    def g():
        yield 1

    it = g()
    try:
        it.send(5)
    except TypeError as error:
        log.append(str(error))
    log.append(it.send(None))
    it.close()
    log.append(list(it))


def case_throw(log):
    def g():
        while True:
            try:
                got = yield "y"
                log.append(got)
            except ValueError as error:
                log.append(repr(error))
                yield "handled"
            finally:
                log.append("finally")

    it = g()
    next(it)
    log.append(it.throw(ValueError("in")))
    log.append(next(it))
    log.append(it.throw(ValueError("again")))
    it.throw(KeyError("out"))


def case_throw_before_start_and_after_end(log):
    def g():
        log.append("never")
        yield

    it = g()
    try:
        it.throw(ValueError("early"))
    except ValueError as error:
        log.append(repr(error))
    log.append(list(it))
    it.throw(KeyError("late"))


def case_throw_forms(log):
    import warnings

    def g():
        try:
            yield
        except Exception as error:
            yield repr(error)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for args in ((ValueError,), (ValueError, "arg"), (ValueError("x"),), (ValueError, ValueError("v"), None)):
            it = g()
            next(it)
            log.append(it.throw(*args))
        for args in ((5,), (ValueError("x"), "arg"), (ValueError, 1, 5), ()):
            it = g()
            next(it)
            try:
                log.append(it.throw(*args))
            except TypeError as error:
                log.append(str(error))


def case_close(log):
    def g():
        try:
            yield 1
            yield 2
        except GeneratorExit:
            log.append("exit")
            raise
        finally:
            log.append("finally")

    it = g()
    log.append(it.close())
    it = g()
    next(it)
    it.close()
    it.close()
    log.append(it.gi_frame)

    def stubborn():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    it = stubborn()
    next(it)
    try:
        it.close()
    except RuntimeError as error:
        log.append(str(error))

    def swallows():
        try:
            yield 1
        except GeneratorExit:
            return "value"

    it = swallows()
    next(it)
    log.append(it.close())

    def other():
        try:
            yield 1
        finally:
            raise KeyError("while closing")

    it = other()
    next(it)
    it.close()


def case_dropped(log):
    def g(name):
        try:
            yield 1
        finally:
            log.append(name)

    it = g("a")
    next(it)
    del it
    log.append("deleted")
    for x in g("b"):
        break
    log.append("broken out")
    g("never started")
    log.append("end")


def case_return_in_generator(log):
    def g():
        yield 1
        return 2, 3

    def d():
        result = yield from g()
        log.append(result)
        return result

    log.append(list(d()))
    it = d()
    next(it)
    try:
        next(it)
    except StopIteration as stop:
        log.append((stop.value, stop.args))


def case_return_odd_values(log):
    def g(value):
        return value
        yield

    for value in (None, (), (1, 2), StopIteration(3), ValueError("x"), ((1,),)):
        try:
            next(g(value))
        except StopIteration as stop:
            log.append((repr(stop.value), stop.args == (value,)))

        def d():
            x = yield from g(value)
            return repr(x)

        try:
            next(d())
        except StopIteration as stop:
            log.append(stop.value)


def case_stop_iteration_inside(log):
    def g():
        yield 1
        raise StopIteration("inner")

    it = g()
    next(it)
    try:
        next(it)
    except RuntimeError as error:
        log.append((str(error), repr(error.__cause__), repr(error.__context__)))

    def h():
        yield next(iter([]))

    return list(h())


def case_yield_from(log):
    def inner():
        try:
            x = yield "a"
            log.append(("inner got", x))
            y = yield "b"
            log.append(("inner got", y))
        except ValueError as error:
            log.append(("inner caught", str(error)))
            yield "c"
        finally:
            log.append("inner finally")
        return "inner result"

    def outer():
        try:
            result = yield from inner()
            log.append(result)
            yield from [1, 2]
            yield from "xy"
        finally:
            log.append("outer finally")

    it = outer()
    log.append([next(it), it.send("S"), it.throw(ValueError("T")), next(it), next(it), next(it)])
    log.append(it.gi_yieldfrom is not None)
    log.append(list(it))
    it = outer()
    next(it)
    it.close()
    it = outer()
    next(it)
    it.throw(KeyError("through"))


def case_yield_from_custom(log):
    class It:
        def __init__(self):
            self.n = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.n += 1
            if self.n > 3:
                raise StopIteration("value")
            return self.n

        def send(self, x):
            log.append(("send", x))
            return -1

        def throw(self, *args):
            log.append(("throw", len(args), repr(args[0])))
            raise StopIteration("thrown value")

        def close(self):
            log.append("close")

    def g():
        result = yield from It()
        log.append(result)
        yield "after"

    log.append(list(g()))
    it = g()
    log.append([next(it), it.send(5), next(it)])
    log.append(it.throw(ValueError("v")))
    it = g()
    next(it)
    it.close()

    def plain():
        yield from iter([1, 2])

    it = plain()
    next(it)
    try:
        it.send(3)
    except AttributeError as error:
        log.append(str(error))
    it = plain()
    next(it)
    it.throw(KeyError("k"))


def case_yield_from_not_iterable(log):
    def g():
        yield from 5

    return list(g())


def case_close_raises_in_delegate(log):
    class It:
        def __iter__(self):
            return self

        def __next__(self):
            return 1

        def close(self):
            raise OSError("close failed")

    def g():
        yield from It()

    it = g()
    next(it)
    it.close()


def case_deep_delegation(log):
    def g(n):
        if n:
            yield n
            result = yield from g(n - 1)
            return result + n
        return 0

    def top():
        log.append((yield from g(8)))

    log.append(list(top()))

    def tree(t):
        if isinstance(t, list):
            for x in t:
                yield from tree(x)
        else:
            yield t

    return list(tree([1, [2, [3, [4]], 5], []]))


def case_already_executing(log):
    def g():
        try:
            next(it)
        except ValueError as error:
            log.append(str(error))
        yield from it

    it = g()
    return next(it)


def case_state(log):
    import inspect

    def g():
        log.append(inspect.getgeneratorstate(it))
        x = 5
        yield x

    it = g()
    log.append(inspect.getgeneratorstate(it))
    next(it)
    log.append(inspect.getgeneratorstate(it))
    log.append(it.gi_frame.f_locals["x"])
    log.append(it.gi_frame.f_lineno - it.gi_code.co_firstlineno)
    log.append(inspect.getgeneratorlocals(it)["x"])
    list(it)
    log.append(inspect.getgeneratorstate(it))
    log.append((it.__name__, it.__qualname__, it.gi_running, it.gi_frame))


def case_try_around_yield(log):
    def g():
        for i in range(3):
            try:
                yield i
            except ValueError:
                log.append("v")
                continue
            except KeyError:
                break
            else:
                log.append("else")
            finally:
                log.append(i)
        yield "end"

    it = g()
    log.append(next(it))
    log.append(it.throw(ValueError))
    log.append(next(it))
    log.append(it.throw(KeyError))


def case_yield_in_expressions(log):
    def g():
        x = [(yield 1), (yield 2) + (yield 3), {(yield 4): (yield 5)}]
        log.append(x)
        print(f"{(yield 6)!r}")
        y = (yield) or (yield 7)
        return (yield x[0] if y else None)

    it = g()
    log.append(next(it))
    for i in range(8):
        try:
            log.append(it.send(i * 10))
        except StopIteration as stop:
            log.append(stop.value)


def case_exception_inside(log):
    def g():
        yield 1
        yield 1 / 0

    def use():
        for x in g():
            log.append(x)

    use()


def case_exception_context_across_yield(log):
    def g():
        try:
            yield
        except KeyError:
            raise ValueError("from generator")

    it = g()
    next(it)
    try:
        1 / 0
    except ZeroDivisionError:
        it.throw(KeyError("thrown"))


def case_generator_expression_laziness(log):
    def note(x):
        log.append(x)
        return x

    it = (note(x) for x in [1, 2, 3] if note(x) > 1)
    log.append("made")
    log.append(next(it))
    return list(it)


def case_interleaved(log):
    def count(name, n):
        for i in range(n):
            log.append((name, i))
            yield

    tasks = [count("a", 3), count("b", 2), count("c", 4)]
    while tasks:
        task = tasks.pop(0)
        try:
            next(task)
            tasks.append(task)
        except StopIteration:
            log.append("finished")


def case_primes_pipeline(log):
    def integers():
        n = 2
        while True:
            yield n
            n += 1

    def without(p, source):
        for n in source:
            if n % p:
                yield n

    def primes():
        source = integers()
        while True:
            p = next(source)
            yield p
            source = without(p, source)

    it = primes()
    return [next(it) for _ in range(15)]


case_primes_pipeline.sweep = 120


def case_iterable_coroutine(log):
    @types.coroutine
    def wait():
        x = yield "waiting"
        return x

    async def main():
        return await wait()

    c = main()
    log.append(c.send(None))
    try:
        c.send("result")
    except StopIteration as stop:
        log.append(stop.value)


def case_frame_clear(log):
    def g():
        try:
            x = log
            yield 1
        finally:
            log.append("cleared")

    it = g()
    next(it)
    frame = it.gi_frame
    frame.clear()
    log.append(frame.f_locals.get("x"))
    log.append(list(it))

    def running():
        sys._getframe().clear()

    running()


def case_gi_back(log):
    def g():
        log.append(sys._getframe().f_back.f_code.co_name)
        yield 1
        log.append(sys._getframe().f_back.f_code.co_name)
        yield 2

    it = g()

    def first():
        next(it)
        log.append(it.gi_frame.f_back)

    def second():
        next(it)

    first()
    second()
