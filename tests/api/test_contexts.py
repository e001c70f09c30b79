"""optimize, run, disable, constants, caches and settings."""

import os
import threading
import warnings
from typing import Any

import pytest

import stator
import torch


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def test_optimize_is_a_decorator() -> None:
    guards: list[list[str]] = []
    failed: list[str] = []

    @stator.optimize("native", guard_export_fn=guards.append, guard_fail_fn=failed.append)
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    f(torch.ones(2))
    f(torch.ones(2))
    assert len(guards) == 1
    assert any("Tensor float [2]" in guard for guard in guards[0])
    assert failed == []
    f(torch.ones(2, dtype=torch.float64))
    assert len(guards) == 2
    assert len(failed) == 1
    assert "Tensor float [2]" in failed[0]


def test_optimize_assert_wants_one_graph() -> None:
    def speaks(x: torch.Tensor) -> torch.Tensor:
        os.getloadavg()
        return x

    for whole in (stator.optimize_assert("native"), stator.optimize("native", nopython=True)):
        with pytest.raises(stator.CaptureError):
            whole(speaks)(torch.ones(1))
    assert stator.optimize("native", disable=True)(speaks) is speaks


def test_a_with_block() -> None:
    with pytest.raises(RuntimeError, match="decorator"), stator.optimize("native"):
        pass
    graphs: list[Any] = []

    def backend(gm: Any, inputs: Any) -> Any:
        graphs.append(gm)
        return gm.forward

    with stator.config.patch(raise_on_ctx_manager_usage=False), stator.optimize(backend):
        for _ in range(3):
            assert doubled(torch.ones(1)).item() == 2
    assert len(graphs) == 1
    doubled(torch.ones(2))
    assert len(graphs) == 1


def test_run_uses_the_cache_alone() -> None:
    compiled = stator.compile(doubled, backend="native")
    assert stator.run(compiled)(torch.ones(1)).item() == 2
    assert stator.cache_entries(compiled) == []
    compiled(torch.ones(1))
    for form in (compiled, doubled):
        before = stator.cache_entries(compiled)[0].hits
        assert stator.run(form)(torch.ones(1)).item() == 2
        assert stator.cache_entries(compiled)[0].hits == before + 1
    stator.run(compiled)(torch.ones(1, dtype=torch.int64))
    assert len(stator.cache_entries(compiled)) == 1


def test_reset_drops_captures_and_resets_backends() -> None:
    class Backend:
        resets = 0

        def __call__(self, gm: Any, inputs: Any) -> Any:
            return gm.forward

        def reset(self) -> None:
            self.resets += 1

    backend = Backend()
    compiled = [stator.compile(doubled, backend=backend) for _ in range(2)]
    for each in compiled:
        each(torch.ones(1))
    stator.reset()
    assert [stator.cache_entries(each) for each in compiled] == [[], []]
    assert backend.resets == 1
    compiled[0](torch.ones(1))
    assert len(stator.cache_entries(compiled[0])) == 1


def test_disable() -> None:
    calls: list[bool] = []
    inner = stator.compile(lambda x: x + 1, backend="native")

    @stator.disable
    def apart(x: torch.Tensor) -> torch.Tensor:
        calls.append(stator.is_compiling())
        return inner(x)

    def outer(x: torch.Tensor) -> torch.Tensor:
        return apart(x) * 2

    compiled = stator.compile(outer, backend="native")
    for _ in range(2):
        assert compiled(torch.ones(1)).item() == 4
    assert calls == [False, False]
    assert stator.cache_entries(inner) == []  # recursive
    assert "disabled" in compiled.breaks[0]
    with pytest.raises(stator.CaptureError, match="disabled"):
        stator.compile(outer, backend="native", fullgraph=True)(torch.ones(1))
    assert apart.__name__ == "apart"


