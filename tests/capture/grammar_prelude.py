"""tests/capture/grammar_prelude.py: what every generated program starts with, interpreted like the rest."""

PRELUDE = """\
import reprlib

budget = 300
log = []
LIMITED = reprlib.Repr()
LIMITED.maxlevel = 4


class Exhausted(BaseException):
    pass


class Mine(Exception):
    pass


class Worse(Mine):
    def __init__(self, code=0):
        super().__init__(code)
        self.code = code


def tick():
    global budget
    budget -= 1
    if budget < 0:
        raise Exhausted


def small(x):
    if isinstance(x, int):
        return x if -10_000 < x < 10_000 else x % 9973
    if isinstance(x, str):
        return x[:12]
    if isinstance(x, list):
        del x[8:]
    return x


def number(x):
    return small(x) if isinstance(x, int) else len(x) if isinstance(x, (str, list, tuple, dict)) else 7


def show(x):
    return LIMITED.repr(x)


def note(*args, **kwargs):
    log.append((show(args), show(kwargs)))
    return args[0] if args else 0


class Manager:
    def __init__(self, name, suppress=False):
        self.name, self.suppress = name, suppress

    def __enter__(self):
        note("enter", self.name)
        return self.name

    def __exit__(self, kind, value, trace):
        note("exit", self.name, kind and kind.__name__)
        return self.suppress and kind is not Exhausted

    async def __aenter__(self):
        await pause(1)
        return self.__enter__()

    async def __aexit__(self, *args):
        await pause(2)
        return self.__exit__(*args)


class Thing:
    x = 3

    def __init__(self, x=2, *rest, y=1, **more):
        self.x = small(x) + y + len(rest) + len(more)

    def m(self, a=0, *, k=1):
        return a + self.x * k

    def __add__(self, other):
        return self.x + other if isinstance(other, int) else NotImplemented

    def __getattr__(self, name):
        if name.startswith("z"):
            return len(name)
        raise AttributeError(name)

    def __getitem__(self, key):
        return [self.x, 1, 2][key]

    def __iter__(self):
        yield self.x
        yield 5

    def __repr__(self):
        return f"<{type(self).__name__} {self.x}>"


class Pauses:
    def __init__(self, n):
        self.n = n

    def __await__(self):
        yield self.n
        return self.n + 1

    def __aiter__(self):
        return self

    async def __anext__(self):
        if self.n <= 0:
            raise StopAsyncIteration
        self.n -= 1
        await Pauses(0)
        return self.n


def pause(n):
    return Pauses(n)


def drive(coroutine):
    got = None
    while True:
        try:
            got = coroutine.send(got)
        except StopIteration as stop:
            return stop.value
"""
