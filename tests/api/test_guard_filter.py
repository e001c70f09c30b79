"""`guard_filter_fn`: which guards of a capture count, in the terms of torch's filters."""

import gc
import pickle

import pytest

import stator
import torch

FACTOR = 2.0
x = torch.arange(6.0).reshape(2, 3)


class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(3)
        self.shift = 1.0

    def forward(self, x):
        return self.norm(x) * FACTOR + self.shift


def module_with(guard_filter_fn, backend="native"):
    module = Scaled()
    compiled = stator.compile(module, backend=backend, options={"guard_filter_fn": guard_filter_fn})
    return module, compiled, compiled(x)


@pytest.fixture
def no_recompiles():
    with stator.config.patch(error_on_recompile=True):
        yield


@pytest.fixture(autouse=True)
def the_factor():
    yield
    globals()["FACTOR"] = 2.0


def change_global(module):
    globals()["FACTOR"] = 3.0


def change_module(module):
    module.shift = 5.0


def change_inner(module):
    module.norm.eps = 0.5


def replace_parameter(module):
    module.norm.weight = torch.nn.Parameter(torch.full((3,), 7.0))


CHANGES = [change_global, change_module, change_inner, replace_parameter]
FILTERS = {
    torch.compiler.skip_all_guards_unsafe: {*CHANGES},
    torch.compiler.skip_guard_on_all_nn_modules_unsafe: {change_module, change_inner, replace_parameter},
    torch.compiler.skip_guard_on_inbuilt_nn_modules_unsafe: {change_inner, replace_parameter},
    torch.compiler.skip_guard_on_globals_unsafe: {change_global},
    torch.compiler.keep_tensor_guards_unsafe: {*CHANGES},
    lambda entries: [True] * len(entries): set(),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("guard_filter_fn", FILTERS)
@pytest.mark.parametrize("backend", ["native", "eager"])
def test_what_a_filter_drops_is_not_looked_at(guard_filter_fn, change, backend):
    module, compiled, first = module_with(guard_filter_fn, backend)
    change(module)
    expected = first if change in FILTERS[guard_filter_fn] else module(x)
    assert torch.equal(compiled(x), expected)


def test_entries_have_the_fields_of_torchs(no_recompiles):
    seen = []
    module_with(lambda entries: seen.extend(entries) or [True] * len(entries))
    of = {entry.name: entry for entry in seen}
    shift, factor = of["fn.shift"], of["G['FACTOR']"]
    assert (shift.value, shift.guard_type, shift.is_global) == (1.0, "EQUALS_MATCH", False)
    assert shift.orig_guard.source.is_unspecialized_nn_module()
    assert not shift.orig_guard.source.is_unspecialized_builtin_nn_module()
    assert (factor.value, factor.is_global) == (2.0, True)
    assert not factor.orig_guard.source.is_unspecialized_nn_module()
    tensors = [entry.value for entry in seen if entry.guard_type == "TENSOR_MATCH"]
    assert [type(tensor) for tensor in tensors] == [torch.nn.Parameter, torch.nn.Parameter]
    assert of["fn._modules['norm'].eps"].orig_guard.source.is_unspecialized_builtin_nn_module()


def test_constants_of_the_arguments(no_recompiles):
    def f(x, y, z):
        return x + z if y is None else x - z

    def without_y(entries):
        return [entry.name != "y" for entry in entries]

    compiled = stator.compile(f, backend="native", options={"guard_filter_fn": without_y})
    assert torch.equal(compiled(x, None, 1), x + 1)
    assert torch.equal(compiled(x, 3, 1), x + 1)
    with pytest.raises(stator.CaptureError, match="second capture"):
        compiled(x, None, "a text")


def test_what_a_dropped_guard_proved_alive_is_kept():
    module, compiled, first = module_with(torch.compiler.skip_all_guards_unsafe)
    module.norm = torch.nn.Identity()
    gc.collect()
    fillers = [torch.nn.LayerNorm(3) for _ in range(100)]
    assert torch.equal(compiled(x), first)
    del fillers
    stator.reset()
    assert torch.equal(compiled(x), module(x))


def test_captures_behind_a_break_are_filtered_too(no_recompiles):
    holder = {"factor": 2.0}

    def f(x):
        y = x * 2
        torch._dynamo.graph_break()
        return y * holder["factor"]

    drop = {"guard_filter_fn": torch.compiler.skip_all_guards_unsafe}
    compiled = stator.compile(f, backend="native", options=drop)
    assert torch.equal(compiled(x), x * 4)
    holder["factor"] = 5.0
    assert torch.equal(compiled(x), x * 4)


def test_what_is_wrong_with_a_filter_is_said():
    with pytest.raises(RuntimeError, match="2 answers for"):
        module_with(lambda entries: [True, True])

    def raises(entries):
        raise LookupError("no such guard")

    with pytest.raises(LookupError, match="no such guard"):
        module_with(raises)


def test_optimize_takes_a_filter(no_recompiles):
    limit = {"value": 1.0}

    def f(x):
        return x + limit["value"]

    compiled = stator.optimize("native", guard_filter_fn=torch.compiler.skip_all_guards_unsafe)(f)
    first = compiled(x)
    limit["value"] = 2.0
    assert torch.equal(compiled(x), first)


def test_pickles_have_the_filter(no_recompiles):
    compiled = stator.compile(
        Scaled(), backend="native", options={"guard_filter_fn": torch.compiler.skip_all_guards_unsafe}
    )
    again = pickle.loads(pickle.dumps(compiled))
    first = again(x)
    again._orig_mod.shift = 9.0
    assert torch.equal(again(x), first)
