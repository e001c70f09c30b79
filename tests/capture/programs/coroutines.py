"""Coroutines, async with, async for, async generators and comprehensions."""

import asyncio
import sys
import types
import warnings


@types.coroutine
def pause(value=None):
    got = yield value
    return got


def run(coroutine, log, answers=()):
    """Drive a coroutine by hand; what it pauses with goes into the log."""
    answers = list(answers)
    value = None
    while True:
        try:
            log.append(("paused", coroutine.send(value)))
        except StopIteration as stop:
            return stop.value
        value = answers.pop(0) if answers else None


class Manager:
    def __init__(self, log, suppress=False, error=None):
        self.log, self.suppress, self.error = log, suppress, error

    async def __aenter__(self):
        self.log.append("aenter")
        await pause("enter")
        return "entered"

    async def __aexit__(self, kind, value, trace):
        self.log.append(("aexit", kind and kind.__name__, trace and trace.tb_lineno))
        await pause("exit")
        if self.error:
            raise self.error
        return self.suppress


class Count:
    def __init__(self, n, pauses=True):
        self.n, self.pauses = n, pauses

    def __aiter__(self):
        return self

    async def __anext__(self):
        if self.pauses:
            await pause("next")
        if not self.n:
            raise StopAsyncIteration
        self.n -= 1
        return self.n


def case_await(log):
    async def inner(x):
        got = await pause(x)
        return got, x

    async def outer():
        a = await inner(1)
        b = await inner(2)
        return a, b

    return run(outer(), log, ["A", "B"])


def case_exception(log):
    async def fails():
        await pause()
        raise ValueError("failed")

    async def outer():
        try:
            await fails()
        except ValueError as error:
            log.append(repr(error))
        finally:
            log.append("finally")
        await fails()

    return run(outer(), log)


def case_async_with(log):
    async def main():
        async with Manager(log) as m:
            log.append(m)
        async with Manager(log, suppress=True):
            raise ValueError("hidden")
        async with Manager(log), Manager(log) as second:
            log.append(second)
        for i in range(2):
            async with Manager(log):
                if i:
                    break
                continue
        async with Manager(log):
            return "returned"

    return run(main(), log)


def case_async_with_raises(log):
    async def main():
        async with Manager(log):
            raise KeyError("body")

    return run(main(), log)


def case_async_with_exit_raises(log):
    async def main():
        async with Manager(log, error=OSError("exit")):
            raise KeyError("body")

    return run(main(), log)


def case_async_with_bad(log):
    async def plain(bad):
        async with bad:
            pass

    class NotAwaitable:
        def __aenter__(self):
            return 5

        def __aexit__(self, *args):
            return 6

    class ExitNotAwaitable:
        async def __aenter__(self):
            return 5

        def __aexit__(self, *args):
            return 6

    for bad in (5, NotAwaitable(), ExitNotAwaitable()):
        try:
            run(plain(bad), log)
        except (TypeError, AttributeError) as error:
            log.append((type(error).__name__, str(error)))


def case_async_for(log):
    async def main():
        async for x in Count(3):
            log.append(x)
        else:
            log.append("else")
        async for x in Count(3, pauses=False):
            if x == 1:
                break
        else:
            log.append("never")
        return x

    return run(main(), log)


def case_async_for_bad(log):
    class NotIterator:
        def __aiter__(self):
            return 5

    class NotAwaitable:
        def __aiter__(self):
            return self

        def __anext__(self):
            return 5

    class Raises:
        def __aiter__(self):
            return self

        async def __anext__(self):
            raise ValueError("anext")

    async def loop(bad):
        async for x in bad:
            pass

    for bad in (5, NotIterator(), NotAwaitable(), Raises()):
        try:
            run(loop(bad), log)
        except (TypeError, ValueError) as error:
            log.append((type(error).__name__, str(error)))
    return run(loop([1]), log)


def case_await_bad(log):
    async def wait(x):
        return await x

    class Iter:
        def __await__(self):
            return 5

    class Good:
        def __await__(self):
            yield "from await"
            return "good"

    for x in (5, None, Iter(), [1], Good()):
        try:
            log.append(run(wait(x), log))
        except TypeError as error:
            log.append(str(error))

    async def twice():
        c = wait(Good())
        await c
        await c

    return run(twice(), log)


def case_comprehensions(log):
    async def main():
        a = [x async for x in Count(3)]
        b = {x: x * 2 async for x in Count(2, False) if x}
        c = {await echo(x) for x in range(3)}
        d = [x + y async for x in Count(2) for y in range(2) if await echo(y)]
        e = (x async for x in Count(2))
        f = [x async for x in e]
        g = [[y async for y in Count(x, False)] for x in range(3)]
        return a, b, c, d, f, g

    async def echo(x):
        await pause(x)
        return x

    return run(main(), log)


