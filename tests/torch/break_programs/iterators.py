"""tests/torch/break_programs/iterators.py: loops with a break in their body, over iterators of every kind."""


@program
def iter_zip(x):
    y = x
    for a, b in zip([1, 2, 3], (x, x * 2, x * 3)):
        y = y + a
        break_here(a)
        y = y * b
    return y


@program
def iter_enumerate_reversed(x):
    y = x
    for i, b in enumerate(reversed([x, x * 2, x * 3]), 1):
        y = y + i
        break_here(i)
        y = y * b
    return y


@program
def iter_map_filter(x):
    y = x
    for b in map(lambda i: x * i, filter(None, range(4))):
        y = y + b
        break_here("m")
        y = y * 2
    return y


@program
def iter_dict_views(x):
    d = {"a": x, "b": x * 2, "c": x * 3}
    y = x
    for k in d:
        y = y + len(k); break_here(k); y = y * d[k]
    for v in d.values():
        y = y + v; break_here("v"); y = y * 0.5
    for k, v in d.items():
        y = y + v; break_here(k); y = y - 1
    return y


@program
def iter_dict_changes(x):
    d = {"a": x, "b": x * 2}
    y = x
    try:
        for k in d:
            y = y + d[k]; break_here(k)
            d[k + "x"] = y
    except RuntimeError as e:
        break_here(str(e))
        y = y * 2
    return y, d


@program
def iter_list_grows(x):
    l = [x]
    y = x
    for v in l:
        y = y + v; break_here(len(l))
        if len(l) < 4:
            l.append(v * 2)
    return y, l


@program
def iter_str_bytes_set(x):
    y = x
    for c in "abc":
        y = y + ord(c); break_here(c); y = y * 2
    for c in b"xy":
        y = y + c; break_here(c); y = y * 2
    for c in {3}:
        y = y + c; break_here(c); y = y * 2
    for c in frozenset([4]):
        y = y + c; break_here(c); y = y * 2
    return y


@program
def iter_itertools(x):
    y = x
    for a, b in itertools.product([1, 2], [3, 4]):
        y = y + a; break_here(a, b); y = y - b
    for a in itertools.chain([1], (2,)):
        y = y + a; break_here(a); y = y * 2
    for a in itertools.islice(itertools.count(3), 3):
        y = y + a; break_here(a); y = y * 2
    for a in itertools.accumulate([1, 2, 3]):
        y = y + a; break_here(a); y = y * 0.5
    for a in itertools.cycle([1, 2]):
        y = y + a; break_here(a)
        if len(OUT) > 20: break
    for k, g in itertools.groupby([1, 1, 2]):
        y = y + k; break_here(k, list(g))
    for a, b in itertools.zip_longest([1, 2], [1]):
        y = y + a; break_here(a, b)
    for a in itertools.repeat(2, 2):
        y = y + a; break_here(a)
    for a, b in itertools.pairwise([1, 2, 3]):
        y = y + a; break_here(a)
    return y


@program
def iter_custom(x):
    class It:
        def __init__(self): self.n = 0
        def __iter__(self): return self
        def __next__(self):
            self.n += 1
            break_here("next")
            if self.n > 3: raise StopIteration
            return x * self.n
    y = x
    for v in It():
        y = y + v; break_here("b"); y = y * 0.5
    else:
        break_here("else")
        y = y + 1
    return y


@program
def iter_shared(x):
    it = iter([1, 2, 3, 4, 5])
    y = x
    for a in it:
        y = y + a
        break_here(a)
        b = next(it, None)
        y = y * (b or 1)
        break_here(b)
    return y


@program
def iter_given(x):
    it = iter(range(6))
    def f(it, y):
        for a in it:
            y = y + a
            break_here(a)
            y = y * 2
            if a == 2: break
        return y
    y = f(it, x)
    return f(it, y), list(it)


@program
def iter_range_big(x):
    y = x
    for i in range(10, -5, -3):
        y = y + i
        break_here(i)
        for j in range(i):
            y = y + j
            if j > 3: break
        y = y / 2
    return y


@program
def iter_tensor(x):
    y = x[0]
    for row in x:
        y = y + row
        break_here(row[0].item())
        y = y * 2
    return y


@program
def iter_callable(x):
    n = [0]
    def f():
        n[0] += 1
        break_here("f")
        return n[0]
    y = x
    for i in iter(f, 4):
        y = y + i
        break_here(i)
        y = y * 2
    return y


@program
def while_break(x):
    y = x
    n = 0
    while True:
        y = y * 1.5
        n += 1
        if y.abs().sum() > 50 or n > 6:
            break
    else:
        y = y * 0
    return y, n


@program
def for_else_continue(x):
    y = x
    for i in range(5):
        if (y + i).sum() > 10:
            break_here("c", i)
            continue
        y = y + 1
        if i == 4 and y.sum() > 1000:
            break
    else:
        y = y - 1
        break_here("else")
    return y
