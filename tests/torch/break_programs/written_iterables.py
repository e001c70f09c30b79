"""tests/torch/break_programs/written_iterables.py: loops with breaks over what the same segment has written to."""


class Holder:
    pass


def held(x):
    """Another one in each call, with 0 to 2 items."""
    n = max(0, min(2, int(x.sum()) // 6))
    h = Holder()
    h.l, h.q, h.s, h.b = [7] * n, collections.deque([9] * n), set(range(10, 10 + n)), bytearray(b"x" * n)
    h.d, h.o = dict.fromkeys(range(n)), collections.OrderedDict.fromkeys(range(n))
    return h


held = stator.disable(held)


@program
def list_appended(x):
    l = held(x).l
    y = x * 2
    l.append(1)
    l.extend((5, 6))
    for i in l:
        y = y + i
        break_here(i)
    return y, l


@program
def list_iterator_made_before(x):
    l = held(x).l
    it = iter(l)
    y = x * 2
    l += [1, 2]
    for i in it:
        y = y + i
        break_here(i)
    return y


@program
def list_replaced(x):
    l = held(x).l
    y = x * 2
    l[:] = [4, 5, 6]
    for n, i in enumerate(l):
        y = y + i * n
        break_here(i)
    return y


@program
def list_reversed_zipped(x):
    l = held(x).l
    y = x * 2
    l.insert(0, 3)
    l.append(4)
    for i, j in zip(reversed(l), l):
        y = y + i * j
        break_here(i, j)
    return y


@program
def list_shrinks_in_loop(x):
    l = held(x).l
    y = x * 2
    l.extend([1, 2, 3])
    for i in l:
        y = y + i
        break_here(i)
        if len(l) > 2:
            l.pop(0)
    return y, l


@program
def dict_extended(x):
    h = held(x)
    y = x * 2
    h.d["n"] = 1
    h.d.pop(0, None)
    h.o["m"] = 2
    for k in h.d:
        y = y + 1
        break_here(k)
    for k, v in h.o.items():
        y = y + 1
        break_here(k, v)
    h.new = 1
    for k in vars(h):
        break_here(k)
    return y


@program
def set_extended(x):
    s = held(x).s
    y = x * 2
    s.add(1)
    for i in s:
        y = y + i
        break_here(i)
    return y


@program
def deque_extended(x):
    q = held(x).q
    y = x * 2
    q.append(1)
    q.appendleft(2)
    for i in q:
        y = y + i
        break_here(i)
    for i in reversed(q):
        y = y * i
        break_here(i)
    return y


@program
def bytes_extended(x):
    b = held(x).b
    y = x * 2
    b.extend(b"AB")
    for i in b:
        y = y + i
        break_here(i)
    return y


@program
def iterator_written_to_object(x):
    h = held(x)
    y = x * 2
    h.l.append(3)
    h.it = iter(h.l)
    y = y + next(h.it)
    break_here(len(h.l))
    h.l.append(4)
    return y, list(h.it)


@program
def chained_and_global(x):
    h = held(x)
    y = x * 2
    SHARED.clear()
    SHARED.extend([1, 2])
    h.l.append(65)
    for i in itertools.chain(h.l, SHARED):
        y = y + i
        break_here(i)
    return y


SHARED = []


@program
def dict_keys_deleted_at_once(x):
    d = {0: 0}
    y = x * 2
    it = iter(d.items())
    next(it)
    del d[0]
    d[0] = 1
    break_here(len(d))
    try:
        y = y + next(it)[1]
    except RuntimeError as e:
        OUT.append(str(e))
    return y


@program
def older_dict_keys_deleted_at_once(x):
    h = held(x)
    h.d[0] = 0
    h.d.pop(1, None)
    y = x * 2
    it = iter(h.d)
    next(it)
    del h.d[0]
    h.d[0] = 1
    break_here(len(h.d))
    try:
        y = y + next(it)
    except RuntimeError as e:
        OUT.append(str(e))
    return y


@program
def dict_iterators_half_used(x):
    d = {0: 0, 1: 1, 2: 2, 3: 3}
    del d[0]
    d[9] = 9
    its = [iter(d), iter(d.items()), reversed(d), reversed(d.values())]
    y = x + sum(next(its[0]) for _ in range(2)) + next(its[2])
    d[1] = 7
    break_here(len(its))
    return y, [list(it) for it in its]
