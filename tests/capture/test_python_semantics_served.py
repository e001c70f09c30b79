"""What CPython's own tests found where every function is captured, rolled back and served, told in small."""

from __future__ import annotations

import collections
import functools
import importlib
import operator
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest

capture = importlib.import_module("stator._capture")
testcapi = pytest.importorskip("_testcapi")
pytestmark = pytest.mark.filterwarnings("ignore:stator. nothing of:RuntimeWarning")


def captured(function: Callable[[], Any], times: int = 4) -> list[Any]:
    """The results of calls while every function is captured, by code that nobody has captured yet."""
    space: dict[str, Any] = {"function": function, "times": times}
    exec("def several(): return [function() for _ in range(times)]", space)
    capture.capture_everything(True)
    try:
        return list(space["several"]())
    finally:
        capture.capture_everything(False)


def assert_same(function: Callable[[], Any]) -> None:
    expected = function()
    before = capture.capture_statistics()
    assert captured(function) == [expected] * 4
    assert capture.capture_statistics() != before  # captured, or given up on the way


# Attributes that are written ---------------------------------------------------------------------------


def read_only_attribute() -> str:
    class Owner:
        field = property(lambda self: 1)

    raw = Owner.__dict__["field"]
    caught = []
    for name in "fget", "fset":
        try:
            setattr(raw, name, 42)
        except AttributeError:
            caught.append(name)
    return " ".join(caught)


def read_only_function_attribute() -> int:
    class Owner:
        def method(self) -> None: ...

    caught = 0
    for _ in range(2):
        try:
            Owner.method.__globals__ = {}  # type: ignore[misc]
        except AttributeError:
            caught += 1
    return caught


class OtherModule(types.ModuleType):
    field = 1


def class_of_a_module() -> list[Any]:
    module = types.ModuleType("m")
    found = [module.__class__, hasattr(module, "field")]
    module.__class__ = OtherModule
    found += [module.__class__, hasattr(module, "field")]
    module.__class__ = types.ModuleType
    return [*found, module.__class__, hasattr(module, "field")]


class ModuleWithProperty(types.ModuleType):
    @property
    def doubled(self) -> Any:
        return self.__dict__["value"] * 2

    @doubled.setter
    def doubled(self, value: int) -> None:
        self.__dict__["value"] = value // 2


def property_of_a_module() -> list[Any]:
    module = ModuleWithProperty("m")
    module.doubled = 8
    return [module.doubled, module.__dict__["value"], "doubled" in module.__dict__]


def annotations_of_a_module() -> list[Any]:
    module = types.ModuleType("m")
    found: list[Any] = ["__annotations__" in module.__dict__]
    found += [module.__annotations__, "__annotations__" in module.__dict__]
    del module.__annotations__
    return [*found, "__annotations__" in module.__dict__]


# Iterators that are made again -------------------------------------------------------------------------


class WeirdLength:
    called = False

    def __len__(self) -> int:
        if not self.called:
            self.called = True
            return 10
        raise ZeroDivisionError

    def __getitem__(self, index: int) -> int:
        return index


def reversed_once() -> Any:
    return reversed(WeirdLength())


def error_in_length() -> str:
    backward = reversed_once()
    try:
        return str(operator.length_hint(backward))
    except ZeroDivisionError:
        return "caught"


def older_iterator(change: str) -> Any:
    deque = collections.deque("ab" if change == "pop" else "")
    iterator = iter(deque)
    if change == "pop":
        deque.pop()
    elif change == "append":
        deque.append("c")
    return iterator


def iterator_of_a_changed_deque() -> list[str]:
    found = []
    for change in ("pop", "append", "nothing"):
        try:
            found.append(next(older_iterator(change), "ended"))
        except RuntimeError:
            found.append("raised")
    return found


ASKED: list[str] = []


class AsksForIteration:
    def __iter__(self) -> AsksForIteration:
        ASKED.append("__iter__")
        return self

    def __next__(self) -> int:
        return 3


def mapped_once() -> Any:
    return map(str, AsksForIteration())


def iteration_is_asked_for_once() -> list[Any]:
    ASKED.clear()
    return [next(mapped_once()), list(ASKED)]


@pytest.mark.parametrize(
    "function",
    [
        read_only_attribute,
        read_only_function_attribute,
        class_of_a_module,
        property_of_a_module,
        annotations_of_a_module,
        error_in_length,
        iterator_of_a_changed_deque,
        iteration_is_asked_for_once,
    ],
)
def test_same_as_plain(function: Callable[[], Any]) -> None:
    assert_same(function)


