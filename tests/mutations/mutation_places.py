"""Places of generated programs: where a function finds the value that it reads.

A place is a root (global, closure, default, argument, attribute) and up to three containers around the value,
each looked into by an instruction or through a C callable.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from mutation_texts import texts

# Around the value «V»; each way of looking into «P» for it.
DIRECT_ITEM = texts("""
«P»[1]  «P»[-1]  operator.getitem(«P», 1)  operator.itemgetter(1)(«P»)  (lambda _, v: v)(*«P»)
list(map(«P».__getitem__, [1]))[0]  functools.reduce(operator.getitem, [1], «P»)  «P»[1:][0]
next(itertools.islice(«P», 1, None))  [*«P»][1]  list(reversed(«P»))[0]  dict(enumerate(«P»))[1]
[v for v in «P»][1]  tuple(itertools.chain(«P»))[1]  list(zip(«P», 'ab'))[1][0]  copy.copy(«P»)[1]
""")
KEYED = texts("""
«P»['k']  «P».get('k')  operator.getitem(«P», 'k')  list(map(«P».get, ['k']))[0]
operator.itemgetter('k')(«P»)  functools.reduce(operator.getitem, ['k'], «P»)  list(«P».values())[-1]
[v for k, v in «P».items() if k == 'k'][0]  dict(«P»)['k']  {**«P»}['k']
operator.methodcaller('get', 'k')(«P»)  «P».__getitem__('k')  max([«P»], key=len)['k']
(lambda k, **_: k)(**«P»)  next(filter(None, map(«P».get, ['k'])), None)
list(itertools.starmap(«P».get, [('k', 1)]))[0]
""")
ATTRIBUTE = texts("""
«P».held  getattr(«P», 'held')  operator.attrgetter('held')(«P»)  vars(«P»)['held']  «P».__dict__['held']
list(map(operator.attrgetter('held'), [«P»]))[0]  next(filter(operator.attrgetter('held'), [«P»])).held
object.__getattribute__(«P», 'held')  «P».asked  «P».fetch()  list(map(Box.fetch, [«P»]))[0]  «P».viewed
""")
CLASS_ATTRIBUTE = texts("""
«P».held  «P»().held  getattr(«P», 'held')  vars(«P»)['held']  operator.attrgetter('held')(«P»)  «P».mine()
«P»().own()  type('Sub', («P»,), {}).held
""")
MODULE_ATTRIBUTE = texts("""
«P».held  getattr(«P», 'held')  vars(«P»)['held']  operator.attrgetter('held')(«P»)
""")
BOX = """class Box:
    def __init__(self, held): self.held = held
    def fetch(self): return self.held
    @property
    def asked(self): return self.held
    viewed = property(operator.attrgetter('held'))"""


@dataclass(frozen=True)
class Wrapper:
    name: str
    made: str
    looks: tuple[str, ...]
    before: tuple[str, ...] = ()  # statements that define «N», a name of this wrapper's own


def wrapper(name: str, made: str, looks: tuple[str, ...] | str, before: str = "") -> Wrapper:
    found = texts(looks) if isinstance(looks, str) else looks
    return Wrapper(name, made, found, tuple(before.splitlines()))


CLASS = """class «N»:
    held = «V»
    @classmethod
    def mine(cls): return cls.held
    def own(self): return self.held"""
WRAPPERS = (
    wrapper("list item", "[0, «V»]", DIRECT_ITEM),
    wrapper("tuple item", "(0, «V»)", DIRECT_ITEM),
    wrapper("deque item", "collections.deque([0, «V»])", tuple(t for t in DIRECT_ITEM if "1:]" not in t)),
    wrapper("dict item", "{'j': 0, 'k': «V»}", KEYED),
    wrapper("ordered item", "collections.OrderedDict(j=0, k=«V»)", KEYED),
    wrapper("default item", "collections.defaultdict(int, k=«V»)", KEYED),
    wrapper("instance attribute", "Box(«V»)", ATTRIBUTE),
    wrapper("class attribute", "«N»", CLASS_ATTRIBUTE, CLASS),
    wrapper("module attribute", "«N»", MODULE_ATTRIBUTE, "«N» = types.ModuleType('«N»')\n«N».held = «V»"),
    wrapper("partial", "functools.partial(«N», «V»)", "«P»()  «P».args[0]", "def «N»(v): return v"),
    wrapper(
        "function default",
        "«N»",
        "«P»()  «P».__defaults__[0]  list(map(lambda g: g(), [«P»]))[0]",
        "def «N»(v=«V»): return v",
    ),
    wrapper(
        "keyword default",
        "«N»",
        "«P»()  «P».__kwdefaults__['v']  operator.call(«P»)",
        "def «N»(*, v=«V»): return v",
    ),
    wrapper(
        "closure",
        "«N»",
        "«P»()  next(map(operator.call, [«P»]))",
        "def make_«N»(v): return lambda: v\n«N» = make_«N»(«V»)",
    ),
    wrapper("slot", "Slotted(«V»)", "«P».v  operator.attrgetter('v')(«P»)  getattr(«P», 'v')"),
    wrapper("lazy attribute", "Lazy(«V»)", "«P».v  «P».missing  getattr(«P», 'other')"),
    wrapper(
        "named field", "Pair(0, «V»)", "«P».second  «P»[1]  «P»._asdict()['second']  getattr(«P», 'second')"
    ),
    wrapper("record field", "Record(«V»)", "«P».v  dataclasses.replace(«P»).v  getattr(«P», 'v')"),
    wrapper("bound method", "Item(«V»).get", "«P»()  «P».__self__.v  list(map(operator.call, [«P»]))[0]"),
    wrapper("list subclass", "MyList([0, «V»])", "«P»[1]  [*«P»][1]  list.__getitem__(«P», 1)  list(«P»)[1]"),
    wrapper(
        "dict subclass", "MyDict(k=«V»)", "«P»['k']  dict.get(«P», 'k')  [*«P».values()][0]  {**«P»}['k']"
    ),
    wrapper("proxy", "types.MappingProxyType(«N»)", KEYED[:5], "«N» = {'j': 0, 'k': «V»}"),
    wrapper("set item", "{«V»}", "next(iter(«P»))  [*«P»][0]  sorted(«P»)[0]  min(«P»)  set(«P»).pop()"),
    wrapper("chain map", "collections.ChainMap({}, {'k': «V»})", "«P»['k']  «P».get('k')  «P».maps[1]['k']"),
    wrapper("super", "Child(«V»)", "«P».read()  «P».seen  list(map(Child.read, [«P»]))[0]"),
)
ROOTS = texts("""
global  global  closure  argument  argument  keyword argument  default  keyword default  method
""")


@dataclass
class Place:
    """Text around a function that reads at `access`."""

    root: str
    around: list[str]  # names of containers, innermost first
    before: list[str] = field(default_factory=list)
    value: str = ""  # what the root holds, as an expression
    access: str = ""  # how the function's body finds the value
    parameters: str = "x"
    arguments: str = "X"


def drawn(rng: random.Random, value: str) -> Place:
    root = rng.choice(ROOTS)
    chosen = [rng.choice(WRAPPERS) for _ in range(rng.choices((0, 1, 2, 3), weights=(30, 35, 20, 15))[0])]
    place = Place(root, [around.name for around in chosen])
    looks = []
    for depth, around in enumerate(chosen):
        name = f"W{depth}"
        place.before += [line.replace("«N»", name).replace("«V»", value) for line in around.before]
        value = around.made.replace("«N»", name).replace("«V»", value)
        # The first way is a plain instruction, and as common as all others together.
        looks.append(around.looks[0] if rng.random() < 0.5 else rng.choice(around.looks).replace("«N»", name))
    place.value = value
    access = {"method": "self.held"}.get(root, "c" if root == "closure" else "G" if root == "global" else "p")
    for look in reversed(looks):
        access = look.replace("«P»", access)
    place.access = access
    return place


def program(place: Place, body: list[str]) -> list[str]:
    """The module-level lines that define `f` and its arguments ARGS and KEYS."""
    inside = [f"    {line}" for line in body]
    lines = [*place.before]
    value = place.value
    if place.root == "closure":
        lines += [
            "def make(c):",
            "    def f(x):",
            *(f"    {line}" for line in inside),
            "    return f",
            f"f = make({value})",
        ]
    elif place.root == "method":
        lines += ["class Model:", f"    held = {value}", "    def f(self, x):"]
        lines += [*(f"    {line}" for line in inside), "model = Model()", "f = model.f"]
    else:
        parameters = {
            "argument": "x, p",
            "keyword argument": "x, p=None",
            "default": "x, p=P",
            "keyword default": "x, *, p=P",
        }.get(place.root, "x")
        lines += [f"G = {value}"] if place.root == "global" else [f"P = {value}"]
        lines += [f"def f({parameters}):", *inside]
        if place.root == "default" or place.root == "keyword default":
            lines += ["del P"]
    lines += [f"ARGS = [X{', P' if place.root == 'argument' else ''}]"]
    lines += ["KEYS = {'p': P}" if place.root == "keyword argument" else "KEYS = {}"]
    return lines
