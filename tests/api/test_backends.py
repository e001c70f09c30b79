"""The registry of backends, and what is kept out of `import stator`."""

import importlib.metadata
import subprocess
import sys
from typing import Any

import pytest

import stator
import torch
from stator.backends import registry
from stator.backends.traits import Traits


@pytest.fixture(autouse=True)
def _registered_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    monkeypatch.setattr(registry, "_tags", dict(registry._tags))


def f(x: torch.Tensor) -> torch.Tensor:
    return x.sin() + 1


def test_register_and_look_up() -> None:
    @stator.register_backend
    def mine(gm: Any, inputs: Any) -> Any:
        return gm.forward

    @stator.register_backend(name="other", tags=("debug",))
    def hidden(gm: Any, inputs: Any) -> Any:
        return gm.forward

    stator.register_experimental_backend(lambda gm, inputs: gm.forward, name="new")
    assert stator.lookup_backend("mine") is mine
    assert stator.lookup_backend(mine) is mine
    shown = stator.list_backends()
    assert shown == sorted(shown)
    assert "mine" in shown
    assert not {"other", "new", "empty"} & set(shown)
    assert {"other", "new", "empty"} <= set(stator.list_backends(exclude_tags=None))
    assert "new" in stator.list_backends(exclude_tags=("debug",))
    assert torch.equal(stator.compile(f, backend="other")(torch.ones(2)), f(torch.ones(2)))


def test_a_duplicate_names_both() -> None:
    def twin(gm: Any, inputs: Any) -> Any: ...

    stator.register_backend(twin)
    first = twin

    def twin(gm: Any, inputs: Any) -> Any: ...

    with pytest.raises(ValueError, match="duplicate backend name 'twin'") as caught:
        stator.register_backend(twin)
    for one in (first, twin):
        assert f"{__file__}:{one.__code__.co_firstlineno}" in str(caught.value)


def test_unknown_names_suggest_near_ones() -> None:
    with pytest.raises(stator.InvalidBackend, match="'aot_eager'"):
        stator.lookup_backend("aot_eagr")
    with pytest.raises(TypeError):
        stator.lookup_backend(3)  # type: ignore[arg-type]


def test_torchs_own_backends_are_there() -> None:
    assert {"inductor", "cudagraphs", "native", "eager"} <= set(stator.list_backends())
    assert {"aot_eager", "aot_ts", "eager_noexcept", "relu_compile_error_TESTING_ONLY"} <= set(
        stator.list_backends(exclude_tags=())
    )


def test_every_name_of_torchs_registry() -> None:
    """By name, with one registry: what torch.compile accepts, Stator does, and calls the same function."""
    import torch._dynamo

    names = torch._dynamo.list_backends(None)
    assert set(names) <= set(stator.list_backends(None))
    for name in names:
        if name in registry._registered:  # ours: eager
            continue
        found = stator.lookup_backend(name)
        if name != "inductor":  # made anew with mode and options
            assert found is torch._dynamo.lookup_backend(name), name

    @torch._dynamo.register_backend
    def registered_with_torch(gm: Any, inputs: Any) -> Any:
        return gm.forward

    assert stator.lookup_backend("registered_with_torch") is registered_with_torch
    torch._dynamo.backends.registry._COMPILER_FNS.pop("registered_with_torch")


@pytest.mark.parametrize("group", ["torch_dynamo_backends", "stator_backends"])
def test_entry_points(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []

    class Point:
        def __init__(self, name: str) -> None:
            self.name = name

        def load(self) -> Any:
            loaded.append(self.name)
            return lambda gm, inputs: gm.forward

    class Points(list[Point]):
        """With what torch's own registry asks of them, too."""

        @property
        def names(self) -> set[str]:
            return {point.name for point in self}

        def __getitem__(self, name: Any) -> Any:
            return next(point for point in self if point.name == name)

    points = Points([Point("packaged"), Point("unwanted")])
    others = importlib.metadata.entry_points
    monkeypatch.setattr(
        importlib.metadata,
        "entry_points",
        lambda *, group: points if group == wanted else others(group=group),
    )
    wanted = group
    assert {"packaged", "unwanted"} <= set(stator.list_backends())
    assert torch.equal(stator.compile(f, backend="packaged")(torch.ones(2)), f(torch.ones(2)))
    stator.lookup_backend("packaged")
    assert loaded == ["packaged"]


IMPORTS = """
import sys, torch
HEAVY = {"torch._dynamo", "torch._inductor", "sympy", "jaxlib", "jinja2", "numpy", "torch._numpy"}
HEAVY -= set(sys.modules)
before = set(sys.modules)
import stator
added = set(sys.modules) - before
assert not HEAVY & added, HEAVY & added
own = {name for name in added if name.split(".")[0] == "stator"}
print(len(own), len(added - own))
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.LayerNorm(4))
compiled = stator.compile(model, backend="native", fullgraph=True)
x = torch.ones(2, 4)
assert torch.equal(compiled(x), model(x)) and torch.equal(compiled(x), model(x))
assert stator.cache_entries(compiled)[0].hits == 1
assert not HEAVY & set(sys.modules), "by a capture for native"
stator.compile(model, backend="eager")(x)
assert "torch._dynamo" not in sys.modules, "by a capture for a Python backend"
"""


def test_what_an_import_loads() -> None:
    """Few modules, and nothing that is slow to load: neither by the import nor by a capture for `native`."""
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    own, others = map(int, done.stdout.split())
    assert own < 60
    assert others < 25, "modules of Python's own that torch has not loaded"


def test_import_without_torch() -> None:
    code = "import sys, stator; assert 'torch' not in sys.modules; stator.list_backends; stator.config"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["STATOR_DISABLE", "TORCHDYNAMO_DISABLE"])
def test_disabled_by_the_environment(name: str) -> None:
    code = "import stator; f = lambda x: x; assert stator.compile(f) is f; assert stator.optimize()(f) is f"
    done = subprocess.run(
        [sys.executable, "-c", code], env={name: "1", "PATH": ""}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_traits_are_given_at_registration() -> None:
    """A backend that runs nodes in their order is given those that change what a tensor is; others break."""
    given: list[str] = []

    def in_order(gm: Any, example_inputs: Any) -> Any:
        given.extend(str(node.target) for node in gm.graph.nodes)
        return gm.forward

    def compiling(gm: Any, example_inputs: Any) -> Any:
        return in_order(gm, example_inputs)

    stator.register_backend(in_order, name="in_order_traits", traits=Traits(changes_tensors=True))

    def program(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        y.requires_grad_()
        return y * 3

    assert stator.compile(program, backend="in_order_traits", fullgraph=True)(torch.ones(2)).requires_grad
    assert any("requires_grad" in target for target in given)
    with pytest.raises(stator.CaptureError):
        stator.compile(program, backend=compiling, fullgraph=True)(torch.ones(2))
