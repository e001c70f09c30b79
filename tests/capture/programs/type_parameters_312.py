"""Syntax that came with 3.12: type parameters, type aliases, free f-strings."""


def case_generic_function(log):
    def f[T, *Ts, **P](x: T, *args: *Ts) -> T:
        return x

    log.append(f(1))
    log.append([str(p) for p in f.__type_params__])
    log.append(f.__annotations__)

    def bounded[T: int, U: (str, bytes)](x: T) -> U:
        return x

    t, u = bounded.__type_params__
    log.append((t.__bound__, u.__constraints__))


def case_generic_class(log):
    class Box[T]:
        def __init__(self, value: T):
            self.value = value

        def get(self) -> T:
            return self.value

        def wrap[U](self, other: U) -> tuple[T, U]:
            return self.value, other

    log.append(Box(1).get())
    log.append(Box[int])
    log.append(Box(1).wrap("x"))
    log.append([str(t) for t in Box.__type_params__])

    class Sub[K](Box[K], dict):
        pass

    return Sub.__mro__[1].__name__


def case_alias(log):
    type Pair[T] = tuple[T, T]
    type Lazy = undefined_later
    log.append(str(Pair))
    log.append(Pair[int].__value__)
    try:
        Lazy.__value__
    except NameError as error:
        log.append(str(error))
    undefined_later = int
    return Lazy.__value__


def case_bound_is_lazy(log):
    def f[T: missing](x: T):
        return x

    log.append(f(1))
    return f.__type_params__[0].__bound__


def case_class_scope(log):
    class Outer:
        Inner = int

        type Alias = Inner

        def method[T: Inner](self, x: T) -> Inner:
            return x

    log.append(Outer.Alias.__value__)
    log.append(Outer().method(1))
    return Outer.method.__type_params__[0].__bound__


def case_fstrings(log):
    words = ["a", "b"]
    log.append(f"{", ".join(words)}")
    log.append(f"{f"{f"{1 + 1}"}"}")
    log.append(f"{
        words[0]  # a comment
    }")
    log.append(f"{'\n'.join(words)}")
    log.append(f"{words!r:{"^"}{20}}")
    return f"{
        words
        .missing
    }"


def case_comprehension_inlining(log):
    x = "outer"
    y = [x for x in range(2)] + [[x for x in "ab"] for _ in range(1)]
    log.append((x, y))

    def g():
        items = [lambda: i for i in range(3)]
        return [f() for f in items], [i for i in range(2) if (j := i)], j

    log.append(g())

    class C:
        z = 3
        xs = [z for z in range(2)]
        ok = z

    log.append((C.xs, C.ok))
    try:
        [1 / v for v in (1, 0)]
    except ZeroDivisionError as error:
        log.append(error.__traceback__.tb_frame.f_code.co_name)
    return sorted([k for k in locals()])


def case_except_star_and_buffer(log):
    class B:
        def __buffer__(self, flags):
            log.append(flags)
            return memoryview(b"buffer")

    log.append(bytes(memoryview(B())))


def case_inlined_comprehension_traceback(log):
    return [
        {y: 1 / y for y in range(x)}
        for x in (
            0, 1,
        )
    ]
