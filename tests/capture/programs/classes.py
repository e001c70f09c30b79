"""Class statements, metaclasses, super, descriptors and the hooks around them."""

import dataclasses
import enum
import functools
import abc
import collections
import sys
import traceback


def case_simple(log):
    class A:
        """doc"""

        x: int = 1
        y: "str"

        def f(self):
            return self.x

    log.append((A.__name__, A.__qualname__, A.__doc__, A.__module__))
    log.append(sorted(k for k in A.__dict__ if not k.startswith("__")))
    log.append(A.__annotations__)
    return A().f()


def case_body_is_code(log):
    class A:
        for i in range(3):
            locals()[f"x{i}"] = i
        del i
        log.append(sorted(k for k in locals() if not k.startswith("__")))
        try:
            missing
        except NameError as error:
            log.append(str(error))
        if True:
            def f(self):
                return 1
        squares = [n * n for n in range(3)]

    return A.x2, A().f(), A.squares


def case_body_raises(log):
    class A:
        x = 1
        y = x + "a"


def case_metaclass(log):
    class Meta(type):
        @classmethod
        def __prepare__(mcs, name, bases, **kwargs):
            log.append(("prepare", name, bases, kwargs))
            return collections.OrderedDict(given=1)

        def __new__(mcs, name, bases, namespace, **kwargs):
            log.append(("new", name, list(namespace)[:3], kwargs))
            return super().__new__(mcs, name, bases, dict(namespace))

        def __init__(cls, name, bases, namespace, **kwargs):
            log.append(("init", name, kwargs))
            super().__init__(name, bases, namespace)

        def __call__(cls, *args):
            log.append(("call", args))
            return super().__call__(*args)

        def __getattr__(cls, name):
            return "meta " + name

    class A(metaclass=Meta, flag=True):
        def __init__(self, x):
            self.x = x

    class B(A, extra=2):
        pass

    log.append(B(3).x)
    log.append(B.absent)
    log.append(B.given)
    return type(B).__name__


def case_metaclass_conflict(log):
    class M1(type):
        pass

    class M2(type):
        pass

    class A(metaclass=M1):
        pass

    class B(metaclass=M2):
        pass

    class C(A, B):
        pass


def case_bad_bases(log):
    for build in (
        lambda: type("X", (int, str), {}),
        lambda: type("X", (bool,), {}),
        lambda: type("X", (1,), {}),
    ):
        try:
            build()
        except TypeError as error:
            log.append(str(error))

    class X(1):
        pass


def case_function_as_metaclass(log):
    def make(name, bases, namespace):
        return name, bases, sorted(namespace)

    class Odd(metaclass=make):
        x = 1

    return Odd


def case_mro_entries(log):
    class Entry:
        def __mro_entries__(self, bases):
            log.append(len(bases))
            return (dict,)

    class A(Entry()):
        pass

    return A.__mro__[1].__name__, hasattr(A, "__orig_bases__")


def case_super_zero_argument(log):
    class A:
        attribute = "A"

        def f(self, x):
            return ["A", x]

        @classmethod
        def c(cls):
            return [cls.__name__]

        @property
        def p(self):
            return "pA"

    class B(A):
        attribute = "B"

        def f(self, x):
            return ["B"] + super().f(x + 1)

        @classmethod
        def c(cls):
            return ["B"] + super().c()

        @property
        def p(self):
            return "pB" + super().p

        def a(self):
            return super().attribute

        def explicit(self):
            return super(B, self).f(0), super(B, type(self)).c()

        def missing(self):
            return super().missing

        def setter(self):
            super().x = 1

    class C(B):
        def f(self, x):
            return ["C"] + super().f(x)

    c = C()
    log.append(c.f(1))
    log.append(c.c())
    log.append(c.p)
    log.append(c.a())
    log.append(c.explicit())
    try:
        c.missing()
    except AttributeError as error:
        log.append(str(error))
    try:
        c.setter()
    except AttributeError as error:
        log.append(str(error))


