"""del of everything, and use of what is gone."""

module_name = 1


def case_local(log):
    x = 1
    del x
    try:
        x
    except UnboundLocalError as error:
        log.append((str(error), error.name if hasattr(error, "name") else None))
    try:
        del x
    except UnboundLocalError as error:
        log.append(str(error))
    x = 2
    del x, log
    return log


def case_local_uncaught(log):
    if log:
        value = 1
    return [value,
            1]


def case_delete_unbound_uncaught(log):
    if log:
        value = 1
    del value


def case_argument(log):
    def f(a, *b, **c):
        del a, b, c
        try:
            return b
        except NameError as error:
            return str(error)

    log.append(f(1, 2, d=3))


def case_global(log):
    global module_name
    del module_name
    try:
        del module_name
    except NameError as error:
        log.append(str(error))
    return module_name


def case_name_in_class(log):
    class A:
        x = 1
        del x
        try:
            del x
        except NameError as error:
            log.append(str(error))
        try:
            x
        except NameError as error:
            log.append(str(error))
        del nothing


def case_attribute(log):
    class A:
        x = 1

    a = A()
    a.y = 1
    del a.y
    try:
        del a.y
    except AttributeError as error:
        log.append(str(error))
    try:
        del a.x
    except AttributeError as error:
        log.append(str(error))
    del A.x
    try:
        del (1).real
    except AttributeError as error:
        log.append(str(error))
    del A.x


def case_items(log):
    l, d = [1, 2, 3], {"a": 1, "b": 2}
    del l[0], d["a"]
    log.append((l, d))
    del (l[0]), [d["b"]]
    log.append((l, d))
    del l[5]


def case_unpacked_targets(log):
    a = b = c = d = 1
    del a, (b, [c, d])
    return sorted(locals())


def case_in_loop(log):
    for i in range(3):
        x = i
        del x
    try:
        del i
        i
    except NameError as error:
        log.append(str(error))
    for j in ():
        pass
    return j


def case_exception_name(log):
    error = "before"
    try:
        raise ValueError
    except ValueError as error:
        pass
    try:
        error
    except NameError as caught:
        log.append(str(caught))
    try:
        raise KeyError
    except KeyError as e:
        del e
    return "fine"


def case_finalizer_runs_at_del(log):
    class F:
        def __init__(self, n):
            self.n = n

        def __del__(self):
            log.append(self.n)

    a = F(1)
    log.append("made")
    del a
    log.append("deleted")
    b = F(2)
    b = None
    log.append("replaced")
    F(3)
    log.append("dropped")

    def scope():
        x = F(4)
        y = F(5)
        log.append("leaving")

    scope()
    log.append("left")
    l = [F(6), F(7)]
    del l[0]
    log.append("item")
    l.clear()
    log.append("end")


def case_many_locals(log):
    a = b = c = d = e = f = g = 0
    for name in "abc":
        pass
    del a, c, e, g
    return locals() == {"log": log, "b": 0, "d": 0, "f": 0, "name": "c"}
