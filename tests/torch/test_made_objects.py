"""Python objects around tensors that a captured function makes: closures, tapes, cached properties."""

import functools
from collections.abc import Callable
from typing import Any

import pytest

import stator
import torch
from torch import Tensor, nn

BACKENDS = ["native", "eager"]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("backend", BACKENDS)
def test_closures_over_tensors(backend: str, dynamic: bool | None) -> None:
    weight = nn.Parameter(torch.tensor([2.0]))

    def program(x: Tensor) -> tuple[Callable[..., Tensor], Callable[[], int]]:
        scaled = x * weight
        rows = x.shape[0]

        def shifted(y: Tensor, by: Tensor = scaled) -> Tensor:
            return y * scaled + by

        return shifted, lambda: rows

    compiled = stator.compile(program, backend=backend, dynamic=dynamic)
    made = []
    for rows in (3, 3, 5, 4, 3):
        x = torch.randn(rows)
        made.append((compiled(x), program(x), x))
    for found, wanted, x in made:
        assert found[1]() == wanted[1]()
        for each in (found, wanted):
            assert torch.equal(each[0](x), x * (x * weight) + x * weight)
            assert each[0].__defaults__ is not None
            assert each[0].__closure__ is not None
            assert each[0].__defaults__[0] is each[0].__closure__[0].cell_contents
        gradients = [torch.autograd.grad(each[0](x).sum(), weight)[0] for each in (found, wanted)]
        assert torch.equal(*gradients)
    assert compiled.breaks == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_tape_of_functions(backend: str) -> None:
    def program(x: Tensor) -> tuple[Tensor, list[Callable[[Tensor], tuple[Tensor, Tensor]]]]:
        tape: list[Callable[[Tensor], tuple[Tensor, Tensor]]] = []

        def product(a: Tensor, b: Tensor) -> Tensor:
            tape.append(lambda g: (g * b, g * a))
            return a * b

        return product(product(x, x + 1), x), tape

    compiled = stator.compile(program, backend=backend, fullgraph=True)
    for _ in range(3):
        x = torch.randn(3)
        (found, found_tape), (wanted, wanted_tape) = compiled(x), program(x)
        assert torch.equal(found, wanted)
        for a, b in zip(found_tape, wanted_tape, strict=True):
            assert all(torch.equal(*each) for each in zip(a(x), b(x), strict=True))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_property_that_computes_a_tensor_once(backend: str) -> None:
    class Batch:
        asked = 0

        def __init__(self, x: Tensor) -> None:
            self.x = x

        @functools.cached_property
        def doubled(self) -> Tensor:
            Batch.asked += 1
            return self.x * 2

    older = Batch(torch.ones(3))

    def program(x: Tensor) -> tuple[Any, Tensor]:
        batch = Batch(x)
        return batch, batch.doubled + batch.doubled + older.doubled

    compiled = stator.compile(program, backend=backend)
    for calls in range(1, 5):
        x = torch.randn(3)
        batch, total = compiled(x)
        assert torch.equal(total, x * 4 + 2)
        assert vars(batch)["doubled"] is batch.doubled
        assert torch.equal(batch.doubled, x * 2)
        assert Batch.asked == calls + 1
        assert torch.equal(vars(older)["doubled"], torch.full((3,), 2.0))
    kept = older.doubled
    del older.doubled
    older.x = torch.zeros(3)
    assert torch.equal(compiled(x)[1], x * 4)
    assert older.doubled is not kept
    assert compiled.breaks == []


def test_constructors_that_were_defined_under_other_names() -> None:
    """As in torch's stand-ins for classes of CUDA, which raise."""

    def refuse(cls: Any, *args: Any) -> Any:
        raise RuntimeError(cls.__name__)

    refusing = type("Refusing", (), {"__new__": refuse})
    made = type("Made", (), {"__new__": lambda cls: object.__new__(cls), "__init__": lambda self: None})

    def program(x: torch.Tensor) -> Any:
        try:
            refusing()
        except RuntimeError as error:
            x = x + len(str(error))
        return x * 2, type(made()).__name__

    compiled = stator.compile(program, backend="native", fullgraph=True)
    for _ in range(3):
        ours, theirs = compiled(torch.ones(2)), program(torch.ones(2))
        assert torch.equal(ours[0], theirs[0])
        assert ours[1] == theirs[1]
    refusing.__new__ = staticmethod(lambda cls: object.__new__(cls))  # type: ignore[method-assign]
    assert torch.equal(compiled(torch.ones(2))[0], program(torch.ones(2))[0])


def test_a_frame_that_was_left_by_an_error_waits_for_nothing() -> None:
    """The next frame may lie where it lay."""

    class Refusing:
        def __new__(cls) -> Any:
            raise RuntimeError("no instances")

    def asks() -> Any:
        return Refusing()

    def other() -> int:
        return 2

    def program(x: torch.Tensor) -> Any:
        found = 0
        for _ in range(4):
            try:
                asks()
            except RuntimeError:
                found += other()
        return x * found

    compiled = stator.compile(program, backend="native", fullgraph=True)
    for _ in range(3):
        assert torch.equal(compiled(torch.ones(2)), program(torch.ones(2)))
