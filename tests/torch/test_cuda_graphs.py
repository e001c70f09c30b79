"""Recorded ranges: CUDA graphs where there is CUDA, and the same borders on the CPU by an emulation.

The emulation keeps everything of a recording but the device: its memory, copies of what moves, results that
are overwritten by the next replay.
"""

from __future__ import annotations

import copy
import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from comparison import difference

import stator
import torch
from stator import _torch

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every test with a device replays something."""
    _torch.emulate_cuda_graphs(request.param == "cpu")
    before = _torch.cuda_graph_replays()
    yield request.param
    _torch.emulate_cuda_graphs(False)
    assert _torch.cuda_graph_replays() > before


def recorded(fn: Any, backend: str = "native") -> Any:
    return stator.compile(fn, backend=backend, mode="reduce-overhead")


def check(fn: Any, calls: list[tuple[Any, ...]]) -> list[Any]:
    """Each call by eager code and recorded, all results kept to the end; what is written compared too."""
    twins = copy.deepcopy(calls)
    compiled = recorded(fn)
    with torch.no_grad():
        wanted = [fn(*call) for call in calls]
        got = [compiled(*call) for call in twins]
    assert difference([wanted, calls], [got, twins]) is None
    return got


def tensors(device: str, count: int = 6, *size: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(*(size or (4, 5)), generator=generator).to(device) for _ in range(count)]


def chain(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x * 2 + 1).sum(1) - x.mean()


def test_results_are_kept(device: str) -> None:
    check(chain, [(x,) for x in tensors(device)])


def test_the_same_input_again(device: str) -> None:
    x = tensors(device, 1)[0]
    compiled = recorded(chain)
    for _ in range(5):
        assert torch.equal(compiled(x), chain(x))
        x += 1


def test_undefined_results_are_part_of_a_recording(device: str) -> None:
    """As attention on CUDA returns them, and backwards that are asked for some gradients only."""

    def fn(x: torch.Tensor) -> torch.Tensor:
        mean, scale = x.mean(-1, keepdim=True), x.std(-1, keepdim=True)
        wanted = [True, False, False]
        gradient, _, _ = torch.ops.aten.native_layer_norm_backward(
            x * 2, x, [x.shape[-1]], mean, scale, None, None, wanted
        )
        return gradient * 2 - 1

    before = _torch.cuda_graph_replays()
    check(fn, [(x,) for x in tensors(device)])
    assert 1 <= _torch.cuda_graph_replays() - before <= 6  # one recording a call


def test_views_of_results_share_memory(device: str) -> None:
    def pair(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = (x + 1) * 2
        return y, y[1:], y.t(), x.sin()

    for result in check(pair, [(x,) for x in tensors(device)]):
        result[0].zero_()
        assert not result[1].any()


VIEWS = {
    "conjugate": lambda x: x.conj(),
    "negative": lambda x: x.conj().imag,
    "other type": lambda x: torch.view_as_real(x)[1:].view(torch.int32),
    "other size": lambda x: torch.view_as_real(x).view(torch.float64)[:, 1:],
    "pairs": lambda x: torch.view_as_real(x)[..., 1],
    "real and back": lambda x: torch.view_as_complex(torch.view_as_real(x)).conj().t(),
}


@pytest.mark.parametrize("of", ["argument", "part of an argument", "result"])
@pytest.mark.parametrize("name", VIEWS)
def test_views_as_another_type(name: str, of: str, device: str) -> None:
    """What the bits stand for is part of a result."""

    def fn(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        made = x * 2 + 1
        return VIEWS[name](made if of == "result" else x), made.sum(), made.abs()

    whole = [torch.complex(a, a.cos()) for a in tensors(device, 6, 5, 4)]
    check(fn, [(x[1:] if of == "part of an argument" else x,) for x in whole])


def test_results_that_are_inputs(device: str) -> None:
    def same(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x * 2
        return x, x[1:], y + 1

    compiled = recorded(same)
    for x in tensors(device):
        result = compiled(x)
        assert result[0] is x
        x.zero_()
        assert not result[1].any()


def test_writes_to_arguments(device: str) -> None:
    def write(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1).mul_(2)
        return (x + y).relu()

    xs = tensors(device, 12)
    check(write, list(zip(xs[:6], xs[6:], strict=True)))
    same = tensors(device, 2)
    check(write, [(same[0], same[1])] * 5)


def test_versions_grow_with_writes(device: str) -> None:
    def write(x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x * 2 + 1

    x = tensors(device, 1)[0]
    compiled = recorded(write)
    for _ in range(5):
        before = x._version
        compiled(x)
        assert x._version > before


def test_arguments_that_share_memory(device: str) -> None:
    def write(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return (y * 2).relu() + x

    xs = tensors(device, 6)
    check(write, [(x, x) for x in xs])
    check(write, [(x[1:], x[:-1]) for x in xs])
    # Apart when it was recorded, one tensor later.
    compiled, plain = recorded(write), write
    apart = tensors(device, 8)
    for a, b in zip(apart[:4], apart[4:], strict=True):
        compiled(a, b)
    x = tensors(device, 1)[0]
    y = x.clone()
    assert torch.equal(compiled(x, x), plain(y, y))
    assert torch.equal(x, y)


def test_parameters_that_change(device: str) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(5, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3)).to(device)
    compiled = recorded(model)
    with torch.no_grad():
        for step, x in enumerate(tensors(device, 8)):
            assert torch.equal(compiled(x), model(x)), step
            if step % 2:
                model[0].weight.add_(1)
            if step == 5:
                model[2].weight.data = torch.ones_like(model[2].weight)


def test_sizes_that_change(device: str) -> None:
    xs = [torch.randn(n, 5, device=device) for n in (3, 3, 3, 4, 4, 4, 5, 3, 4, 5, 6, 5, 3)]
    check(chain, [(x,) for x in xs])


def test_numbers_that_change(device: str) -> None:
    def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
        return (x * factor + 1).relu() - factor

    xs = tensors(device, 12)
    check(scaled, [(x, 0.5 * (i // 3)) for i, x in enumerate(xs)])


def test_random_numbers_keep_the_stream(device: str) -> None:
    def noisy(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(x * 2, 0.5) + torch.rand_like(x)

    compiled = recorded(noisy)
    for x in tensors(device, 6):
        torch.manual_seed(5)
        wanted = noisy(x), torch.rand(2, device=device)
        torch.manual_seed(5)
        got = compiled(x), torch.rand(2, device=device)
        assert difference(list(wanted), list(got)) is None


def test_numbers_read_in_between_split_the_graph(device: str) -> None:
    def split(x: torch.Tensor) -> torch.Tensor:
        y = (x * 2 + 1).relu()
        n = y.sum().item()
        return (y + n).sin() * 2

    check(split, [(x,) for x in tensors(device)])


def test_output_in_between(device: str, capsys: pytest.CaptureFixture[str]) -> None:
    def prints(x: torch.Tensor) -> torch.Tensor:
        y = (x * 2 + 1).relu()
        print(y.sum())
        return (y + 1).sin() * 2

    xs = tensors(device)
    for x in xs:
        prints(x)
    wanted = capsys.readouterr().out
    compiled = recorded(prints)
    for x in xs:
        compiled(x)
    assert capsys.readouterr().out == wanted


def test_training_is_not_overwritten(device: str) -> None:
    """A frozen part that is recorded, and a head that keeps what the part gave for its gradient."""
    part = torch.nn.Sequential(torch.nn.Linear(5, 5), torch.nn.ReLU(), torch.nn.Linear(5, 5)).to(device)
    part.requires_grad_(False)
    head = torch.nn.Linear(5, 2).to(device)

    def forward(x: torch.Tensor) -> torch.Tensor:
        return head(part(x)).sum()

    compiled = recorded(forward)
    xs = tensors(device, 6)
    for run in (forward, compiled):
        head.zero_grad()
        losses = [run(x) for x in xs]
        sum(losses).backward()
        if run is forward:
            wanted = head.weight.grad.clone()
    assert torch.allclose(head.weight.grad, wanted)


def test_tensors_die(device: str) -> None:
    compiled = recorded(chain)
    for x in tensors(device, 5):
        compiled(x)
    x = tensors(device, 1)[0]
    result = compiled(x)
    died = [weakref.ref(x), weakref.ref(result)]
    del x, result
    gc.collect()
    assert [each() for each in died] == [None, None]


def test_threads(device: str) -> None:
    compiled = recorded(chain)
    wrong: list[Any] = []

    def work(seed: int) -> None:
        for x in tensors(device, 30):
            y = x + seed
            if not torch.equal(compiled(y), chain(y)):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_setting(device: str) -> None:
    with stator.config.patch(cuda_graphs=True):
        compiled = stator.compile(chain, backend="native")
    for x in tensors(device):
        assert torch.equal(compiled(x), chain(x))


def test_other_modes_are_refused() -> None:
    with pytest.raises(TypeError, match="takes no mode but mode='reduce-overhead'"):
        stator.compile(chain, backend="native", mode="max-autotune")


@pytest.mark.skipif("cuda" not in DEVICES, reason="CUDA graphs need CUDA")
class TestOnCuda:
    def test_something_is_recorded(self) -> None:
        from stator.backends.cuda_graphs import counts

        before = counts["recorded"]
        compiled = recorded(chain)
        for x in tensors("cuda"):
            compiled(x)
        assert counts["recorded"] - before in (1, 2)
        assert counts["failed"] == 0

    def test_what_cannot_be_recorded(self) -> None:
        """An operator that nobody listed waits for the device: it runs by itself."""
        library = torch.library.Library("stator_tests_graphs", "DEF")
        library.define("waits(Tensor x) -> Tensor")
        library.impl("waits", lambda x: x * float(x.sum().cpu()), "CUDA")
        library.impl("waits", lambda x: torch.empty_like(x), "Meta")

        def fn(x: torch.Tensor) -> torch.Tensor:
            y = torch.ops.stator_tests_graphs.waits((x * 2 + 1).relu())
            return (y + 1).sin() * 2

        check(fn, [(x,) for x in tensors("cuda")])
        torch.rand(3, device="cuda")

    def test_streams(self) -> None:
        compiled = recorded(chain)
        side = torch.cuda.Stream()
        for i, x in enumerate(tensors("cuda", 12)):
            stream = side if i % 2 else torch.cuda.current_stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                result = compiled(x)
            torch.cuda.current_stream().wait_stream(stream)
            assert torch.equal(result, chain(x))

    def test_inside_of_another_recording(self) -> None:
        compiled = recorded(chain)
        xs = tensors("cuda")
        for x in xs:
            compiled(x)
        static = xs[0].clone()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result = compiled(static)
        for x in xs:
            static.copy_(x)
            graph.replay()
            assert torch.equal(result, chain(x))
