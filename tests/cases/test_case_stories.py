"""Programs as users write them, told plainly and compiled: the same results, errors and effects."""

import importlib

import pytest
from stories.story import STORIES, told

import stator
from stator.api.cache import compiled_forms

RAISES = "the function raises"

for topic in ("configurations", "caches", "classes", "control", "numbers", "training"):
    importlib.import_module(f"stories.{topic}")


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("name", STORIES)
def test_story(name: str, backend: str) -> None:
    plain = STORIES[name]()
    wanted = told(plain, plain.function)
    tale = STORIES[name]()
    compiled = stator.compile(tale.function, backend=backend)
    assert told(tale, compiled) == wanted
    if tale.whole:
        assert [text for form in compiled_forms(compiled) for text in form.breaks if RAISES not in text] == []
        assert sum(entry.hits for entry in stator.cache_entries(compiled)) >= tale.served