# What captures keep alive ------------------------------------------------------------------------------


class Slotted:
    __slots__ = ()
    died: list[int] = []  # noqa: RUF012

    def __del__(self) -> None:
        self.died.append(1)


class SlottedField:
    __slots__ = ("__weakref__", "field")


class FrozenWithEnd(frozenset[int]):
    died: list[int] = []  # noqa: RUF012

    def __del__(self) -> None:
        self.died.append(1)


class TupleWithEnd(tuple[int, ...]):
    died: list[int] = []  # noqa: RUF012

    def __del__(self) -> None:
        self.died.append(1)


class TextWithEnd(str):
    died: list[int] = []  # noqa: RUF012

    def __del__(self) -> None:
        self.died.append(1)


def looked_at(value: object) -> bool:
    return value is None


def field_of(value: Any) -> Any:
    return value.field


def dies(make: Callable[[], Any], died: list[int]) -> list[int]:
    counts = []
    for _ in range(4):
        died.clear()
        value = make()
        looked_at(value)
        repr(iter(value)) if isinstance(value, (str, frozenset, tuple)) else None
        del value
        counts.append(len(died))
    return counts


@pytest.mark.parametrize("kind", [Slotted, FrozenWithEnd, TextWithEnd, TupleWithEnd])
def test_objects_die_where_they_die_plainly(kind: Any) -> None:
    assert captured(lambda: dies(kind, kind.died)) == [[1, 1, 1, 1]] * 4


def test_builtin_functions_die() -> None:
    def program() -> list[bool]:
        function = testcapi.create_cfunction()
        reference = weakref.ref(function)
        found = [reference() is function, looked_at(function)]
        del function
        return [*found, reference() is None]

    assert captured(program) == [[True, False, True]] * 4


def test_code_dies_with_its_function() -> None:
    def program() -> list[bool]:
        function = eval("lambda: 1")
        reference = weakref.ref(function.__code__)
        found = reference() is function.__code__
        del function
        return [found, reference() is None]

    assert captured(program) == [[True, True]] * 4


class Part:
    pass


class Holder:
    __slots__ = ("field",)


def test_what_a_slotted_argument_holds_dies_with_it() -> None:
    compiled = capture.Compiled(field_of)
    references = []
    for _ in range(3):
        holder = Holder()
        holder.field = Part()
        references.append(weakref.ref(holder.field))
        assert compiled(holder) is holder.field
        del holder
        assert references[-1]() is None


class OtherHolder:
    __slots__ = ("field",)


def test_a_slotted_argument_at_a_used_address() -> None:
    """Another object comes to lie where the captured one lay: of its class, or of another one."""
    compiled = capture.Compiled(field_of)
    for number in range(40):
        holder = (Holder, OtherHolder)[number % 3 == 1]()
        holder.field = number % 5
        assert compiled(holder) == number % 5
        del holder


def test_a_frozen_set_at_a_used_address() -> None:
    space: dict[str, Any] = {}
    exec("def read(): return value, 1 in value, sorted(value)", space)
    compiled = capture.Compiled(space["read"])
    for number in range(30):
        space["value"] = FrozenWithEnd([number % 4, number % 3])
        assert compiled() == space["read"]()


# Which object something is -----------------------------------------------------------------------------


def is_one(first: object, second: object) -> bool:
    return first is second


class Bound:
    def method(self) -> None: ...


@pytest.mark.parametrize("order", ["SSSDDSDD", "DDSSDS"])
@pytest.mark.parametrize(
    "make",
    [lambda: Bound().method, lambda: [].append, lambda: (1, [2]), lambda: Bound(), list],
    ids=["method", "builtin method", "tuple", "instance", "list"],
)
def test_identity_of_arguments(make: Callable[[], Any], order: str) -> None:
    compiled = capture.Compiled(is_one)
    for same in order:
        first = make()
        second = first if same == "S" else make()
        assert compiled(first, second) is (same == "S"), order


# Functions with a cache --------------------------------------------------------------------------------


def cached(limit: int | None) -> tuple[list[int], Any]:
    log: list[int] = []

    @functools.lru_cache(maxsize=limit)
    def double(value: int) -> int:
        log.append(value)
        return value * 2

    return log, double


