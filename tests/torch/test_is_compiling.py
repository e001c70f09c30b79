"""`stator.config.is_compiling`: what captured code is told that asks whether it is compiled."""

import os
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch

SETTINGS = [True, False, "auto"]
ASKERS: dict[str, Callable[[], bool]] = {
    "compiler": lambda: torch.compiler.is_compiling(),
    "imported": torch.compiler.is_compiling,
    "dynamo": lambda: torch._dynamo.is_compiling(),
    "external": lambda: torch._dynamo.external_utils.is_compiling(),
    "private": lambda: torch._utils.is_compiling(),
    "is_dynamo_compiling": torch.compiler.is_dynamo_compiling,
    "flag": lambda: torch.compiler._is_compiling_flag,
    "getattr": lambda: getattr(torch.compiler, "is_" + "compiling")(),
    "vars": lambda: vars(torch.compiler)["_is_compiling_flag"],
}
NEVER = {
    "scripting": torch.jit.is_scripting,
    "tracing": torch.jit.is_tracing,
    "exporting": torch.compiler.is_exporting,
}


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch._utils.is_compiling is deprecated
        yield


def hits(compiled: Any) -> list[int]:
    return [entry.hits for entry in stator.cache_entries(compiled)]


def told(compiled: Any) -> list[bool | None]:
    return [entry.told_compiling for entry in stator.cache_entries(compiled)]


@pytest.mark.parametrize("backend", ["native", "eager"])
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("name", ASKERS)
def test_who_asks_is_told(name: str, setting: Any, backend: str) -> None:
    ask = ASKERS[name]

    def f(x: torch.Tensor) -> tuple[torch.Tensor, Any, Any]:
        return x + (2 if ask() else 1), ask(), stator.is_compiling()

    compiled = stator.compile(f, backend=backend, fullgraph=True)
    with stator.config.patch(is_compiling=setting):
        for _ in range(3):
            got, asked, ours = compiled(torch.zeros(1))
            assert (got.item(), asked, ours) == (2 if setting is True else 1, setting is True, True)
        assert hits(compiled) == [2]
        assert told(compiled) == [setting is True]
    assert not ask()
    assert not stator.is_compiling()


@pytest.mark.parametrize("setting", SETTINGS)
def test_other_questions_have_eagers_answer(setting: Any) -> None:
    def f(x: torch.Tensor) -> tuple[Any, ...]:
        return x + 1, [ask() for ask in NEVER.values()]

    compiled = stator.compile(f, backend="native", fullgraph=True)
    with stator.config.patch(is_compiling=setting):
        assert compiled(torch.ones(1))[1] == compiled(torch.ones(1))[1] == [False] * 3
    assert hits(compiled) == [1]
    assert told(compiled) == [None]


def test_a_changed_setting_is_noticed_by_those_who_asked() -> None:
    def asks(x: torch.Tensor) -> torch.Tensor:
        return x + (2 if torch.compiler.is_compiling() else 1)

    def asks_not(x: torch.Tensor) -> torch.Tensor:
        return x + (2 if stator.is_compiling() else 1)

    x = torch.zeros(1)
    one, two = (stator.compile(fn, backend="native") for fn in (asks, asks_not))
    for setting in (True, False, "auto", True, False, "auto"):
        with stator.config.patch(is_compiling=setting):
            assert one(x).item() == (2 if setting is True else 1)
            assert two(x).item() == 2
    assert (told(one), hits(one)) == ([True, False, False], [1, 1, 1])
    assert hits(two) == [5]


def branching(x: torch.Tensor) -> torch.Tensor:
    """As transformers does: a shortcut that needs the values, where nobody traces."""
    if not torch.compiler.is_compiling() and bool((x > 0).all()):
        return x * 2
    return torch.where((x > 0).all(), x * 2, x)


def test_auto_captures_whole_what_only_the_other_answer_captures() -> None:
    x = torch.ones(3)
    with stator.config.patch(is_compiling="auto"):
        compiled = stator.compile(branching, backend="native", fullgraph=True)
        for sign in (1, -1, 1):
            assert torch.equal(compiled(x * sign), branching(x * sign))
        assert (hits(compiled), told(compiled)) == ([2], [True])
        assert compiled.breaks == []
        shown = stator.explain(branching)(x)
        assert (shown.graph_count, shown.graph_break_count) == (1, 0)
        assert "is_compiling() was True" in str(shown)
    with stator.config.patch(is_compiling=False):
        compiled = stator.compile(branching, backend="native")
        assert torch.equal(compiled(x), x * 2)
        assert len(compiled.breaks) == 1
        shown = stator.explain(branching)(x)
        assert shown.graph_break_count == 1