def case_super_errors(log):
    class A:
        def no_self():
            return super()

        def deleted(self):
            del self
            return super()

        def rebound(self):
            self = 1
            return super()

        def captured(self):
            def inner():
                return self

            return super().__repr__().split(" ")[0]

        def nested(self):
            return [super().__class__ for _ in range(1)]

        def generator(self):
            yield super().__class__

        def wrong(self):
            return super(int, self)

    a = A()
    for name in ("no_self", "deleted", "rebound", "captured", "generator", "wrong"):
        try:
            value = getattr(A, name)() if name == "no_self" else getattr(a, name)()
            log.append((name, type(value).__name__))
        except (RuntimeError, TypeError) as error:
            log.append((name, type(error).__name__, str(error)))
    log.append(list(a.generator()) == [super])
    try:
        log.append(a.nested())
    except TypeError as error:
        log.append(str(error))

    def outside():
        return super()

    outside()


def case_super_shadowed(log):
    def run():
        super = lambda *a: log.append(len(a)) or "shadow"

        class A:
            def f(self):
                return super()

            def g(self):
                return super(A, self)

        return A().f(), A().g()

    return run()


def case_class_cell(log):
    class A:
        def f(self):
            return __class__

        @staticmethod
        def g():
            return __class__.__name__

    log.append(A().f() is A)
    log.append(A.g())

    class Meta(type):
        def __new__(mcs, name, bases, namespace):
            log.append("__classcell__" in namespace)
            namespace.pop("__classcell__", None)
            return super().__new__(mcs, name, bases, namespace)

    class B(metaclass=Meta):
        def f(self):
            return __class__


def case_set_name(log):
    class Field:
        def __set_name__(self, owner, name):
            log.append((owner.__name__, name))
            self.name = name

        def __get__(self, instance, owner):
            if instance is None:
                return self
            return instance.__dict__.get(self.name, "unset")

        def __set__(self, instance, value):
            instance.__dict__[self.name] = value * 2

        def __delete__(self, instance):
            del instance.__dict__[self.name]

    class A:
        x = Field()
        y = Field()

    a = A()
    a.x = 3
    log.append((a.x, a.y))
    del a.x
    log.append(a.x)
    del a.x


def case_set_name_raises(log):
    class Bad:
        def __set_name__(self, owner, name):
            raise ValueError(name)

    class A:
        x = Bad()


def case_init_subclass(log):
    class Base:
        registry = []

        def __init_subclass__(cls, /, tag=None, **kwargs):
            super().__init_subclass__(**kwargs)
            cls.registry.append((cls.__name__, tag))

    class A(Base, tag=1):
        pass

    class B(A):
        pass

    log.append(Base.registry)

    class C(Base, wrong=2):
        pass


def case_slots(log):
    class A:
        __slots__ = ("x", "__private")

        def __init__(self):
            self.x = 1
            self.__private = 2

        def get(self):
            return self.__private

    a = A()
    log.append((a.x, a.get(), sorted(A.__slots__)))
    try:
        a.z = 1
    except AttributeError as error:
        log.append(str(error))
    del a.x
    try:
        a.x
    except AttributeError as error:
        log.append(str(error))
    del a.x


def case_attribute_hooks(log):
    class A:
        def __getattr__(self, name):
            log.append(("getattr", name))
            if name == "bad":
                raise AttributeError("no bad")
            return name

        def __setattr__(self, name, value):
            log.append(("set", name, value))
            object.__setattr__(self, name, value)

        def __delattr__(self, name):
            log.append(("del", name))
            object.__delattr__(self, name)

        def __getattribute__(self, name):
            if name == "loud":
                log.append("loud")
            return object.__getattribute__(self, name)

    a = A()
    a.x = 1
    log.append(a.x)
    log.append(a.y)
    log.append(a.loud)
    a.x += 1
    del a.x
    log.append(a.x)
    log.append(getattr(a, "bad", "default"))
    log.append(hasattr(a, "bad"))
    return a.bad


def case_private_names(log):
    class A:
        __x = 1

        def f(self, __y=2):
            __z = 3
            return self.__x, __y, __z

    log.append(A().f())
    return A._A__x, A.__x


