"""Comprehensions of every kind, inlined (3.12 and later) or not."""

import sys


def case_kinds(log):
    log.append([x * 2 for x in range(4)])
    log.append({x % 3 for x in range(9)})
    log.append({x: x * x for x in range(4)})
    log.append(list(x + 1 for x in range(3)))
    log.append([(x, y) for x in range(3) for y in range(x) if x + y > 1 if y])
    log.append([[y for y in range(x)] for x in range(4)])
    log.append({k: [v for v in range(k)] for k in range(3)})


def case_scope(log):
    x = "outer"
    log.append([x for x in range(3)])
    log.append(x)
    log.append([x for _ in range(2)])
    log.append([lambda: x for x in range(2)][0]())
    log.append([(lambda y: x + y)(1) for x in range(2)])
    return x


def case_walrus(log):
    log.append([y := x * 2 for x in range(3)])
    log.append(y)
    log.append(any((hit := n) > 3 for n in range(10)))
    log.append(hit)
    if (n := len(log)) > 2:
        return n


def case_class_scope(log):
    class A:
        x = 3
        xs = [x for x in range(x)]
        ys = [y for y in xs]
        after = x
        try:
            bad = [x + y for y in range(2)]
        except NameError as error:
            bad = str(error)

    log.append((A.xs, A.ys, A.after, A.bad))


def case_raises_inside(log):
    return [1 // x
            for x in (2, 1, 0)]


def case_raises_in_condition(log):
    return {x for x in "ab" if x.missing}


def case_raises_in_generator_expression(log):
    return sum(1 / x for x in (1, 0))


def case_restores_outer_after_error(log):
    x = "kept"
    try:
        [1 // x for x in (1, 0)]
    except ZeroDivisionError:
        log.append(x)
    try:
        [z for x in (1, 0)]
    except NameError:
        log.append(x)
    return x


def case_unbound_outer_stays_unbound(log):
    if log:
        x = 1
    [x for x in range(3)]
    return x


def case_outer_iterable_evaluated_once(log):
    def source():
        log.append("source")
        return range(3)

    g = (x for x in source())
    log.append("made")
    return list(g), [x for x in source()]


def case_not_iterable(log):
    try:
        [x for x in 5]
    except TypeError as error:
        log.append(str(error))
    g = lambda: (x for x in 5)
    return g()


def case_dict_order(log):
    def note(x):
        log.append(x)
        return x

    return {note(k): note(-k) for k in (1, 2)}


def case_unhashable(log):
    return {[x] for x in range(2)}


def case_star_in_displays(log):
    a, b = [1, 2], {"k": 1}
    log.append([*a, 3, *a])
    log.append((*a, *"xy"))
    log.append({*a, *a, 5})
    log.append({**b, "z": 2, **{"k": 3}})
    try:
        [*1]
    except TypeError as error:
        log.append(str(error))
    try:
        {**1}
    except TypeError as error:
        log.append(str(error))
    try:
        {*1}
    except TypeError as error:
        log.append(str(error))
    return (*None,)


def case_large_displays(log):
    numbers = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    names = {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8, "i": 9, "j": 10, "k": 11, "l": 12, "m": 13,
             "n": 14, "o": 15, "p": 16, "q": 17, "r": 18, "s": 19}
    log.append(numbers)
    log.append(names)
    log.append({1, 2, 3})
    log.append(3 in {1, 2, 3})
    log.append([x in (1, "a", None) for x in (1, "b", None)])


def case_frame_name(log):
    log.append(sorted([sys._getframe().f_code.co_name for _ in range(1)]))
    log.append(next(sys._getframe().f_code.co_name for _ in range(1)))


def case_locals_inside(log):
    a = 1
    log.append(sorted([sorted(locals()) for b in range(1)][0]) != [])
    return a


def case_cell_shared_name(log):
    def f():
        x = 0
        ys = [x for x in range(3)]
        g = lambda: x
        zs = [(lambda: x)() for x in range(3)]
        return ys, g(), zs, x

    return f()


def case_nested_scopes(log):
    return [[[(i, j, k) for k in range(j)] for j in range(i)] for i in range(3)], [lambda: (i, j) for i in range(2) for j in range(2)][1]()


def case_iterator_raises(log):
    class It:
        def __iter__(self):
            return self

        def __next__(self):
            log.append("next")
            raise KeyError("from next")

    return [x for x in It()]