def test_disable_without_recursion_leaves_what_is_called_below() -> None:
    inner = stator.compile(lambda x: x + 1, backend="native")
    shallow = stator.disable(lambda x: inner(x), recursive=False)
    shallow(torch.ones(1))
    assert len(stator.cache_entries(inner)) == 1


def test_disable_as_a_context_manager() -> None:
    compiled = stator.compile(doubled, backend="native")
    with stator.disable():
        compiled(torch.ones(1))
    assert stator.cache_entries(compiled) == []
    compiled(torch.ones(1))
    assert len(stator.cache_entries(compiled)) == 1


def test_disabled_modules_and_classes() -> None:
    module = stator.disable(torch.nn.Linear(2, 2))
    compiled = stator.compile(lambda x: module(x), backend="native")
    compiled(torch.ones(2))
    assert "disabled" in compiled.breaks[0]

    @stator.disable
    class Apart:
        def __init__(self) -> None:
            self.by = 2

        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.by

    apart = Apart()
    compiled = stator.compile(lambda x: apart(x), backend="native")
    assert compiled(torch.ones(1)).item() == 2
    assert "disabled" in compiled.breaks[0]


def test_assume_constant_result() -> None:
    calls: list[int] = []

    def expensive() -> Any:
        calls.append(1)
        return {"scale": 3, "offset": torch.ones(2)}

    assert stator.assume_constant_result(expensive) is expensive

    def f(x: torch.Tensor) -> torch.Tensor:
        found = expensive()
        return x * found["scale"] + found["offset"]

    compiled = stator.compile(f, backend="native", fullgraph=True)
    for _ in range(3):
        assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 4.0))
    assert calls == [1]