def case_properties(log):
    class A:
        def __init__(self):
            self._v = 0

        @property
        def v(self):
            return self._v

        @v.setter
        def v(self, value):
            log.append(value)
            self._v = value

        @v.deleter
        def v(self):
            log.append("gone")

        @functools.cached_property
        def once(self):
            log.append("computed")
            return 5

        @property
        def broken(self):
            return self.nothing

    a = A()
    a.v = 3
    a.v += 4
    log.append(a.v)
    del a.v
    log.append(a.once + a.once)
    return a.broken


def case_operators_overloaded(log):
    class V:
        def __init__(self, n):
            self.n = n

        def __add__(self, other):
            return V(self.n + other.n) if isinstance(other, V) else NotImplemented

        def __radd__(self, other):
            return V(other + self.n)

        def __iadd__(self, other):
            log.append("iadd")
            self.n += 1
            return self

        def __eq__(self, other):
            return isinstance(other, V) and self.n == other.n

        def __lt__(self, other):
            return self.n < other.n

        def __bool__(self):
            log.append("bool")
            return self.n > 2

        def __contains__(self, x):
            return x == self.n

        def __getitem__(self, key):
            return key

        def __setitem__(self, key, value):
            log.append((key, value))

        def __delitem__(self, key):
            log.append(("del", key))

        def __neg__(self):
            return V(-self.n)

        def __repr__(self):
            return f"V({self.n})"

        def __matmul__(self, other):
            return "matmul"

        def __index__(self):
            return self.n

    a, b = V(1), V(2)
    log.append([a + b, 1 + a, -a, a @ b, a < b, a > b, a == V(1), a != b, 1 in a, 2 not in a])
    a += b
    log.append(a)
    log.append(a[1:2, ..., None])
    a[1] = 2
    del a[1:2]
    log.append([10, 20, 30][b])
    if a and not b:
        log.append("branch")
    log.append(a or b)
    while a:
        log.append("never here twice")
        break
    return a + "x"


def case_dataclass(log):
    @dataclasses.dataclass(order=True)
    class P:
        x: int
        y: int = 2
        z: list = dataclasses.field(default_factory=list)

        def __post_init__(self):
            self.z.append(self.x)

    @dataclasses.dataclass(frozen=True)
    class F:
        a: int

    log.append([P(1), P(1) == P(1), P(1) < P(2), dataclasses.replace(P(1), y=5)])
    f = F(1)
    f.a = 3


def case_enum(log):
    class Color(enum.Enum):
        RED = 1
        GREEN = enum.auto()

        def lower(self):
            return self.name.lower()

    class Flag(enum.IntFlag):
        A = 1
        B = 2

    log.append([c.lower() for c in Color])
    log.append((Flag.A | Flag.B).value)
    return Color(7)


def case_abc(log):
    class Shape(abc.ABC):
        @abc.abstractmethod
        def area(self):
            ...

    class Square(Shape):
        def area(self):
            return 4

    log.append(Square().area())
    log.append(isinstance(Square(), Shape))
    return Shape()


def case_namedtuple(log):
    P = collections.namedtuple("P", "x y")
    p = P(1, y=2)
    log.append((p, p._replace(x=5), p._asdict()))

    class Q(P):
        def total(self):
            return self.x + self.y

    log.append(Q(1, 2).total())
    return P(1)


def case_multiple_inheritance(log):
    class A:
        def f(self):
            log.append("A")

    class B(A):
        def f(self):
            log.append("B")
            super().f()

    class C(A):
        def f(self):
            log.append("C")
            super().f()

    class D(B, C):
        def f(self):
            log.append("D")
            super().f()

    D().f()
    return [c.__name__ for c in D.__mro__]


def case_nested_classes(log):
    class Outer:
        class Inner:
            value = 1

            def f(self):
                class Local:
                    pass

                return Local.__qualname__

        made = Inner()

    log.append(Outer.Inner.__qualname__)
    return Outer.made.f()


def case_class_decorator(log):
    def register(cls):
        log.append(cls.__name__)
        cls.extra = 1
        return cls

    @register
    class A:
        pass

    @(lambda c: 5)
    class B:
        pass

    return A.extra, B


