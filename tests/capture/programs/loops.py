"""for and while with break, continue and else."""

import itertools


def case_for_else(log):
    for i in range(5):
        if i == 3:
            break
    else:
        log.append("no break")
    for i in range(2):
        continue
    else:
        log.append("else")
    for i in ():
        log.append("never")
    else:
        log.append("empty else")
    return i


def case_while_else(log):
    n = 0
    while n < 5:
        n += 1
        if n == 2:
            continue
        if n == 9:
            break
        log.append(n)
    else:
        log.append("done")
    while True:
        n -= 1
        if n < 0:
            break
    else:
        log.append("never")
    return n


def case_nested(log):
    found = []
    for a in range(1, 12):
        for b in range(a, 12):
            c2 = a * a + b * b
            c = int(c2**0.5)
            if c > 12:
                break
            if c * c != c2:
                continue
            found.append((a, b, c))
        else:
            log.append(a)
    return found


def case_primes(log):
    primes = []
    for n in range(2, 100):
        for p in primes:
            if n % p == 0:
                break
        else:
            primes.append(n)
    return primes


def case_iterators(log):
    for x in {"a": 1, "b": 2}:
        log.append(x)
    for k, v in {"a": 1}.items():
        log.append((k, v))
    for i, c in enumerate("xy", start=1):
        log.append((i, c))
    for a, b in zip([1, 2, 3], "ab"):
        log.append((a, b))
    for a in reversed([1, 2]):
        log.append(a)
    for a in itertools.islice(itertools.count(5), 3):
        log.append(a)
    for a in iter(iter([3, 2, 1, 0]).__next__, 0):
        log.append(a)


def case_custom_iterator(log):
    class Count:
        def __init__(self, n):
            self.n = n

        def __iter__(self):
            log.append("iter")
            return self

        def __next__(self):
            if not self.n:
                raise StopIteration("ignored")
            self.n -= 1
            return self.n

    for x in Count(3):
        log.append(x)
    return list(Count(2))


def case_changed_while_iterating(log):
    l = [1, 2, 3]
    for x in l:
        log.append(x)
        if len(l) < 5:
            l.append(x + 10)
    d = {"a": 1}
    for k in d:
        d["b"] = 2


def case_not_iterable(log):
    for bad in (1, None, object, 2.5):
        try:
            for x in bad:
                pass
        except TypeError as error:
            log.append(str(error))
    for x in 5:
        pass


def case_next_not_iterator(log):
    class A:
        def __iter__(self):
            return 5

    class B:
        __iter__ = None

    for bad in (A(), B()):
        try:
            for x in bad:
                pass
        except TypeError as error:
            log.append(str(error))


def case_next_raises(log):
    class A:
        def __iter__(self):
            return self

        def __next__(self):
            raise ValueError("next")

    for x in A():
        pass


def case_stop_iteration_escapes(log):
    def inner():
        raise StopIteration(5)

    try:
        for x in [1]:
            inner()
    except StopIteration as stop:
        log.append(stop.value)
    return next(iter([]))


def case_loop_variable_deleted(log):
    for x in range(3):
        log.append(x)
        del x


def case_try_in_loop(log):
    for i in range(6):
        try:
            if i == 1:
                continue
            if i == 4:
                break
            if i == 2:
                raise ValueError
            log.append(i)
        except ValueError:
            log.append("error")
            continue
        else:
            log.append("else")
        finally:
            log.append("finally")
    return i


def case_long_loop(log):
    total = 0
    for i in range(3000):
        if i & 1:
            total += i
        elif i % 3:
            total -= 1
        else:
            total ^= i
    return total


case_long_loop.sweep = 400


def case_while_true_return(log):
    while True:
        while True:
            for x in range(10):
                if x == 5:
                    return x


def case_iterator_is_dropped(log):
    class It:
        def __iter__(self):
            return self

        def __next__(self):
            return 1

        def __del__(self):
            log.append("dropped")

    for x in It():
        break
    log.append("after")
    for x in It():
        if x:
            return "returned"
