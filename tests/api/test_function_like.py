"""Compiled functions are functions to their users: every question gets the answer of the plain function."""

import abc
import asyncio
import copy
import doctest
import functools
import gc
import inspect
import multiprocessing
import pickle
import types
import typing
import weakref
from collections.abc import Callable
from typing import Any

import functions_to_compile as plain
import pytest

import stator
import torch

MAKERS: dict[str, Callable[[Any], Any]] = {
    "compiled": lambda fn: stator.compile(fn, backend="native"),
    "compiled twice": lambda fn: stator.compile(stator.compile(fn, backend="native"), backend="native"),
    "disabled": stator.disable,
    "interpreted": stator.interpret,
}
FUNCTIONS: dict[str, Any] = {
    "function": plain.tagged,
    "closure": plain.closing(5),
    "lambda": lambda x, n=3: x * n,
    "generator function": plain.generated,
    "coroutine function": plain.awaited,
    "async generator function": plain.streamed,
    "wrapper": plain.wrapping,
    "bound method": plain.holder.method,
    "class method": plain.Holder.of_class,
    "static method": plain.Holder.of_none,
    "unbound method": plain.Holder.method,
}
OF_C: dict[str, Any] = {
    "built-in": torch.add,
    "method of a C class": torch.Tensor.add,
    "operator of a C class": float.__add__,
    "bound operator": (2.0).__add__,
}
OTHERS: dict[str, Any] = {
    "partial": functools.partial(plain.tagged, by=4),
    "callable object": plain.holder,
    "cached": functools.lru_cache(plain.Holder.of_none),
}
ATTRIBUTES = [
    "__name__",
    "__qualname__",
    "__module__",
    "__doc__",
    "__annotations__",
    "__defaults__",
    "__kwdefaults__",
    "__code__",
    "__globals__",
    "__closure__",
    "__builtins__",
    "__class__",
    "__self__",
    "__func__",
    "__isabstractmethod__",
    "tag",
    "func",
    "args",
    "keywords",
    "by",
    "cache_info",
    "no_such_attribute",
]
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    **{name: (lambda f, name=name: getattr(f, name)) for name in ATTRIBUTES},
    "signature": inspect.signature,
    "file": inspect.getfile,
    "source file": inspect.getsourcefile,
    "source": inspect.getsource,
    "module": inspect.getmodule,
    "documentation": inspect.getdoc,
    "type hints": typing.get_type_hints,
    "isfunction": inspect.isfunction,
    "ismethod": inspect.ismethod,
    "isroutine": inspect.isroutine,
    "isbuiltin": inspect.isbuiltin,
    "ismethoddescriptor": inspect.ismethoddescriptor,
    "isgeneratorfunction": inspect.isgeneratorfunction,
    "iscoroutinefunction": inspect.iscoroutinefunction,
    "isasyncgenfunction": inspect.isasyncgenfunction,
    "asyncio.iscoroutinefunction": asyncio.iscoroutinefunction,
    "FunctionType": lambda f: isinstance(f, types.FunctionType),
    "MethodType": lambda f: isinstance(f, types.MethodType),
    "callable": callable,
    "bound as an attribute": lambda f: inspect.ismethod(type("Bound", (), {"f": f})().f),
}


def answer(question: Callable[[Any], Any], fn: Any) -> Any:
    try:
        return question(fn)
    except (AttributeError, TypeError, ValueError, OSError) as error:
        return type(error)


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("kind", FUNCTIONS)
def test_questions_about_functions(kind: str, maker: str) -> None:
    fn = FUNCTIONS[kind]
    made = MAKERS[maker](fn)
    wrong = {}
    for name, question in QUESTIONS.items():
        if (wanted := answer(question, fn)) != (got := answer(question, made)):
            wrong[name] = (wanted, got)
    assert not wrong


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("kind", OF_C)
def test_questions_about_functions_of_c(kind: str, maker: str) -> None:
    fn = OF_C[kind]
    made = MAKERS[maker](fn)
    # Where such a function has no module, its wrapper has one; a wrapper is always a descriptor.
    without = {"__module__", "module", "ismethoddescriptor", "bound as an attribute"}
    asked = {name: question for name, question in QUESTIONS.items() if name not in without}
    answers = {name: (answer(question, fn), answer(question, made)) for name, question in asked.items()}
    assert not {name: pair for name, pair in answers.items() if pair[0] != pair[1]}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("kind", OTHERS)