def test_auto_reports_the_break_of_eagers_way_where_both_break() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        if torch.compiler.is_compiling():
            os.getloadavg()
            return x
        return x * 2 if bool(x.sum() > 0) else x

    with stator.config.patch(is_compiling="auto"):
        compiled = stator.compile(f, backend="native")
        for _ in range(2):
            assert compiled(torch.ones(1)).item() == 2
        assert len(compiled.breaks) == 1
        assert "getloadavg" not in compiled.breaks[0]
        assert len(stator.explain(f)(torch.ones(1)).break_reasons) == 1
        with pytest.raises(stator.CaptureError) as caught:
            stator.compile(f, backend="native", fullgraph=True)(torch.ones(1))
        assert "getloadavg" not in str(caught.value)


def test_auto_takes_the_answer_that_leads_further_where_both_break() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        if not torch.compiler.is_compiling() and bool(x.sum() > 0):
            return f_rest(x)
        return f_rest(x)

    def f_rest(x: torch.Tensor) -> torch.Tensor:
        y = (x * 2 + 1).relu().exp()
        os.getloadavg()
        return y - 1

    x = torch.ones(2)
    with stator.config.patch(is_compiling="auto"):
        compiled = stator.compile(f, backend="native")
        for _ in range(3):
            assert torch.equal(compiled(x), f(x))
        assert told(compiled)[0] is True
        assert len(compiled.breaks) == 1
        assert "getloadavg" in compiled.breaks[0]
        shown = stator.explain(f)(x)
        assert shown.graph_break_count == 1
        assert "getloadavg" in str(shown)


def test_what_raises_as_eager_does_is_not_tried_otherwise() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        if not torch.compiler.is_compiling():
            raise LookupError("eager raises")
        return x

    with stator.config.patch(is_compiling="auto"):
        compiled = stator.compile(f, backend="native")
        for _ in range(2):
            with pytest.raises(LookupError):
                compiled(torch.ones(1))


def test_effects_of_the_attempt_that_broke_are_gone() -> None:
    log: list[str] = []

    def f(x: torch.Tensor) -> torch.Tensor:
        log.append("in")
        if not torch.compiler.is_compiling():
            log.append("eager")
            return x + int(bool(x.sum() > 0))
        log.append("compiled")
        return x + (x.sum() > 0)

    with stator.config.patch(is_compiling="auto"):
        compiled = stator.compile(f, backend="native")
        compiled(torch.ones(1))
        compiled(torch.ones(1))
    assert log == ["in", "compiled"] * 2
    assert hits(compiled) == [1]


def test_a_key_of_the_same_name_in_another_dictionary_is_guarded() -> None:
    settings = {"_is_compiling_flag": 1, "_is_stator_capturing_flag": 1}

    def f(x: torch.Tensor) -> torch.Tensor:
        return x * settings["_is_compiling_flag"] + settings["_is_stator_capturing_flag"]

    compiled = stator.compile(f, backend="native", fullgraph=True)
    for value in (1, 1, 5, 5):
        settings.update(dict.fromkeys(settings, value))
        assert compiled(torch.ones(1)).item() == 2 * value


def test_callees_after_a_break() -> None:
    def inner(x: torch.Tensor) -> torch.Tensor:
        return x + (2 if torch.compiler.is_compiling() else 1)

    def outer(x: torch.Tensor) -> torch.Tensor:
        os.getloadavg()
        return inner(x)

    x = torch.zeros(1)
    for setting in (False, "auto"):
        with stator.config.patch(is_compiling=setting):
            compiled = stator.compile(outer, backend="native")
            assert [compiled(x).item() for _ in range(3)] == [1] * 3
            assert sum(callee["hits"] for callee in compiled.callees) == 2


def test_optimizers_are_never_told() -> None:
    parameter = torch.nn.Parameter(torch.ones(3))
    twin = torch.nn.Parameter(torch.ones(3))
    one, two = (torch.optim.Adam([each], lr=0.1) for each in (parameter, twin))
    with stator.config.patch(is_compiling=True):
        step = stator.compile(one.step, backend="native")
        for _ in range(4):
            parameter.grad, twin.grad = torch.full((3,), 0.3), torch.full((3,), 0.3)
            step()
            two.step()
            assert torch.equal(parameter, twin)
    assert sum(hits(step)) >= 1


@pytest.mark.parametrize("value", ["true", None, 1, 0, "Auto"])
def test_settings_that_there_are_not(value: Any) -> None:
    with pytest.raises(ValueError, match="True, False or 'auto'"):
        stator.config.is_compiling = value


def test_torchs_own_compilers_are_told_by_torch() -> None:
    seen: list[bool] = []

    def f(x: torch.Tensor) -> torch.Tensor:
        seen.append(torch.compiler.is_compiling())
        return x + 1

    torch.export.export(torch.nn.Identity(), (torch.ones(1),))
    assert not torch.compiler.is_compiling()
    stator.compile(f, backend="native")(torch.ones(1))
    assert not torch.compiler.is_compiling()
