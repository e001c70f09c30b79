"""tests/torch/test_recaptures.py: how many captures a function may have, and which of them make room."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

import stator
import torch
from torch import nn


def scaled(x: torch.Tensor, y: torch.Tensor, word: str) -> torch.Tensor:
    return x.sum() * y * len(word)


def call(function: object, rows: int, columns: int, word: str) -> None:
    x, y = torch.ones(rows), torch.ones(columns)
    assert callable(function)
    assert torch.equal(function(x, y, word), scaled(x, y, word))


@pytest.fixture
def four_captures() -> Iterator[None]:
    with stator.config.patch(recompile_limit=4), warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.usefixtures("four_captures")
def test_captures_that_were_outgrown_make_room() -> None:
    """Two of four captures never served a call, and hold for sizes that are symbols by now."""
    function = stator.compile(scaled, backend="native")
    for rows, columns in ((2, 2), (3, 2), (3, 3)):
        call(function, rows, columns, "a")
    for size in range(4, 14):
        call(function, size, size + 1, "a")
    assert [entry.hits for entry in stator.cache_entries(function)] == [0, 0, 10]
    for word in ("ab", "abc", "abcd"):
        call(function, 5, 6, word)
    assert [entry.hits for entry in stator.cache_entries(function)] == [10, 0, 0, 0]


@pytest.mark.usefixtures("four_captures")
def test_a_function_that_is_captured_on_every_call_is_given_up() -> None:
    function = stator.compile(scaled, backend="native")
    for rows, columns, word in ((2, 2, "a"), (3, 2, "a"), (3, 3, "a"), (3, 3, "ab")):
        call(function, rows, columns, word)
    with pytest.warns(RuntimeWarning, match="4 captures of one function"):
        call(function, 3, 3, "abc")


@pytest.mark.usefixtures("four_captures")
def test_captures_that_served_stay() -> None:
    function = stator.compile(scaled, backend="native")
    for word in ("a", "ab", "abc", "abcd"):
        for _ in range(5):
            call(function, 2, 2, word)
    with pytest.warns(RuntimeWarning, match="4 captures of one function"):
        call(function, 2, 2, "abcde")


class Cache:
    def __init__(self) -> None:
        self.seen: torch.Tensor | None = None

    def update(self, new: torch.Tensor) -> torch.Tensor:
        self.seen = new if self.seen is None else torch.cat([self.seen, new], dim=1)
        return self.seen


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50, 8)
        self.head = nn.Linear(8, 50)

    def forward(self, ids: torch.Tensor, cache: Cache) -> torch.Tensor:
        seen = cache.update(self.embedding(ids))
        return self.head(seen.mean(dim=1))  # type: ignore[no-any-return]


def generate(model: nn.Module, ids: torch.Tensor, count: int) -> torch.Tensor:
    cache = Cache()
    for _ in range(count):
        new = ids if cache.seen is None else ids[:, -1:]
        ids = torch.cat([ids, model(new, cache).argmax(dim=-1, keepdim=True)], dim=1)
    return ids


@pytest.mark.usefixtures("four_captures")
def test_generation_is_never_given_up() -> None:
    """Prompts and batches of any size, each with a cache of its own that grows."""
    torch.manual_seed(0)
    model = Decoder().eval()
    with torch.no_grad(), stator.config.patch(recompile_limit=8):
        function = stator.compile(model, backend="native")
        for rows, length in ((2, 7), (2, 7), (2, 9), (3, 12), (5, 4), (1, 6), (4, 6), (1, 9), (6, 3)):
            prompt = torch.randint(50, (rows, length))
            assert torch.equal(generate(function, prompt, 12), generate(model, prompt, 12))
        before = sum(entry.hits for entry in stator.cache_entries(function))
        generate(function, torch.randint(50, (7, 5)), 12)
        assert sum(entry.hits for entry in stator.cache_entries(function)) == before + 12
