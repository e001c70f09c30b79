"""f-strings and string work."""

import sys


def case_fstrings(log):
    name, number, width = "w\u00f6rld", 3.14159, 10
    log.append(f"hello {name}")
    log.append(f"{name!r} {name!s} {name!a}")
    log.append(f"{number:.2f}|{number:>{width}.3f}|{number!r:>{width}}")
    log.append(f"{{}} {'nested'} {f'{name}'}")
    log.append(f"{number=} {number = :.1f} {name=!s}")
    log.append(f"{[x for x in range(3)]} {{'a': 1}} { {'a': 1} }")
    log.append(f"{'a' if number else 'b'}{1}{2}{3}" "joined" f"{4}")
    log.append(f"")
    log.append(f"{''}")
    log.append(f"{name}")
    log.append(f"""multi
{name}
line""")
    log.append(rf"\d{name}")


def case_format_protocol(log):
    class F:
        def __format__(self, spec):
            log.append(("format", spec))
            return "<" + spec + ">"

        def __str__(self):
            log.append("str")
            return "s"

        def __repr__(self):
            log.append("repr")
            return "r"

    f = F()
    log.append(f"{f}")
    log.append(f"{f:abc}")
    log.append(f"{f!s}")
    log.append(f"{f!r:>4}")
    log.append(f"{f!a}")
    log.append("{:x} {!r}".format(f, f))
    log.append("%s %r" % (f, f))


def case_format_errors(log):
    class Bad:
        def __format__(self, spec):
            return 5

        def __str__(self):
            return 6

        def __repr__(self):
            raise KeyError("repr")

    for function in (
        lambda: f"{1:zz}",
        lambda: f"{Bad()}",
        lambda: f"{Bad()!s}",
        lambda: f"{Bad()!r}",
        lambda: f"{[]:5}",
        lambda: "%d" % "x",
        lambda: "%d %d" % 1,
        lambda: f"{1!s:d}",
    ):
        try:
            log.append(function())
        except Exception as error:
            log.append((type(error).__name__, str(error)))
    return f"{Bad()!r}"


def case_subclass(log):
    class S(str):
        pass

    s = S("x")
    log.append(type(f"{s}").__name__)
    log.append(type(f"{s}{s}").__name__)
    log.append(type(s + s).__name__)
    s += "y"
    log.append(type(s).__name__)


def case_concatenation(log):
    s = ""
    for i in range(20):
        s += str(i)
    t = s
    t += "x"
    log.append((s, t))
    u = s = "a"
    s += "b"
    log.append((s, u))
    return s + 1


def case_concatenation_in_cell_and_global(log):
    global text
    text = ""
    cell = ""

    def add(x):
        nonlocal cell
        global text
        cell += x
        text += x

    for c in "abc":
        add(c)
    log.append((cell, text))
    s = "x"
    try:
        s += None
    except TypeError as error:
        log.append(str(error))
    return s


def case_string_stays_after_failed_addition(log):
    class R:
        def __radd__(self, other):
            log.append(other)
            return 5

    s = "kept"
    s += R()
    log.append(s)
    s = "kept"
    try:
        s += 1
    finally:
        log.append(s)


def case_percent(log):
    log.append("%s and %d" % ("x", 5))
    log.append("%(a)s" % {"a": 1})
    log.append(b"%b" % b"x")
    log.append("%5.1f|%-5s|%05d|%x" % (1.25, "a", 42, 255))
    return "%s" % ()


def case_methods(log):
    s = "The quick brown fox"
    log.append([w.lower().title() for w in s.split()])
    log.append(s.replace("quick", "slow").encode().decode())
    log.append("".join(reversed(s)))
    log.append(s.translate({ord("q"): "Q"}))
    log.append(s.find("x"))
    return s.index("z")


def case_interned_identity(log):
    a = "constant"
    b = "constant"
    log.append(a is b)
    log.append(sys.intern("con" + "stant") is sys.intern(a))


def case_bytes(log):
    b = bytearray(b"abc")
    b += b"def"
    b[0] = 65
    b[1:3] = b"xyz"
    del b[-1]
    log.append(b)
    m = memoryview(b)
    log.append(bytes(m[1:3]))
    return b"a" + "b"
