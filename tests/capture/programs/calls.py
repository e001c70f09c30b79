"""Calls of every form, and every way in which arguments fail to bind."""

import functools
import operator


def attempt(log, function, *args, **kwargs):
    try:
        log.append(function(*args, **kwargs))
    except Exception as error:
        log.append((type(error).__name__, str(error)))


def everything(a, b=2, /, c=3, *rest, d, e=5, **more):
    return a, b, c, rest, d, e, more


def only_positional(a, b, /):
    return a, b


def only_keyword(*, a, b=1):
    return a, b


def plain(a, b, c):
    return a, b, c


def nothing():
    return None


def case_forms(log):
    log.append(everything(1, d=4))
    log.append(everything(1, 2, d=4))
    log.append(everything(1, 2, 3, d=4))
    log.append(everything(1, 2, 3, 4, 5, d=6))
    log.append(everything(1, 2, c=3, d=4, x=7, y=8))
    log.append(everything(*[1, 2, 3], d=4))
    log.append(everything(*(1,), *[2, 3, 4], d=4, **{"e": 6, "z": 1}))
    log.append(everything(*range(5), **{"d": 1}, **{"q": 2}))
    log.append(everything(1, *(), d=4, **{}))
    log.append(everything(*iter([9, 8]), d=0))
    log.append(everything(*"ab", **dict(d=1)))
    log.append(plain(1, c=3, b=2))
    log.append(only_positional(1, 2))
    log.append(only_keyword(a=1))
    return nothing()


def case_too_many(log):
    attempt(log, nothing, 1)
    attempt(log, nothing, 1, 2)
    attempt(log, plain, 1, 2, 3, 4)
    attempt(log, only_keyword, 1)
    attempt(log, only_keyword, 1, a=2)
    attempt(log, lambda a=1: a, 1, 2)
    attempt(log, lambda a, b=1: a, 1, 2, 3)


def case_missing(log):
    attempt(log, plain)
    attempt(log, plain, 1)
    attempt(log, plain, 1, 2)
    attempt(log, plain, c=1)
    attempt(log, everything)
    attempt(log, everything, 1)
    attempt(log, only_keyword)
    attempt(log, only_positional)
    attempt(log, only_positional, 1)
    attempt(log, lambda a, b, c, d: 0)
    attempt(log, lambda *, a, b, c: 0)


def case_unexpected(log):
    attempt(log, plain, 1, 2, 3, d=4)
    attempt(log, plain, 1, a=2)
    attempt(log, plain, 1, 2, c=3, b=4)
    attempt(log, only_positional, a=1, b=2)
    attempt(log, only_positional, 1, b=2)
    attempt(log, only_keyword, a=1, x=2)
    attempt(log, nothing, x=1)
    attempt(log, everything, 1, a=5, d=6)
    attempt(log, everything, 1, 2, c=3, d=4, **{"c1": 9})


def case_not_iterable_star(log):
    for bad in (1, None, object):
        try:
            plain(*bad)
        except TypeError as error:
            log.append(str(error))
        try:
            plain(1, *bad, 2)
        except TypeError as error:
            log.append(str(error))


def case_bad_mapping(log):
    class Keys:
        def keys(self):
            return ["a", "b", "c"]

        def __getitem__(self, key):
            return key * 2

    log.append(plain(**Keys()))
    for bad in (1, None, [1], "x"):
        try:
            plain(**bad)
        except TypeError as error:
            log.append(str(error))
    for bad in ({1: 2}, {"a": 1, 2: 3}):
        try:
            everything(1, **bad)
        except TypeError as error:
            log.append(str(error))
    try:
        plain(a=1, **{"a": 2})
    except TypeError as error:
        log.append(str(error))
    try:
        plain(**{"a": 1}, **{"a": 2})
    except TypeError as error:
        log.append(str(error))
    try:
        plain(**{"a": 1}, a=1, b=2)
    except TypeError as error:
        log.append(str(error))


def case_star_raises(log):
    def broken():
        yield 1
        raise KeyError("inside")

    try:
        plain(*broken())
    except KeyError as error:
        log.append(repr(error))

    class Mapping:
        def keys(self):
            raise LookupError("keys")

    plain(**Mapping())


def case_not_callable(log):
    for bad in (1, None, "x", [], {}, object()):
        try:
            bad()
        except TypeError as error:
            log.append(str(error).split(" at ")[0])
    try:
        (1).real()
    except TypeError as error:
        log.append(str(error))


def case_order_of_evaluation(log):
    def note(x):
        log.append(x)
        return x

    everything(note(1), *[note(2)], note(3), d=note(4), **{"e": note(5)}, f=note(6))
    note(plain)(note(1), note(2), c=note(3))


def case_methods(log):
    class Thing:
        def __init__(self, x, *, y=2):
            self.x, self.y = x, y

        def method(self, a, b=1, *c, **d):
            return self.x, a, b, c, d

        @classmethod
        def build(cls, x):
            return cls(x)

        @staticmethod
        def static(x):
            return x

        def __call__(self, *args, **kwargs):
            return args, kwargs

    thing = Thing(1)
    log.append(thing.method(1))
    log.append(thing.method(1, 2, 3, e=4))
    log.append(Thing.method(thing, 1))
    log.append(Thing.build(3).x)
    log.append(thing.build(4).y)
    log.append(Thing.static(5))
    log.append(thing(1, 2, a=3))
    bound = thing.method
    log.append(bound(*[1, 2], **{"k": 3}))
    attempt(log, thing.method)
    attempt(log, Thing.method)
    attempt(log, Thing)
    attempt(log, Thing, 1, 2)
    attempt(log, thing.static)
    attempt(log, thing.build, 1, 2)
    log.append(bound.__name__)