def test_allow_in_graph() -> None:
    calls: list[str] = []

    def apart(x: torch.Tensor, pair: list[torch.Tensor], *, by: float) -> tuple[torch.Tensor, torch.Tensor]:
        calls.append("fake" if "Fake" in type(x).__name__ else "real")  # an effect that nobody may see
        return x * by + pair[0], x - pair[1]

    assert stator.allow_in_graph([apart]) == [apart]

    def f(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        one, two = apart(x + 1, [y, x], by=3.0)
        return one * two

    x, y = torch.randn(3, requires_grad=True), torch.randn(3)
    wanted = f(x, y)
    assert calls.pop() == "real"
    compiled = stator.compile(f, backend="native", fullgraph=True)
    for _ in range(3):
        got = compiled(x, y)
        assert torch.equal(got, wanted)
        assert torch.autograd.grad(got.sum(), x)[0].equal(
            torch.autograd.grad(wanted.sum(), x, retain_graph=True)[0]
        )
    assert calls == ["fake", "real", "real", "real"]
    assert stator.cache_entries(compiled)[0].graph.count("stator::call") == 1
    for backend in ("eager", "aot_eager"):
        assert torch.equal(stator.compile(f, backend=backend, fullgraph=True)(x, y), wanted)

    def odd(x: torch.Tensor) -> object:
        return object()

    stator.allow_in_graph(odd)
    broken = stator.compile(lambda x: (odd(x), x)[1], backend="native")
    assert broken(x) is x
    assert "shape-inference" in broken.breaks[0]


def test_allowed_functions_that_return_no_tensor() -> None:
    """Nothing, a constant, tensors among others, classes of a pytree: each backend has a form of them."""
    calls: list[str] = []

    class Pair:
        def __init__(self, one: torch.Tensor, two: torch.Tensor) -> None:
            self.one, self.two = one, two

    torch.utils._pytree.register_pytree_node(
        Pair,
        lambda pair: ((pair.one, pair.two), None),
        lambda parts, _: Pair(*parts),
        serialized_type_name=f"{__name__}.Pair",
    )

    @stator.allow_in_graph
    def nothing() -> None:
        calls.append("nothing")

    @stator.allow_in_graph
    def constant(x: torch.Tensor) -> int:
        return 3

    @stator.allow_in_graph
    def among_others(x: torch.Tensor) -> Any:
        return {"x": [x + 1, None]}, 5

    @stator.allow_in_graph
    def pair(given: Pair) -> Pair:
        return Pair(given.two, given.one * 2)

    def f(x: torch.Tensor) -> torch.Tensor:
        y = x * constant(x)
        nested, number = among_others(y)
        swapped = pair(Pair(nested["x"][0], y))
        nothing()
        return swapped.one - swapped.two + number

    x = torch.arange(3.0)
    wanted = f(x)
    for backend in ("native", "eager", "aot_eager"):
        calls.clear()
        compiled = stator.compile(f, backend=backend, fullgraph=True)
        for _ in range(3):
            assert torch.equal(compiled(x), wanted), backend
        assert stator.cache_entries(compiled)[0].hits == 2
        assert len(calls) >= 3 or backend == "aot_eager"  # one call is on fake tensors


def test_is_compiling() -> None:
    names = (
        stator.is_compiling,
        stator.is_dynamo_compiling,
        torch.compiler.is_compiling,
        torch.compiler.is_dynamo_compiling,
    )

    def f(x: torch.Tensor) -> tuple[Any, ...]:
        return x + 1, [name() for name in names]

    compiled = stator.compile(f, backend="native", fullgraph=True)
    for setting in (True, "auto"):
        with stator.config.patch(is_compiling=setting):
            for _ in range(2):
                assert compiled(torch.ones(1))[1] == [True, True, setting is True, setting is True]
    assert f(torch.ones(1))[1] == [False] * 4


def test_innermost_fn() -> None:
    nested = stator.disable(stator.compile(stator.compile(doubled, backend="native"), backend="eager"))
    assert stator.innermost_fn(nested) is doubled
    assert stator.innermost_fn(doubled) is doubled


def test_caches_by_function_and_code() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    one, two = stator.compile(f, backend="native"), stator.compile(f, backend="eager")
    one(torch.ones(1))
    two(torch.ones(1))
    assert len(stator.cache_entries(f)) == 2
    stator.remove_from_cache(one)
    assert (len(stator.cache_entries(one)), len(stator.cache_entries(two))) == (0, 1)
    stator.reset_code(f.__code__)
    assert stator.cache_entries(f) == []
    stator.skip_code(f.__code__)
    assert one(torch.ones(1)).item() == 2
    later = stator.compile(f, backend="native")
    later(torch.ones(1))
    assert stator.cache_entries(f) == []
    stator.reset_code(f.__code__)
    one(torch.ones(1))
    assert len(stator.cache_entries(one)) == 1


def test_entries_tell_guards_and_graph() -> None:
    compiled = stator.compile(lambda x, flag: x + 1 if flag else x - 1, backend="native")
    compiled(torch.ones(2), True)
    (entry,) = stator.cache_entries(compiled)
    assert "aten::add.Tensor" in entry.graph
    assert entry.nodes == 1
    assert entry.seconds > 0
    found = {guard.source: guard.expected for guard in entry.guards}
    assert any("True" in expected for expected in found.values())
    assert all(guard.source and " " not in guard.source.split("[")[0] for guard in entry.guards)


def test_misses_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    compiled = stator.compile(doubled, backend="native")
    with caplog.at_level("INFO", logger="stator.recompiles"):
        compiled(torch.ones(1))
        assert caplog.records == []
        compiled(torch.ones(1, dtype=torch.int32))
    assert "doubled (" in caplog.text
    assert "Tensor float [1]" in caplog.text


def test_a_guard_that_raises() -> None:
    class Name(str):
        def __eq__(self, other: object) -> bool:
            raise LookupError("not comparable")

        __hash__ = str.__hash__

    seen: list[Any] = []
    compiled = stator.compile(lambda **named: torch.ones(1), backend="native")
    compiled(**{Name("x"): torch.ones(1)})
    stator.set_guard_error_hook(lambda fn, error: seen.append(error))
    try:
        assert compiled(y=torch.ones(1)).item() == 1
    finally:
        stator.set_guard_error_hook(None)
    assert [type(error) for error in seen] == [LookupError]


def test_recompile_limit_names_the_guard() -> None:
    compiled = stator.compile(lambda x, word: x * len(word), backend="native")
    with stator.config.patch(recompile_limit=2):
        for word in ("a", "bc"):
            compiled(torch.ones(1), word)
        with pytest.warns(RuntimeWarning, match="2 captures of one function.*== 'bc'"):
            compiled(torch.ones(1), "abc")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert compiled(torch.ones(1), "abcd").item() == 4


def test_error_on_recompile() -> None:
    compiled = stator.compile(doubled, backend="native")
    compiled(torch.ones(1))
    with stator.config.patch("error_on_recompile", True), pytest.raises(stator.CaptureError, match="float"):
        compiled(torch.ones(1, dtype=torch.int32))


def test_config() -> None:
    with pytest.raises(AttributeError, match="did you mean 'recompile_limit'"):
        stator.config.recompile_limits = 3
    with pytest.raises(AttributeError, match="suppress_errors"):
        stator.config.patch(supress_errors=True)
    with pytest.raises(TypeError, match="int"):
        stator.config.recompile_limit = "many"  # type: ignore[assignment]

    @stator.config.patch(recompile_limit=1)
    def patched() -> int:
        return stator.config.recompile_limit

    assert (patched(), stator.config.recompile_limit) == (1, 8)
    with stator.config.patch({"recompile_limit": 2}):
        assert stator.config.recompile_limit == 2
    assert stator.config.recompile_limit == 8


def test_is_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    assert stator.is_supported()
    monkeypatch.setattr("stator.support.TORCHES", ("1.0", "1.1"))
    assert not stator.is_supported()
    with pytest.raises(RuntimeError, match=r"supports torch 1.0 and 1.1"):
        stator.check_if_supported()


def test_explain() -> None:
    def speaks(x: torch.Tensor) -> torch.Tensor:
        os.getloadavg()
        return x + 1

    whole = stator.explain(doubled)(torch.ones(2))
    assert (whole.graph_count, whole.graph_break_count, whole.op_count) == (1, 0, 1)
    assert whole.ops_per_graph == [[torch.ops.aten.mul.Tensor]]
    assert isinstance(whole.graphs[0], torch.fx.GraphModule)
    assert len(whole.compile_times) == 1
    assert whole.out_guards
    assert "Graphs: 1" in str(whole)
    broken = stator.explain(speaks)(torch.ones(2))
    assert broken.graph_break_count == len(broken.break_reasons) >= 1
    why = broken.break_reasons[0]
    assert (why.code, why.detail) == ("unknown-function", "posix.getloadavg()")
    assert f"{__file__}:{speaks.__code__.co_firstlineno + 1}: os.getloadavg" in why.user_stack[-1]
    assert why.hint in str(broken)
    with pytest.warns(FutureWarning):
        assert stator.explain(doubled, torch.ones(2)).graph_count == 1


def test_threads() -> None:
    """32 threads that call and compile at once give right results."""
    shared = stator.compile(lambda x, n: torch.relu(x) * n + 1, backend="native")
    wrong: list[object] = []
    start = threading.Barrier(32)

    def work(number: int) -> None:
        try:
            x = torch.full((number % 4 + 1,), float(number))
            own = stator.compile(lambda x: x.sin() + number, backend="native")
            start.wait()
            for _ in range(20):
                if not torch.equal(shared(x, number % 3), torch.relu(x) * (number % 3) + 1):
                    wrong.append(("shared", number))
                if not torch.equal(own(x), x.sin() + number):
                    wrong.append(("own", number))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(32)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert not wrong
    assert not any(thread.is_alive() for thread in threads)
    assert stator.cache_entries(shared)