@pytest.mark.parametrize("limit", [None, 128])
def test_counts_of_a_cache(limit: int | None) -> None:
    def calls(double: Any, log: list[int]) -> list[Any]:
        found = []
        for value in (3, 3, 4, 3):
            found += [double(value), double.cache_info()]
        return [*found, double(value=5), double.cache_info(), list(log)]

    def several(double: Any, log: list[int]) -> list[Any]:
        return [(calls(double, log), double.cache_info()) for _ in range(4)]

    expected = cached(limit)
    found = cached(limit)
    assert (
        captured(lambda: several(found[1], found[0]), 2)[1]
        == [several(expected[1], expected[0]) for _ in range(2)][1]
    )


def test_hits_of_a_served_capture_count() -> None:
    _, double = cached(None)

    def function() -> int:
        return double(3) + double(3)  # type: ignore[no-any-return]

    compiled = capture.Compiled(function)
    for number in range(5):
        assert compiled() == 12
        info = double.cache_info()
        assert (info.hits, info.misses) == (2 * number + 1, 1)
    assert compiled.entries[0]["hits"] >= 3


# Objects in words --------------------------------------------------------------------------------------


class WithText:
    def __str__(self) -> str:
        return "text"


class ListOfProgram(list[Any]):
    pass


SHOWN: dict[str, Callable[[], Any]] = {
    "instance": WithText,
    "list": lambda: [WithText()],
    "tuple": lambda: (WithText(),),
    "set": lambda: {WithText()},
    "frozen set": lambda: frozenset([WithText()]),
    "deque": lambda: collections.deque([WithText()]),
    "default dict": lambda: collections.defaultdict(lambda: 1),
    "ordered dict": lambda: collections.OrderedDict(a=WithText()),
    "counter": lambda: collections.Counter([WithText()]),
    "list of the program's": lambda: ListOfProgram([WithText()]),
    "view": lambda: {1: WithText()}.values(),
    "proxy": lambda: types.MappingProxyType({1: WithText()}),
    "partial": lambda: functools.partial(WithText),
    "namespace": lambda: types.SimpleNamespace(a=WithText()),
    "method of C": lambda: [].append,
    "method wrapper": lambda: WithText().__repr__,
    "bound method": lambda: WithText().__str__,
    "exception": lambda: ValueError(WithText()),
    "slice": lambda: slice(WithText()),
    "iterator": lambda: iter([]),
    "weak reference": lambda: weakref.ref(WithText),
    "function": lambda: lambda: 1,
    "range": lambda: range(3),
    "numbers": lambda: [1, 2.5, "a", b"b", 1j, None, ...],
}
WORDS: dict[str, Callable[[Any], str]] = {
    "repr": repr,
    "str": str,
    "format": lambda value: f"{value}",
    "format as repr": lambda value: f"{value!r}",
    "in a list": lambda value: str([value]),
    "percent r": lambda value: "%r" % (value,),  # noqa: UP031
    "percent s": lambda value: "%s" % (value,),  # noqa: UP031
    "method": lambda value: "{!r}".format(value),  # noqa: UP032
}


@pytest.mark.parametrize("words", WORDS)
@pytest.mark.parametrize("kind", SHOWN)
def test_addresses_in_words(kind: str, words: str) -> None:
    make, put = SHOWN[kind], WORDS[words]

    def function() -> tuple[Any, str]:
        value = make()
        return value, put(value)

    compiled = capture.Compiled(function)
    others = []  # what was made before keeps its address
    for _ in range(4):
        value, text = compiled()
        others.append(value)
        assert text == put(value)


class Named:
    def get(self) -> int:
        return 1


def named() -> None:
    pass


@pytest.mark.parametrize(
    "held",
    [{"a": Named().get}, {"a": named}, [Named().get], (named, 1)],
    ids=["method in dict", "function in dict", "method in list", "function in tuple"],
)
def test_names_of_functions_in_texts_of_containers(held: Any) -> None:
    """Found by mutations (seed 30001): repr() of a container told an older name of a function in it."""

    def program() -> str:
        return repr(held)

    compiled = capture.Compiled(program)
    functions = [Named.get, named]
    names = [function.__qualname__ for function in functions]
    try:
        for number in range(3):
            for _ in range(2):
                assert compiled() == program()
            for function in functions:
                function.__qualname__ = f"renamed_{number}"
    finally:
        for function, name in zip(functions, names, strict=True):
            function.__qualname__ = name
