"""Classes of generated programs, as text: each world has its own, so a change of one is nobody else's."""

from __future__ import annotations

import re

from mutation_texts import paragraphs

TEXTS = paragraphs("""
class Item:
    kind = 'item'
    def __init__(self, v): self.v = v
    def get(self): return self.v

class Valued:
    def __init__(self, v): self.v = v
    def __eq__(self, other): return isinstance(other, Valued) and self.v == other.v
    def __hash__(self): return 7
    def __lt__(self, other): return self.v < getattr(other, 'v', other)
    def __bool__(self): return bool(self.v)
    def __len__(self): return 2
    def __iter__(self): return iter([self.v, self.v])
    def __getitem__(self, key): return self.v if key in (0, 1, 'a', 'v') else [][0]
    def __contains__(self, item): return item == self.v
    def __call__(self, *args): return self.v
    def __enter__(self): return self.v
    def __exit__(self, *details): return None
    def __add__(self, other): return self.v
    def __neg__(self): return self.v
    def __format__(self, spec): return spec + str(self.v)
    def __repr__(self): return f'Valued({self.v!r})'

class Indirect:
    table = {0: 1, 1: 0, 'a': 2, 'v': 3, None: 4, '': 'told'}
    items = [3, 1, 2]
    def __init__(self, v): self.v = v
    __neg__ = __pos__ = __invert__ = __abs__ = __round__ = __bytes__ = items.copy
    __add__ = __radd__ = __sub__ = __mul__ = __mod__ = __and__ = __or__ = __matmul__ = table.get
    __getitem__ = __contains__ = __eq__ = __lt__ = __format__ = __class_getitem__ = table.get
    __len__ = __bool__ = __index__ = __int__ = functools.partial(len, items)
    __iter__ = __reversed__ = items.__iter__
    __hash__ = items.__len__

class Meta(type):
    scale = 3
    def twice(cls): return cls.rate * 2

class Rated(metaclass=Meta):
    rate = 2
    table = {'a': 1}
    def __init__(self, v): self.v = v

class Slotted:
    __slots__ = ('v', 'w')
    def __init__(self, v): self.v = v

class Lazy:
    def __init__(self, v): self.v = v
    def __getattr__(self, name):
        if name.startswith('_'): raise AttributeError(name)
        return self.__dict__['v']

class Parent:
    rate = 2
    def read(self): return self.v
    @property
    def seen(self): return self.v
    @classmethod
    def made(cls): return cls.rate

class Child(Parent):
    def __init__(self, v): self.v = v
    def read(self): return super().read()
    @staticmethod
    def plain(): return 5

Pair = collections.namedtuple('Pair', 'first second')

@dataclasses.dataclass
class Record:
    v: object
    n: int = 2

class Color(enum.Enum):
    RED = 1
    BLUE = 2

class MyList(list):
    pass

class MyDict(dict):
    pass

class MyTuple(tuple):
    pass

class MyInt(int):
    pass

class MyFloat(float):
    pass

class MyStr(str):
    pass

class MyArray(np.ndarray):
    pass

class MyBytes(bytearray):
    pass

class Counting(dict):
    def __missing__(self, key): return len(self)
""")
CLASSES = {re.findall(r"^(?:class )?(\w+)", text, re.MULTILINE)[0]: text for text in TEXTS}
BASES = {"Child": ("Parent",), "Rated": ("Meta",)}


def definitions(names: set[str]) -> str:
    """The class statements that a text with these names needs, bases first."""
    wanted = names | {base for name in names for base in BASES.get(name, ())}
    return "\n".join(text for name, text in CLASSES.items() if name in wanted)
