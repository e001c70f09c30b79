"""stator.compile and what it gives: each test is a row of the interface."""

import abc
import copy
import os
import pickle
import re
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

import stator
import torch


def shifted(x: torch.Tensor, by: float = 1.0) -> torch.Tensor:
    """Adds to a tensor."""
    return torch.relu(x) + by


def hits(compiled: Any) -> list[int]:
    return [entry.hits for entry in stator.cache_entries(compiled)]


@pytest.mark.parametrize("backend", ["native", "eager", lambda gm, inputs: gm.forward])
def test_a_function(backend: Any) -> None:
    compiled = stator.compile(shifted, backend=backend)
    x = torch.randn(3)
    for _ in range(3):
        assert torch.equal(compiled(x, by=2.0), shifted(x, by=2.0))
    assert hits(compiled) == [2]
    assert compiled.__name__ == "shifted"
    assert compiled.__doc__ == "Adds to a tensor."
    assert compiled.__wrapped__ is shifted


def test_decorators() -> None:
    @stator.compile(backend="native")
    def one(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    @stator.compile
    def two(x: torch.Tensor) -> torch.Tensor:
        return x + 2

    assert one(torch.zeros(1)).item() == 1
    assert hits(one) == [0]
    assert two.backend.compiler_name == "inductor"


class Scaled:
    def __init__(self, by: float) -> None:
        self.by = by

    @stator.compile(backend="native")
    def method(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.by

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.by + 1


def test_methods_and_callable_objects() -> None:
    x = torch.randn(3)
    two, three = Scaled(2), Scaled(3)
    for _ in range(2):
        assert torch.equal(two.method(x), x * 2)
        assert torch.equal(three.method(x), x * 3)
    bound = stator.compile(two.method, backend="native")
    assert torch.equal(bound(x), x * 2)
    called = stator.compile(three, backend="native")
    assert torch.equal(called(x), x * 3 + 1)
    three.by = 4
    assert torch.equal(called(x), x * 4 + 1)


def test_classes() -> None:
    @stator.compile(backend="native")
    class Doubled:
        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    assert torch.equal(Doubled()(torch.ones(2)), torch.full((2,), 2.0))
    assert hits(Doubled.__call__) == [0]
    with pytest.raises(TypeError, match="not callable"):
        stator.compile(type("Plain", (), {}), backend="native")

    @stator.compile(backend="native")
    class Net(torch.nn.Linear):
        pass

    net = Net(2, 2)
    assert torch.equal(net(torch.ones(2)), torch.nn.functional.linear(torch.ones(2), net.weight, net.bias))
    assert len(stator.cache_entries(Net._call_impl)) == 1


def test_disable_gives_the_function_itself() -> None:
    assert stator.compile(shifted, disable=True) is shifted
    with stator.config.patch(disable=True):
        assert stator.compile(shifted, backend="native") is shifted


def test_mode_and_options() -> None:
    seen: list[dict[str, Any]] = []

    def backend(gm: Any, inputs: Any, **settings: Any) -> Any:
        seen.append(settings)
        return gm.forward

    stator.compile(shifted, backend=backend, mode="fast")(torch.ones(1))
    stator.compile(shifted, backend=backend, options={"a": 1})(torch.ones(1))
    assert seen == [{"mode": "fast"}, {"options": {"a": 1}}]
    with pytest.raises(RuntimeError, match="both"):
        stator.compile(shifted, backend=backend, mode="fast", options={"a": 1})
    with pytest.raises(TypeError, match="takes no options"):
        stator.compile(shifted, backend="native", options={"a": 1})
    with pytest.raises(RuntimeError, match="no_such_option"):
        stator.compile(shifted, options={"no_such_option": 1})


def test_fullgraph_refuses_every_call_that_breaks() -> None:
    def speaks(x: torch.Tensor, aloud: bool) -> torch.Tensor:
        if aloud:
            os.getloadavg()
        return x + 1

    compiled = stator.compile(speaks, backend="native", fullgraph=True)
    x = torch.ones(1)
    for _ in range(12):
        with pytest.raises(stator.CaptureError):
            compiled(x, True)
    assert torch.equal(compiled(x, False), x + 1)
    with pytest.raises(stator.CaptureError):
        compiled(x, True)
    assert torch.equal(compiled(x, False), x + 1)


def test_fullgraph_shows_the_line_the_reason_and_a_hint() -> None:
    def speaks(x: torch.Tensor) -> torch.Tensor:
        os.getloadavg()
        return x + 1

    with pytest.raises(stator.CaptureError) as caught:
        stator.compile(speaks, backend="native", fullgraph=True)(torch.ones(1))
    text = str(caught.value)
    assert f"{__file__}:{speaks.__code__.co_firstlineno + 1}" in text
    assert "os.getloadavg()" in text
    assert "unknown-function" in text
    assert "hint: " in text
    assert "without fullgraph=True" in text


def test_the_hints_of_fullgraph_work() -> None:
    """Of an unknown function: what the error says can be done, done."""
    load = stator.assume_constant_result(os.getloadavg)

    def marked(x: torch.Tensor) -> torch.Tensor:
        return x + len(load())

    def given(x: torch.Tensor, load: tuple[float, ...]) -> torch.Tensor:
        return x + len(load)

    x = torch.ones(1)
    assert stator.compile(marked, backend="native", fullgraph=True)(x).tolist() == [4.0]
    assert stator.compile(given, backend="native", fullgraph=True)(x, os.getloadavg()).tolist() == [4.0]


def test_fullgraph_names_the_line_of_the_users_own_file() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        return y + len(format(y.sum(), ".2f"))

    with pytest.raises(stator.CaptureError) as caught:
        stator.compile(program, backend="eager", fullgraph=True)(torch.ones(1))
    first = str(caught.value).splitlines()[0]
    assert "_tensor.py" in first
    assert f"{__file__}:{program.__code__.co_firstlineno + 2}" in first


def test_two_compiled_forms_share_no_entries() -> None:
    one, two = (stator.compile(shifted, backend=name) for name in ("native", "eager"))
    one(torch.ones(1))
    assert (len(stator.cache_entries(one)), len(stator.cache_entries(two))) == (1, 0)
    two(torch.ones(1))
    assert two.entries[0]["graph_module"] is not None
    assert one.entries[0]["graph_module"] is None


def test_what_is_compiled_calls_what_is_compiled() -> None:
    inner = stator.compile(lambda x: x * 2, backend="native")
    outer = stator.compile(lambda x: inner(x) + 1, backend="native", fullgraph=True)
    assert outer(torch.ones(1)).item() == 3
    assert "aten::mul" in stator.cache_entries(outer)[0].graph
    assert stator.cache_entries(inner) == []


# -- Modules ----------------------------------------------------------------------------------


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)
        self.dropout = torch.nn.Dropout(0.5)
        self.register_buffer("offset", torch.ones(4))
        self.gain = 2.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dropout(self.layer(x)) * self.gain + self.offset

    def extra(self) -> str:
        return "extra"

    def train(self, mode: bool = True) -> "Model":
        self.trained = mode
        return super().train(mode)


@pytest.fixture
def model() -> Model:
    torch.manual_seed(0)
    return Model().eval()


def test_a_module_gives_a_module(model: Model) -> None:
    compiled, x = stator.compile(model, backend="native"), torch.randn(2, 4)
    assert isinstance(compiled, torch.nn.Module)
    assert isinstance(compiled, stator.OptimizedModule)
    assert isinstance(compiled, Model)
    assert compiled._orig_mod is model
    for _ in range(2):
        assert torch.equal(compiled(x), model(x))
    assert hits(compiled) == [1]


def test_state_dictionaries_have_the_plain_keys(model: Model) -> None:
    compiled = stator.compile(model, backend="native")
    assert list(compiled.state_dict()) == list(model.state_dict())
    assert [name for name, _ in compiled.named_parameters()] == ["layer.weight", "layer.bias"]
    other = Model().eval()
    compiled.load_state_dict(other.state_dict())
    x = torch.randn(2, 4)
    assert torch.equal(compiled(x), other(x))


def test_attributes_are_the_modules(model: Model) -> None:
    compiled, x = stator.compile(model, backend="native"), torch.randn(2, 4)
    compiled(x)
    compiled.gain = 3.0
    assert model.gain == 3.0
    assert torch.equal(compiled(x), model(x))
    assert compiled.extra() == "extra"
    assert {"layer", "gain", "extra", "_orig_mod"} <= set(dir(compiled))
    del compiled.gain
    assert not hasattr(model, "gain")
    with pytest.raises(AttributeError):
        compiled.gain  # noqa: B018
    compiled.layer = torch.nn.Linear(4, 2)
    compiled.gain = 1.0
    compiled.offset = torch.zeros(2)
    assert compiled(x).shape == (2, 2)


def test_train_eval_and_to(model: Model) -> None:
    compiled, x = stator.compile(model, backend="native"), torch.randn(2, 4)
    compiled(x)
    assert compiled.train() is compiled
    assert model.training
    assert model.dropout.training
    assert model.trained
    torch.manual_seed(3)
    got = compiled(x)
    torch.manual_seed(3)
    assert torch.equal(got, model(x))
    compiled.eval()
    compiled.to(torch.float64)
    assert model.layer.weight.dtype == torch.float64
    assert compiled(x.double()).dtype == torch.float64


def test_hooks_run(model: Model) -> None:
    compiled, x = stator.compile(model, backend="native"), torch.randn(2, 4)
    before = compiled(x)
    handle = compiled.register_forward_hook(lambda module, args, out: out + 1)
    assert torch.equal(compiled(x), before + 1)
    handle.remove()
    assert torch.equal(compiled(x), before)
    model.register_forward_pre_hook(lambda module, args: (args[0] * 0,))
    assert torch.equal(compiled(x), model(x))


def test_pickle_and_deepcopy(model: Model) -> None:
    compiled, x = stator.compile(model, backend="native"), torch.randn(2, 4)
    for other in (pickle.loads(pickle.dumps(compiled)), copy.deepcopy(compiled)):
        assert isinstance(other, stator.OptimizedModule)
        assert torch.equal(other(x), model(x))
        assert hits(other) == [0]
        other.layer.weight.data.zero_()
        assert not torch.equal(other(x), model(x))


def test_lazy_modules_initialise_on_the_first_call() -> None:
    lazy = torch.nn.Sequential(torch.nn.LazyLinear(3), torch.nn.ReLU())
    compiled, x = stator.compile(lazy, backend="native"), torch.randn(2, 5)
    first = compiled(x)
    assert lazy[0].weight.shape == (3, 5)
    for _ in range(2):
        assert torch.equal(compiled(x), first)
    assert hits(compiled) == [1]


def test_a_compiled_module_is_compiled_again_from_the_original(model: Model) -> None:
    once = stator.compile(model, backend="native")
    twice = stator.compile(once, backend="eager")
    assert twice._orig_mod is model
    assert torch.equal(twice(torch.ones(4)), once(torch.ones(4)))


class Listing(type):
    """A metaclass that keeps a list of the classes it made."""

    made: ClassVar[list[str]] = []

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **keywords: Any) -> "Listing":
        cls.made.append(name)
        return super().__new__(cls, name, bases, body, **keywords)

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **keywords: Any) -> None:
        super().__init__(name, bases, body)


