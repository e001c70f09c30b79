"""Arithmetic, comparison, truth and identity."""

import decimal
import fractions
import operator


def case_binary(log):
    for a, b in ((7, 3), (-7, 3), (7.5, 2), (True, 2), (2**70, 3), (1 + 2j, 2)):
        for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "lshift", "rshift", "matmul"):
            try:
                log.append(getattr(operator, name)(a, b))
            except TypeError as error:
                log.append(str(error))
    a, b = 7, 3
    log.append([a + b, a - b, a * b, a / b, a // b, a % b, a**b, a & b, a | b, a ^ b, a << b, a >> b])
    log.append([-a, +a, ~a, not a, -True])
    log.append(["ab" + "cd", "ab" * 2, [1] + [2], (1,) * 3, {1} | {2}, {1, 2} & {2}, {1} ^ {2}, {"a": 1} | {"b": 2}])


def case_errors(log):
    for function in (
        lambda: 1 + "a",
        lambda: "a" + 1,
        lambda: [] + (),
        lambda: {} + {},
        lambda: None - 1,
        lambda: 1 // 0,
        lambda: 1 % 0,
        lambda: 1.0 / 0,
        lambda: 0**-1,
        lambda: 1 << -1,
        lambda: "a" * "b",
        lambda: -"a",
        lambda: ~1.5,
        lambda: 1 < "a",
        lambda: [] > (),
        lambda: 1 in 2,
        lambda: "a" in 1,
        lambda: 1 in "a",
        lambda: object() @ 1,
        lambda: 2.0**10000,
        lambda: [1] * 1.5,
        lambda: {[]: 1},
        lambda: print >> 1,
    ):
        try:
            log.append(function())
        except Exception as error:
            log.append((type(error).__name__, str(error)))


def case_inplace_errors(log):
    def f(x, y, op):
        exec(f"x {op} y", {}, {"x": x, "y": y})

    for op in ("+=", "-=", "*=", "/=", "//=", "%=", "**=", "@=", "&=", "|=", "^=", "<<=", ">>="):
        try:
            f(None, 1, op)
        except TypeError as error:
            log.append(str(error))
    x = 1
    x @= 2


def case_comparisons(log):
    a, b, c = 1, 2, 3
    log.append([a < b < c, a < c < b, a == a != b, a <= b >= a, a is a, a is not b, a in [1], a not in [1]])

    def note(x):
        log.append(x)
        return x

    log.append(note(1) < note(0) < note(5))
    log.append(note(1) < note(2) < note(3))
    log.append([1, 2] < [1, 3])
    log.append(float("nan") == float("nan"))
    log.append((1, 2) == (1, 2))
    return 1 < 2 < "a"


def case_rich_comparison_results(log):
    class Odd:
        def __lt__(self, other):
            return [1]

        def __eq__(self, other):
            return "eq"

        def __contains__(self, other):
            return []

        def __bool__(self):
            raise ValueError("no truth")

    o = Odd()
    log.append(o < 1)
    log.append(o == 1)
    log.append(1 == o)
    log.append(1 in o)
    log.append(1 not in o)
    log.append("yes" if o < 1 else "no")
    return "yes" if o else "no"


def case_boolean_operators(log):
    def note(x):
        log.append(x)
        return x

    log.append(note(0) and note(1))
    log.append(note(1) and note(2))
    log.append(note(0) or note(""))
    log.append(note(3) or note(4))
    log.append(not note([]))
    log.append(note(1) if note(0) else note(2))
    log.append((note(0) or note(1)) and not note(2))
    x = note(0) or note(5) and note(6)
    while not x:
        pass
    assert x, "never"
    return x


def case_truth(log):
    class L:
        def __len__(self):
            log.append("len")
            return 0

    class B(L):
        def __bool__(self):
            log.append("bool")
            return True

    for value in (0, 1, "", "a", [], [0], None, 0.0, {}, {0}, L(), B(), object, ...):
        log.append("T" if value else "F")
        if not value:
            log.append("not")

    class Bad:
        def __bool__(self):
            return 1

    if Bad():
        pass


def case_assertions(log):
    try:
        assert 1 == 2
    except AssertionError as error:
        log.append(error.args)
    try:
        assert [], "message"
    except AssertionError as error:
        log.append(error.args)
    assert 1
    assert (
        log
        == []
    ), (
        "multi",
        log[0],
    )


def case_reflected(log):
    class A:
        def __add__(self, other):
            log.append("A add")
            return NotImplemented

    class B(A):
        def __radd__(self, other):
            log.append("B radd")
            return "B"

    log.append(A() + B())
    log.append(fractions.Fraction(1, 3) + decimal.Decimal(0).as_integer_ratio()[0])
    return A() + A()


def case_chained_assignment_expressions(log):
    total = 0
    while (total := total + 3) < 10:
        log.append(total)
    print(total, end="!\n")
    print("a", "b", sep="-")
    return [total, (half := total // 2), half]


def case_is_literals(log):
    x = None
    log.append([x is None, x is not None, x is x])
    y = ...
    return y is Ellipsis, True is not False


def case_big_constants(log):
    return 10**50, 1e308 * 10, 0xFF, 1_000, 3.0j, b"\x00", (1, (2, (3,))), frozenset({1}) == {1}


def case_uncaught_position(log):
    numbers = [1, 2, 0]
    return (numbers[0] / numbers[1]
            + numbers[1] / numbers[2]
            + numbers[2])
