"""Assignment targets of every kind, and what fails to unpack."""


def case_forms(log):
    a, b = 1, 2
    a, b = b, a
    log.append((a, b))
    (c, [d, e]), f = (1, [2, 3]), 4
    log.append((c, d, e, f))
    first, *rest = range(5)
    *start, last = "abc"
    x, *middle, y = [1, 2]
    log.append((first, rest, start, last, x, middle, y))
    [p, q] = {"k": 1, "l": 2}
    log.append((p, q))
    a = b = c = []
    a.append(1)
    log.append((b, c))
    (z,) = [9]
    log.append(z)
    for i, (j, *k) in [(1, "ab"), (2, "c")]:
        log.append((i, j, k))
    a, b, c = c, a, b
    () = []
    *everything, = iter("xyz")
    return everything


def case_targets(log):
    class O:
        pass

    o, l, d = O(), [0, 0, 0], {}
    o.x, l[1], d["k"] = 1, 2, 3
    log.append((o.x, l, d))
    l[0:2], o.y = "ab", 5
    i = 0
    i, l[i] = 1, "late"
    log.append((l, i))
    for o.x in range(3):
        pass
    for d["loop"] in "ab":
        pass
    log.append((o.x, d))


def case_errors(log):
    def two(x):
        a, b = x

    def starred(x):
        a, *b, c = x

    for function in (two, starred):
        for bad in ((), [1], (1, 2, 3), "abcd", {}, {1, 2, 3}, 5, None, iter([1]), range(4)):
            try:
                function(bad)
                log.append("fine")
            except (ValueError, TypeError) as error:
                log.append((type(error).__name__, str(error)))


def case_iterator_raises(log):
    def broken():
        yield 1
        raise KeyError("second")

    a, b = broken()


def case_iter_lies(log):
    class Lies:
        def __iter__(self):
            return 5

    a, b = Lies()


def case_getitem_protocol(log):
    class Old:
        def __getitem__(self, i):
            if i > 2:
                raise IndexError
            return i

    a, b, c = Old()
    log.append((a, b, c))
    a, *b = Old()
    return a, b


def case_list_subclass(log):
    class L(list):
        def __iter__(self):
            log.append("iter")
            return iter([7, 8])

    a, b = L([1, 2])
    return a, b


def case_partial_assignment(log):
    a = b = None
    d = {}
    try:
        a, d[[]], b = 1, 2, 3
    except TypeError as error:
        log.append(str(error))
    return a, b


def case_uncaught_in_nested_target(log):
    (a, (b, c)), d = (1, (2,)), 3


def case_swap_many(log):
    a, b, c, d = 1, 2, 3, 4
    a, b, c, d = d, c, b, a
    a, b = b, a
    a, b, c = c, b, a
    return a, b, c, d


def case_augmented(log):
    class O:
        pass

    o, l, d, n = O(), [1, 2, 3], {"k": [1]}, 5
    o.x = 1
    o.x += 2
    l[0] -= 5
    l[1:] += [9]
    d["k"] += (4, 5)
    n **= 2
    n //= 3
    n %= 5
    n <<= 3
    n >>= 1
    n |= 3
    n &= 14
    n ^= 5
    f = 7
    f /= 2
    log.append((o.x, l, d, n, f))

    def note(x):
        log.append(x)
        return x

    l[note(0)] += note(10)
    t = ([1],)
    try:
        t[0] += [2]
    except TypeError as error:
        log.append(str(error))
    log.append(t)
    return l
