"""Random numbers from outside of torch: each call draws anew, in the order of the program, and once."""

import random
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import stator
import torch

own = random.Random(3)
own_numpy = numpy.random.default_rng(3)


def shuffled(x: torch.Tensor) -> torch.Tensor:
    order = [0, 1, 2]
    random.shuffle(order)
    return x[order]


def branching(x: torch.Tensor) -> torch.Tensor:
    x = x * 2
    return x + 1 if random.random() < 0.5 else x - 1


def put_back(x: torch.Tensor) -> torch.Tensor:
    state = random.getstate()
    x = x * random.random()
    random.setstate(state)
    return x * random.random()


def seeded_twice(x: torch.Tensor) -> torch.Tensor:
    random.seed(5)
    return x * random.random()


DRAWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "random": lambda x: x * random.random() + random.random(),
    "randint": lambda x: x + random.randint(1, 10),
    "randrange": lambda x: x + random.randrange(3, 50, 7),
    "uniform": lambda x: x * random.uniform(-1, 1),
    "gauss": lambda x: x * random.gauss(0, 1),
    "choice": lambda x: x + random.choice([1, 2, 3]),
    "choices": lambda x: x + sum(random.choices(range(9), k=3)),
    "sample": lambda x: x[random.sample(range(3), 2)],
    "getrandbits": lambda x: x + random.getrandbits(12),
    "generator of the program's": lambda x: x * own.random(),
    "NumPy": lambda x: x * float(numpy.random.rand()),
    "NumPy, generator of the program's": lambda x: x * float(own_numpy.random()),
    "shuffle": shuffled,
    "branch": branching,
    "state put back": put_back,
    "seed": seeded_twice,
}


def stream(function: Callable[[torch.Tensor], torch.Tensor]) -> list[Any]:
    random.seed(1)
    own.seed(2)
    numpy.random.seed(3)
    own_numpy.bit_generator.state = numpy.random.default_rng(4).bit_generator.state
    given = [function(torch.arange(3.0)) for _ in range(6)]
    return [*given, random.random(), own.random(), numpy.random.rand(), own_numpy.random()]


@pytest.mark.parametrize("inner", [False, True], ids=["itself", "called"])
@pytest.mark.parametrize("name", DRAWS)
def test_draws(name: str, inner: bool) -> None:
    draw = DRAWS[name]
    program = (lambda x: draw(x.sin()) + 1) if inner else draw
    compiled = stator.compile(program, backend="native")
    expected = stream(program)
    for _ in range(2):
        torch.testing.assert_close(stream(compiled), expected, rtol=0, atol=0)
    # A float or an int that is drawn is a number of the run; a branch on it ends the capture.
    reasons = {
        "branch": ["data-dependent-branch"],
        **{key: [] for key in ("random", "randint", "randrange", "uniform", "gauss", "NumPy")},
    }
    assert [text.partition(":")[0] for text in compiled.breaks[:1]] == reasons.get(name, ["random-state"])


def test_what_surrounds_a_draw_is_captured() -> None:
    def noisy(x: torch.Tensor) -> torch.Tensor:
        return scaled(x) * random.random()

    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x.sin() * 2

    compiled = stator.compile(noisy, backend="native")
    torch.testing.assert_close(stream(compiled), stream(noisy), rtol=0, atol=0)
    assert stator.explain(noisy)(torch.ones(3)).graph_count == 2


def test_fullgraph_says_what_to_do() -> None:
    compiled = stator.compile(DRAWS["choice"], backend="native", fullgraph=True)
    random.seed(1)
    first = random.random()
    random.seed(1)
    with pytest.raises(stator.CaptureError, match="draw the number outside of the compiled function"):
        compiled(torch.ones(3))
    assert random.random() == first


def test_a_generator_that_is_made_from_a_seed() -> None:
    seed = 3

    def program(x: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
        generator = random.Random(seed)
        order = [0, 1, 2]
        generator.shuffle(order)
        generator.seed(9)
        return x[order] * generator.random() + generator.gauss(0, 1), generator.sample(range(20), 3)

    compiled = stator.compile(program, backend="native", fullgraph=True, dynamic=False)
    x = torch.arange(3.0)
    for _ in range(3):
        torch.testing.assert_close(compiled(x), program(x), rtol=0, atol=0)
    assert [entry.hits for entry in stator.cache_entries(compiled)] == [2]
    seed = 4
    torch.testing.assert_close(compiled(x), program(x), rtol=0, atol=0)


def test_a_generator_without_a_seed() -> None:
    compiled = stator.compile(lambda x: x * random.Random().random(), backend="native")
    assert not torch.equal(compiled(torch.ones(3)), compiled(torch.ones(3)))
