"""Records of `logging` are nodes under `native`: made in each run, in their places, as eager's."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import stator
import torch

LOG = logging.getLogger("tests.log_records")
FORMAT = "%(name)s %(levelname)s %(funcName)s:%(lineno)d %(filename)s %(message)s"


@contextmanager
def written() -> Iterator[io.StringIO]:
    """What the logger writes meanwhile, without the handlers of pytest."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.setFormatter(logging.Formatter(FORMAT))
    handlers, propagate = LOG.handlers, LOG.propagate
    LOG.setLevel(logging.INFO)
    LOG.handlers, LOG.propagate = [handler], False
    try:
        yield text
    finally:
        LOG.handlers, LOG.propagate = handlers, propagate
        LOG.setLevel(logging.NOTSET)


def texts(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    LOG.info("shape %s and %r, mean %.2f", y.shape, y.shape, y.mean())
    LOG.debug("never")
    y = y * 2
    LOG.warning(y)
    LOG.log(logging.ERROR, "a %(name)s of %(sizes)s", {"name": "mapping", "sizes": tuple(y.shape)})
    return y


def below(x: torch.Tensor) -> torch.Tensor:
    def inner(y: torch.Tensor) -> torch.Tensor:
        LOG.info("inside")
        return y * 2

    return inner(x + 1)


def values_of_their_place(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    LOG.info("before %s", y)
    y.mul_(3)
    LOG.info("after %s and %s", y, y.sum().item())
    return y


def outcome(function: Callable[..., Any], x: torch.Tensor, text: io.StringIO) -> tuple[Any, str]:
    text.seek(0)
    text.truncate()
    return function(x).tolist(), text.getvalue()


@pytest.mark.parametrize("program", [texts, below, values_of_their_place], ids=lambda f: f.__name__)
def test_records_in_one_graph(program: Callable[..., Any]) -> None:
    with written() as text:
        program(torch.ones(4))  # loggers keep what is enabled
        compiled = stator.compile(program, backend="native", fullgraph=True)
        for call in range(4):
            x = torch.arange(4.0) * (call + 1)
            assert outcome(compiled, x, text) == outcome(program, x, text)
        assert len(stator.cache_entries(compiled)) == 1


def test_levels_are_guarded() -> None:
    with written() as text:
        compiled = stator.compile(texts, backend="native")
        for level in (logging.INFO, logging.ERROR, logging.DEBUG, logging.INFO):
            LOG.setLevel(level)
            for _ in range(2):
                assert outcome(compiled, torch.ones(3), text) == outcome(texts, torch.ones(3), text)


def test_a_handler_of_the_programs_is_a_break() -> None:
    with written():

        class Counting(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                seen.append(record.getMessage())

        seen: list[str] = []

        def program(x: torch.Tensor) -> torch.Tensor:
            y = x + len(seen)
            LOG.info("one")
            return y + len(seen)

        compiled = stator.compile(program, backend="native")
        assert compiled(torch.zeros(2)).tolist() == [0.0, 0.0]
        handler = Counting()
        LOG.addHandler(handler)
        try:
            for function in (program, compiled, compiled, compiled):
                seen.clear()
                assert function(torch.zeros(2)).tolist() == [1.0, 1.0]
        finally:
            LOG.removeHandler(handler)


def test_more_than_a_text_is_a_break() -> None:
    with written() as text:

        def program(x: torch.Tensor) -> torch.Tensor:
            y = x + 1
            try:
                {}["none"]
            except KeyError:
                LOG.exception("with a traceback")
            LOG.info("elsewhere", stacklevel=2)
            return y * 2

        compiled = stator.compile(program, backend="native")
        eager = outcome(program, torch.ones(2), text)
        for _ in range(3):
            ours = outcome(compiled, torch.ones(2), text)
            assert ours[0] == eager[0]
            assert ours[1].splitlines()[:2] == eager[1].splitlines()[:2]
            assert "KeyError: 'none'" in ours[1]
            assert len(ours[1].splitlines()) == len(eager[1].splitlines())


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiling_backends_make_them_natively(backend: str) -> None:
    with written() as text:
        compiled = stator.compile(texts, backend=backend)
        for call in range(4):
            x = torch.arange(4.0) * (call + 1)
            assert outcome(compiled, x, text) == outcome(texts, x, text)


def test_a_logger_without_a_place_among_the_others() -> None:
    text = io.StringIO()
    own = logging.Logger(LOG.name, logging.INFO)
    own.addHandler(logging.StreamHandler(text))

    def program(x: torch.Tensor) -> torch.Tensor:
        own.info("mine")
        return x + 1

    compiled = stator.compile(program, backend="native")
    for _ in range(3):
        compiled(torch.ones(2))
    assert text.getvalue() == "mine\n" * 3
