"""tests/torch/break_programs/random_numbers.py: random numbers, clocks and counters around breaks."""


@program
def random_whole(x):
    y = x * random.random()
    y = y + random.randint(1, 6)
    break_here(1)
    y = y * random.choice([1.5, 2.5, 3.5])
    l = [1, 2, 3, 4]
    random.shuffle(l)
    y = y + l[0]
    y = y + random.sample(range(10), 3)[1]
    y = y + random.gauss(0, 1) + random.uniform(1, 2) + random.randrange(7) + random.getrandbits(5)
    y = y + random.choices([1, 2, 3], k=2)[0] + random.expovariate(1.0) + random.betavariate(1, 2) + random.normalvariate(0, 1)
    return y, l


@program
def random_instance(x):
    r = random.Random(5)
    y = x * r.random()
    break_here(1)
    y = y + r.randint(1, 5)
    r.shuffle([1, 2])
    return y + r.random()


@program
def random_branch(x):
    y = x
    for i in range(5):
        if random.random() < 0.5:
            y = y * 2
        else:
            y = y + 1
        if random.randint(0, 1):
            y = y - 1
    return y


@program
def numpy_random(x):
    y = x * np.random.rand()
    y = y + np.random.randint(5)
    break_here(1)
    y = y + torch.from_numpy(np.random.randn(3, 4)).float()
    r = np.random.default_rng(3)
    y = y + r.random() + float(r.normal())
    return y * float(np.random.uniform(1, 2))


@program
def torch_random(x):
    y = x + torch.rand(3, 4)
    break_here(1)
    y = y * torch.randn(())
    torch.manual_seed(4)
    y = y + torch.rand(3, 4)
    break_here(2)
    y = torch.dropout(y, 0.5, True)
    g = torch.Generator().manual_seed(3)
    y = y + torch.rand(3, 4, generator=g)
    break_here(3)
    return y + torch.rand(3, 4, generator=g)


@program
def random_state_saved(x):
    s = random.getstate()
    y = x * random.random()
    break_here(1)
    random.setstate(s)
    y = y - x * random.random()
    random.seed(3)
    return y + random.random()


@program
def process_things(x):
    y = x * 2
    a = os.environ.get("ODD_NOT_THERE", "d")
    b = os.environ.get("HOME")
    c = os.getpid()
    u = uuid.uuid4()
    break_here(a, b == os.environ["HOME"], c == os.getpid(), u.version)
    t = time.time(); t2 = time.perf_counter()
    y = y + (t2 > 0)
    return y, a, len(u.hex), time.time() >= t

COUNT = itertools.count()
@program
def counter_global(x):
    y = x * next(COUNT)
    break_here(1)
    y = y + next(COUNT)
    return y

STATE = {"n": 0}
@program
def counter_dict(x):
    STATE["n"] += 1
    y = x * STATE["n"]
    break_here(STATE["n"])
    STATE["n"] += 1
    return y + STATE["n"]
