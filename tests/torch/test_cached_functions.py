"""Functions with a cache that are given sizes which change: one capture for all where nobody can tell."""

import functools
from collections.abc import Callable
from typing import Any, Union

import pytest
from comparison import alike

import torch
from stator.support import load_torch_extension

load_torch_extension()
from stator._capture import Compiled  # noqa: E402

Tensor = torch.Tensor
Program = Callable[[Tensor], Any]
SIZES = (4, 5, 6, 7, 4, 6, 9)


def run(make: Callable[[], Program]) -> tuple[Any, list[Any], list[Any]]:
    """What two programs of one make give: each has caches of its own."""
    plain, compiled = make(), Compiled(make())
    inputs = [torch.randn(n, 6) for n in SIZES]
    return compiled, [compiled(x) for x in inputs], [plain(x) for x in inputs]


def of_a_number() -> Program:
    @functools.lru_cache
    def rows(n: int, width: int) -> tuple[int, int]:
        return n * 2, width // 2

    return lambda x: x.reshape(rows(x.shape[0], 6)) + 1


def of_a_shape() -> Program:
    @functools.lru_cache(16)
    def plan(shape: torch.Size, names: tuple[tuple[str, int], ...]) -> tuple[list[int], dict[str, int]]:
        known = dict(names)
        return [shape[0], known["parts"], shape[1] // known["parts"]], {"rows": shape[0]}

    def program(x: Tensor) -> Tensor:
        sizes, more = plan(x.shape, (("parts", 3), ("rows", x.shape[0])))
        return x.reshape(sizes).sum(1) * more["rows"]

    return program


class Planner:
    """An object whose method has a cache."""

    @functools.lru_cache  # noqa: B019
    def half(self, shape: tuple[int, ...]) -> int:
        return shape[0] // 2


def of_a_method() -> Program:
    planner = Planner()
    return lambda x: x[: planner.half((x.shape[0], 1))] * 2


def that_raises() -> Program:
    @functools.lru_cache
    def refuse(n: int) -> int:
        raise ValueError(f"{n > 0}")

    def program(x: Tensor) -> Tensor:
        try:
            return x * refuse(x.shape[0])
        except ValueError as error:
            return x + len(str(error))

    return program


@pytest.mark.parametrize("make", [of_a_number, of_a_shape, of_a_method])
def test_all_sizes_are_served_by_one_capture(make: Callable[[], Program]) -> None:
    compiled, got, wanted = run(make)
    assert alike(got, wanted)
    assert compiled.breaks == []
    assert len(compiled.entries) == 2, compiled.misses


def that_counts() -> Program:
    seen: list[int] = []

    @functools.lru_cache
    def note(n: int) -> int:
        seen.append(int(n))
        return n + 1

    return lambda x: (x * note(x.shape[0]), list(seen))


def whose_result_is_changed() -> Program:
    @functools.lru_cache
    def make(n: int) -> list[int]:
        return [n]

    def program(x: Tensor) -> tuple[Tensor, int]:
        kept = make(x.shape[0])
        kept.append(3)
        return x * len(kept), len(kept)

    return program


@pytest.mark.parametrize("make", [that_raises, that_counts, whose_result_is_changed])
def test_what_only_the_cache_explains_is_as_in_eager_code(make: Callable[[], Program]) -> None:
    _, got, wanted = run(make)
    assert alike(got, wanted)


def test_what_is_returned_is_what_the_cache_holds() -> None:
    @functools.lru_cache
    def make(n: int) -> list[int]:
        return [n]

    compiled = Compiled(lambda x: (x + 1, make(x.shape[0])))
    for n in SIZES:
        assert compiled(torch.ones(n))[1] is make(n)


# --- keywords and caches with a limit: the entry that counts is the one of this very call ---

factor = 1


def with_keywords(make: Callable[[int, int], int]) -> list[Callable[[Tensor], Any]]:
    return [
        lambda x: (x * 2, make(3, 5)),
        lambda x: (x * 2, make(3, k=5)),
        lambda x: (x * 2, make(n=3, k=5)),
        lambda x: (x * 2, make(k=5, n=3)),
        lambda x: (x * 2, make(*(3,), **{"k": 5})),
        lambda x: (x * 2, functools.partial(make, k=5)(3)),
        lambda x: (x * 2, make(3)),
        lambda x: (x * 2, make(n=3)),
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("limit", [None, 1, 2, 3, 128])
@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("form", range(8))
def test_keywords_and_eviction(form: int, typed: bool, limit: int | None) -> None:
    global factor

    def make() -> Any:
        @functools.lru_cache(maxsize=limit, typed=typed)
        def scaled(n: int, k: int = 2) -> tuple[int, list[int]]:
            return n * k * factor, [factor]

        return scaled

    caches = make(), make()
    plain, compiled = with_keywords(caches[0])[form], Compiled(with_keywords(caches[1])[form])
    x = torch.ones(2)
    # What else happens to both caches between the calls.
    between: list[Callable[[Any], Any]] = [
        lambda cache: None,
        lambda cache: cache(3, 5),
        lambda cache: cache(3, k=5),
        lambda cache: cache(n=3, k=5),
        lambda cache: cache(3.0, 5.0),
        lambda cache: cache(7),
        lambda cache: (cache(7), cache(8), cache(9)),
        lambda cache: cache.cache_clear(),
        lambda cache: cache.cache_clear() or cache(3, 5),
        lambda cache: (cache.cache_clear(), cache(4), cache(3), cache(3, 5), cache(n=3)),
    ]
    for step, change in enumerate(between * 2):
        factor = step + 1
        for cache in caches:
            change(cache)
        assert alike(compiled(x), plain(x)), step
        assert alike(compiled(x), plain(x)), step


def test_a_key_of_type_aliases_is_made_anew_by_each_call() -> None:
    """`Union[list[Plan], tuple[Plan, ...]]`: what the aliases are made of says what the cache gives."""

    class Plan:
        pass

    def program(x: Tensor) -> tuple[Tensor, Any]:
        return x + 1, Union[list[Plan], tuple[Plan, ...]]  # noqa: UP007

    compiled = Compiled(program)
    x = torch.ones(3)
    for _ in range(4):
        ours, eagers = compiled(x), program(x)
        assert ours[1] is eagers[1]
        assert torch.equal(ours[0], eagers[0])
    assert compiled.breaks == []
    assert sum(row["hits"] for row in compiled.entries) >= 3
