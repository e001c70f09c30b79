"""torch.manual_seed inside of captured functions: the numbers behind it, and the generators after it."""

import pytest

import stator
import torch
from torch import Tensor


def program(x: Tensor, seed: int) -> tuple[Tensor, ...]:
    before = torch.rand(2)
    torch.manual_seed(seed)
    after = torch.rand(2)
    return before, after, torch.nn.functional.dropout(x), torch.randn(3)


@pytest.mark.parametrize("backend", ["native", "eager"])
def test_numbers_and_state(backend: str) -> None:
    compiled = stator.compile(program, backend=backend)
    x = torch.ones(4)
    for outer, seed in enumerate((3, 3, 4, 5, 6, 6)):
        torch.manual_seed(outer)
        wanted, state = program(x, seed), torch.random.get_rng_state()
        torch.manual_seed(outer)
        found = compiled(x, seed)
        torch.testing.assert_close(found, wanted, rtol=0, atol=0)
        assert torch.equal(torch.random.get_rng_state(), state)
    assert compiled.breaks == []
    # The seed became a number that each call brings; torch replaces manual_seed when its compiler is loaded.
    assert len(compiled.entries) <= 3
    assert compiled.entries[-1]["hits"] >= 2


def restored(x: Tensor) -> tuple[Tensor, ...]:
    state = torch.get_rng_state()
    first = torch.rand(2)
    torch.set_rng_state(state)
    again = torch.rand(2) + x.sum()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        inside = torch.rand(2)
    mapped = torch.vmap(lambda row: row + torch.rand(1), chunk_size=2, randomness="same")(x[:, None])
    return first, again, inside, torch.rand(2), mapped, state


@pytest.mark.parametrize("backend", ["native", "eager"])
def test_states_that_are_restored(backend: str) -> None:
    compiled = stator.compile(restored, backend=backend)
    x = torch.ones(4)
    for outer in range(3):
        torch.manual_seed(outer)
        wanted, state = restored(x), torch.random.get_rng_state()
        torch.manual_seed(outer)
        torch.testing.assert_close(compiled(x), wanted, rtol=0, atol=0)
        assert torch.equal(torch.random.get_rng_state(), state)
    assert compiled.breaks == []
    assert compiled.entries[0]["hits"] == 2


def test_generators_of_the_programs_own_are_a_break() -> None:
    generator = torch.Generator().manual_seed(2)
    kept = generator.get_state()

    def program() -> Tensor:
        generator.set_state(kept)
        return torch.rand(2, generator=generator)

    compiled = stator.compile(program, backend="native")
    assert torch.equal(compiled(), program())
    assert len(compiled.breaks) == 1


def test_a_capture_that_is_given_up_seeds_nothing() -> None:
    def broken(x: Tensor) -> Tensor:
        torch.manual_seed(3)
        y = x + torch.rand(2)
        print(end="")
        return y + torch.rand(2)

    compiled = stator.compile(broken, backend="native")
    for _ in range(2):
        wanted, state = broken(torch.ones(2)), torch.random.get_rng_state()
        torch.manual_seed(9)
        assert torch.equal(compiled(torch.ones(2)), wanted)
        assert torch.equal(torch.random.get_rng_state(), state)


def test_what_a_compiler_would_run_once_is_a_break() -> None:
    compiled = stator.compile(program, backend="aot_eager")
    for _ in range(2):
        torch.manual_seed(0)
        wanted = program(torch.ones(4), 3)
        torch.manual_seed(0)
        torch.testing.assert_close(compiled(torch.ones(4), 3), wanted, rtol=0, atol=0)
    assert compiled.breaks[0].startswith("random-state")
