"""tests/torch/break_programs/identities.py: numbers that tell objects apart, kept from one segment or call to another."""

SEEN = {}
LAST = [0]


@program
def id_on_both_sides(x):
    a = id(x)
    y = x + 1
    break_here(1)
    z = y * 2
    return a == id(x), z


@program
def id_of_what_a_segment_made(x):
    y = x + 1
    a = id(y)
    z = y * 2
    break_here(1)
    return id(y) == a, z


@program
def hash_on_both_sides(x):
    h = hash(x)
    names = {x: 1}
    hashes = {hash(x)}
    break_here(1)
    y = x * 2
    return y, hash(x) == h, x in names, hash(x) in hashes


@program
def results_by_id(x):
    def look(t):
        if id(t) in seen:
            break_here("seen")
            return seen[id(t)]
        seen[id(t)] = t * 2
        return seen[id(t)]

    seen = {}
    a = look(x)
    b = look(x)
    return a is b, a + b


@program
def results_by_id_of_a_global(x):
    def look(t):
        y = t + 1
        if id(t) in SEEN:
            return SEEN[id(t)] + y
        SEEN[id(t)] = y
        return y

    SEEN.clear()
    return look(x), look(x), len(SEEN)


@program
def id_of_the_last(x):
    LAST[0] = id(x)
    break_here(1)
    y = x * 2
    return y + (id(x) == LAST[0])


@program
def address_in_a_repr(x):
    class Plain:
        pass

    plain = Plain()
    shown, number = repr(plain), id(plain)
    break_here(1)
    y = x * 2
    return y, repr(plain) == shown, id(plain) == number