def case_getattr_missing(log):
    class A:
        pass

    a = A()
    for name in ("x",):
        try:
            a.x
        except AttributeError as error:
            log.append((str(error), error.name, error.obj is a))
    try:
        A.x
    except AttributeError as error:
        log.append(str(error))
    try:
        a.x.y = 1
    except AttributeError as error:
        log.append(str(error))
    try:
        (1).x = 2
    except AttributeError as error:
        log.append(str(error))
    a.method()


def case_build_class_replaced(log):
    import builtins

    original = builtins.__build_class__

    def build(function, name, *bases, **kwargs):
        log.append(name)
        return original(function, name, *bases, **kwargs)

    builtins.__build_class__ = build
    try:
        class A:
            pass
    finally:
        builtins.__build_class__ = original
    return A.__name__


def case_class_changes_while_used(log):
    class A:
        def f(self):
            return 1

    a = A()
    for i in range(6):
        log.append(a.f())
        if i == 2:
            A.f = lambda self: 2
        if i == 4:
            a.f = lambda: 3
    a.__class__ = type("B", (), {"f": lambda self: 4})
    del a.f
    return a.f()


def case_init_called(log):
    class A:
        def __init__(self, value):
            log.append((type(self).__name__, value, sorted(vars(self))))
            self.value = value

    class B(A):
        def __init__(self, value, more=2):
            super().__init__(value)
            self.more = more

    class C(A):
        pass

    made = [A(1), B(1), B(1, 3), C(4), C(value=5)]
    return [(type(x).__name__, vars(x)) for x in made]


def case_init_returns_something(log):
    class A:
        def __init__(self, value):
            return value

    class B:
        def __init__(self):
            yield 1

    log.append(A(None).__class__.__name__)
    for make in (lambda: A(1), lambda: B(), lambda: A("x")):
        try:
            make()
        except TypeError as error:
            log.append((str(error), error.__traceback__.tb_next.tb_lineno, error.__traceback__.tb_next.tb_next))


def case_init_raises(log):
    import gc
    import weakref

    class A:
        def __init__(self, value):
            log.append(sys._getframe(1).f_code.co_name)
            seen.append(weakref.ref(self))
            if value:
                raise ValueError(value)

    def make(value):
        return [value, A(value), A(0)]

    seen = []
    try:
        make(1)
    except ValueError as error:
        log.append([entry.name for entry in traceback.extract_tb(error.__traceback__)])
        log.append(error.__traceback__.tb_next.tb_frame.f_back is not None)
        del error
    gc.collect()
    log.append([ref() for ref in seen])
    made = make(0)
    log.append([type(ref()).__name__ for ref in seen])
    return len(made)


def case_init_wrong_arguments(log):
    class A:
        def __init__(self, a, b):
            pass

    class Abstract:
        def __init__(self, a):
            log.append("reached")

    Abstract.__abstractmethods__ = frozenset({"f"})
    for make in (lambda: A(), lambda: A(1), lambda: A(1, 2, 3), lambda: A(1, c=2), lambda: Abstract()):
        try:
            make()
        except TypeError as error:
            log.append(str(error))


def case_init_in_generator(log):
    class A:
        def __init__(self, value):
            self.value = value

    def produce():
        for i in range(3):
            made = A(i)
            yield made.value
            len([made])

    return list(produce()), [A(x).value for x in produce()], sum(A(x).value for x in produce())


def case_init_replaced(log):
    class A:
        def __init__(self, value):
            A.__init__ = other
            self.value = value

    def other(self, value):
        self.value = -value

    log.append([A(1).value, A(1).value])
    A.__init__ = lambda self, *values: setattr(self, "value", values)
    log.append(A(1).value)
    A.__new__ = lambda cls, value: 5
    return A(1)


def case_deep_init(log):
    class A:
        def __init__(self, depth):
            self.below = A(depth - 1) if depth else None

    made, depth = A(300), 0
    while made is not None:
        made, depth = made.below, depth + 1
    return depth