def test_questions_about_other_callables(kind: str, maker: str) -> None:
    fn = OTHERS[kind]
    made = MAKERS[maker](fn)
    asked = [*ATTRIBUTES, "signature", "callable", "bound as an attribute", "type hints"]
    wrong = {}
    for name in set(asked) - {"__class__"}:
        wanted, got = (answer(QUESTIONS[name], each) for each in (fn, made))
        # Bound methods of C objects are made anew by each access.
        if wanted != got and not (name == "cache_info" and wanted() == got()):
            wrong[name] = (wanted, got)
    assert not wrong


@pytest.mark.parametrize("maker", MAKERS)
def test_the_text_of_a_wrapper_names_the_function(maker: str) -> None:
    made = MAKERS[maker](plain.tagged)
    kind = maker.split()[0].replace("disabled", "marked")
    assert repr(made).startswith(f"<{kind} <function tagged at 0x")
    assert repr(made) == str(made)


def test_attributes_are_of_the_wrapper() -> None:
    def f(x: torch.Tensor, by: int = 2) -> torch.Tensor:
        return x * by

    f.before = 1  # type: ignore[attr-defined]
    one, two = (stator.compile(f, backend="native") for _ in range(2))
    one.mode, two.mode = "one", "two"
    assert (one.mode, two.mode, hasattr(f, "mode")) == ("one", "two", False)
    assert vars(one).items() >= {"before": 1, "mode": "one"}.items()
    one.before = 3
    assert (one.before, two.before, f.before) == (3, 1, 1)  # type: ignore[attr-defined]
    del one.before
    with pytest.raises(AttributeError, match="before"):
        one.before  # noqa: B018
    one.__name__ = "renamed"
    assert (one.__name__, f.__name__) == ("renamed", "f")
    with pytest.raises(AttributeError):
        one.__globals__ = {}
    again = stator.compile(two, backend="eager")
    assert (again.mode, again.before) == ("two", 1)


def test_defaults_and_code_that_are_assigned_change_calls() -> None:
    def f(x: torch.Tensor, by: int = 2, *, shift: int = 0) -> torch.Tensor:
        return x * by + shift

    def g(x: torch.Tensor, by: int = 2, *, shift: int = 0) -> torch.Tensor:
        return x - by

    compiled = stator.compile(f, backend="native")
    x = torch.ones(1)
    assert compiled(x).item() == 2
    compiled.__defaults__ = (5,)
    assert (compiled(x).item(), compiled(x).item()) == (5, 5)
    compiled.__kwdefaults__ = {"shift": 1}
    assert (compiled(x).item(), compiled(x).item()) == (6, 6)
    compiled.__code__ = g.__code__
    assert (compiled(x).item(), compiled(x).item()) == (-4, -4)


def test_captured_code_asks_a_compiled_function() -> None:
    inner = stator.compile(plain.tagged, backend="native")
    inner.scale = 3

    def f(x: torch.Tensor) -> tuple[Any, ...]:
        return inner(x) * inner.scale, inner.__name__, inner.__defaults__, inspect.isfunction(inner)

    compiled = stator.compile(f, backend="native", fullgraph=True)
    x = torch.ones(2)
    for scale in (3, 3, 4, 4):
        inner.scale = scale
        got, *rest = compiled(x)
        assert torch.equal(got, plain.tagged(x) * scale)
        assert rest == ["tagged", (2,), True]
    assert sum(entry.hits for entry in stator.cache_entries(compiled)) == 2