class AbstractListing(Listing, abc.ABCMeta):
    """The same for classes with abstract methods."""


@pytest.mark.parametrize("meta", [Listing, AbstractListing])
def test_nobody_is_told_of_the_class_of_a_compiled_module(meta: type) -> None:
    told = []

    class Base(torch.nn.Module, metaclass=meta):
        def __init_subclass__(cls, *, kind: str) -> None:
            super().__init_subclass__()
            told.append(kind)

    class Part(Base, kind="part"):  # type: ignore[call-arg,misc]
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * len(told)

    part, before = Part(), list(Listing.made)
    compiled = stator.compile(part, backend="native")
    assert torch.equal(compiled(torch.ones(2)), torch.ones(2))
    assert told == ["part"]
    assert before == Listing.made
    assert isinstance(compiled, Base)
    assert not isinstance(part, type(compiled))
    assert isinstance(compiled, Part)


def test_modules_inside_modules(model: Model) -> None:
    holder = torch.nn.Sequential(stator.compile(model, backend="native"))
    assert "0.layer.weight" in holder.state_dict()
    x = torch.randn(2, 4)
    assert torch.equal(holder(x), model(x))
    assert torch.equal(stator.compile(holder, backend="native", fullgraph=True)(x), model(x))


CALLS: dict[str, Callable[[], object]] = {
    "a callable is needed, not int": lambda: stator.compile(3, backend="native"),
    "Invalid backend: 'nativ'": lambda: stator.compile(shifted, backend="nativ"),
    "backend is a name or a callable, not int": lambda: stator.compile(shifted, backend=3),
    "compile: fullgraph is bool, not str": lambda: stator.compile(shifted, fullgraph="yes"),
    "compile: fullgraph is bool, not int": lambda: stator.compile(fullgraph=1),
    "compile: dynamic is bool or None, not str": lambda: stator.compile(shifted, dynamic="auto"),
    "compile: mode is str or None, not dict": lambda: stator.compile(shifted, mode={}),
    "compile: options is Mapping or None, not str": lambda: stator.compile(shifted, options="max-autotune"),
    "compile: recompile_limit is int or None, not bool": lambda: stator.compile(
        shifted, recompile_limit=True
    ),
    "optimize: nopython is bool, not str": lambda: stator.optimize("native", nopython="yes"),
    "disable: recursive is bool, not int": lambda: stator.disable(shifted, 3),
    "disable: a callable is needed, not list": lambda: stator.disable([shifted]),
    "explain: a callable is needed, not str": lambda: stator.explain("shifted"),
    "assume_constant_result: a callable is needed": lambda: stator.assume_constant_result(3),
    "set_stance: stance is str, not NoneType": lambda: stator.set_stance(None),
    "set_logs: breaks is bool or None, not str": lambda: stator.set_logs(breaks="yes"),
    "a tensor is marked, not list": lambda: stator.mark_dynamic([1, 2], 0),
}


@pytest.mark.parametrize("message", CALLS)
def test_wrong_calls_are_errors(message: str) -> None:
    with pytest.raises((TypeError, stator.InvalidBackend), match=re.escape(message)):
        CALLS[message]()
