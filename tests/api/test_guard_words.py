"""Guards that failed, in TorchDynamo's words, as guard_fail_fn and errors on recompiles give them."""

from typing import Any

import pytest

import stator
import torch
from stator.dropin import dynamo_names


def failures_of(function: Any, *calls: tuple[Any, ...]) -> list[str]:
    """What guard_fail_fn hears in calls with these arguments."""
    heard: list[str] = []

    def hear(failure: Any) -> None:
        heard.append(failure.reason)

    compiled = dynamo_names.optimize("eager", guard_fail_fn=hear, dynamic=False)(function)
    for arguments in calls:
        compiled(*arguments)
    return heard


def test_tensors() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y.sum()

    x, y = torch.ones(3), torch.ones(2)
    cases = [
        ((torch.ones(4), y), "tensor 'x' size mismatch at index 0. expected 3, actual 4"),
        ((torch.ones(3, 3), y), "tensor 'x' rank mismatch. expected 1, actual 2"),
        ((x, torch.ones(4)[::2]), "tensor 'y' stride mismatch at index 0. expected 1, actual 2"),
        (
            (x, y.clone().requires_grad_()),
            "tensor 'y' requires_grad mismatch. expected requires_grad=0",
        ),
    ]
    for other, expected in cases:
        (heard,) = failures_of(function, (x, y), other)
        assert heard.startswith(expected)


def test_items_of_containers() -> None:
    def function(given: dict[str, list[torch.Tensor]]) -> torch.Tensor:
        return given["a"][0] * 2

    (heard,) = failures_of(function, ({"a": [torch.ones(3)]},), ({"a": [torch.ones(5)]},))
    assert "size mismatch at index 0. expected 3, actual 5" in heard


def test_which_arguments_are_one_object() -> None:
    def function(x: torch.Tensor, y: torch.Tensor, given: list[torch.Tensor]) -> torch.Tensor:
        return x + y + given[0]

    a, b, c = torch.ones(3), torch.zeros(3), torch.ones(3)
    assert failures_of(function, (a, a, [c]), (a, b, [c])) == ["x is y"]
    assert failures_of(function, (a, b, [c]), (a, a, [c])) == ["x is not y"]
    assert failures_of(function, (a, b, [a]), (a, b, [c])) == ["x is given[0]"]


def test_other_guards_are_as_they_are() -> None:
    def function(x: torch.Tensor, n: str) -> torch.Tensor:
        return x + len(n)

    (heard,) = failures_of(function, (torch.ones(3), "a"), (torch.ones(3), "bc"))
    assert "L[" in heard
    assert "mismatch" not in heard


def test_outside_of_a_miss_there_is_no_call() -> None:
    from stator import _capture

    assert _capture.missed_arguments() is None


def test_errors_on_recompiles_say_what_differs() -> None:
    from stator.dropin import errors

    compiled = stator.compile(lambda x: x + 1, backend="eager", dynamic=False)
    compiled(torch.ones(3))
    errors.install()
    try:
        with (
            stator.config.patch(error_on_recompile=True),
            pytest.raises(stator.CaptureError, match="expected 3, actual 4"),
        ):
            compiled(torch.ones(4))
    finally:
        errors.uninstall()


def test_exported_guards() -> None:
    """Programs ask each guard for its code, and may treat it as text."""
    heard: list[Any] = []
    compiled = dynamo_names.optimize("eager", guard_export_fn=heard.append, dynamic=False)(torch.sin)
    compiled(torch.ones(3))
    (guards,) = heard
    assert any("Tensor float [3]" in guard.code_list[0] for guard in guards)
    assert all(guard.code_list == [guard] for guard in guards)
