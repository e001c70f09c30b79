"""Cells, free variables, nonlocal and global names."""

counter = 0


def case_counter(log):
    def make():
        count = 0

        def increment(by=1):
            nonlocal count
            count += by
            return count

        return increment, lambda: count

    increment, read = make()
    log.append([increment(), increment(5), read()])
    other, _ = make()
    log.append([other(), read()])


def case_late_binding(log):
    functions = [lambda: i for i in range(3)]
    log.append([f() for f in functions])
    functions = [lambda i=i: i for i in range(3)]
    log.append([f() for f in functions])


def case_argument_is_cell(log):
    def outer(a, *b, c, **d):
        def inner():
            return a, b, c, d

        a += 1
        return inner

    log.append(outer(1, 2, c=3, e=4)())


def case_three_levels(log):
    def one():
        x = 1

        def two():
            def three():
                nonlocal x
                x += 1
                return x

            return three

        return two()(), x

    return one()


def case_unbound_free(log):
    def outer():
        def inner():
            return later

        try:
            inner()
        except NameError as error:
            log.append((type(error).__name__, str(error), error.name if hasattr(error, "name") else None))
        later = 1
        return inner()

    return outer()


def case_unbound_cell_uncaught(log):
    def inner():
        return value

    if log:
        value = 1
    return inner()


def case_unbound_own_cell(log):
    if log:
        value = 1

    def inner():
        return value

    return value


def case_delete_cell(log):
    value = 1

    def read():
        return value

    log.append(read())
    del value
    try:
        read()
    except NameError as error:
        log.append(str(error))
    try:
        del value
    except NameError as error:
        log.append((type(error).__name__, str(error)))
    value = 3
    return read()


def case_delete_free(log):
    value = 1

    def remove():
        nonlocal value
        del value

    remove()
    try:
        remove()
    except NameError as error:
        log.append((type(error).__name__, str(error)))
    return value


def case_globals(log):
    global counter
    counter += 1
    log.append(counter)

    def bump():
        global counter
        counter += 10
        return counter

    log.append(bump())
    del counter
    try:
        counter
    except NameError as error:
        log.append((str(error), error.name))
    try:
        del counter
    except NameError as error:
        log.append(str(error))


def case_missing_global(log):
    return not_defined_anywhere


def case_builtins_shadowed(log):
    global len
    len = lambda x: 42
    try:
        log.append(len([]))
    finally:
        del len
    log.append(len([]))


def case_cell_contents(log):
    x = [1]

    def f():
        return x

    cell = f.__closure__[0]
    log.append(cell.cell_contents)
    cell.cell_contents = 5
    log.append(x)
    del cell.cell_contents
    try:
        x
    except NameError as error:
        log.append(str(error))


def case_class_sees_cells(log):
    x = 1

    class C:
        y = x

        def method(self):
            return x

    x = 2
    log.append((C.y, C().method()))

    def scope():
        x = "outer"

        class D:
            x = "class"
            seen = x

            def method(self):
                return x

        return D.seen, D().method()

    return scope()


def case_class_free_and_local(log):
    def outer(x):
        class C:
            first = x
            if first:
                x = "own"
            second = x
            del x
            third = x

        return C.first, C.second, C.third

    return outer("free"), outer("")


def case_recursive_closure(log):
    def fact(n):
        return 1 if n < 2 else n * fact(n - 1)

    return fact(10)


def case_generator_closure(log):
    total = 0

    def add():
        nonlocal total
        while True:
            total += yield total

    it = add()
    next(it)
    it.send(3)
    it.send(4)
    return total


def case_exception_name_is_cell(log):
    try:
        raise ValueError(1)
    except ValueError as error:
        def read():
            return error

        log.append(repr(read()))
    return read()
