"""tests/torch/break_programs/coroutines.py: async functions with breaks in them."""


@program
def coroutine_run(x):
    async def leaf(y):
        y = y + 1
        break_here("leaf")
        return y * 2
    async def main(y):
        z = await leaf(y)
        break_here("main")
        z = z + await leaf(z)
        return z
    c = main(x)
    try:
        c.send(None)
    except StopIteration as e:
        return e.value + 1


@program
def asyncio_run(x):
    async def leaf(y, n):
        y = y + n
        break_here("leaf", n)
        await asyncio.sleep(0)
        y = y * 2
        break_here("leaf2", n)
        return y
    async def main(y):
        a, b = await asyncio.gather(leaf(y, 1), leaf(y, 2))
        break_here("m")
        return a * b
    return asyncio.run(main(x)) + 1


@program
def async_for_with(x):
    class A:
        async def __aenter__(self):
            break_here("aenter"); return x * 2
        async def __aexit__(self, t, v, tb):
            break_here("aexit", repr(v)); return True
    async def ag(y):
        for i in range(3):
            y = y + i
            break_here("ag", i)
            yield y
    async def main(y):
        z = y
        async with A() as a:
            z = z + a
            async for v in ag(y):
                z = z + v
                break_here("body")
            fail()
        return z + 1
    return asyncio.run(main(x))


@program
def async_exception(x):
    async def leaf(y):
        y = y * 2
        break_here(1)
        raise KeyError("leaf")
    async def main(y):
        try:
            await leaf(y)
        except KeyError as e:
            y = y + 1
            break_here(repr(e))
            y = y * 3
        finally:
            y = y - 1
            break_here("f")
        return y
    return asyncio.run(main(x))
