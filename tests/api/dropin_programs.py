"""Programs that use torch.compile and its kin, unchanged: `python dropin_programs.py NAME...`.

Run by test_dropin.py in processes in which Stator is installed. Each compares with eager and asserts that
captures served, by the backends' graphs or by Stator's own count.
"""

import functools
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent.parent)]

from comparison import assert_alike  # noqa: E402

import stator  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

PROGRAMS: dict[str, Callable[[], None]] = {}
X = torch.arange(6.0).reshape(2, 3)


def program(fn: Callable[[], None]) -> Callable[[], None]:
    PROGRAMS[fn.__name__] = fn
    return fn


class Counter:
    """A backend that counts the graphs it is given."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []

    def __call__(self, graph: Any, _: Any) -> Any:
        self.graphs.append(graph)
        return graph.forward


def served(compiled: Any) -> int:
    return sum(entry.hits for entry in stator.cache_entries(compiled))


def raises(kind: Any, call: Callable[[], Any]) -> BaseException:
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"did not raise {kind}")


@program
def compile_within_captured_code() -> None:
    counter = Counter()

    @torch.compile(backend=counter, fullgraph=True)
    def f(x: torch.Tensor) -> torch.Tensor:
        inner = torch.compile(torch.sin, backend="eager")
        return inner(x) + torch.compile(backend="eager")(torch.cos)(x)

    for _ in range(2):
        assert torch.equal(f(X), X.sin() + X.cos())
    assert len(counter.graphs) == 1


@program
def transforms_of_compiled_functions_are_named() -> None:
    @torch.compile(backend="eager", fullgraph=True)
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.sin().sum()

    for name, transform in (("grad", torch.func.grad), ("vmap", torch.func.vmap)):
        error = raises(Exception, lambda transform=transform: transform(f)(X))
        assert f"torch.func.{name}(compiled_fn)" in str(error)


@program
def decorators() -> None:
    counter = Counter()

    @torch.compile
    def plain(x: torch.Tensor) -> torch.Tensor:
        return x.sin()

    @torch.compile(backend=counter, fullgraph=True, dynamic=False)
    def with_arguments(x: torch.Tensor) -> torch.Tensor:
        return x.sin() + 1

    assert type(plain).__module__ == "stator._capture"
    for _ in range(3):
        assert_alike(with_arguments(X), X.sin() + 1)
    assert len(counter.graphs) == 1
    assert served(with_arguments) == 2
    assert with_arguments.__name__ == "with_arguments"
    fn = torch.compile(torch.sin, backend="eager")
    assert_alike(fn(X), X.sin())


@program
def arguments() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    assert torch.compile(f, disable=True) is f
    assert "both" in str(raises(RuntimeError, lambda: torch.compile(f, mode="default", options={"a": 1})))
    raises(TypeError, lambda: torch.compile(f, no_such_argument=1))
    given: list[Any] = []

    def backend(graph: Any, examples: Any, **settings: Any) -> Any:
        given.append(settings)
        return graph.forward

    options = {"level": 3, "guard_filter_fn": lambda guards: [True] * len(guards)}
    assert_alike(torch.compile(f, backend=backend, options=options)(X), f(X))
    assert_alike(torch.compile(f, backend=backend, mode="fast")(X), f(X))
    assert given == [{"options": {"level": 3}}, {"mode": "fast"}]
    few = torch.compile(lambda x, word: x * len(word), backend="eager", recompile_limit=2)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for word in ("a", "bc", "def", "ghij"):
            assert_alike(few(X, word), X * len(word))
    assert "2 captures" in str(caught[-1].message)


@program
def modules() -> None:
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    expected = plain(X)
    compiled = torch.compile(plain, backend="eager")
    for _ in range(3):
        assert_alike(compiled(X), expected)
    assert served(compiled) == 2
    assert isinstance(compiled, torch._dynamo.OptimizedModule)
    assert isinstance(compiled, torch._dynamo.eval_frame.OptimizedModule)
    assert not isinstance(plain, torch._dynamo.OptimizedModule)
    assert compiled._orig_mod is plain
    compiled._orig_mod = plain
    assert_alike(compiled.dynamo_ctx(plain.forward)(X), expected)
    plain.compile(backend="eager")  # in place
    for _ in range(3):
        assert_alike(plain(X), expected)
    assert served(plain._compiled_call_impl) == 2
    compiled(X).sum().backward()
    assert plain[0].weight.grad is not None


@program
def dynamo_entries() -> None:
    counter = Counter()

    def f(x: torch.Tensor, n: int) -> torch.Tensor:
        return x.cos() * n

    failures: list[Any] = []
    compiled = torch._dynamo.optimize(counter, guard_fail_fn=failures.append)(f)
    for n in (2, 2, 3):
        assert_alike(compiled(X, n), f(X, n))
    assert type(compiled).__module__ == "stator._capture"
    assert "n" in failures[0].reason
    whole = torch._dynamo.optimize_assert(counter)(lambda x: x + 1)
    assert_alike(whole(X), X + 1)
    assert_alike(torch._dynamo.run(compiled)(X, 2), f(X, 2))
    assert torch._dynamo.explain(f)(X, 2).graph_count == 1
    before = len(counter.graphs)
    torch._dynamo.reset()
    compiled(X, 2)
    assert len(counter.graphs) == before + 1
    torch.compiler.reset()
    compiled(X, 2)
    assert len(counter.graphs) == before + 2
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] >= 4


@program
def errors() -> None:
    def speaks(x: torch.Tensor) -> torch.Tensor:
        os.getloadavg()
        return x + 1

    whole = torch.compile(speaks, backend="eager", fullgraph=True)
    error = raises(torch._dynamo.exc.Unsupported, lambda: whole(X))
    assert isinstance(error, stator.CaptureError)

    def bad(graph: Any, examples: Any) -> Any:
        raise ValueError("told to")

    failed = raises(
        torch._dynamo.exc.BackendCompilerFailed, lambda: torch.compile(lambda x: x + 1, backend=bad)(X)
    )
    assert isinstance(failed, stator.BackendFailed)
    assert isinstance(failed.inner_exception, ValueError)
    unknown = raises(torch._dynamo.exc.InvalidBackend, lambda: torch.compile(speaks, backend="nonsense"))
    assert isinstance(unknown, stator.InvalidBackend)


@program
def stances() -> None:
    counter = Counter()

    @torch.compile(backend=counter)
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.sin() + (1 if torch.compiler.is_compiling() else 2)

    with torch.compiler.set_stance("force_eager"):
        assert_alike(f(X), X.sin() + 2)
    assert not counter.graphs
    assert_alike(f(X), X.sin() + 1)
    with torch.compiler.set_stance("eager_on_recompile"):
        assert_alike(f(X), X.sin() + 1)
        assert_alike(f(X.double()), X.double().sin() + 2)
    with torch.compiler.set_stance("fail_on_recompile"):
        assert_alike(f(X), X.sin() + 1)
        assert "fail_on_recompile" in str(raises(RuntimeError, lambda: f(X.double())))
    assert len(counter.graphs) == 1
    torch.compiler.set_stance("eager_then_compile")
    g = torch.compile(lambda x: x.cos(), backend=counter)
    g(X)
    assert len(counter.graphs) == 1
    g(X)
    assert len(counter.graphs) == 2
    torch.compiler.set_stance("default")
    other = Counter()

    @torch.compiler.set_stance("default", force_backend=other)
    def forced() -> Any:
        return f(X), f(X)

    assert_alike(forced()[1], X.sin() + 1)
    assert (len(other.graphs), len(counter.graphs)) == (1, 2)
    f(X)
    assert len(other.graphs) == 1


@program
def marks() -> None:
    def inner(x: torch.Tensor) -> torch.Tensor:
        return torch.cos(x) + 3

    @torch.compiler.disable
    def kept(x: torch.Tensor) -> torch.Tensor:
        assert not torch.compiler.is_compiling()
        return inner(x) * 2

    compiled = torch.compile(lambda x: kept(x + 1) + 1, backend="eager")
    for n in range(3):
        assert_alike(compiled(X + n), inner(X + n + 1) * 2 + 1)
    assert not any("inner" in row["name"] for row in compiled.callees), "callees of disabled code"

    @torch._dynamo.disable(recursive=False)
    def skipped(x: torch.Tensor) -> torch.Tensor:
        assert not torch.compiler.is_compiling()
        return inner(x) * 2

    compiled = torch.compile(lambda x: skipped(x + 1) + 1, backend="eager")
    for n in range(3):
        assert_alike(compiled(X + n), inner(X + n + 1) * 2 + 1)
    names = [row["name"] for row in compiled.callees if row["entries"]]
    assert any("inner" in name for name in names), names
    assert not any("skipped" in name for name in names), names

    calls: list[int] = []

    @torch._dynamo.assume_constant_result
    def constant() -> int:
        calls.append(1)
        return 5

    @torch.compiler.allow_in_graph
    def opaque(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    counter = Counter()
    whole = torch.compile(lambda x: opaque(x) + constant(), backend=counter, fullgraph=True)
    for _ in range(3):
        assert_alike(whole(X), X * 3 + 5)
    assert calls == [1]
    assert any(getattr(node.target, "__name__", "") == "opaque" for node in counter.graphs[0].graph.nodes)

    def breaks(x: torch.Tensor) -> torch.Tensor:
        y = inner(x)
        torch._dynamo.graph_break()
        return y + 1

    broken = torch.compile(breaks, backend="eager")
    assert_alike(broken(X), breaks(X))
    assert "graph_break" in broken.breaks[0]
    raises(torch._dynamo.exc.Unsupported, lambda: torch.compile(breaks, backend="eager", fullgraph=True)(X))


@program
def sizes() -> None:
    counter = Counter()
    compiled = torch.compile(lambda x: x.sin() * x.shape[0], backend=counter)
    for mark in (
        torch._dynamo.mark_dynamic,
        torch._dynamo.maybe_mark_dynamic,
        torch._dynamo.decorators.mark_unbacked,
    ):
        torch._dynamo.reset()
        counter.graphs.clear()
        for n in (5, 6, 7):
            x = torch.ones(n, 3)
            mark(x, 0)
            assert_alike(compiled(x), x.sin() * n)
        assert len(counter.graphs) == 1, mark
    torch._dynamo.reset()
    counter.graphs.clear()
    for n in (5, 6, 7):
        x = torch.ones(n, 3)
        torch._dynamo.mark_static(x, 0)
        assert_alike(compiled(x), x.sin() * n)
    assert len(counter.graphs) == 3


@program
def settings() -> None:
    limit = stator.config.recompile_limit
    with torch._dynamo.config.patch(recompile_limit=limit + 1, suppress_errors=True):
        assert (stator.config.recompile_limit, stator.config.suppress_errors) == (limit + 1, True)
    assert (stator.config.recompile_limit, stator.config.suppress_errors) == (limit, False)
    counter = Counter()
    compiled = torch.compile(lambda x: x + 1, backend=counter)
    with torch._dynamo.config.patch(error_on_recompile=True):
        compiled(X)
        raises(torch._dynamo.exc.RecompileError, lambda: compiled(X.double()))
    with torch._dynamo.config.patch(automatic_dynamic_shapes=False):
        fixed = torch.compile(lambda x: x + 2, backend=counter)
        counter.graphs.clear()
        for n in (3, 4, 5):
            fixed(torch.ones(n))
        assert len(counter.graphs) == 3


@program
def torch_itself() -> None:
    """Operators that compile their functions with Dynamo do so still."""

    def chooses(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda t: t.sin() + 1, lambda t: t.cos() - 1, (x,)) * 2

    assert_alike(chooses(X), (X.sin() + 1) * 2)
    compiled = torch.compile(chooses, backend="eager")
    for x in (X, -X):
        assert_alike(compiled(x), chooses(x))


@program
def backends() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x).sum(-1)

    for name in ("eager", "aot_eager", "native", "aot_eager_decomp_partition", "eager_noexcept"):
        compiled = torch.compile(f, backend=name)
        for _ in range(2):
            torch.testing.assert_close(compiled(X), f(X))
        assert served(compiled) == 1, name


@program
def around_a_compilation() -> None:
    """What backends and programs find while TorchDynamo compiles, they find with Stator."""
    import torch._dynamo
    from torch._guards import CompileContext

    told: list[str] = []
    torch._dynamo.on_compile_start(lambda *_: told.append("start"))
    torch._dynamo.on_compile_end(lambda *_: told.append("end"))

    def backend(graph: Any, examples: Any) -> Any:
        told.append(type(CompileContext.current_compile_id()).__name__)
        return graph.forward

    compiled = torch.compile(lambda x: x + 1, backend=backend)
    assert_alike(compiled(X), X + 1)
    assert_alike(compiled(X), X + 1)
    assert told == ["start", "CompileId", "end"], told
    assert CompileContext.current_compile_id() is None
    torch._dynamo.callback.callback_handler.clear()


@program
def error_regions() -> None:
    def speaks(x: torch.Tensor) -> torch.Tensor:
        os.getloadavg()
        return x + 1

    def direct(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        with torch._dynamo.error_on_graph_break(True):
            return speaks(y)

    def second(x: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()
        with torch._dynamo.error_on_graph_break(True):
            torch._dynamo.graph_break()
        return x + 1

    def callee(x: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()
        with torch._dynamo.error_on_graph_break(True):
            return speaks(x)

    def allowed(x: torch.Tensor) -> torch.Tensor:
        with torch._dynamo.error_on_graph_break(True):
            y = x + 1
        return speaks(y)

    for fn in (direct, second, callee):
        raises(torch._dynamo.exc.Unsupported, functools.partial(torch.compile(fn, backend="eager"), X))
        assert_alike(fn(X), torch._dynamo.error_on_graph_break(False)(fn)(X))
        assert not torch._dynamo.utils._error_on_graph_break
    assert_alike(torch.compile(allowed, backend="eager")(X), X + 2)
    outer = torch._dynamo.error_on_graph_break(True)(torch.compile(speaks, backend="eager"))
    raises(torch._dynamo.exc.Unsupported, lambda: outer(X))


@program
def substitutes() -> None:
    """A C function of which captures know nothing, and a Python function to be captured for it."""
    import _heapq  # not known to Stator or Dynamo

    import torch._dynamo

    def f(x: torch.Tensor) -> torch.Tensor:
        heap = [3, 5, 4]
        return x + _heapq._heappop_max(heap) + len(heap)

    before = torch.compile(f, backend="eager")
    assert_alike(before(X), f(X))
    unknown = bool(before.breaks)

    @torch.compiler.substitute_in_graph(_heapq._heappop_max, skip_signature_check=True)
    def pop(heap: list[int], /) -> int:
        found = heap[0]
        heap.remove(found)
        return found

    after = torch.compile(f, backend="eager", fullgraph=True)
    for _ in range(3):
        assert_alike(after(X), f(X))
    assert unknown
    assert served(after) == 2


@program
def undone() -> None:
    """uninstall() leaves every name of torch as it was, and install() may come again."""
    stator.uninstall()
    import torch._dynamo

    owners = [torch, torch.compiler, nn.Module, torch._dynamo, type(torch._dynamo.config)]
    owners += [torch._dynamo.decorators, torch._dynamo.eval_frame, torch._dynamo.backends.registry]
    before = [dict(vars(owner)) for owner in owners]
    settings = [vars(stator.config).copy()]
    for _ in range(2):
        stator.install()
        assert torch.compile is not before[0]["compile"]
        stator.install()
        ours, ours_decorator = torch.compile, torch.compile(backend="eager")
        stator.uninstall()
        for owner, names in zip(owners, before, strict=True):
            changed = [name for name, value in vars(owner).items() if names.get(name) is not value]
            assert not changed, (owner, changed)
            assert len(names) == len(vars(owner)), owner
        assert settings == [vars(stator.config)]
    plain = torch.compile(lambda x: x + 1, backend="eager")
    assert type(plain).__module__ != "stator._capture"
    # Somebody kept what was there meanwhile.
    assert type(ours(lambda x: x + 1, backend="eager")).__module__ != "stator._capture"
    assert_alike(ours_decorator(lambda x: x + 1)(X), X + 1)
    assert_alike(plain(X), X + 1)


@program
def wrapped_by_others() -> None:
    """A library that wraps torch.compile after us keeps its wrapper when we leave, and gets torch's."""
    theirs = functools.partial(torch.compile)
    torch.compile, ours = theirs, torch.compile
    stator.uninstall()
    assert torch.compile is theirs
    assert type(torch.compile(lambda x: x, backend="eager")).__module__ != "stator._capture"
    torch.compile = ours.__wrapped__
    stator.install()