def case_comprehension_raises(log):
    async def main():
        return [1 // x async for x in Count(2)]

    return run(main(), log)


def case_async_generator(log):
    async def numbers(n):
        try:
            for i in range(n):
                got = yield i
                if got:
                    log.append(got)
                await pause(("p", i))
        finally:
            log.append("closed")

    async def main():
        async for x in numbers(2):
            log.append(x)
        g = numbers(5)
        log.append(await g.__anext__())
        log.append(await g.asend("sent"))
        await g.aclose()
        try:
            await g.__anext__()
        except StopAsyncIteration:
            log.append("stopped")
        await g.aclose()
        return [x async for x in numbers(3)]

    return run(main(), log)


def case_async_generator_throw(log):
    async def g():
        while True:
            try:
                yield 1
            except ValueError as error:
                log.append(repr(error))
                await pause("in handler")
                yield "handled"

    async def main():
        it = g()
        await it.__anext__()
        log.append(await it.athrow(ValueError("v")))
        log.append(await it.__anext__())
        await it.athrow(KeyError("k"))

    return run(main(), log)


def case_async_generator_aclose(log):
    async def stubborn():
        try:
            yield 1
        except GeneratorExit:
            yield 2

    async def awaiting():
        try:
            yield 1
        finally:
            await pause("closing")
            log.append("closed")

    async def main():
        it = awaiting()
        await it.__anext__()
        await it.aclose()
        it = stubborn()
        await it.__anext__()
        await it.aclose()

    return run(main(), log)


def case_async_generator_stop_iteration(log):
    async def bad(error):
        yield 1
        raise error

    async def main():
        for error in (StopIteration("x"), StopAsyncIteration("y")):
            try:
                async for x in bad(error):
                    pass
            except RuntimeError as caught:
                log.append((str(caught), repr(caught.__cause__)))

    async def coroutine():
        raise StopIteration("c")

    run(main(), log)
    return run(coroutine(), log)


def case_throw_into_coroutine(log):
    async def inner():
        try:
            await pause("i")
        except ValueError as error:
            log.append(repr(error))
            return "recovered"
        finally:
            log.append("inner finally")

    async def outer():
        return await inner()

    c = outer()
    c.send(None)
    try:
        c.throw(ValueError("into"))
    except StopIteration as stop:
        log.append(stop.value)
    c = outer()
    c.send(None)
    c.close()
    c = outer()
    c.send(None)
    log.append((c.cr_running, c.cr_await is not None, c.cr_frame.f_lineno - c.cr_code.co_firstlineno))
    c.throw(KeyError("escapes"))


def case_reuse_errors(log):
    async def f():
        return 1

    c = f()
    run(c, log)
    try:
        c.send(None)
    except RuntimeError as error:
        log.append(str(error))
    c = f()
    try:
        c.send(5)
    except TypeError as error:
        log.append(str(error))
    c.close()
    try:
        c.send(None)
    except RuntimeError as error:
        log.append(str(error))
    c = f()
    try:
        iter(c)
    except TypeError as error:
        log.append(str(error))
    finally:
        c.close()


def case_never_awaited(log):
    async def f():
        pass

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f()
        c = f()
        del c
    log.append([str(w.message) for w in caught])


def case_asyncio(log):
    async def worker(name, n):
        for i in range(n):
            log.append((name, i))
            await asyncio.sleep(0)
        return name

    async def main():
        results = await asyncio.gather(worker("a", 3), worker("b", 2))
        log.append(results)
        queue = asyncio.Queue()
        await queue.put(1)
        log.append(await queue.get())
        try:
            await asyncio.wait_for(asyncio.sleep(10), 0.001)
        except asyncio.TimeoutError:
            log.append("timeout")
        task = asyncio.create_task(worker("c", 100))
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            log.append("cancelled")
        async with asyncio.TaskGroup() as group:
            group.create_task(worker("d", 1))
        lock = asyncio.Lock()
        async with lock:
            log.append(lock.locked())
        return "done"

    return asyncio.run(main())


case_asyncio.sweep = 25


def case_asyncio_exception_group(log):
    async def fail(error):
        await asyncio.sleep(0)
        raise error

    async def main():
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(fail(ValueError("a")))
                group.create_task(fail(KeyError("b")))
        except* ValueError as errors:
            log.append(repr(errors))
        except* KeyError as errors:
            log.append(repr(errors))

    return asyncio.run(main())


case_asyncio_exception_group.sweep = 25


def case_async_generator_hooks(log):
    async def g():
        try:
            yield 1
            yield 2
        finally:
            log.append("finalized")

    async def main():
        async for x in g():
            break

    old = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(firstiter=lambda a: log.append(("first", a.__name__)), finalizer=lambda a: log.append(("final", a.__name__)))
    try:
        run(main(), log)
    finally:
        sys.set_asyncgen_hooks(*old)
    return len(log)


def case_lambda_and_nested(log):
    async def main():
        f = lambda: (pause(x) for x in range(2))
        for p in f():
            await p
        async def nested():
            nonlocal_value = await pause("n")
            return nonlocal_value
        return await nested()

    return run(main(), log, [1, 2, 3])


def case_wrapper_object(log):
    async def f():
        return await pause("w")

    w = f().__await__()
    log.append(type(w).__name__)
    log.append(next(w))
    try:
        w.send("end")
    except StopIteration as stop:
        return stop.value


def case_origin_tracking(log):
    async def f():
        return 1

    old = sys.get_coroutine_origin_tracking_depth()
    sys.set_coroutine_origin_tracking_depth(2)
    try:
        c = f()
        log.append([(line, name) for _, line, name in c.cr_origin][:1])
        run(c, log)
    finally:
        sys.set_coroutine_origin_tracking_depth(old)


def case_frame_of_suspended(log):
    async def f():
        x = 1
        await pause()
        y = 2
        await pause()

    c = f()
    c.send(None)
    log.append(sorted(c.cr_frame.f_locals))
    c.send(None)
    log.append(sorted(c.cr_frame.f_locals))
    c.close()
    return c.cr_frame