def case_builtins(log):
    log.append(len([1, 2]))
    log.append(max(1, 2, key=lambda x: -x))
    log.append(sorted([3, 1, 2], reverse=True))
    log.append(isinstance(1, (int, str)))
    log.append(int("12", base=8))
    log.append(dict(a=1, **{"b": 2}))
    log.append(type(1))
    log.append("a,b".split(","))
    log.append("x".join(["1", "2"]))
    log.append([].append(1))
    log.append({}.get(1, 2))
    log.append(list(map(lambda x: x + 1, range(3))))
    log.append(functools.reduce(lambda a, b: a * b, [1, 2, 3, 4]))
    log.append(functools.partial(everything, 1, d=2)(3, e=4))
    log.append(operator.itemgetter(1)([1, 2]))
    attempt(log, len)
    attempt(log, len, 1)
    attempt(log, len, [], [])
    attempt(log, int, "x")
    attempt(log, [].append)
    attempt(log, {}.get)
    attempt(log, isinstance, 1)
    attempt(log, str.upper)
    attempt(log, str.upper, 1)
    attempt(log, print, sep=1)
    attempt(log, sorted, [1], kee=1)


def case_callbacks(log):
    def key(x):
        log.append(x)
        return -x

    log.append(sorted([2, 1, 3], key=key))
    log.append(list(filter(lambda x: x % 2, range(5))))
    log.append(min([3, 1, 2], key=lambda x: (x - 2) ** 2))

    def failing(x):
        raise ValueError(x)

    return list(map(failing, [1]))


def case_defaults_are_shared(log):
    def append(x, to=[]):
        to.append(x)
        return to

    log.append(append(1))
    log.append(append(2))
    append.__defaults__ = ([9],)
    log.append(append(3))
    append.__defaults__ = None
    attempt(log, append, 1)

    def keyword(*, a=1):
        return a

    keyword.__kwdefaults__["a"] = 5
    log.append(keyword())
    keyword.__kwdefaults__ = None
    attempt(log, keyword)


def case_changed_code(log):
    def f(x):
        return x + 1

    def g(x):
        return x * 10

    log.append(f(3))
    f.__code__ = g.__code__
    log.append(f(3))


def case_annotations(log):
    def f(a: int, b: "str" = "x", *c: float, d: list = [], **e: dict) -> None:
        pass

    log.append(sorted(f.__annotations__))
    log.append(f.__defaults__)
    log.append(f.__kwdefaults__)
    log.append(f.__qualname__)
    return f(1)


def case_decorators(log):
    def note(name):
        log.append(name)

        def apply(function):
            log.append((name, function.__name__))
            return function

        return apply

    @note("outer")
    @note("inner")
    def decorated():
        return 1

    @functools.lru_cache(maxsize=None)
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    @functools.wraps(decorated)
    def wrapper(*args, **kwargs):
        return decorated(*args, **kwargs)

    log.append(wrapper())
    return decorated() + fib(20)


def case_lambda_in_default(log):
    def f(x, g=lambda y: y * 2):
        return g(x)

    log.append(f(4))
    log.append((lambda *a, k=1, **kw: (a, k, kw))(1, 2, z=3))
    return (lambda: (yield))


def case_uncaught_missing(log):
    return plain(1,
                 2)


def case_uncaught_in_callee(log):
    def inner(x):
        return x.missing

    def middle(x):
        return inner(
            x
        )

    return middle(1) + middle(2)


def case_many_arguments(log):
    values = list(range(300))

    def spread(*args):
        return len(args), sum(args)

    log.append(spread(*values))
    names = {f"k{i}": i for i in range(300)}

    def keywords(**kw):
        return len(kw), sum(kw.values())

    log.append(keywords(**names))


def case_kwargs_is_a_copy(log):
    given = {"a": 1}

    def f(**kw):
        kw["b"] = 2
        return kw

    log.append(f(**given))
    log.append(given)
    args = [1, 2]

    def g(*a):
        return a is args, a

    log.append(g(*args))
    fixed = (1, 2)
    log.append(g(*fixed))


def case_recursive(log):
    def ackermann(m, n):
        if m == 0:
            return n + 1
        if n == 0:
            return ackermann(m - 1, 1)
        return ackermann(m - 1, ackermann(m, n - 1))

    return ackermann(2, 4)


def case_super_and_type_calls(log):
    log.append(type(3))
    log.append(type("Made", (), {"x": 1}).x)
    log.append(int())
    log.append(list("ab"))
    log.append(tuple([1]))
    log.append(bool([]))
    log.append(complex(1, imag=2))
    attempt(log, type, 1, 2)
    attempt(log, object, 1)


def case_new_returns_other(log):
    class Odd:
        def __new__(cls, x):
            return x

        def __init__(self, x):
            log.append("never")

    log.append(Odd(3))

    class Bad:
        def __init__(self):
            return 1

    attempt(log, Bad)
    return Bad()