@program
def counted_breaks() -> None:
    """`torch._dynamo.utils.counters` tells of breaks, also of callees and behind the first one."""
    from torch._dynamo.utils import counters

    def callee(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    def breaks(x: torch.Tensor) -> torch.Tensor:
        y = callee(x)
        return y + 1 if y.sum() > 0 else y

    counters.clear()
    assert torch.equal(torch.compile(breaks, backend="eager")(X), breaks(X))
    assert len(counters["graph_break"]) == 2, counters["graph_break"]
    assert counters["frames"]["ok"] == counters["stats"]["unique_graphs"] > 1
    counters.clear()
    assert torch.equal(torch.compile(lambda x: x + 1, backend="eager")(X), X + 1)
    assert not counters["graph_break"]
    assert counters["frames"]["ok"] == 1


@program
def ignored_functions() -> None:
    """Captured code leaves out what the program wants to be ignored; eager code does not."""
    import logging

    import torch._dynamo

    logger, other = logging.getLogger("ignored"), logging.getLogger("heard")
    records: list[str] = []

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record.getMessage())

    for each in (logger, other):
        each.addHandler(Notes())
        each.setLevel(logging.INFO)

    def noisy(x: torch.Tensor) -> None:
        records.append("noisy")

    def function(x: torch.Tensor) -> torch.Tensor:
        noisy(x)
        logger.info("ignored")
        return x + 1

    def heard(x: torch.Tensor) -> torch.Tensor:
        other.info("heard")
        return x + 1

    with torch._dynamo.config.patch(ignore_logging_functions={noisy, logger.info}):
        compiled = torch.compile(function, backend="eager", fullgraph=True)
        assert torch.equal(compiled(X), X + 1)
        assert torch.equal(compiled(X), X + 1)
        assert not records
        assert torch.equal(torch.compile(heard, backend="eager")(X), X + 1)
        assert records == ["heard"]
        function(X)
        assert records == ["heard", "noisy", "ignored"]
    torch.compile(function, backend="eager")(X)
    assert records[3:] == ["noisy", "ignored"]


if __name__ == "__main__":
    for name in sys.argv[1:]:
        PROGRAMS[name]()
        print("done", name, flush=True)