# -- Copies and pickles -----------------------------------------------------------------------


def same_options(one: Any, other: Any) -> bool:
    return bool(one.context == other.context and one.backend == other.backend)


@pytest.mark.parametrize("copier", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("kind", FUNCTIONS)
def test_a_function_is_its_own_copy(kind: str, maker: str, copier: Callable[[Any], Any]) -> None:
    if kind in ("bound method", "class method"):
        pytest.skip("has an object")
    made = MAKERS[maker](FUNCTIONS[kind])
    assert copier(made) is made
    assert copier([made])[0] is made


def test_a_copy_of_what_has_state_has_state_of_its_own() -> None:
    for fn in (plain.Holder(2.0), plain.Holder(2.0).method):
        made = stator.compile(fn, backend="native", dynamic=True)
        made.note = ["own"]
        shallow, deep = copy.copy(made), copy.deepcopy(made)
        assert same_options(made, deep)
        assert (deep.note, deep.note is made.note) == (["own"], False)
        x = torch.ones(1)
        before = made(x)
        owner = getattr(deep.__wrapped__, "__self__", deep.__wrapped__)
        owner.by = 7.0
        assert torch.equal(made(x), before)
        assert deep(x).item() in (7.0, 8.0)
        assert torch.equal(shallow(x), before)


def test_an_object_that_holds_its_compiled_method() -> None:
    holder = plain.Holder(2.0)
    holder.step = stator.compile(holder.method, backend="native")  # type: ignore[attr-defined]
    other: Any = copy.deepcopy(holder)
    other.by = 9.0
    x = torch.ones(1)
    assert (holder.step(x).item(), other.step(x).item()) == (2.0, 9.0)  # type: ignore[attr-defined]
    assert other.step.__self__ is other
    loaded = pickle.loads(pickle.dumps(holder))
    loaded.by = 5.0
    assert loaded.step(x).item() == 5.0
    step = copy.deepcopy(other.step)
    assert step.__self__ is not other
    assert step.__self__.step.__self__ is step.__self__


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(protocol: int) -> None:
    def passed(what: Any) -> Any:
        return pickle.loads(pickle.dumps(what, protocol))

    for named in (plain.decorated, plain.disabled, plain.Decorated.method):
        assert passed(named) is named
    x = torch.ones(1)
    for fn in (plain.compiled, stator.compile(plain.holder, backend="native", dynamic=True)):
        again = passed(fn)
        assert again is not fn
        assert same_options(fn, again)
        assert torch.equal(again(x), fn(x))
        assert [entry.hits for entry in stator.cache_entries(again)] == [0]
    assert torch.equal(passed(plain.Decorated().method)(x), x * 4)
    partial = passed(functools.partial(plain.decorated, x))
    assert partial.func is plain.decorated
    apart = passed(stator.disable(plain.tagged))
    assert (apart.__wrapped__, apart.mark) == (plain.tagged, "disabled")
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(stator.compile(lambda x: x, backend="native"), protocol)


@pytest.mark.parametrize(
    "options", [{"backend": "inductor"}, {"backend": "aot_eager"}, {"backend": "eager"}, {"mode": "default"}]
)
def test_backends_are_chosen_again(options: dict[str, Any]) -> None:
    compiled = stator.compile(plain.tagged, **options)
    again = pickle.loads(pickle.dumps(compiled))
    assert (again.context.asked, again.__wrapped__) == (compiled.context.asked, plain.tagged)
    assert type(again.backend) is type(compiled.backend)
    assert again.backend == compiled.backend


def worker(fn: Any, x: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
    results = [fn(x) for _ in range(3)]
    return results[-1], [entry.hits for entry in stator.cache_entries(fn)]


def test_spawned_workers_compile_again() -> None:
    context = multiprocessing.get_context("spawn")
    x = torch.ones(2)
    with context.Pool(1) as pool:
        for fn in (plain.decorated, plain.compiled):
            result, hits = pool.apply(worker, (fn, x))
            assert torch.equal(result, fn(x))
            assert hits == [2]


# -- Where functions are used -----------------------------------------------------------------


def test_decorators_of_the_standard_library() -> None:
    x = torch.ones(2)
    compiled = stator.compile(plain.tagged, backend="native")

    @functools.wraps(compiled)
    def wrapped(*args: Any) -> Any:
        return compiled(*args)

    updated = functools.wraps(plain.wrapping)(stator.compile(plain.awaited, backend="native"))
    assert (updated.__wrapped__, updated.__name__) == (plain.wrapping, "tagged")
    assert asyncio.run(updated(x)).equal(x + 1)
    assert copy.deepcopy(updated) is updated
    assert wrapped.tag is plain.tagged.tag  # type: ignore[attr-defined]
    assert inspect.unwrap(wrapped) is plain.tagged
    assert inspect.signature(wrapped) == inspect.signature(plain.tagged)
    assert torch.equal(functools.partial(compiled, by=3)(x), x * 3 + 0.5)
    cached = functools.lru_cache(compiled)
    assert cached(x) is cached(x)
    dispatched = functools.singledispatch(stator.compile(lambda x: "other", backend="native"))

    @dispatched.register
    @stator.compile(backend="native")
    def _(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    assert torch.equal(dispatched(x), x + 1)
    assert dispatched("text") == "other"


def test_methods_of_all_kinds() -> None:
    compiled = stator.compile(backend="native")

    class Base(abc.ABC):
        scale = 2.0

        @compiled
        @abc.abstractmethod
        def inner(self, x: torch.Tensor) -> torch.Tensor: ...

        @abc.abstractmethod
        @compiled
        def outer(self, x: torch.Tensor) -> torch.Tensor: ...

        @classmethod
        @compiled
        def class_outside(cls, x: torch.Tensor) -> torch.Tensor:
            return x * cls.scale

        @compiled
        @classmethod
        def class_inside(cls, x: torch.Tensor) -> torch.Tensor:
            return x * cls.scale

        @staticmethod
        @compiled
        def static_outside(x: torch.Tensor) -> torch.Tensor:
            return x + 1

        @compiled
        @staticmethod
        def static_inside(x: torch.Tensor) -> torch.Tensor:
            return x + 1

        @property
        @compiled
        def doubled(self) -> torch.Tensor:
            return torch.full((1,), self.scale) * 2

        partial = compiled(functools.partial(torch.add, other=1))
        called = compiled(plain.Holder(3.0))
        bound = compiled(plain.holder.method)

    assert Base.__abstractmethods__ == {"inner", "outer"}
    with pytest.raises(TypeError, match="abstract"):
        Base()  # type: ignore[abstract]

    class Derived(Base):
        scale = 3.0

        def inner(self, x: torch.Tensor) -> torch.Tensor:
            return x

        @compiled
        def outer(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.scale

    one, x = Derived(), torch.ones(1)
    for _ in range(2):
        assert one.outer(x).item() == 3
        assert Derived.outer(one, x).item() == 3
        assert one.class_outside(x).item() == Derived.class_inside(x).item() == 3
        assert (
            one.static_outside(x).item()
            == Derived.static_inside(x).item()
            == one.static_inside(x).item()
            == 2
        )
        assert one.doubled.item() == 6
        assert one.partial(x).item() == 2
        assert one.called(x).item() == 4
        assert one.bound(x).item() == 3
    assert inspect.signature(one.outer) == inspect.signature(Base.static_outside)


def test_finders_of_documentation() -> None:
    module = types.ModuleType(plain.__name__)
    found = doctest.DocTestFinder(exclude_empty=True).find(plain, module=plain)
    names = {test.name.rpartition(".")[2]: len(test.examples) for test in found}
    assert names["compiled"] == names["tagged"] == 1
    assert module.__name__ == plain.__name__


def test_identity_hash_and_weak_references() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    one, two = (stator.compile(f, backend="native") for _ in range(2))
    assert one == one
    assert one != two
    assert one != f
    assert {one: 1, two: 2, f: 3}[one] == 1
    reference = weakref.ref(one)
    assert reference() is one
    one(torch.ones(1))
    del one
    gc.collect()
    assert reference() is None


def test_coroutine_functions_run() -> None:
    x = torch.ones(1)
    compiled = stator.compile(plain.awaited, backend="native")
    assert inspect.iscoroutine(coroutine := compiled(x))
    assert asyncio.run(coroutine).item() == 2
    assert asyncio.run(compiled(x)).item() == 2

    async def all_of(stream: Any) -> list[float]:
        return [each.item() async for each in stream]

    assert asyncio.run(all_of(stator.compile(plain.streamed, backend="native")(x))) == [2, 3]
    assert [each.item() for each in stator.compile(plain.generated, backend="native")(x)] == [2, 3]


# -- Modules ----------------------------------------------------------------------------------


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)
        self.note = ["shared"]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply."""
        return self.layer(x) * len(self.note)


def test_copies_of_compiled_modules() -> None:
    net, x = Net(), torch.ones(2)
    compiled = stator.compile(net, backend="native", dynamic=False)
    wanted = compiled(x)
    shallow, deep = copy.copy(compiled), copy.deepcopy(compiled)
    loaded = pickle.loads(pickle.dumps(compiled))
    for other in (shallow, deep, loaded):
        assert isinstance(other, stator.OptimizedModule)
        assert isinstance(other, Net)
        assert other._context == compiled._context
        assert torch.equal(other(x), wanted)
        assert [name for name, _ in other.named_parameters()] == ["layer.weight", "layer.bias"]
        assert list(other.state_dict()) == list(net.state_dict())
    shallow.note = ["a", "b"]
    assert (net.note, deep.note, loaded.note) == (["shared"],) * 3
    assert torch.equal(shallow(x), wanted * 2)
    assert shallow.layer is net.layer
    assert deep.layer is not net.layer
    pair = copy.deepcopy(torch.nn.ModuleList([compiled, compiled]))
    assert pair[0] is pair[1]
    assert (hash(compiled), compiled) == (hash(compiled), compiled)
    assert compiled != net


def test_questions_about_compiled_modules() -> None:
    net = Net()
    compiled = stator.compile(net, backend="native")
    assert inspect.signature(compiled.forward) == inspect.signature(net.forward)
    assert inspect.getsource(compiled.forward) == inspect.getsource(net.forward)
    assert inspect.signature(compiled) == inspect.signature(net)
    assert weakref.ref(compiled)() is compiled
    assert [type(m) for m in list(compiled.modules())[1:]] == [type(m) for m in list(net.modules())[1:]]
    assert compiled.get_submodule("layer") is net.layer
    assert compiled.extra_repr() == net.extra_repr()
    assert "layer" in repr(compiled)
    assert callable(compiled)


def scaled_by(x: torch.Tensor, factor: float = 1, shifts: Any = ()) -> torch.Tensor:
    return x * factor + sum(shifts)


@pytest.mark.parametrize("backend", ["native", "eager"])
def test_a_compiled_partial_that_changes(backend: str) -> None:
    shifts = [1.0]
    partial = functools.partial(scaled_by, factor=3, shifts=shifts)
    compiled = stator.compile(partial, backend=backend)
    x = torch.ones(2)

    def check() -> None:
        for _ in range(2):
            assert torch.equal(compiled(x), partial(x))

    check()
    assert sum(entry.hits for entry in stator.cache_entries(compiled)) == 1
    partial.keywords["factor"] = 10
    check()
    shifts.append(5.0)
    check()
    partial.__setstate__((scaled_by, (), {"factor": 20}, {}))
    check()
