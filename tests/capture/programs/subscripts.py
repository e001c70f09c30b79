"""Subscripts and slices: load, store, delete."""


class Echo:
    def __getitem__(self, key):
        return key

    def __setitem__(self, key, value):
        self.last = key, value

    def __delitem__(self, key):
        self.last = key


def case_slices(log):
    l = list(range(10))
    a, b, c = 2, 8, 3
    log.append([l[:], l[1:], l[:3], l[1:3], l[::2], l[::-1], l[a:b:c], l[-3:], l[a:], l[:b], l[a:b]])
    log.append(("abcdef"[1:4], (1, 2, 3)[::-1], b"abc"[1:]))
    e = Echo()
    log.append([e[1], e[1, 2], e[1:2], e[1:2, 3], e[...], e[()], e[a:b:c, ::c], e[:, None], e[-1], e[*[1, 2], 3]])
    return l[None:5]


def case_store(log):
    l = list(range(6))
    l[0] = "x"
    l[1:3] = ["a", "b", "c"]
    l[::2] = range(4)
    l[len(l):] = [1]
    l[:0] = "yz"
    log.append(l)
    e = Echo()
    e[1:2] = 5
    log.append(e.last)
    e[1:2, ::3] = 6
    log.append(e.last)
    l[::2] = [1]


def case_delete(log):
    l = list(range(8))
    del l[0]
    del l[1:3]
    del l[::2]
    log.append(l)
    e = Echo()
    del e[1:2]
    log.append(e.last)
    del e[3:], l[0]
    log.append((e.last, l))
    d = {"a": 1}
    del d["a"]
    del d["a"]


def case_errors(log):
    for container, key in (
        ([], 0),
        ([1], 1),
        ([1], -2),
        ((), 0),
        ("", 0),
        ({}, "k"),
        ({}, 1),
        ([1], "k"),
        ([1], 1.0),
        ({}, []),
        (1, 0),
        (None, 0),
        (int, 0),
        ({1}, 0),
        ("abc", 10),
        (range(2), 2),
    ):
        try:
            log.append(container[key])
        except Exception as error:
            log.append((type(error).__name__, str(error)))
        try:
            container[key] = 1
            log.append(container)
        except Exception as error:
            log.append((type(error).__name__, str(error)))
        try:
            del container[key]
            log.append(container)
        except Exception as error:
            log.append((type(error).__name__, str(error)))


def case_class_getitem(log):
    class A:
        def __class_getitem__(cls, item):
            return cls.__name__, item

    log.append(A[int])
    log.append(A[1:2, 3])
    log.append(list[int])
    log.append(dict[str, int])
    return int[str]


def case_missing(log):
    class D(dict):
        def __missing__(self, key):
            log.append(key)
            return key * 2

    d = D(a=1)
    d["b"] += "x"
    return d["a"], d["b"], d["c"], d


def case_big_indexes(log):
    l = [1, 2, 3]
    log.append(l[-10**30:10**30])
    try:
        l[10**30]
    except IndexError as error:
        log.append(str(error))
    log.append(l[True])

    class I:
        def __index__(self):
            return 1

    log.append(l[I()])
    log.append(l[I():])

    class Bad:
        def __index__(self):
            raise OverflowError("bad index")

    return l[Bad()]


def case_uncaught_position(log):
    table = {"a": {"b": [1, 2]}}
    return table["a"]["b"][0] + table["a"]["c"][1]
